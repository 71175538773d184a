"""`/agent update`: the base merged in as a commit with two parents, checked, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from redis import Redis

from app.domain.errors import HaltRecord, Reason, Refused, Uncertain
from app.domain.event import Person
from app.domain.permissions import Phase
from app.domain.ports.writer import GitHubWriter
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.fakes.github import Files
from tests.worker.desk.going_on import FIXED, Street, street
from tests.worker.desk.made import FILES
from worker.desk.kit import DeskKit
from worker.store.ledger import Ledger

BASE: Files = {**FILES, "news.md": (0o100644, b"news\n")}
MERGED: Files = {**FIXED, "news.md": (0o100644, b"news\n")}


@pytest.fixture
def town(redis: Redis) -> Street:
    made = street(Ledger(redis))
    made.hub.commit_files("main", BASE, "News")
    return made


def admitted(town: Street) -> Run:
    run_id = town.say("/agent update", 60)
    assert run_id is not None
    return town.carry(run_id)


def test_the_base_is_merged_as_a_commit_with_two_parents(town: Street) -> None:
    old, base = town.hub.branches[town.branch], town.hub.branches["main"]
    run = admitted(town)
    assert run.kind is Kind.UPDATE and run.contract is not None and run.state is State.PREPARE
    assert run.contract.base_commit == base and run.contract.head == old
    assert run.contract.fork == town.hub.commits[old].parents[0]
    town.judged(run.id, MERGED)
    run = town.carry(run.id)
    assert run.state is State.COMPLETE and run.explained, run.halt
    made = town.hub.commits[town.hub.branches[town.branch]]
    assert made.parents == (old, base) and made.sha == run.publication.commit
    assert town.hub.trees[made.tree] == MERGED
    assert f"Agent-Run: {run.id}" in made.message
    assert town.evidence(made.sha) == ["success"] and made.sha in town.body()
    (note,) = town.comments(7)
    assert "@alice" in note and "is merged in as" in note and "passed" in note
    assert "not made by the agent" not in town.body()
    # The next look compares with the new base and knows the merge as ours.
    head = town.push({**MERGED, "more.py": (0o100644, b"x\n")})
    again = town.carry(str(town.told("a")))
    assert again.contract is not None and again.contract.base_commit == base
    assert [one.sha for one in again.contract.others] == [head]


def test_what_is_up_to_date_is_said_and_nothing_is_done(town: Street) -> None:
    town.hub.branches["main"] = town.hub.commits[town.hub.branches[town.branch]].parents[0]
    run = admitted(town)
    assert run.halt is not None and run.halt.reason is Reason.NO_CHANGE and run.explained
    (note,) = town.comments(7)
    assert "nothing to merge" in note
    assert town.hub.pulls[7].body == "Ours" and not {Phase.GIT} & set(town.hub.phases)
    assert town.hub.issues[1].labels == ("agent:fix", "bug"), "no label of a Change that is fine"


def test_a_conflict_names_the_files_and_leaves_everything_as_it_was(town: Street) -> None:
    old = town.hub.branches[town.branch]
    run = admitted(town)
    lease = town.ledger.claim(run.id, "runner", 60_000)
    assert lease is not None
    record = HaltRecord(Reason.MERGE_CONFLICT, "Both changed it.", "Merge it.", ("src/widgets.py",))
    town.ledger.save(lease, replace(run, state=State.HALTED, halt=record), release=True)
    run = town.carry(run.id)
    (note,) = town.comments(7)
    assert "src/widgets.py" in note and "the branch is as it was" in note
    assert town.hub.branches[town.branch] == old and town.hub.pulls[7].body == "Ours"


class Wrapped:
    """GitHub refuses to move the ref, in these words."""

    def __init__(self, message: str) -> None:
        self.message = message

    def __call__(self, kit: DeskKit) -> DeskKit:
        @contextmanager
        def write(run: Run, phase: Phase) -> Iterator[GitHubWriter]:
            with kit.write(run, phase) as writer:
                if phase is Phase.GIT:
                    writer.advance_branch = self.refuse  # type: ignore[method-assign]
                yield writer

        return replace(kit, write=write)

    def refuse(self, _branch: str, _commit: str, _old: str) -> str:
        raise Refused(self.message, 403)


def test_changed_workflow_files_are_left_to_githubs_own_button(town: Street) -> None:
    town.wrap = Wrapped(
        "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` "
        "without `workflows` permission"
    )
    old = town.hub.branches[town.branch]
    run = admitted(town)
    town.judged(run.id, MERGED)
    run = town.carry(run.id)
    assert run.halt is not None and run.halt.reason is Reason.WORKFLOW_FILES
    (note,) = town.comments(7)
    assert "Update branch" in note and "@alice" in note
    assert town.hub.branches[town.branch] == old and town.hub.pulls[7].body == "Ours"


def test_a_push_meanwhile_stops_it_and_is_looked_at(town: Street) -> None:
    run = admitted(town)
    town.judged(run.id, MERGED)
    head = town.push({**FIXED, "more.py": (0o100644, b"x = 1\n")})
    run = town.carry(run.id)
    assert run.halt is not None and run.halt.reason is Reason.HEAD_MOVED
    assert town.hub.branches[town.branch] == head
    (key,) = town.ledger.unhandled_events(10)
    assert head in key
    assert len(town.comments(7)) == 1, "who asked is told"


@pytest.mark.parametrize("at", ["commit", "branch", "statement", "check"])
def test_killed_at_any_record_the_branch_holds_one_merge(town: Street, at: str) -> None:
    """The worker dies right before a write is recorded as done."""
    old, base = town.hub.branches[town.branch], town.hub.branches["main"]
    run = admitted(town)
    town.judged(run.id, MERGED)

    class Killed(BaseException):
        pass

    def dying(kit: DeskKit) -> DeskKit:
        hold = kit.hold
        real = hold.fulfil

        def fulfil(key: str, data: dict[str, object]) -> None:
            if key == at:
                hold.fulfil = real  # type: ignore[method-assign]
                raise Killed
            real(key, data)

        hold.fulfil = fulfil  # type: ignore[method-assign, assignment]
        return kit

    town.wrap = dying
    with pytest.raises(Killed):
        town.carry(run.id)
    town.wrap = lambda kit: kit
    lease = town.ledger.calls.command("HSET", f"pw:run:{run.id}", "lease", "1")
    assert lease is not None
    run = town.carry(run.id)
    assert run.state is State.COMPLETE, run.halt
    made = town.hub.commits[town.hub.branches[town.branch]]
    assert made.parents == (old, base)
    assert len([one for one in town.hub.checks if one.head == made.sha]) == 1
    assert len(town.comments(7)) == 1


def test_an_answer_that_was_lost_is_looked_for(town: Street) -> None:
    run = admitted(town)
    town.judged(run.id, MERGED)

    def losing(kit: DeskKit) -> DeskKit:
        @contextmanager
        def write(asked: Run, phase: Phase) -> Iterator[GitHubWriter]:
            with kit.write(asked, phase) as writer:
                real = writer.advance_branch

                def lost(branch: str, commit: str, old: str) -> str:
                    real(branch, commit, old)
                    raise Uncertain("no answer")

                writer.advance_branch = lost  # type: ignore[method-assign]
                yield writer

        return replace(kit, write=write)

    town.wrap = losing
    assert town.carry(run.id).state is State.COMPLETE


@pytest.mark.parametrize("who", [Person(2, "bob"), Person(5, "dave"), Person(9, "zed")])
def test_only_a_writer_updates(town: Street, who: Person) -> None:
    assert town.say("/agent update", 61, who) is None
    assert len(town.runs()) == 1 and "was not done" in town.comments(7)[0]


def test_said_on_the_issue_it_is_about_its_pull_request(town: Street) -> None:
    run = town.ledger.run(str(town.say("/agent update", 62, on_pull=False)))
    assert run is not None and run.kind is Kind.UPDATE and run.publication.pull == 7


def test_without_a_pull_request_of_ours_nothing_is_done(town: Street) -> None:
    town.hub.pulls[7] = replace(town.hub.pulls[7], head_ref="topic")
    assert town.say("/agent update", 63) is None
    assert len(town.runs()) == 1 and "There is none here" in town.comments(7)[0]


def test_a_closed_pull_request_is_not_updated(town: Street) -> None:
    town.hub.pulls[7] = replace(town.hub.pulls[7], state="closed")
    town.told("closed", "pull_request.closed")
    assert town.say("/agent update", 64) is None
    assert any("was closed" in one for one in town.comments(7))
    assert len(town.runs()) == 1


def test_what_is_said_beside_another_run_fits_the_pull_request(town: Street) -> None:
    assert town.say("/agent retry", 59) is None
    (note,) = town.comments(7)
    assert "The pull request #7 is open, so no new one is begun." in note
    assert "`/agent revise`" in note and "set the label `agent:fix` on its issue again" in note
    run_id = town.say("/agent update", 60)
    assert town.say("/agent verify", 61) is None
    _, note = town.comments(7)
    assert f"A run for this pull request is at work already (`{run_id}`)" in note
