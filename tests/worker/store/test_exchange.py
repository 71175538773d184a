"""What roles leave for each other, and what a server must promise."""

from __future__ import annotations

import threading
import time

import pytest
from redis import Redis

from app.domain.errors import Halt, Reason, Unavailable
from tests.redis_server import Server, redis_server
from worker.store.connect import connect
from worker.store.ledger import Ledger


@pytest.fixture
def ledger(redis: Redis) -> Ledger:
    return Ledger(redis)


def test_the_brake_names_who_pulled_it(ledger: Ledger) -> None:
    assert ledger.paused() == ""
    ledger.pause("ana")
    assert ledger.paused() == "ana"
    ledger.resume()
    assert ledger.paused() == ""


def test_tokens_are_listed_until_they_are_dropped(ledger: Ledger) -> None:
    assert ledger.tokens() == []
    ledger.keep_token("r1/read", b"\x00sealed\xff", 1_800_000_000_000, "r1")
    ledger.keep_token("r1/publish", b"other", 1, "r1")
    publish, read = ledger.tokens()
    assert (read.name, read.sealed, read.expires, read.run) == (
        "r1/read",
        b"\x00sealed\xff",
        1_800_000_000_000,
        "r1",
    )
    assert (read.until, publish.until) == (0, 0)
    ledger.keep_token("r1/read", b"\x00sealed\xff", 1_800_000_000_000, "r1", 77)
    assert [token.until for token in ledger.tokens()] == [0, 77]
    assert "sealed" not in repr(read).replace("SealedToken", "")
    ledger.drop_token(publish.name)
    ledger.drop_token("never")
    assert [token.name for token in ledger.tokens()] == ["r1/read"]


def test_a_request_is_taken_once(ledger: Ledger) -> None:
    ledger.ask("q1", {"run": "r1", "fence": 3}, 30)
    assert ledger.take_request("q1") == {"run": "r1", "fence": 3}
    assert ledger.take_request("q1") is None


def test_an_answer_reaches_the_one_who_waits(ledger: Ledger) -> None:
    sender = threading.Timer(0.2, lambda: ledger.answer_request("q1", {"sealed": "x"}, 30))
    sender.start()
    assert ledger.await_answer("q1", 120) == {"sealed": "x"}
    sender.join()


def test_no_answer_is_none_in_time(ledger: Ledger) -> None:
    began = time.monotonic()
    assert ledger.await_answer("q1", 0.2) is None
    assert time.monotonic() - began < 60  # and not for ever


def test_the_newest_answer_counts_and_expires(ledger: Ledger, redis: Redis) -> None:
    ledger.answer_request("q1", {"n": 1}, 30)
    ledger.answer_request("q1", {"n": 2}, 30)
    assert 0 < redis.pttl("pw:answer:q1") <= 30_000
    assert ledger.await_answer("q1", 0) == {"n": 2}
    assert ledger.await_answer("q1", 0) is None


def test_one_owner_leads_a_role(ledger: Ledger, redis: Redis) -> None:
    assert ledger.leader("desk", "a", 60_000)
    assert ledger.leader("desk", "a", 60_000)
    assert not ledger.leader("desk", "b", 60_000)
    assert ledger.leader("runner", "b", 60_000)
    redis.delete("pw:leader:desk")  # as if its time were over
    assert ledger.leader("desk", "b", 60_000)


def test_a_durable_server_is_accepted(ledger: Ledger) -> None:
    ledger.check_server()


@pytest.mark.parametrize(
    ("name", "value", "back"),
    [
        ("appendfsync", "everysec", "always"),
        ("maxmemory-policy", "allkeys-lru", "noeviction"),
        ("appendonly", "no", "yes"),
    ],
)
def test_a_forgetful_server_is_refused(
    ledger: Ledger, redis: Redis, name: str, value: str, back: str
) -> None:
    redis.config_set(name, value)
    try:
        with pytest.raises(Halt) as halt:
            ledger.check_server()
        Ledger(redis, durable=False).check_server()
    finally:
        redis.config_set(name, back)
    assert halt.value.record.reason is Reason.NEEDS_OPERATOR
    assert f"`{name}` is {value}, set it to `{back}`" in halt.value.record.message


@pytest.mark.parametrize("hidden", ["-config", "-info"])
def test_a_server_that_hides_its_settings_is_refused_with_what_to_grant(hidden: str) -> None:
    with redis_server() as server, server.client() as client:
        client.acl_setuser(
            "app", enabled=True, passwords=["+p"], keys=["*"], commands=["+@all", hidden]
        )
        app = Redis(unix_socket_path=server.socket, username="app", password="p")
        with app, pytest.raises(Halt) as halt:
            Ledger(app).check_server()
    assert halt.value.record.reason is Reason.NEEDS_OPERATOR
    assert "`+config|get` and `+info`" in halt.value.record.next_step


def test_a_server_that_is_away_is_unavailable(redis_process: Server) -> None:
    client = connect("unix:///nonexistent/redis.sock")
    with client, pytest.raises(Unavailable):
        Ledger(client).check_server()
