"""The heart of a lease: takeover, cancel, an absent Redis; money across runs and days."""

from __future__ import annotations

import datetime
import threading
from dataclasses import replace

import pytest
from redis import Redis

from app.domain.cancelled import kept
from app.domain.errors import Fenced, Halt, HaltRecord, IntegrityError, Reason, Unavailable
from app.domain.scripts.pieces import DAY
from app.domain.state import State
from tests.patience import PATIENCE, until
from tests.redis_server import Server
from tests.worker.desk.made import contract
from tests.worker.store.samples import opened
from worker.store.calls import Calls
from worker.store.connect import connect
from worker.store.ledger import Ledger
from worker.store.rows import Lease


def claimed(ledger: Ledger, run_id: str = "r1", lease_ms: int = 60_000) -> Lease:
    lease = ledger.claim(run_id, "w1", lease_ms)
    assert lease is not None
    return lease


def test_a_heart_keeps_the_lease_alive(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)

    def held_until() -> int:
        row = ledger.row("r1")
        assert row is not None
        return row.lease

    with ledger.hold(claimed(ledger), daily=1) as hold:
        redis.hset("pw:run:r1", "lease", ledger.now() + 1_000)  # as if most of it were over
        until(lambda: held_until() > ledger.now() + 30_000)
        hold.look()
        assert ledger.claim("r1", "w2", 600) is None
    assert not hold.heart.thread.is_alive()
    redis.hset("pw:run:r1", "lease", 1)  # as time does once nobody beats any more
    assert ledger.claim("r1", "w2", 600) is not None


