"""Caps on runs an hour: counted once an event, all scopes or none."""

from __future__ import annotations

from redis import Redis

from worker.store.caps import WINDOW_MS, Caps
from worker.store.ledger import Ledger


def caps(redis: Redis, **limits: int) -> Caps:
    return Caps(Ledger(redis).calls, limits)


def test_a_scope_that_is_full_names_itself_and_nothing_is_counted(redis: Redis) -> None:
    made = caps(redis, issue=2, user=3)
    assert [made.take({"issue": "1", "user": "7"}, f"e{n}") for n in range(3)] == ["", "", "issue"]
    assert made.take({"issue": "2", "user": "7"}, "e9") == ""  # the refused one was not counted
    assert made.take({"issue": "3", "user": "7"}, "e10") == "user"
    assert made.take({"issue": "3", "user": "8"}, "e10") == ""


def test_an_event_counts_once_and_can_be_given_back(redis: Redis) -> None:
    made = caps(redis, issue=1)
    for _ in range(3):
        assert made.take({"issue": "1"}, "e1") == ""
    assert made.take({"issue": "1"}, "e2") == "issue"
    made.give_back({"issue": "1"}, "e1")
    assert made.take({"issue": "1"}, "e2") == ""


def test_what_is_older_than_an_hour_does_not_count(redis: Redis) -> None:
    made = caps(redis, issue=1)
    old = Ledger(redis).now() - WINDOW_MS - 1
    redis.zadd("pw:cap:issue:1", {"e1": old})
    assert made.take({"issue": "1"}, "e2") == ""
    assert 0 < redis.pttl("pw:cap:issue:1") <= WINDOW_MS


def test_a_scope_without_a_limit_is_free_and_zero_closes_one(redis: Redis) -> None:
    assert caps(redis).take({"issue": "1"}, "e1") == ""
    assert caps(redis, issue=0).take({"issue": "1"}, "e1") == "issue"


def test_what_was_begun_before_an_event_is_what_counts_against_it(redis: Redis) -> None:
    operator = caps(redis, user=9)
    for key in ("e1", "e2", "e3"):
        assert operator.take({"user": "7"}, key) == ""
    narrow = caps(redis, user=2)
    assert [narrow.over({"user": "7"}, key) for key in ("e1", "e2", "e3")] == ["", "", "user"]
    operator.give_back({"user": "7"}, "e3")
    assert narrow.over({"user": "7"}, "e3") == "user"  # asked again it is the same answer
    assert caps(redis, user=3).over({"user": "7"}, "e9") == ""
    assert narrow.over({"issue": "1"}, "e1") == ""  # a scope that says nothing
    assert caps(redis, user=0).over({"user": "8"}, "e1") == "user"
