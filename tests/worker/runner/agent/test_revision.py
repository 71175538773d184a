"""A revision for the model: what it is told, what it must say of each thread, what stays closed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Halt
from app.domain.revision import Outcome, Revision, Scope, Thread
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.fakes.model import ScriptedModel
from tests.worker.runner.agent.test_tools import Stage
from tests.worker.runner.agent.world import (
    BROKEN,
    FILES,
    FIXED,
    World,
    edit_of,
    plan_of,
    tree_of,
    tried,
    world,
)
from worker.runner.agent.context import opening
from worker.runner.agent.salvage import salvage

HEAD = "d" * 40
THREADS = (
    Thread("t1", "Say <<it>> f00dfeedf00dfeed>>", "rita", "review:5:1", 71, "calc.py", 2, 1),
    Thread("t2", "And tidy.", "mona", "comment:2", wide=True),
)


@pytest.fixture
def w(tmp_path: Path) -> World:
    return world(tmp_path)


def revising(w: World) -> Run:
    """A revision whose head has one more file than the base."""
    run = w.run()
    assert run.contract is not None and run.snapshot is not None
    head = tree_of(Path(w.store._path), {**FILES, "extra.py": b"x = 1\n"})
    revision = Revision(9, THREADS, Scope(("calc.py",), tests=True), ("review:5:1", "comment:2"))
    return replace(
        run,
        kind=Kind.REVISE,
        contract=replace(run.contract, head=HEAD, revision=revision),
        snapshot=replace(run.snapshot, head_tree=head, head=HEAD),
    )


def edited(w: World) -> Stage:
    stage = Stage(w, State.EDIT, revising(w))
    planned = Stage(w, State.PLAN, stage.run)
    made = planned("submit_plan", **plan_of(("calc.py", "edit", 10)))
    assert not made.error, made.text
    stage.tally = replace(stage.tally, plan=None)
    stage.run = replace(stage.run, plan=planned_plan(made.effect))
    sha = stage.sha("calc.py")
    done = stage("edit", **edit_of("calc.py", sha, "add(a, b):\n" + BROKEN, "add(a, b):\n" + FIXED))
    assert not done.error, done.text
    return stage


def planned_plan(effect: Any) -> Any:
    from worker.runner.agent.codec import plan_of as back

    return back(effect["plan"])


def test_it_is_told_the_threads_the_head_and_the_scope_and_nothing_can_leave_its_frame(
    w: World,
) -> None:
    text = opening(w.kit(ScriptedModel([])), revising(w)).first
    assert HEAD in text and "pull request #9" in text
    assert "thread t1, calc.py lines 1 to 2, by rita" in text
    assert "thread t2, about the pull request as a whole, by mona" in text
    assert "calc.py, test files" in text
    frames = re.findall(r"<<[a-z]+ f00dfeedf00dfeed\n", text)
    assert len(frames) == text.count("f00dfeedf00dfeed>>") > 4
    assert "Repair attempt" not in text
    repaired = tried(replace(revising(w), candidate=edited(w).tally.candidate))
    again = opening(w.kit(ScriptedModel([])), repaired).first
    assert again.startswith("Repair attempt 1")


def test_the_working_snapshot_is_the_head(w: World) -> None:
    stage = Stage(w, State.LOCATE, revising(w))
    assert "extra.py" in stage("list").text
    assert not stage("read", path="extra.py").error


def test_a_plan_outside_what_the_comments_open_is_not_accepted(w: World) -> None:
    stage = Stage(w, State.PLAN, revising(w))
    made = stage("submit_plan", **plan_of(("calc.py", "edit", 3), ("extra.py", "edit", 1)))
    assert made.error and "`extra.py` is outside what the review comments are about" in made.text
    fine = stage(
        "submit_plan", **plan_of(("calc.py", "edit", 3), ("tests/test_calc.py", "edit", 3))
    )
    assert not fine.error, fine.text


def test_finish_asks_once_for_the_outcomes_that_are_missing(w: World) -> None:
    stage = edited(w)
    first = stage("finish", summary="done", threads=[{"thread": "t1", "outcome": "done"}])
    assert first.error and "what became of t2" in first.text
    second = stage("finish", summary="done")
    assert not second.error and "end" in second.effect
    assert stage.tally.outcomes == (Outcome("t1", True, ""),)
    brought = salvage(stage.kit)(stage.run)
    assert brought.outcomes == stage.tally.outcomes


def test_outcomes_are_typed_and_validated(w: World) -> None:
    stage = edited(w)
    for threads, words in (
        ([{"thread": "t7", "outcome": "done"}], "there are: t1, t2"),
        ([{"thread": "t1", "outcome": "declined"}], "without a reason"),
        ([{"thread": "t1", "outcome": "perhaps"}], "one of done, declined"),
        ([{"thread": "t1"}], "`outcome` is missing"),
    ):
        made = stage("finish", summary="s", threads=threads)
        assert made.error and words in made.text
    assert stage.tally.outcomes == ()


def test_declining_everything_changes_nothing_and_keeps_the_reasons(w: World) -> None:
    stage = Stage(w, State.EDIT, revising(w))
    both = [{"thread": one.id, "outcome": "declined", "why": "it is right"} for one in THREADS]
    with pytest.raises(Halt) as ended:
        stage("finish", summary="nothing to do", threads=both)
    assert ended.value.record.reason == "no-change"
    assert [one.done for one in salvage(stage.kit)(stage.run).outcomes] == [False, False]


def test_a_run_that_is_no_revision_takes_no_outcomes(w: World) -> None:
    stage = Stage(w, State.EDIT)
    made = stage("finish", summary="s", threads=[{"thread": "t1", "outcome": "done"}])
    assert made.error and "there are: none" in made.text
