"""Turns at an issue: one at a time, in order, and nobody waits for the dead for ever."""

from __future__ import annotations

from redis import Redis

from worker.store.ledger import Ledger
from worker.store.turns import TURN_MS, Turns


def turns(redis: Redis, issue: int = 5) -> Turns:
    return Turns(Ledger(redis).calls, 11, issue)


def test_one_at_a_time_and_the_others_follow_in_their_order(redis: Redis) -> None:
    at = turns(redis)
    assert at.take("a", "e1")
    assert not at.take("b", "e2")
    assert not at.take("c", "e3")
    assert not at.take("d", "e2")  # rung for again, it keeps its place
    assert at.passed("a") == "e2"
    assert at.take("e", "e2")
    assert at.passed("e") == "e3"
    assert at.take("f", "e3")
    assert at.passed("f") == ""
    assert redis.keys("pw:turn:*") == []


def test_a_call_that_is_sent_twice_is_one_turn(redis: Redis) -> None:
    at = turns(redis)
    assert at.take("a", "e1") and at.take("a", "e1")


def test_another_issue_and_no_issue_wait_for_nobody(redis: Redis) -> None:
    assert turns(redis).take("a", "e1")
    assert turns(redis, 6).take("b", "e2")
    assert turns(redis, 0).take("c", "e3") and turns(redis, 0).take("d", "e4")
    assert turns(redis, 0).passed("c") == ""


def test_a_killed_holder_is_waited_for_only_so_long(redis: Redis) -> None:
    at = turns(redis)
    assert at.take("dead", "e1") and not at.take("b", "e2")
    for key in redis.keys("pw:turn:*"):
        assert 0 < redis.pttl(key) <= TURN_MS
    redis.delete("pw:turn:11:5")  # as time does
    assert at.take("c", "e2")


def test_one_whose_turn_ran_out_does_not_end_the_next_ones(redis: Redis) -> None:
    at = turns(redis)
    assert at.take("slow", "e1")
    redis.delete("pw:turn:11:5")
    assert at.take("next", "e2")
    assert not at.take("x", "e3")
    assert at.passed("slow") == ""  # the next one has the turn, and rings itself
    assert not at.take("y", "e3")
    assert at.passed("next") == "e3"
