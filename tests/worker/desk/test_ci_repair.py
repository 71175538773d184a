"""Red CI on our own draft: the gate wakes the desk, and the desk begins one revision, or none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from redis import Redis

from app.domain import ci_repair
from app.domain.ci_repair import TOLD
from app.domain.event import EventKind
from app.domain.ports.ci import FailedReport, Report
from app.domain.repo_config import RepoConfig
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.worker.desk.made import office
from tests.worker.desk.test_approval import Town
from tests.worker.desk.test_events import Front
from tests.worker.desk.test_gate_look import gates, reported, says
from worker.desk.events import handle_event
from worker.store.approvals import Approvals
from worker.store.ledger import Ledger

RED = Report("build", "failure")
FAILED = ("action_required", "The repository's own CI failed")


def town_of(redis: Redis, repairs: int) -> Town:
    made = office()
    made.hub.roles.update(dave="write")
    # The gate waits for it: what passed was made ready, and is no draft that could be repaired.
    made.hub.required["main"] = frozenset({"build"})
    ledger = Ledger(redis)
    town = Town(
        Front(ledger, made.hub),
        made,
        Approvals(ledger.calls),
        RepoConfig(ci_repair=repairs),
    )
    said = FailedReport("build", "failure", "One failed", "last line", ("src/widgets.py:2: No",))
    town.hub.said["build"] = said
    return town


@pytest.fixture
def town(redis: Redis) -> Town:
    return town_of(redis, 1)


def key(town: Town) -> str:
    return ci_repair.key_of(5, 2, town.hub.pulls[2].head_sha)


def rung(town: Town) -> str | None:
    """What the keeper does with what the gate asked for: the run that is woken."""
    (waiting,) = town.front.ledger.unhandled_events(10)
    assert waiting == key(town)
    woken = handle_event(waiting, town.front.desk)
    return woken


def unasked(town: Town) -> bool:
    return town.front.ledger.event(key(town)) is None


def begun(town: Town) -> Run:
    run = town.front.ledger.run(rung(town) or "")
    assert run is not None
    return run


def ended(town: Town, run: Run) -> None:
    """The run stops before anything was pushed."""
    lease = town.front.ledger.claim(run.id, "test", 60_000)
    assert lease is not None
    over = replace(lease.run, state=State.HALTED, explained=True)
    town.front.ledger.save(lease, over, release=True)


def test_red_ci_begins_one_revision_in_the_name_of_who_asked(town: Town) -> None:
    reported(town, RED)
    assert says(town) == FAILED
    assert "Repairs begun by itself: 0 of at most 1." in gates(town)[0].summary
    run = begun(town)
    assert run.kind is Kind.REVISE and run.change == town.run.change and run.issue == 1
    assert run.requester.login == "alice" and run.event == key(town) and run.word == ""
    assert (run.publication.pull, run.publication.branch) == (2, town.run.publication.branch)
    event = town.front.ledger.event(run.event)
    assert event is not None and event.told == TOLD
    assert "build (failure) One failed" in event.text and "src/widgets.py:2: No" in event.text
    assert "Repairs begun by itself: 1 of at most 1." in gates(town)[0].summary
    assert handle_event(run.event, town.front.desk) in (None, run.id)  # it came a second time
    assert [one.id for one in town.front.ledger.runs(10) if one.kind is Kind.REVISE] == [run.id]


def test_it_waits_for_a_run_that_still_tells_its_end(town: Town) -> None:
    ledger = town.front.ledger
    run_id = town.front.send(
        "comment:70", kind=EventKind.COMMENT, text="/agent revise More.", comment=70, issue=2,
        pull=True, label="",
    )  # fmt: skip
    assert run_id is not None
    lease = ledger.claim(run_id, "test", 60_000)
    assert lease is not None
    ledger.save(lease, replace(lease.run, state=State.HALTED), release=True)
    reported(town, RED)
    assert rung(town) is None and ledger.unhandled_events(10) == [key(town)]
    run = ledger.run(run_id)
    assert run is not None
    ended(town, run)
    assert begun(town).event == key(town)


def test_the_bound_holds_and_a_head_is_repaired_once(town: Town) -> None:
    reported(town, RED)
    ended(town, begun(town))
    reported(town, Report("build", "failure"), Report("lint", "failure"))
    assert says(town) == FAILED
    kinds = [run.kind for run in town.front.ledger.runs(10)]
    assert kinds.count(Kind.REVISE) == 1 and town.front.ledger.unhandled_events(10) == []


def test_none_begins_unless_the_repository_wants_it(redis: Redis) -> None:
    town = town_of(redis, 0)
    reported(town, RED)
    assert says(town) == FAILED and unasked(town)
    assert "Repairs" not in gates(town)[0].summary


def test_none_begins_while_something_is_not_done(town: Town) -> None:
    reported(town, RED, Report("slow", ""))
    assert says(town) == FAILED and unasked(town)
    reported(town, RED, Report("slow", "success"))
    assert not unasked(town)


def test_none_begins_on_a_head_that_people_pushed(town: Town) -> None:
    town.push("carol")
    reported(town, RED)
    assert unasked(town)


def test_none_begins_while_a_run_is_at_work(town: Town) -> None:
    run_id = town.front.send(
        "comment:70", kind=EventKind.COMMENT, text="/agent revise More.", comment=70, issue=2,
        pull=True, label="",
    )  # fmt: skip
    assert run_id is not None
    reported(town, RED)
    assert unasked(town)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [({"draft": False}, "no draft any more"), ({"state": "closed"}, "not open")],
)
def test_what_is_true_when_it_would_begin_decides(
    town: Town, change: dict[str, object], outcome: str
) -> None:
    reported(town, RED)
    town.hub.pulls[2] = replace(town.hub.pulls[2], **change)  # type: ignore[arg-type]
    assert rung(town) is None
    assert [run.kind for run in town.front.ledger.runs(10)] == [Kind.FIX]


def test_a_push_between_gate_and_desk_leaves_it_to_people(town: Town) -> None:
    reported(town, RED)
    old = key(town)
    town.push("carol")
    assert handle_event(old, town.front.desk) is None
    assert all(run.kind is not Kind.REVISE for run in town.front.ledger.runs(10))


def test_an_owner_that_the_operator_does_not_allow_gets_none(town: Town) -> None:
    reported(town, RED)
    town.front.desk = replace(town.front.desk, owners=frozenset({"other"}))
    assert rung(town) is None
