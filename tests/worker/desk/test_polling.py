"""`intake: poll`: GitHub's own list of deliveries into the real ledger, once each, in any crash."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import HTTPServer
from typing import Any

import pytest
from redis import Redis

from app.domain.errors import Refused, Unavailable
from app.domain.event import Event, EventKind
from app.domain.record import EVENTS_OPEN, INBOX
from app.webhook import read_event
from tests.standins.github_world import REPO, Acme
from tests.worker.desk.test_missed import Receiver
from tests.worker.desk.ways import app_of
from worker.desk.github.deliveries import PATH, Deliveries
from worker.desk.polling import FIRST_MS, MARK, OVERLAP_MS, REFUSED_REST, Poll
from worker.store.ledger import Ledger

NOBODY = "http://127.0.0.1:9/nobody"


@pytest.fixture
def ledger(redis: Redis) -> Ledger:
    return Ledger(redis, durable=False)


class Rung(list[str]):
    """What was rung, and a stop in the middle where a test wants one."""

    def __init__(self) -> None:
        super().__init__()
        self.then: Callable[[str], None] = lambda _key: None

    def __call__(self, key: str) -> None:
        self.then(key)
        self.append(key)


def poll_of(world: Acme, ledger: Ledger, rung: Rung, **more: Any) -> Poll:
    told: dict[str, Any] = {"now": ledger.now, "clock": lambda: 0.0, **more}
    return Poll(Deliveries(app_of(world)), ledger, rung, **told)


def labelled(world: Acme, title: str = "T") -> int:
    """An issue with our label; nobody took its webhooks."""
    world.standin.set_webhook("patchwarrant", NOBODY, "s")
    number = world.standin.open_issue(REPO, "alice", title, "Expected: 1\nActual: 2")
    world.standin.add_label(REPO, number, "alice", "agent:fix")
    world.standin.wait_delivered()
    return number


def open_events(redis: Redis) -> list[str]:
    return [key.decode() for key in redis.zrange(EVENTS_OPEN, 0, -1)]


def calls(world: Acme) -> list[str]:
    return [one["path"] for one in world.standin.log() if one["path"].startswith(PATH)]


def test_a_label_comes_in_without_any_address(world: Acme, ledger: Ledger, redis: Redis) -> None:
    number = labelled(world)
    rung = Rung()
    assert poll_of(world, ledger, rung)() == 1
    (key,) = open_events(redis)
    event = ledger.event(key)
    assert event is not None and rung == [key]
    assert (event.kind, event.issue, event.sender.login) == (
        EventKind.ISSUE_LABELED, number, "alice",
    )  # fmt: skip
    assert redis.llen(INBOX) == 0  # no receiver is there to empty it


def test_both_ways_give_one_event(world: Acme, ledger: Ledger, redis: Redis) -> None:
    """The very bytes that a receiver would take, and the list's own record, have the same keys."""
    number = labelled(world)
    world.standin.close_issue(REPO, number, "alice")
    world.standin.wait_delivered()
    taken = set()
    for one in world.standin.deliveries():
        found = read_event(one["event"], one["payload"].encode())
        if isinstance(found, Event):
            taken.add(found.key)
            ledger.add_event(found)
    assert poll_of(world, ledger, Rung())() == 0
    assert set(open_events(redis)) == taken and len(taken) == 2


def test_only_what_can_be_an_event_is_read_and_each_once(world: Acme, ledger: Ledger) -> None:
    labelled(world)
    poll = poll_of(world, ledger, Rung())
    world.standin.clear_log()
    assert poll() == 1
    told = [(one["event"], one["action"]) for one in world.standin.deliveries()]
    worth = [one for one in told if one in {("issues", "opened"), ("issues", "labeled")}]
    assert len([path for path in calls(world) if path != PATH]) == len(worth) < len(told)
    world.standin.clear_log()
    assert poll_of(world, ledger, Rung())() == 0  # another process: the ledger remembers
    assert set(calls(world)) == {PATH}


def test_a_quiet_pass_is_one_question_that_is_not_counted(world: Acme, ledger: Ledger) -> None:
    labelled(world)
    poll = poll_of(world, ledger, Rung())
    poll()
    world.standin.clear_log()
    assert poll() == 0
    (asked,) = [one for one in world.standin.log() if one["path"] == PATH]
    assert asked["status"] == 304 or len(calls(world)) == 1
    labelled(world, "Another")
    assert poll() == 1


