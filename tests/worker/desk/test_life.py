"""Life around our open pull request: what people and GitHub do to it while it is looked at.

What happens around a run that fixes is in test_conversation, test_admit and test_publish.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from redis import Redis

from app.domain.errors import Reason
from app.domain.event import Repository
from app.domain.run import Run
from app.domain.state import State
from tests.worker.desk.going_on import FIXED, Street, street
from tests.worker.desk.test_heads import MORE
from tests.worker.desk.test_update import BASE, MERGED
from worker.desk.events import handle_event
from worker.store.ledger import Ledger


@pytest.fixture
def town(redis: Redis) -> Street:
    return street(Ledger(redis))


def looking(town: Street) -> Run:
    """A look that the runner is at work for."""
    town.push(MORE)
    return town.carry(str(town.told("a")))


def ends(town: Street, run: Run) -> bool:
    row = town.ledger.row(run.id)
    assert row is not None
    return row.cancelled


def closed(town: Street) -> None:
    town.hub.pulls[7] = replace(town.hub.pulls[7], state="closed")


def test_a_pull_request_closed_by_a_person_ends_the_look_and_the_change(town: Street) -> None:
    run = looking(town)
    closed(town)
    town.told("closed", "pull_request.closed")
    assert ends(town, run)
    change = town.ledger.change(town.first)
    assert change is not None and not change.open


@pytest.mark.parametrize("message", ["Merge\n\n[skip ci]", "Merge"])
def test_a_merge_meanwhile_ends_the_look_and_a_skip_directive_is_said(
    town: Street, message: str
) -> None:
    run = looking(town)
    commit = town.hub.commit_files("main", MORE, message)
    town.hub.pulls[7] = replace(town.hub.pulls[7], state="closed", merged=True, merge_commit=commit)
    town.told("merged", "pull_request.closed")
    assert ends(town, run)
    said = any("skip the merged commit" in one for one in town.comments(7))
    assert said == ("[skip ci]" in message)


@pytest.mark.parametrize("what", ["closed", "gone", "other branch"])
def test_without_a_delivery_the_live_read_before_publishing_ends_it(
    town: Street, what: str
) -> None:
    run = looking(town)
    town.judged(run.id, MORE)
    if what == "gone":
        del town.hub.pulls[7]
    elif what == "closed":
        closed(town)
    else:
        town.hub.pulls[7] = replace(town.hub.pulls[7], head_sha="9" * 40)
    run = town.carry(run.id)
    assert run.state is State.HALTED and run.explained and run.halt is not None
    expected = Reason.HEAD_MOVED if what == "other branch" else Reason.CANCELLED
    assert run.halt.reason is expected and town.hub.checks == []


def test_made_ready_or_a_draft_again_the_evidence_is_the_same(town: Street) -> None:
    run = looking(town)
    town.hub.pulls[7] = replace(town.hub.pulls[7], draft=False)
    assert town.told("ready", "pull_request.ready_for_review") is None
    town.judged(run.id, MORE)
    run = town.carry(run.id)
    assert run.state is State.COMPLETE and not run.publication.draft
    assert town.hub.pulls[7].draft is False, "we neither make ready nor take it back here"


def test_a_branch_deleted_before_the_merge_is_not_made_again(town: Street) -> None:
    town.hub.commit_files("main", BASE)
    run = town.carry(str(town.say("/agent update", 70)))
    town.judged(run.id, MERGED)
    del town.hub.branches[town.branch]
    run = town.carry(run.id)
    assert run.halt is not None and run.halt.reason is Reason.CANCELLED
    assert "deleted" in run.halt.message and town.branch not in town.hub.branches


def test_a_branch_that_was_renamed_is_not_followed(town: Street) -> None:
    town.hub.pulls[7] = replace(town.hub.pulls[7], head_ref="mine")
    town.push(MORE)
    assert town.told("a") is None, "the live pull request does not show our branch"
    assert town.told("b", branch="mine") is None
    assert len(town.runs()) == 1


def retargeted(town: Street) -> None:
    town.hub.branches["release"] = town.hub.branches["main"]
    town.hub.pulls[7] = replace(town.hub.pulls[7], base_ref="release")


def updating(town: Street) -> Run:
    """An update that the runner is at work for."""
    town.hub.commit_files("main", BASE)
    return town.carry(str(town.say("/agent update", 70)))


def test_a_base_that_was_changed_back_needs_no_look(town: Street) -> None:
    retargeted(town)
    town.hub.pulls[7] = replace(town.hub.pulls[7], base_ref="main")
    assert town.told("edited", "pull_request.edited") is None and len(town.runs()) == 1


@pytest.mark.parametrize("word", ["look", "update"])
def test_a_base_that_is_changed_ends_the_run_at_work_and_the_new_one_is_looked_at(
    town: Street, word: str
) -> None:
    run = looking(town) if word == "look" else updating(town)
    old = town.hub.branches[town.branch]
    retargeted(town)
    assert town.told("edited", "pull_request.edited") is None and ends(town, run)
    assert town.ledger.unhandled_events(10) == ["nudge:edited"], "it waits for its turn"
    phases = len(town.hub.phases)
    for _ in range(3):
        handle_event("nudge:edited", town.front.desk)
    assert len(town.hub.phases) == phases, "while it waits nothing is asked again"
    town.judged(run.id, MORE if word == "look" else MERGED)
    run = town.carry(run.id)
    assert run.halt is not None and run.halt.reason is Reason.BASE_CHANGED and run.explained
    assert "from `main` to `release` by alice" in run.halt.message
    assert town.hub.branches[town.branch] == old and town.hub.checks == []
    again = town.carry(str(handle_event("nudge:edited", town.front.desk)))
    assert again.contract is not None and again.contract.base_branch == "release"
    notes = [one for one in town.comments(7) if "`base-changed`" in one]
    assert len(notes) == (1 if word == "update" else 0), "who asked is told, nobody else is called"


@pytest.mark.parametrize("word", ["look", "update"])
def test_a_change_of_the_base_that_nobody_told_of_stops_it_before_publishing(
    town: Street, word: str
) -> None:
    run = looking(town) if word == "look" else updating(town)
    old = town.hub.branches[town.branch]
    town.judged(run.id, MORE if word == "look" else MERGED)
    retargeted(town)
    run = town.carry(run.id)
    assert run.halt is not None and run.halt.reason is Reason.BASE_CHANGED
    assert town.hub.branches[town.branch] == old and town.hub.checks == []
    (key,) = town.ledger.unhandled_events(10)
    again = town.carry(str(handle_event(key, town.front.desk)))
    assert again.contract is not None and again.contract.base_branch == "release"


@pytest.mark.parametrize("what", ["changed back", "unreadable", "pushed"])
def test_a_run_goes_on_where_its_base_is_the_same_or_cannot_be_seen(
    town: Street, what: str
) -> None:
    run = looking(town)
    if what == "unreadable":
        del town.hub.pulls[7]
    if what == "pushed":
        retargeted(town)  # a push alone is told: the base is looked at before publishing
    told = "synchronize" if what == "pushed" else "edited"
    assert town.told("edited", f"pull_request.{told}") is None and not ends(town, run)


def test_evidence_about_another_base_is_not_signed_anew(town: Street) -> None:
    head = town.hub.branches[town.branch]
    retargeted(town)
    run = town.carry(str(town.say("/agent ci", 60)))
    assert run.halt is not None and run.halt.reason is Reason.BASE_CHANGED
    assert town.hub.branches[town.branch] == head


@pytest.mark.parametrize("what", ["closed", "locked", "deleted"])
def test_what_becomes_of_the_issue_does_not_end_a_look_at_its_pull_request(
    town: Street, what: str
) -> None:
    run = looking(town)
    if what == "deleted":
        del town.hub.issues[1]
    else:
        change = {"state": "closed"} if what == "closed" else {"locked": True}
        town.hub.issues[1] = replace(town.hub.issues[1], **change)  # type: ignore[arg-type]
    town.told("i", f"issues.{what}", issue=1, pull=False, branch="")
    assert not ends(town, run)
    town.judged(run.id, MORE)
    run = town.carry(run.id)
    assert run.state is State.COMPLETE and run.explained
    assert "People's commits" in town.body()


def archived(town: Street) -> None:
    town.hub.archived = True


def moved_to_a_foreign_owner(town: Street) -> None:
    town.hub.repository = Repository(5, "evil", "widgets")


@pytest.mark.parametrize("act", [archived, moved_to_a_foreign_owner])
def test_a_repository_that_may_not_be_used_ends_its_looks(
    town: Street, act: Callable[[Street], None]
) -> None:
    run = looking(town)
    act(town)
    town.told("r", "repository.archived", issue=0, pull=False, branch="")
    assert ends(town, run)


def test_a_renamed_repository_is_the_same_by_its_id(town: Street) -> None:
    run = looking(town)
    town.hub.repository = Repository(5, "acme", "gadgets")
    town.judged(run.id, MORE)
    assert town.carry(run.id).state is State.COMPLETE


def test_a_default_branch_of_another_name_is_merged_like_any(town: Street) -> None:
    hub = town.hub
    hub.default_branch = "trunk"
    hub.branches["trunk"] = hub.branches.pop("main")
    hub.pulls[7] = replace(hub.pulls[7], base_ref="trunk")
    hub.commit_files("trunk", BASE)
    run = town.carry(str(town.say("/agent update", 71)))
    assert run.contract is not None and run.contract.base_branch == "trunk"
    town.judged(run.id, MERGED)
    assert town.carry(run.id).state is State.COMPLETE
    assert "`trunk` at" in "".join(town.comments(7))


def test_a_base_branch_that_is_gone_is_said(town: Street) -> None:
    town.push(MORE)
    run_id = str(town.told("a"))
    del town.hub.branches["main"]
    run = town.carry(run_id)
    assert run.halt is not None and run.halt.reason is Reason.BASE_LOST
    assert "Not certified" in town.body()


@pytest.mark.parametrize("home", [0, 99])
def test_a_fork_is_never_followed_or_updated(town: Street, home: int) -> None:
    town.hub.pulls[7] = replace(town.hub.pulls[7], head_repository=home)
    town.push(FIXED)
    assert town.told("a") is None
    assert town.say("/agent update", 72) is None
    assert len(town.runs()) == 1


def test_github_away_is_a_wait_and_nothing_is_lost(town: Street) -> None:
    run = looking(town)
    town.judged(run.id, MORE)
    town.hub.down = True
    run = town.carry(run.id)
    assert run.state is State.PUBLISH and run.wait is not None
    town.hub.down = False
    assert town.carry(run.id).state is State.COMPLETE
