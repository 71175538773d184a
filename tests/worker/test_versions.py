"""Two versions side by side: older rows are taken by both, newer rows are handed back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from redis import Redis

from app.domain import record
from app.domain.errors import Waiting
from app.domain.run import Run, Wait
from app.domain.state import Role, State
from tests.worker.store.samples import a_run, an_event, opened
from tests.worker.test_carry import Role1, done
from worker import keeping
from worker.queue import Bell
from worker.store import codec
from worker.store.codec import NewerSchema
from worker.store.ledger import Ledger

OLD = record.SCHEMA
STAGES = {State.ADMIT: done, State.PREPARE: done, State.LOCATE: done}


@contextmanager
def version(number: int) -> Iterator[None]:
    """What is done inside is done by a worker that knows rows up to this schema."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "SCHEMA", number)
        patch.setattr(codec, "SCHEMA", number)
        yield


@pytest.fixture
def ledger(redis: Redis) -> Ledger:
    return Ledger(redis)


def carried(ledger: Ledger, run_id: str, role: Role = Role.DESK) -> Run:
    return Role1(ledger, role, STAGES).carry(run_id)


def test_both_versions_take_older_rows(ledger: Ledger) -> None:
    opened(ledger, "a", 1)
    opened(ledger, "b", 2)
    assert carried(ledger, "a").state is State.PREPARE
    with version(OLD + 1):
        assert carried(ledger, "b").state is State.PREPARE


def test_what_a_newer_worker_wrote_an_older_one_hands_back_and_a_newer_one_finishes(
    ledger: Ledger, redis: Redis
) -> None:
    run_id = opened(ledger)
    with version(OLD + 1):
        carried(ledger, run_id)
    assert int(redis.hget(record.run_key(run_id), "v") or 0) == OLD + 1  # type: ignore[arg-type]
    before = redis.hgetall(record.run_key(run_id))
    due = redis.zscore(record.DUE, run_id)
    with pytest.raises(NewerSchema):
        Role1(ledger, Role.RUNNER, STAGES).carry(run_id)
    assert redis.hgetall(record.run_key(run_id)) == before
    assert redis.zscore(record.DUE, run_id) == due
    with version(OLD + 1):
        runner = Role1(ledger, Role.RUNNER, {State.PREPARE: done})
        with pytest.raises(LookupError):  # went on to a state for which this test has no stage
            runner.carry(run_id)
        found = ledger.run(run_id)
        assert found is not None and found.state is State.LOCATE


def test_an_older_keeper_still_rings_for_newer_rows(ledger: Ledger, redis: Redis) -> None:
    run_id = opened(ledger)
    redis.hset(record.run_key(run_id), mapping={"v": OLD + 1, "state": "a-state-of-tomorrow"})
    keeping.rewake(Role.DESK, ledger, Bell(redis))
    assert redis.lrange("rq:queue:desk", 0, -1) == [f"{run_id}-1".encode()]


def test_an_older_desk_neither_answers_nor_continues_newer_rows(
    ledger: Ledger, redis: Redis
) -> None:
    run_id = opened(ledger)
    lease = ledger.claim(run_id, "w", 1_000)
    assert lease is not None
    waits = replace(lease.run, wait=Wait(Waiting.ANSWER, ledger.now() + 60_000, "asked"))
    ledger.save(lease, waits, release=True)
    redis.hset(record.run_key(run_id), "v", OLD + 1)
    with pytest.raises(NewerSchema):
        ledger.answer(run_id, "event", "yes")
    with pytest.raises(NewerSchema):
        ledger.approve(run_id, "event", "digest", "alice")
    redis.hset(record.change_key(run_id), "v", OLD + 1)
    ledger.add_event(an_event("next"))
    with pytest.raises(NewerSchema):
        ledger.open_run("next", a_run("other", event="next"))
    assert ledger.unhandled_events(9) == ["next"]  # it comes again, to a newer desk


def test_newer_rows_do_not_stop_what_looks_over_all(ledger: Ledger, redis: Redis) -> None:
    opened(ledger, "old", 1)
    opened(ledger, "new", 2)
    redis.hset(record.run_key("new"), "v", OLD + 1)
    ledger.add_event(an_event("newer"))
    redis.hset(record.event_key("newer"), "v", OLD + 1)
    assert [run.id for run in ledger.runs(9)] == ["old"]
    assert ledger.readable("new") is None and ledger.readable("old") is not None
    run = ledger.run("old")
    assert run is not None and not ledger.newer_trigger(run)