def test_a_process_killed_anywhere_goes_on_where_it_stopped(
    world: Acme, ledger: Ledger, redis: Redis
) -> None:
    class Killed(Exception):
        pass

    def die(_key: str) -> None:
        raise Killed

    numbers = [labelled(world, f"T{n}") for n in range(3)]
    rung = Rung()
    rung.then = die
    for _ in numbers:  # dies after each row is written, before anything else
        with pytest.raises(Killed):
            poll_of(world, ledger, rung)()
    assert len(open_events(redis)) == 3
    assert poll_of(world, ledger, Rung())() == 0  # nothing twice
    assert len(open_events(redis)) == 3
    assert sorted(ledger.unhandled_events(10)) == sorted(open_events(redis))  # the keeper rings


def test_a_listing_that_comes_late_is_not_lost(world: Acme, ledger: Ledger, redis: Redis) -> None:
    labelled(world)
    poll_of(world, ledger, Rung())()
    mark = ledger.mark(MARK)
    redis.zremrangebyrank("pw:polled", 0, -1)
    ledger.set_mark(MARK, mark + OVERLAP_MS - 2_000)  # something newer was listed before it
    labelled(world, "late")
    assert poll_of(world, ledger, Rung())() == 1


def test_the_first_look_goes_back_an_hour_and_no_further(world: Acme, ledger: Ledger) -> None:
    labelled(world)
    later = ledger.now() + FIRST_MS + 5_000
    assert poll_of(world, ledger, Rung(), now=lambda: later)() == 0


@pytest.fixture
def receiver() -> Iterator[str]:
    """The address of something that takes every delivery."""
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    server.taken = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_with_both_only_what_no_receiver_took_is_read(
    world: Acme, ledger: Ledger, receiver: str
) -> None:
    labelled(world)
    told = [one for one in world.standin.deliveries() if one["event"] == "issues"]
    assert {one["status_code"] for one in told} == {502}
    assert poll_of(world, ledger, Rung(), missed=True)() == 1
    world.standin.set_webhook("patchwarrant", receiver, "s")
    number = world.standin.open_issue(REPO, "alice", "Taken", "x")
    world.standin.add_label(REPO, number, "alice", "agent:fix")
    world.standin.wait_delivered()
    assert world.standin.deliveries()[-1]["status_code"] == 202
    assert poll_of(world, ledger, Rung(), missed=True)() == 0
    ledger.redis.flushall()
    assert poll_of(world, ledger, Rung())() == 2


def test_a_rate_limit_is_waited_out(world: Acme, ledger: Ledger) -> None:
    labelled(world)
    at = [0.0]
    poll = poll_of(world, ledger, Rung(), clock=lambda: at[0])
    world.standin.fault("rate_secondary", PATH, retry_after=90)
    with pytest.raises(Unavailable):
        poll()
    world.standin.clear_log()
    at[0] = 89.0
    assert poll() == 0 and calls(world) == []
    at[0] = 91.0
    assert poll() == 1


def test_a_refusal_is_not_repeated_every_few_seconds(world: Acme, ledger: Ledger) -> None:
    labelled(world)
    at = [0.0]
    poll = poll_of(world, ledger, Rung(), clock=lambda: at[0])
    world.standin.fault("status", PATH, status=403, body={"message": "no"})
    with pytest.raises(Refused):
        poll()
    at[0] = REFUSED_REST - 1
    assert poll() == 0
    at[0] = REFUSED_REST
    assert poll() == 1


def test_github_away_in_the_middle_loses_nothing(world: Acme, ledger: Ledger) -> None:
    for n in range(2):
        labelled(world, f"T{n}")
    world.standin.fault("rate_secondary", f"{PATH}/\\d+", nth=3, retry_after=1)
    with pytest.raises(Unavailable):
        poll_of(world, ledger, Rung())()
    assert poll_of(world, ledger, Rung())() == 1


def test_what_cannot_be_read_is_left_and_the_rest_goes_on(world: Acme, ledger: Ledger) -> None:
    labelled(world, "gone")
    labelled(world, "there")
    # opened and labelled of the first, opened of the second
    world.standin.fault("status", f"{PATH}/\\d+", status=404, times=2)
    world.standin.fault("status", f"{PATH}/\\d+", status=200, body={"request": {}})
    assert poll_of(world, ledger, Rung())() == 1


def test_bots_count_only_where_the_operator_names_them(world: Acme, ledger: Ledger) -> None:
    bot = world.standin.act("create_account", login="robot[bot]", kind="Bot")
    world.standin.set_webhook("patchwarrant", NOBODY, "s")
    for n in range(2):
        number = world.standin.open_issue(REPO, "alice", f"T{n}", "x")
        world.standin.add_label(REPO, number, "robot[bot]", "agent:fix")
    world.standin.wait_delivered()
    assert poll_of(world, ledger, Rung())() == 0
    ledger.redis.flushall()
    assert poll_of(world, ledger, Rung(), bots=frozenset({bot["id"]}))() == 2
