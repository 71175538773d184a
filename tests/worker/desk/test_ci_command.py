"""`/agent ci`: the head's own tree once more, without what held the repository's workflows back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from redis import Redis

from app.domain.check import Standing
from app.domain.errors import Reason
from app.domain.event import Person
from app.domain.permissions import Phase
from app.domain.record import Kept
from app.domain.run import Run
from app.domain.state import Kind, State
from app.domain.told import skip_directive
from app.domain.workflows import TRAILER
from tests.worker.desk.going_on import FIXED, Street, street
from worker.desk.kit import DeskKit
from worker.store.ledger import Ledger

MORE = {**FIXED, "more.py": (0o100644, b"x\n")}


@pytest.fixture
def town(redis: Redis) -> Street:
    """The head of the pull request is held back by its message."""
    made = street(Ledger(redis))
    hold(made)
    return made


def hold(town: Street, message: str = f"The fix\n\n\nAgent-Run: a\n{TRAILER}\n") -> str:
    head = town.hub.branches[town.branch]
    town.hub.commits[head] = replace(town.hub.commits[head], message=message)
    return str(head)


def said(town: Street, number: int = 60) -> Run:
    run_id = town.say("/agent ci", number)
    assert run_id is not None
    return town.carry(run_id)


def test_the_same_tree_is_the_head_without_the_trailer_and_its_evidence_is_signed_anew(
    town: Street,
) -> None:
    held = town.hub.branches[town.branch]
    run = said(town)
    assert run.kind is Kind.UNHOLD and run.state is State.COMPLETE and run.explained, run.halt
    made = town.hub.commits[town.hub.branches[town.branch]]
    assert made.sha == run.publication.commit and made.parents == (held,)
    assert made.tree == town.hub.commits[held].tree and skip_directive(made.message) == ""
    first = town.ledger.run(town.first)
    assert first is not None and first.verdict == run.verdict and first.results == run.results
    assert town.evidence(made.sha) == ["success"] and made.sha in town.body()
    assert "Closes #1" in town.body() and "held back" not in town.body()
    (note,) = town.comments(7)
    assert "@alice" in note and made.sha[:12] in note and "nothing was checked again" in note
    notes = [one.data for one in town.ledger.journal(run.id) if one.kind is Kept.NOTE]
    assert {"reissued": town.first, "commit": held} in notes

    again = said(town, 61)
    assert again.halt is not None and again.halt.reason is Reason.NO_CHANGE
    assert town.hub.branches[town.branch] == made.sha, "said twice, pushed once"
    assert town.told("own", branch=town.branch) is None, "our own push is no news"


def test_what_is_not_held_is_said_and_nothing_is_pushed(town: Street) -> None:
    head = hold(town, "The fix\n\nAgent-Run: a\n")
    run = said(town)
    assert run.halt is not None and run.halt.reason is Reason.NO_CHANGE
    (note,) = town.comments(7)
    assert "is not held back" in note and "nothing was pushed" in note
    assert town.hub.branches[town.branch] == head and town.hub.pulls[7].body == "Ours"
    assert not {Phase.GIT, Phase.EVIDENCE} & set(town.hub.phases)


def test_a_head_that_nobody_checked_is_not_let_run(town: Street) -> None:
    head = town.push(MORE, message=f"Mine\n\n{TRAILER}")
    run = said(town)
    assert run.halt is not None and run.halt.reason is Reason.HEAD_MOVED
    (note,) = town.comments(7)
    assert "is not what the evidence is about" in note
    assert town.hub.branches[town.branch] == head


def test_a_push_before_the_commit_stops_it(town: Street) -> None:
    run_id = town.say("/agent ci", 60)
    assert run_id is not None
    lease = town.ledger.claim(run_id, "desk", 60_000)
    assert lease is not None
    with town.ledger.hold(lease, daily=1_000_000) as held:
        stage = town.crew(lease.run, held).stages[State.ADMIT]
        town.ledger.save(lease, stage(lease.run), release=True)
    head = town.push(MORE)
    run = town.carry(run_id)
    assert run.halt is not None and run.halt.reason is Reason.HEAD_MOVED, run.halt
    assert town.hub.branches[town.branch] == head
    (waiting,) = town.ledger.unhandled_events(10)
    assert waiting == f"nudge:head:5:7:{head}", "what is there now is looked at"


def test_what_people_pushed_and_held_back_is_let_run_and_still_named(town: Street) -> None:
    head = town.push(MORE, message=f"Mine\n\n\n{TRAILER}\n")
    looked = str(town.told("a"))
    town.carry(looked)
    town.judged(looked, MORE, Standing.FAILED)
    town.carry(looked)
    run = said(town)
    assert run.state is State.COMPLETE and run.verdict is not None, run.halt
    made = town.hub.commits[run.publication.commit]
    assert made.parents == (head,) and town.evidence(made.sha) == ["action_required"]
    assert head in town.body() and "not made by the agent" in town.body()


@pytest.mark.parametrize("who", [Person(2, "bob"), Person(5, "dave"), Person(9, "zed")])
def test_only_a_writer_lets_workflows_run(town: Street, who: Person) -> None:
    assert town.say("/agent ci", 60, who) is None
    assert len(town.runs()) == 1 and "was not done" in town.comments(7)[0]


@pytest.mark.parametrize("at", ["commit", "statement", "branch", "check"])
def test_killed_at_any_record_there_is_one_commit(town: Street, at: str) -> None:
    """The worker dies right before a write is recorded as done."""
    held = town.hub.branches[town.branch]

    class Killed(BaseException):
        pass

    def dying(kit: DeskKit) -> DeskKit:
        hold = kit.hold
        real = hold.fulfil

        def fulfil(key: str, data: dict[str, object]) -> None:
            if key == at:
                raise Killed
            real(key, data)

        hold.fulfil = fulfil  # type: ignore[method-assign, assignment]
        return kit

    town.wrap = dying
    run_id = town.say("/agent ci", 60)
    assert run_id is not None
    with pytest.raises(Killed):
        town.carry(run_id)
    town.wrap = lambda kit: kit
    town.ledger.calls.command("HSET", f"pw:run:{run_id}", "lease", "1")
    run = town.carry(run_id)
    assert run.state is State.COMPLETE, run.halt
    made = town.hub.commits[town.hub.branches[town.branch]]
    assert made.parents == (held,) and made.sha == run.publication.commit
    assert len([one for one in town.hub.checks if one.head == made.sha]) == 1
    assert len(town.comments(7)) == 1
