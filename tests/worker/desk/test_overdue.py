"""Labelled issues that nobody told of: opened as if told, or the label is asked for again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import pytest
from redis import Redis

from app.domain.event import Person, Repository
from app.domain.overdue import AGE, Labelled, event_of
from app.domain.triggers import FOUND, one_act
from tests.standins.github_world import REPO, Acme
from tests.worker.desk.ways import access_to, app_of
from worker.desk.events import EventDesk, handle_event
from worker.desk.github.survey import installations, repositories
from worker.desk.overdue import Overdue
from worker.store.ledger import Ledger

LATE = round(AGE.total_seconds() * 1000) + 10_000


@dataclass
class Looked:
    """The keeper over a stand-in and a real ledger, `late` ms after now."""

    world: Acme
    ledger: Ledger
    desk: EventDesk
    look: Overdue
    late: int = LATE

    def issue(self, body: str = "B") -> int:
        return self.world.standin.open_issue(REPO, "eve", "T", body)

    def open(self) -> list[str]:
        return self.ledger.unhandled_events(9)


@pytest.fixture
def looked(world: Acme, redis: Redis) -> Looked:
    ledger, access, app = Ledger(redis), access_to(world), app_of(world)
    access.tokens = replace(access.tokens, shelf=ledger)
    numbers = itertools.count(1)

    def now() -> int:
        return ledger.now() + made.late

    @contextmanager
    def places(installation: int) -> Iterator[Iterator[Repository]]:
        with access.tokens.survey(installation, app.mint_survey) as held:
            yield repositories(app, held.token.secret)

    desk = EventDesk(
        ledger=ledger,
        write=access.write,
        new_run_id=lambda: f"run{next(numbers)}",
        now=now,
        owners=frozenset({"acme"}),
        read=access.look,
    )
    look = Overdue(ledger, desk, partial(installations, app), places, access.client)
    made = Looked(world, ledger, desk, look)
    return made


def test_a_label_that_nobody_told_of_opens_a_run_once(looked: Looked) -> None:
    number = looked.issue()
    looked.world.standin.add_label(REPO, number, "alice", "agent:fix")
    assert looked.look() == 1
    (key,) = looked.open()
    event = looked.ledger.event(key)
    assert event is not None
    assert (event.sender.login, event.title, event.body, event.told) == ("alice", "T", "B", FOUND)
    assert (event.installation, event.issue) == (looked.world.installation, number)
    assert handle_event(key, looked.desk) == "run1"
    assert looked.look() == 0 and looked.open() == []
    assert looked.ledger.tokens() == []  # all were revoked
    assert not any(token["alive"] for token in looked.world.standin.tokens())


def test_a_fresh_label_is_left_to_its_delivery(looked: Looked) -> None:
    looked.world.standin.add_label(REPO, looked.issue(), "alice", "agent:fix")
    looked.late = LATE // 2
    assert looked.look() == 0 and looked.open() == []


def test_a_label_that_was_told_is_not_found_again(looked: Looked) -> None:
    number = looked.issue()
    looked.world.standin.add_label(REPO, number, "alice", "agent:fix")
    shown = looked.world.standin.issue(REPO, number)
    (label,) = shown["labels"]
    key = f"issue:{looked.world.repo_id}:{number}:{label['id']}:{shown['updated_at']}"
    looked.look()
    (found,) = looked.open()
    event = looked.ledger.event(found)
    assert event is not None
    looked.ledger.redis.flushall()
    looked.ledger.add_event(replace(event, key=key, told=""))
    assert looked.look() == 0 and looked.open() == [key]


def test_where_something_happened_since_the_label_is_asked_for_again(looked: Looked) -> None:
    hub, number = looked.world.standin, looked.issue()
    hub.add_label(REPO, number, "alice", "agent:fix")
    for _ in range(11):  # an act of the stand-in moves the issue's time by a second
        hub.comment(REPO, number, "eve", "and do this, too")
    before = len(hub.comments(REPO, number))
    assert looked.look() == 0 and looked.open() == []
    assert looked.look() == 0
    (said,) = hub.comments(REPO, number)[before:]
    assert "sets it again" in said["body"] and "@alice" in said["body"]
    assert hub.issue(REPO, number)["labels"] == []


def test_others_are_not_looked_at(looked: Looked) -> None:
    looked.world.standin.add_label(REPO, looked.issue(), "alice", "agent:fix")
    looked.look.desk.__dict__["owners"] = frozenset({"somebody"})
    looked.world.standin.clear_log()
    assert looked.look() == 0
    paths = [one["path"] for one in looked.world.standin.log()]
    assert paths == ["/app/installations"]


def found(**other: object) -> Labelled:
    one = Labelled(
        Repository(5, "acme", "widgets"), 1, 7, "T", "B", Person(3, "eve"),
        "2026-11-30T10:00:00Z", "agent:fix", 9, 44, Person(1, "alice"), "2026-11-30T10:00:00Z",
    )  # fmt: skip
    return replace(one, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "other",
    [
        {"by": Person(8, "robot[bot]", "Bot")},
        {"act": 0, "at": "", "by": Person(0, "ghost")},
        {"updated_at": "2026-11-30T10:00:11Z"},
        {"at": "yesterday"},
        {"at": "2026-11-30T10:00:00"},
    ],
)
def test_what_is_unclear_is_never_opened(other: dict[str, object]) -> None:
    assert event_of(found()) is not None
    assert event_of(found(**other)) is None


def test_a_delivery_that_comes_late_is_the_same_act() -> None:
    first = event_of(found())
    assert first is not None
    late = replace(first, key="issue:5:7:9:2026-11-30T10:00:01Z", told="")
    assert one_act(first, late) and one_act(late, first)
    assert not one_act(first, replace(late, updated_at="2026-11-30T11:00:00Z"))
