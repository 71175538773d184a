"""`/agent verify`: who may start a look at whose pull request, how often, and how it is steered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.errors import Halt, HaltRecord
from app.domain.event import EventKind, Person, Repository
from app.domain.ports.views import PullView
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.worker.desk.test_conversation import NUMBERS, PEOPLE, ROLES, ended, front, nudge, say
from tests.worker.desk.test_events import Front
from worker.desk.again import PRESSED

__all__ = ["front"]
VIEW = PullView(
    number=7, url="u", state="open", draft=False, title="t", body="b", head_ref="topic",
    head_sha="a" * 40, head_repository=99, base_ref="main", author=Person(5, "dave"),
)  # fmt: skip


@pytest.fixture
def pull(front: Front) -> Front:
    """Pull request 7 of somebody else, from another repository."""
    front.hub.pulls[7] = VIEW
    return front


def started(front: Front) -> Run:
    run_id = say(front, "verify", pull=True)
    assert isinstance(run_id, str)
    run = front.ledger.run(run_id)
    assert run is not None
    return run


def test_a_writer_starts_a_look_at_anybodys_pull_request(pull: Front) -> None:
    run = started(pull)
    assert (run.kind, run.word, run.issue, run.state) == (Kind.VERIFY, "verify", 7, State.ADMIT)
    assert run.requester.login == "alice" and pull.notes() == []
    assert len(pull.hub.comment_reactions) == 1


@pytest.mark.parametrize("who", [one for one in PEOPLE if ROLES[one] not in ("write", "maintain")])
def test_nobody_else_does(pull: Front, who: str) -> None:
    say(pull, "verify", who, pull=True)
    assert pull.ledger.runs(10) == []
    (note,) = pull.notes()
    assert "write access" in note


def test_one_at_a_time_and_no_comment_about_it(pull: Front) -> None:
    run = started(pull)
    assert say(pull, "verify", "carol", pull=True) is None
    assert [one.id for one in pull.ledger.runs(10)] == [run.id] and pull.notes() == []


def test_the_next_look_has_the_same_change_and_so_the_same_comment(pull: Front) -> None:
    first = started(pull)
    ended(pull, first.id)
    second = started(pull)
    assert second.id != first.id and second.change == first.change


def test_it_can_be_asked_after_cancelled_and_repeated(pull: Front) -> None:
    run = started(pull)
    say(pull, "status", pull=True)
    assert f"`{run.id}` (verify" in pull.notes()[0]
    say(pull, "cancel", pull=True)
    row = pull.ledger.row(run.id)
    assert row is not None and row.cancelled
    ended(pull, run.id)
    again = say(pull, "retry", pull=True)
    found = pull.ledger.run(str(again))
    assert found is not None and (found.kind, found.issue) == (Kind.VERIFY, 7)


def test_what_is_said_about_a_second_run_fits_a_pull_request(pull: Front) -> None:
    say(pull, "retry", pull=True)
    assert "no run of mine here to do again; `/agent verify` starts one" in pull.notes()[0]
    run = started(pull)
    assert say(pull, "retry", pull=True) is None
    note = pull.notes()[1]
    assert f"A run for this pull request is at work already (`{run.id}`)" in note
    ended(pull, run.id)
    for _ in range(4):
        ended(pull, started(pull).id)
    assert say(pull, "verify", pull=True) is None
    note = pull.notes()[2]
    assert "this pull request, with its issue, had 5 runs within an hour" not in note
    assert "this pull request, with its issue, has had 5 runs within an hour" in note


def test_an_issue_is_told_where_it_belongs(pull: Front) -> None:
    assert say(pull, "verify") is None
    (note,) = pull.notes()
    assert "said on a pull request" in note and pull.ledger.runs(10) == []


def test_a_review_can_ask_too(pull: Front) -> None:
    sent = {
        "kind": EventKind.REVIEW,
        "text": "/agent verify",
        "label": "",
        "pull": True,
        "issue": 7,
    }
    run_id = pull.send("review:5:1", sender=Person(1, "alice"), **sent)
    run = pull.ledger.run(str(run_id))
    assert run is not None and run.kind is Kind.VERIFY


def press(front: Front, run_id: str, who: str = "alice", **change: object) -> object:
    key = f"nudge:press:{next(NUMBERS)}"
    sent = {"kind": EventKind.NUDGE, "label": "", "told": PRESSED, "text": run_id, "issue": 0}
    woken = front.send(key, **{**sent, "sender": Person(PEOPLE[who], who), **change})
    assert key not in front.ledger.unhandled_events(100)
    return woken


def test_the_button_of_the_check_run_looks_again(pull: Front) -> None:
    run = started(pull)
    assert press(pull, run.id) is None  # it is at work
    ended(pull, run.id)
    found = pull.ledger.run(str(press(pull, run.id, "carol")))
    assert found is not None and found.id != run.id
    assert (found.kind, found.issue, found.change) == (Kind.VERIFY, 7, run.change)
    assert found.requester.login == "carol" and pull.notes() == []


def test_the_button_does_nothing_for_others_and_on_other_check_runs(pull: Front) -> None:
    run = started(pull)
    ended(pull, run.id)
    fix = str(say(pull, "fix"))
    ended(pull, fix)
    for odd in (fix, "none", "", "../x", "a b"):
        assert press(pull, odd) is None
    assert press(pull, run.id, "bob") is None
    assert press(pull, run.id, sender=Person(1, "alice", "Bot")) is None
    assert press(pull, run.id, repository=Repository(6, "acme", "other")) is None
    assert len(pull.ledger.runs(10)) == 2 and pull.notes() == []


def told(front: Front, run: Run) -> HaltRecord:
    """Why a run that was asked to end is to end, as its next worker hears it."""
    lease = front.ledger.claim(run.id, "desk", 10_000)
    assert lease is not None
    with front.ledger.hold(lease, daily=1) as hold, pytest.raises(Halt) as ended_by:
        hold.look()
    return ended_by.value.record


@pytest.mark.parametrize("state", ["open", "closed"])
def test_closing_the_pull_request_ends_the_look_at_it(pull: Front, state: str) -> None:
    run = started(pull)
    pull.hub.pulls[7] = replace(VIEW, state=state)
    nudge(pull, "pull_request.closed", issue=7, branch="topic")
    row = pull.ledger.row(run.id)
    assert row is not None and row.cancelled == (state == "closed")
    if state == "closed":
        said = told(pull, run)
        assert said.message == "The pull request was closed by alice."
        assert said.next_step.endswith("then say `/agent verify` once more.")


def test_whatever_else_happens_a_closed_pull_request_is_not_called_an_issue(pull: Front) -> None:
    run = started(pull)
    pull.hub.pulls[7] = replace(VIEW, state="closed", merged=True)
    nudge(pull, "repository.edited", issue=0)
    said = told(pull, run)
    assert said.message == "The pull request was merged."
    assert said.next_step == "`/agent verify` is for open pull requests."
