"""When a draft is made ready, when a review is asked for, and of whom: as a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.approval import Facts
from app.domain.event import Person
from app.domain.ports.approval import Vote
from app.domain.ports.views import PullView
from app.domain.ready import (
    FIRST_MS,
    TRIES,
    Asked,
    Done,
    Passed,
    Past,
    asked_of,
    asks,
    marks,
    may_try,
    refused,
    told,
)
from app.domain.repo_config import Approval, Ready
from app.domain.run import Run
from app.domain.state import Kind
from tests.worker.desk.made import new_run

HEAD = "c" * 40
BOT = Person(900, "patchwarrant[bot]", "Bot")
DRAFT = PullView(2, "u", "open", True, "t", "b", "agent/issue-1-a", HEAD, 5, "main", BOT)
OPEN = replace(DRAFT, draft=False)
FACTS = Facts("open", HEAD, "main", Approval.NOT_REQUESTER, "write", None)
GATE, BOTH, NONE = Passed(True, False), Passed(True, True), Passed(False, True)
FRESH = Past()


def test_refusals_are_waited_for_twice_as_long_each_time_and_end() -> None:
    past, now, waits = FRESH, 1_000_000, []
    for _ in range(TRIES):
        assert may_try(past, HEAD, now)
        no = refused(past, HEAD, now)
        past = replace(past, no=no)
        waits.append((no.again - now) // FIRST_MS)
        assert not may_try(past, HEAD, no.again - 1)
        now = no.again
    assert waits == [1, 2, 4, 8, 16]
    assert not may_try(past, HEAD, now + 10**12), "it was the last"
    assert "not tried again" in told(past.no, "No.")
    other = "d" * 40
    assert may_try(past, other, now) and refused(past, other, now).times == 1
    assert "try 1 of 5, the next after 1970-01-01 00:30 UTC): No." in told(
        refused(FRESH, HEAD, 0), "No."
    )


@pytest.mark.parametrize(
    ("ready", "passed", "view", "past", "mark", "ask"),
    [
        (Ready.GATE, GATE, DRAFT, FRESH, True, False),
        (Ready.GATE, GATE, OPEN, Past(Done.DONE), False, True),
        (Ready.GATE, GATE, OPEN, Past(Done.DONE, ask=Done.DONE), False, False),
        (Ready.GATE, GATE, OPEN, Past(Done.DONE, ask=Done.BEGUN), False, True),
        (Ready.GATE, GATE, DRAFT, Past(Done.BEGUN), True, False),  # nothing had been sent
        (Ready.GATE, GATE, OPEN, Past(Done.BEGUN), False, True),  # adopted
        (Ready.GATE, GATE, DRAFT, Past(Done.DONE), False, False),  # a person took it back
        (Ready.GATE, GATE, DRAFT, Past(back=True), False, False),
        (Ready.GATE, GATE, DRAFT, Past(Done.BEGUN, back=True), False, False),
        (Ready.GATE, NONE, DRAFT, FRESH, False, False),
        (Ready.GATE, NONE, OPEN, FRESH, False, False),
        (Ready.GATE, GATE, replace(DRAFT, state="closed"), FRESH, False, False),
        (Ready.GATE, GATE, replace(DRAFT, head_sha="d" * 40), FRESH, False, False),
        (Ready.GATE, GATE, replace(OPEN, title="[draft] t"), FRESH, False, False),
        (Ready.GATE, GATE, replace(DRAFT, title="[draft] t"), FRESH, True, False),
        (Ready.APPROVAL, GATE, DRAFT, FRESH, False, True),
        (Ready.APPROVAL, GATE, DRAFT, Past(back=True), False, False),
        (Ready.APPROVAL, BOTH, DRAFT, Past(ask=Done.DONE), True, False),
        (Ready.APPROVAL, NONE, DRAFT, FRESH, False, False),
        (Ready.NEVER, BOTH, DRAFT, FRESH, False, False),
        (Ready.NEVER, BOTH, OPEN, FRESH, False, False),
    ],
)
def test_when(
    ready: Ready, passed: Passed, view: PullView, past: Past, mark: bool, ask: bool
) -> None:
    facts = replace(FACTS, ready=ready)
    assert marks(facts, passed, view, past) is mark
    assert asks(facts, passed, view, past) is ask


def run(login: str, kind: Kind = Kind.FIX, account: int = 1, bot: bool = False) -> Run:
    return replace(new_run(), kind=kind, requester=Person(account, login, "Bot" if bot else "User"))


VOTE = Vote(1, Person(4, "Carol"), "APPROVED", HEAD, "2026-11-30T10:00:00Z")


@pytest.mark.parametrize(
    ("runs", "facts", "view", "people", "teams"),
    [
        ([run("alice")], FACTS, OPEN, ("alice",), ()),
        ([run("eve", Kind.EXPLAIN), run("alice")], FACTS, OPEN, ("alice",), ()),
        ([run("alice"), run("bob", Kind.REVISE)], FACTS, OPEN, ("alice",), ()),
        ([run("helper[bot]", bot=True)], FACTS, OPEN, (), ()),
        ([run("alice", account=900)], FACTS, OPEN, (), ()),
        ([run("alice")], FACTS, replace(OPEN, asked=("Alice",)), (), ()),
        ([run("carol")], replace(FACTS, reviews=(VOTE,)), OPEN, (), ()),
        (
            [run("alice")],
            replace(
                FACTS, reviewers=("bob", "ALICE", "acme/core", "acme/web", "patchwarrant[bot]")
            ),
            replace(OPEN, asked_teams=("web",)),
            ("alice", "bob"),
            ("acme/core",),
        ),
        ([], FACTS, OPEN, (), ()),
    ],
)
def test_whom(
    runs: list[Run], facts: Facts, view: PullView, people: tuple[str, ...], teams: tuple[str, ...]
) -> None:
    assert asked_of(runs, facts, view) == Asked(people, teams)
