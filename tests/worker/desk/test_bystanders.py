"""People's own pull requests: where approval is required they pass, and ours never that way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.approval import CHECK
from app.domain.errors import Unavailable
from app.domain.event import EventKind, Person
from app.domain.ports.views import PullView
from tests.fakes.github import FakeCheck
from tests.worker.desk.test_approval import NUMBERS, WAITS, Town, town
from worker.desk.events import handle_event

__all__ = ["town"]
DAVE = Person(5, "dave")


def theirs(town: Town, branch: str = "topic", start: str = "", home: int = 5) -> PullView:
    """Pull request 8 of dave's, whose head is a commit of his on `start`."""
    hub = town.hub
    hub.branches[branch] = start or hub.branches["main"]
    files = hub.trees[hub.commits[hub.branches[branch]].tree]
    head = hub.commit_files(branch, {**files, "d.py": (0o100644, b"d\n")}, "Mine", DAVE)
    view = replace(
        hub.pulls[2], number=8, head_ref=branch, head_sha=head, author=DAVE, head_repository=home
    )
    hub.pulls[8] = view
    return view


def tell(town: Town, told: str = "pull_request.opened", branch: str = "topic") -> None:
    town.tell(told, issue=8, branch=branch, sender=DAVE)


def on(town: Town, head: str) -> list[FakeCheck]:
    return [one for one in town.hub.checks if (one.name, one.head) == (CHECK, head)]


@pytest.fixture
def required(town: Town) -> Town:
    town.hub.required["main"] = frozenset({CHECK, "ci"})
    return town


@pytest.mark.parametrize("told", ["opened", "synchronize", "reopened", "edited"])
@pytest.mark.parametrize("home", [5, 99])
def test_where_a_ruleset_requires_it_others_pass(required: Town, told: str, home: int) -> None:
    view = theirs(required, home=home)
    tell(required, f"pull_request.{told}")
    (check,) = on(required, view.head_sha)
    assert (check.conclusion, check.title) == ("success", "Not an agent change")
    before = required.hub.check_writes
    tell(required)
    assert required.hub.check_writes == before


def test_where_nothing_requires_it_nothing_is_written(town: Town) -> None:
    view = theirs(town)
    tell(town)
    assert on(town, view.head_sha) == []


@pytest.mark.parametrize(
    ("text", "written"),
    [(b"approval_on_all: true\n", True), (b"approval_on_all: 1\n", False), (b"", False)],
)
def test_the_repository_can_ask_for_it_itself(town: Town, text: bytes, written: bool) -> None:
    main = town.hub.trees[town.hub.commits[town.hub.branches["main"]].tree]
    town.hub.commit_files("main", {**main, ".github/agent.yml": (0o100644, text)})
    view = theirs(town)
    tell(town)
    assert bool(on(town, view.head_sha)) == written


@pytest.mark.parametrize("told", ["closed", "ready_for_review"])
def test_other_events_say_nothing(required: Town, told: str) -> None:
    view = theirs(required)
    tell(required, f"pull_request.{told}")
    assert on(required, view.head_sha) == []


def test_a_closed_one_and_one_of_a_foreign_owner_get_nothing(required: Town) -> None:
    view = theirs(required)
    required.hub.pulls[8] = replace(view, state="closed")
    tell(required)
    required.hub.pulls[8] = view
    required.front.desk = replace(
        required.front.desk, approvals=replace(required.approvals, owners=frozenset())
    )
    tell(required)
    assert on(required, view.head_sha) == []


def test_ours_never_passes_that_way(required: Town) -> None:
    assert required.says() == WAITS
    for told in ("opened", "synchronize", "reopened", "edited"):
        required.tell(f"pull_request.{told}")
    assert required.says() == WAITS
    view = theirs(required, "agent/issue-9-zzz")  # a name of ours that the ledger does not know
    tell(required, branch="topic")
    tell(required, branch="agent/issue-9-zzz")
    assert on(required, view.head_sha) == []


def test_the_same_commit_under_another_name_never_passes(required: Town) -> None:
    head = required.hub.pulls[2].head_sha
    required.hub.pulls[8] = replace(required.hub.pulls[2], number=8, head_ref="topic", author=DAVE)
    tell(required)
    required.approvals.look([required.run.change])
    assert required.says(head) == ("action_required", "Another pull request has this head")


def test_our_commit_below_theirs_needs_the_approval_until_it_is_merged(required: Town) -> None:
    view = theirs(required, start=required.hub.pulls[2].head_sha)
    tell(required)
    assert on(required, view.head_sha) == []
    ours = required.hub.pulls[2]
    required.hub.pulls[2] = replace(ours, state="closed")
    tell(required)
    assert on(required, view.head_sha) == []
    required.hub.pulls[2] = replace(ours, state="closed", merged=True)
    tell(required)
    assert [one.conclusion for one in on(required, view.head_sha)] == ["success"]


def test_a_trailer_alone_makes_nothing_ours(required: Town) -> None:
    view = theirs(required)
    commit = required.hub.commits[view.head_sha]
    for name in ("run1", "nobody"):
        message = f"Mine\n\nAgent-Run: {name}\n"
        required.hub.commits[view.head_sha] = replace(commit, message=message)
        required.hub.checks = [one for one in required.hub.checks if one.head != view.head_sha]
        tell(required)
        assert [one.conclusion for one in on(required, view.head_sha)] == ["success"]


def test_github_away_leaves_the_event_open_and_a_refusal_does_not(required: Town) -> None:
    view = theirs(required)
    required.hub.down = True
    with pytest.raises(Unavailable):
        tell(required)
    (key,) = required.front.ledger.unhandled_events(10)
    required.hub.down = False
    handle_event(key, required.front.desk)
    assert len(on(required, view.head_sha)) == 1
    assert required.front.ledger.unhandled_events(10) == []
    del required.hub.pulls[8]
    tell(required)


def test_a_desk_that_looks_at_no_approvals_does_nothing(required: Town) -> None:
    view = theirs(required)
    required.front.desk = replace(required.front.desk, approvals=None)
    required.front.send(
        f"nudge:{next(NUMBERS)}", kind=EventKind.NUDGE, told="pull_request.opened", label="",
        text="", issue=8, branch="topic", pull=True, sender=DAVE,
    )  # fmt: skip
    assert on(required, view.head_sha) == []


def test_a_fork_may_call_its_branch_as_we_do(required: Town) -> None:
    view = theirs(required, "agent/issue-9-zzz", home=99)
    tell(required, branch="agent/issue-9-zzz")
    assert [one.conclusion for one in on(required, view.head_sha)] == ["success"]


def test_a_head_that_our_branch_was_forced_to_does_not_pass(required: Town) -> None:
    view = theirs(required)
    required.hub.pulls[2] = replace(required.hub.pulls[2], head_sha=view.head_sha)
    tell(required)
    assert on(required, view.head_sha) == []
