"""Retention on a real Redis: what is past its days goes, what lives stays; installations go."""

from __future__ import annotations

from dataclasses import replace

import pytest
from redis import Redis

from app.domain import record
from app.domain.errors import HaltRecord, Reason
from app.domain.record import Kept
from app.domain.run import Publication, Run
from app.domain.state import State
from tests.worker.store.samples import a_run, an_event
from worker.store import retention
from worker.store.ledger import Ledger

DAY = 86_400_000


@pytest.fixture
def ledger(redis: Redis) -> Ledger:
    return Ledger(redis)


def worked(
    ledger: Ledger, run_id: str, issue: int = 7, *, pull: int = 0, end: bool = True,
    installation: int = 5, data: bytes = b"patch", repository: int = 1296269,
) -> str:  # fmt: skip
    """A run that left everything that a run leaves; the digest of its blob."""
    event = replace(an_event(f"issue:1:{issue}:{run_id}", issue), installation=installation)
    run = a_run(run_id, issue, event.key)
    run = replace(run, installation=installation, repository=replace(run.repository, id=repository))
    ledger.add_event(event)
    ledger.open_run(event.key, run)
    lease = ledger.claim(run_id, "w", 60_000)
    assert lease is not None
    with ledger.hold(lease, daily=10**9) as hold:
        digest = hold.put(data)
        hold.note(Kept.NOTE, {"patch": digest})
        hold.intend("branch", {})
        hold.remember(f"baseline-{run_id}", {"a": 1})
    now = replace(lease.run, publication=Publication(pull=pull))
    if end:
        now = halted(now)
    ledger.save(lease, now, release=True)
    return digest


def halted(run: Run) -> Run:
    return replace(
        run, state=State.HALTED, halt=HaltRecord(Reason.NO_CHANGE, "n", ""), explained=True
    )


def aged(redis: Redis, run_id: str, days: int) -> None:
    """As if the run had been opened, and written to its journal, so many days ago."""
    at = int(redis.time()[0]) * 1000 - days * DAY  # type: ignore[index]
    redis.zadd(record.RUNS, {run_id: at})
    key = record.journal_key(run_id)
    entries = redis.xrange(key)
    redis.delete(key)
    for n, (_, fields) in enumerate(entries):  # type: ignore[arg-type, misc]
        redis.xadd(key, fields, id=f"{at}-{n + 1}")


def keys(redis: Redis) -> set[str]:
    return {key.decode() for key in redis.keys("*")}  # type: ignore[union-attr]


def test_a_finished_run_goes_with_all_that_is_its_own(ledger: Ledger, redis: Redis) -> None:
    worked(ledger, "r1")
    aged(redis, "r1", 91)
    assert retention.expire(ledger, 90 * DAY) == 1
    left = keys(redis) - {record.INBOX}
    assert left == {record.memory_key("baseline-r1")}  # a cache, which goes by itself
    assert redis.ttl(record.memory_key("baseline-r1")) > 0  # type: ignore[operator]


def test_younger_and_living_runs_stay(ledger: Ledger, redis: Redis) -> None:
    worked(ledger, "young", 1)
    worked(ledger, "living", 2, end=False)
    worked(ledger, "published", 3, pull=9)
    aged(redis, "living", 400)
    aged(redis, "published", 400)
    aged(redis, "young", 89)
    before = keys(redis)
    assert retention.expire(ledger, 90 * DAY) == 0
    assert keys(redis) == before


def test_a_closed_pull_request_lets_its_run_go(ledger: Ledger, redis: Redis) -> None:
    worked(ledger, "r1", pull=9)
    aged(redis, "r1", 100)
    change = ledger.change("r1")
    assert change is not None
    ledger.close_change(change)
    assert retention.expire(ledger, 90 * DAY) == 1
    assert ledger.change("r1") is None and ledger.run("r1") is None


def test_an_old_run_written_to_lately_stays(ledger: Ledger, redis: Redis) -> None:
    worked(ledger, "r1")
    redis.zadd(record.RUNS, {"r1": 1})
    assert retention.expire(ledger, 90 * DAY) == 0


def test_a_blob_stays_as_long_as_any_run_holds_it(ledger: Ledger, redis: Redis) -> None:
    digest = worked(ledger, "r1", 1)
    assert worked(ledger, "r2", 2) == digest
    aged(redis, "r1", 100)
    assert retention.expire(ledger, 90 * DAY) == 1
    assert ledger.artifact(digest) == b"patch"
    aged(redis, "r2", 100)
    assert retention.expire(ledger, 90 * DAY) == 1
    assert not any(key.startswith(("pw:blob", "pw:holders")) for key in keys(redis))


def test_the_change_goes_with_its_last_run(ledger: Ledger, redis: Redis) -> None:
    worked(ledger, "r1")
    worked(ledger, "r2")  # the same issue: the same Change
    aged(redis, "r1", 100)
    assert retention.expire(ledger, 90 * DAY) == 1
    assert ledger.change("r1") is not None
    aged(redis, "r2", 100)
    assert retention.expire(ledger, 90 * DAY) == 1
    assert ledger.change("r1") is None and ledger.open_change(1296269, 7) is None


def test_an_event_without_a_run_goes_by_itself(ledger: Ledger, redis: Redis) -> None:
    worked(ledger, "r1")
    ledger.add_event(an_event("refused"))
    ledger.event_done("refused", "refused-role")
    assert 0 < redis.ttl(record.event_key("refused")) <= record.EVENT_SECONDS  # type: ignore[operator]
    ledger.event_done("issue:1:7:r1", "again")
    assert redis.ttl(record.event_key("issue:1:7:r1")) == -1


def test_a_removed_installation_goes_whole_and_nothing_else_does(
    ledger: Ledger, redis: Redis
) -> None:
    worked(ledger, "other", 1)
    kept = keys(redis)
    shared = worked(ledger, "r1", 2, installation=6, repository=44, pull=3)
    worked(ledger, "r2", 3, installation=6, repository=44, end=False, data=b"secret")
    ledger.add_event(replace(an_event("open", 9), installation=6))
    ledger.add_event(replace(an_event("done", 9), installation=6))
    ledger.event_done("done", "nothing")
    redis.hset(record.pace_key(6), "next", 1)
    redis.zadd(record.APPROVALS, {"r1": 1})
    redis.sadd(record.approvals_of_key(44), "r1")
    redis.sadd(record.WAITS, "r1")
    for key in record.rows_of_change("r1")[1:]:
        redis.sadd(key, "x")
    assert ledger.artifact(shared) == b"patch"
    ledger.leaves(6)
    assert ledger.leaving() == [6]
    assert retention.erase(ledger, 6) == 0
    assert ledger.leaving() == []
    assert keys(redis) == kept | {record.STORES}
    assert ledger.stores_to_go() == [44]
    assert ledger.run("other") is not None and ledger.artifact(shared) == b"patch"


def test_a_run_that_a_worker_holds_is_cancelled_and_erased_afterwards(
    ledger: Ledger, redis: Redis
) -> None:
    worked(ledger, "r1", end=False)
    lease = ledger.claim("r1", "w", 60_000)
    assert lease is not None
    ledger.leaves(5)
    assert retention.erase(ledger, 5) == 1
    assert ledger.leaving() == [5]
    assert ledger.beat(lease, 60_000) is True  # it is asked to end
    ledger.save(lease, halted(lease.run), release=True)
    assert retention.erase(ledger, 5) == 0
    assert ledger.run("r1") is None
