"""Review comments that wait for their turn: in order, once, and kept while they wait."""

from __future__ import annotations

import pytest
from redis import Redis

from app.domain import record
from tests.worker.store.samples import an_event
from worker.store.ledger import Ledger


@pytest.fixture
def ledger(redis: Redis) -> Ledger:
    made = Ledger(redis)
    for key in ("comment:2", "comment:1", "comment:3"):
        made.add_event(an_event(key))
        made.redis.hset(record.event_key(key), "at", int(key[-1]) * 10)
    return made


def test_comments_wait_in_the_order_in_which_they_were_written_each_once(ledger: Ledger) -> None:
    assert [ledger.wait_turn("c", f"comment:{n}") for n in (3, 1, 3, 2)] == [1, 2, 2, 3]
    assert ledger.waiting("c") == ["comment:1", "comment:2", "comment:3"]
    assert ledger.changes_waiting() == ["c"] and ledger.waiting("other") == []


def test_what_a_run_took_up_never_waits_again(ledger: Ledger) -> None:
    ledger.wait_turn("c", "comment:1")
    ledger.wait_turn("c", "comment:2")
    ledger.taken("c", ["comment:1"])
    assert ledger.waiting("c") == ["comment:2"]
    assert ledger.wait_turn("c", "comment:1") == 0
    ledger.taken("c", ["comment:2", "comment:9"])
    assert ledger.waiting("c") == [] and ledger.changes_waiting() == []
    assert ledger.wait_turn("c", "comment:9") == 0
    assert ledger.wait_turn("d", "comment:1") == 1, "another Change's comments are another's"


def test_a_comment_that_waits_is_kept_as_long_as_it_waits(ledger: Ledger) -> None:
    ledger.wait_turn("c", "comment:1")
    ledger.event_done("comment:1", "command:revise")
    row = record.event_key("comment:1")
    ledger.redis.expire(row, 60)
    ledger.waiting("c")
    assert ledger.redis.ttl(row) > 86_400