def test_a_takeover_is_noticed_and_told_once(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    told: list[int] = []
    with ledger.hold(claimed(ledger), daily=1, on_lost=lambda: told.append(1)) as hold:
        redis.hset("pw:run:r1", "fence", 9)
        until(lambda: bool(hold.heart.lost))
        with pytest.raises(Fenced, match="another worker"):
            hold.look()
    assert told == [1]


def test_giving_a_lease_back_is_no_loss(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    lease, told = claimed(ledger), []
    with ledger.hold(lease, daily=1, on_lost=lambda: told.append(1)) as hold:
        ledger.save(lease, lease.run, release=True)
        until(hold.heart.ended.is_set)
        with pytest.raises(Fenced, match="given back"):
            hold.look()
    assert told == []


def test_a_cancel_is_noticed_within_seconds(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    with ledger.hold(claimed(ledger, lease_ms=60_000), daily=1) as hold:
        hold.look()
        ledger.cancel("r1", kept("The issue was closed by mona.", "Open it."))
        ledger.cancel("r1", kept("Something came later."))
        until(lambda: hold.heart.cancelled)
        with pytest.raises(Halt) as halt:
            hold.look()
    said = halt.value.record
    assert (said.reason, said.message) == (Reason.CANCELLED, "The issue was closed by mona.")
    assert said.next_step == "Open it."


def test_a_run_claimed_after_its_cancel_ends_at_once(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    ledger.cancel("r1")
    with pytest.raises(Halt):
        ledger.hold(claimed(ledger), daily=1).look()


def test_an_ending_can_be_told_after_a_cancel(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    ledger.cancel("r1")
    lease = claimed(ledger)
    hold = ledger.hold(lease, daily=1)
    with pytest.raises(Halt):
        hold.look()
    halt = HaltRecord(Reason.CANCELLED, "", "")
    lease = ledger.save(lease, replace(lease.run, state=State.HALTED, halt=halt))
    hold.look()
    assert ledger.cancel("r1")  # said again, while it ends
    hold.look()
    ledger.save(lease, lease.run, release=True)
    assert not claimed(ledger).cancelled


def test_redis_away_for_a_whole_lease_is_a_loss(redis: Redis, redis_process: Server) -> None:
    ledger = Ledger(connect(redis_process.url), patience=0)
    opened(ledger)
    lost = threading.Event()
    with ledger.hold(claimed(ledger, lease_ms=600), daily=1, on_lost=lost.set) as hold:
        redis_process.kill()
        try:
            assert lost.wait(PATIENCE)
            with pytest.raises(Fenced, match="away"):
                hold.look()
        finally:
            redis_process.start()


def test_a_short_absence_is_survived(redis: Redis, redis_process: Server) -> None:
    ledger = Ledger(connect(redis_process.url), patience=PATIENCE)
    opened(ledger)
    with ledger.hold(claimed(ledger, lease_ms=600_000), daily=1) as hold:
        redis_process.kill()
        starter = threading.Timer(0.3, redis_process.start)
        starter.start()
        digest = hold.put(b"written across a restart")
        starter.join()
        hold.look()
        assert hold.get(digest) == b"written across a restart"


def test_a_worker_that_slept_asks_before_it_gives_up(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    lease = claimed(ledger, lease_ms=100)
    hold = ledger.hold(lease, daily=1)  # no heart: as if this process had been stopped
    until(lambda: hold.heart.late())
    hold.look()  # nobody took over
    until(lambda: hold.heart.late())
    until(lambda: ledger.claim("r1", "w2", 60_000) is not None)  # Redis's clock says when it ends
    with pytest.raises(Fenced):
        hold.look()


def test_a_redis_that_stays_away_is_unavailable(redis: Redis, redis_process: Server) -> None:
    ledger = Ledger(connect(redis_process.url), patience=0.2)
    redis_process.kill()
    try:
        with pytest.raises(Unavailable, match="Redis is away"):
            ledger.now()
    finally:
        redis_process.start()


def test_a_redis_that_cannot_write_is_unavailable(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    hold = ledger.hold(claimed(ledger), daily=1)
    redis.config_set("maxmemory", "1mb")
    try:
        with pytest.raises(Unavailable, match="cannot write"):
            hold.put(b"x")
    finally:
        redis.config_set("maxmemory", "0")


def test_kept_bytes_that_changed_are_refused(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    hold = ledger.hold(claimed(ledger), daily=1)
    digest = hold.put(b"right")
    redis.set(f"pw:blob:{digest}", b"wrong")
    with pytest.raises(IntegrityError):
        hold.get(digest)


def test_the_cap_counts_what_other_runs_reserved(redis: Redis) -> None:
    ledger = Ledger(redis)
    first, second = (
        ledger.hold(claimed(ledger, opened(ledger, name, issue)), daily=100)
        for name, issue in (("r1", 1), ("r2", 2))
    )
    first.reserve(60)
    with pytest.raises(Halt, match="daily-cap") as halt:
        second.reserve(41)
    assert "$0.00" in halt.value.record.message
    second.reserve(40)
    first.settle(10)
    second.settle(40)
    assert ledger.spent_today() == 50


def test_what_class_large_may_not_take_of_the_day_is_kept_for_the_others(redis: Redis) -> None:
    ledger = Ledger(redis)
    small, large = (
        claimed(ledger, opened(ledger, name, issue)) for name, issue in (("r1", 1), ("r2", 2))
    )
    held = replace(contract("b" * 40), large=True)
    large = ledger.save(large, replace(large.run, contract=held))
    with pytest.raises(Halt, match="kept for runs of ordinary size"):
        ledger.hold(large, daily=60).reserve(61)
    ledger.hold(large, daily=60).reserve(60)
    ledger.hold(small, daily=100).reserve(40)


def test_an_end_charges_what_was_never_settled(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    lease = claimed(ledger)
    ledger.hold(lease, daily=100).reserve(60)
    halt = HaltRecord(Reason.CANCELLED, "", "")
    ledger.save(lease, replace(lease.run, state=State.HALTED, halt=halt, explained=True))
    assert ledger.spent_today() == 60
    day = next(iter(redis.scan_iter("pw:spend:*")))
    assert redis.hgetall(day) == {b"spent": b"60"}
    assert 0 < redis.ttl(day) <= 400 * 86_400


def test_money_is_settled_on_the_day_it_was_reserved(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    hold = ledger.hold(claimed(ledger), daily=100)
    hold.reserve(60)
    today = next(iter(redis.scan_iter("pw:spend:*")))
    redis.rename(today, "pw:spend:20200101")
    redis.hset("pw:run:r1", "spend_day", "20200101")
    hold.settle(5)
    assert redis.hgetall("pw:spend:20200101") == {b"spent": b"5"}
    assert ledger.spent_today() == 0


@pytest.mark.parametrize(
    "day", ["1970-01-01", "1999-12-31", "2000-02-29", "2024-02-29", "2026-11-30", "2100-03-01"]
)
def test_the_days_name_is_the_calendars(redis: Redis, day: str) -> None:
    date = datetime.date.fromisoformat(day)
    seconds = (date - datetime.date(1970, 1, 1)).days * 86_400
    for second in (seconds, seconds + 86_399):
        lua = DAY.replace("redis.call('TIME')[1]", str(second)) + "return today()"
        assert Calls(redis, 0).script(lua, ()) == date.strftime("%Y%m%d").encode()


def test_a_worker_that_slept_past_its_lease_owns_nothing_more(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    hold = ledger.hold(claimed(ledger), daily=100, lease_ms=50)
    hold.own()
    redis.hset("pw:run:r1", "lease", "1")
    assert ledger.claim("r1", "other", 60_000) is not None
    hold.heart.good -= 1.0  # it slept
    with pytest.raises(Fenced):
        hold.own()


def test_a_cancelled_run_is_still_owned(redis: Redis) -> None:
    """An ending is told under a lease whose run was cancelled."""
    ledger = Ledger(redis)
    opened(ledger)
    hold = ledger.hold(claimed(ledger), daily=100)
    assert ledger.cancel("r1")
    hold.heart.beat()
    hold.own()
    with pytest.raises(Halt, match="cancelled"):
        hold.look()
