"""One follow-up commit, fast-forward alone, found again after every uncertain outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.domain.errors import Halt, Park, Reason, Uncertain
from app.domain.evidence import Result
from app.domain.permissions import Phase
from app.domain.repo_config import OnStop, RepoConfig
from app.domain.run import Run
from app.domain.state import State
from tests.fakes.github import BOT, FakeWriter, tree_id
from tests.worker.desk.made import AFTER
from tests.worker.desk.revised import BRANCH, HEAD_FILES, NEWER, PATH, PULL, RITA, Revising
from worker.desk.remains import remains
from worker.desk.stages.explain import explain
from worker.desk.stages.renew import renew


@pytest.fixture
def made() -> Revising:
    return Revising()


def pushed_by_rita(made: Revising, name: str = "n.md") -> str:
    hub = made.desk.hub
    files = dict(hub.trees[hub.commits[hub.branches[BRANCH]].tree])
    sha = hub.commit_files(BRANCH, {**files, name: (0o100644, b"n\n")}, "By hand")
    hub.authors[sha] = RITA
    return sha


def test_the_tested_tree_becomes_one_commit_on_the_live_head(made: Revising) -> None:
    hub = made.desk.hub
    run = renew(made.kit())(made.tested())
    assert run.state is State.COMPLETE
    head = hub.branches[BRANCH]
    commit = hub.commits[head]
    assert head == run.publication.commit == hub.pulls[PULL].head_sha
    assert commit.parents == (made.head,) and hub.trees[commit.tree][PATH][1] == NEWER
    assert commit.message.splitlines()[-1] == "Agent-Run: rev"
    body = hub.pulls[PULL].body
    assert head in body and "What the review asked" in body and "Ours." in body
    assert [(c.head, c.conclusion) for c in hub.checks] == [(head, "success")]
    signed = made.desk.hold.intent("statement")
    assert signed is not None and signed["commit"] == head
    assert set(hub.issues[1].labels) == {"bug", "agent:done"}
    renew(made.kit())(made.tested())
    assert hub.branches[BRANCH] == head and len(hub.checks) == 1


@pytest.mark.parametrize("lost", ["advance_branch", "commit", "update_pull", "check_run"])
@pytest.mark.parametrize("did", [True, False])
def test_an_answer_that_was_lost_never_makes_a_second_commit_on_the_branch(
    made: Revising, monkeypatch: pytest.MonkeyPatch, lost: str, did: bool
) -> None:
    real = getattr(FakeWriter, lost)

    def once(writer: FakeWriter, *words: object, **named: object) -> object:
        monkeypatch.setattr(FakeWriter, lost, real)
        if did:
            real(writer, *words, **named)
        raise Uncertain("the connection broke")

    monkeypatch.setattr(FakeWriter, lost, once)
    run = made.tested()
    try:
        run = renew(made.kit())(run)
    except Park:
        run = renew(made.kit())(run)
    assert run.state is State.COMPLETE
    hub = made.desk.hub
    assert hub.commits[hub.branches[BRANCH]].parents == (made.head,)
    assert run.publication.commit == hub.branches[BRANCH] and len(hub.checks) == 1


def test_a_head_that_moved_goes_back_to_the_gate_and_is_not_pushed_over(made: Revising) -> None:
    theirs = pushed_by_rita(made)
    run = renew(made.kit())(made.tested())
    assert (run.state, run.heads, run.verdict) == (State.GATE, (theirs,), None)
    assert [one.author for one in run.people] == [RITA]
    assert made.desk.hub.branches[BRANCH] == theirs
    assert Phase.GIT not in made.desk.hub.phases[1:]


def test_a_push_in_the_very_moment_is_found_by_the_refusal(
    made: Revising, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = FakeWriter.advance_branch

    def race(writer: FakeWriter, branch: str, commit: str, old: str) -> str:
        pushed_by_rita(made)
        return real(writer, branch, commit, old)

    monkeypatch.setattr(FakeWriter, "advance_branch", race)
    run = renew(made.kit())(made.tested())
    assert run.state is State.GATE and run.heads == (made.desk.hub.branches[BRANCH],)


def test_after_three_heads_the_fourth_ends_it_with_its_reason(made: Revising) -> None:
    pushed_by_rita(made)
    run = replace(made.tested(), heads=("1" * 40, "2" * 40, "3" * 40))
    with pytest.raises(Halt) as ended:
        renew(made.kit())(run)
    assert ended.value.record.reason is Reason.HEAD_MOVED
    assert "4 times" in ended.value.record.message


def test_our_commit_below_a_persons_is_adopted_and_called_stale(made: Revising) -> None:
    """The branch was moved, the answer was lost, and somebody pushed on top of our commit."""
    first = renew(made.kit())(made.tested())
    ours = first.publication.commit
    record = made.desk.hold.intents.pop("branch:0")
    made.desk.hold.intend("branch:0", {k: v for k, v in record.items() if k != "done"})
    made.desk.hold.intents.pop("check", None)
    theirs = pushed_by_rita(made)
    run = renew(made.kit())(made.tested())
    assert run.publication.commit == ours and run.publication.overtaken == theirs
    assert made.desk.hub.branches[BRANCH] == theirs
    assert "**Stale:**" in made.desk.hub.pulls[PULL].body


def test_a_head_of_another_tree_than_the_one_worked_on_is_never_built_upon(made: Revising) -> None:
    run = made.tested()
    assert run.snapshot is not None
    wrong = replace(run, snapshot=replace(run.snapshot, head_tree="f" * 40))
    with pytest.raises(Halt) as ended:
        renew(made.kit())(wrong)
    assert ended.value.record.reason is Reason.INTEGRITY
    assert made.desk.hub.branches[BRANCH] == made.head


Spoil = Callable[[Revising], object]


def closed(made: Revising) -> None:
    view = made.desk.hub.pulls[PULL]
    made.desk.hub.pulls[PULL] = replace(view, state="closed")


def retargeted(made: Revising) -> None:
    view = made.desk.hub.pulls[PULL]
    made.desk.hub.pulls[PULL] = replace(view, base_ref="release")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda m: m.desk.hub.roles.update(alice="read"), Reason.REFUSED_ROLE),
        (lambda m: m.desk.hub.branches.pop(BRANCH), Reason.CANCELLED),
        (lambda m: m.desk.hub.branches.pop("main"), Reason.BASE_LOST),
        (closed, Reason.CANCELLED),
        (retargeted, Reason.BASE_CHANGED),
        (lambda m: setattr(m.desk, "owners", frozenset()), Reason.REFUSED_OWNER),
    ],
)
def test_what_is_asked_again_before_the_push(made: Revising, spoil: Spoil, reason: Reason) -> None:
    run = made.tested()
    spoil(made)
    with pytest.raises(Halt) as ended:
        renew(made.kit())(run)
    assert ended.value.record.reason is reason
    assert made.desk.hub.branches.get(BRANCH) in (made.head, None)


def test_partial_work_is_pushed_only_where_drafts_of_it_are_wanted(made: Revising) -> None:
    run = made.tested(Result.PARTIAL)
    assert run.contract is not None
    patch = replace(run, contract=replace(run.contract, config=RepoConfig(on_stop=OnStop.PATCH)))
    with pytest.raises(Halt) as ended:
        renew(made.kit())(patch)
    assert ended.value.record.reason is Reason.MERGE_GATE
    done = renew(made.kit())(run)
    assert done.state is State.COMPLETE
    hub = made.desk.hub
    assert hub.pulls[PULL].title == "[incomplete] Agent fix for #1: add is wrong"
    assert set(hub.issues[1].labels) == {"bug", "agent:incomplete"}


def test_a_halt_tells_what_was_pushed_and_only_that(made: Revising) -> None:
    run = made.tested()
    assert remains(made.kit())(run).publication.commit == ""
    done = renew(made.kit())(run)
    assert remains(made.kit())(run).publication.commit == done.publication.commit


def test_the_ending_answers_each_thread_once_and_frees_the_comments(made: Revising) -> None:
    from tests.worker.desk.revised import on_line

    hub = made.desk.hub
    hub.inline.append(on_line(41, "Say it."))
    run = made.tested()
    assert run.contract is not None and run.contract.revision is not None
    inline = replace(run.contract.revision.threads[0], id="t2", comment=41, path=PATH, wide=False)
    revision = replace(
        run.contract.revision, threads=(*run.contract.revision.threads, inline),
        events=("comment:50", "review:5:30"),
    )  # fmt: skip
    run = replace(run, contract=replace(run.contract, revision=revision))
    told = explain(made.kit())(renew(made.kit())(run))
    again = explain(made.kit())(replace(told, explained=False))
    assert told.explained and again.explained
    ours = [one for one in hub.inline if one.author == BOT]
    assert len(ours) == 1 and "patchwarrant:thread:rev:t2" in ours[0].body
    endings = [c for c in hub.comments if "patchwarrant:ending:rev" in c.body]
    assert len(endings) == 1 and endings[0].issue == PULL
    assert f"revised in {run_commit(told)}" in endings[0].body
    assert set(made.took) == {"comment:50", "review:5:30"}


def run_commit(run: Run) -> str:
    assert run.publication.commit
    return run.publication.commit


def test_a_halted_revision_shows_its_patch_on_the_pull_request(made: Revising) -> None:
    from app.domain.errors import HaltRecord
    from app.domain.record import Kept

    hold = made.desk.hold
    hold.note(Kept.NOTE, {"patch": hold.put(b"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+the patch\n")})
    halt = HaltRecord(Reason.HEAD_MOVED, "It moved.", "Again.")
    run = replace(made.tested(), state=State.HALTED, halt=halt, verdict=None)
    explain(made.kit())(run)
    (ending,) = [c for c in made.desk.hub.comments if "ending" in c.body]
    assert ending.issue == PULL and "the patch" in ending.body and "`head-moved`" in ending.body
    assert set(made.desk.hub.issues[1].labels) == {"agent:fix", "bug"}


def test_the_tree_that_is_published_is_built_on_the_head(made: Revising) -> None:
    assert tree_id(HEAD_FILES) == made.desk.hub.commits[made.head].tree
    assert AFTER != NEWER
