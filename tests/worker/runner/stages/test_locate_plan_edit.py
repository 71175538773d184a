"""From looking around to a candidate, and through a repair: the three stages in a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.budget import LARGE, Limits
from app.domain.errors import Halt, Park, Waiting
from app.domain.ports.model import Reply, Request
from app.domain.record import Kept
from app.domain.run import Run
from app.domain.state import State
from tests.fakes.model import Made, ScriptedModel, hashes, reply
from tests.worker.runner.agent.world import (
    BROKEN,
    CALC,
    FIXED,
    World,
    edit_of,
    halted_by,
    plan_of,
    tried,
    world,
)
from worker.runner.agent.context import PROMPTS_VERSION
from worker.runner.agent.kit import Kit
from worker.runner.agent.salvage import salvage
from worker.runner.stages.edit import edit
from worker.runner.stages.locate import locate
from worker.runner.stages.plan import plan

STAGES: dict[State, Callable[[Kit], Callable[[Run], Run]]] = {
    State.LOCATE: locate,
    State.PLAN: plan,
    State.EDIT: edit,
}
WORDS = {"summary": "calc.add subtracts"}
ADD = "def add(a, b):\n" + BROKEN
GOOD = "def add(a, b):\n" + FIXED


def mend(request: Request, new: str = GOOD) -> Reply:
    return reply(("edit", edit_of("calc.py", hashes(request)["calc.py"], ADD, new)))


FIX: list[Made] = [
    reply("I look.", ("read", {"path": "calc.py"}), ("search", {"pattern": "add("})),
    reply(("finish", WORDS)),
    reply(("submit_plan", plan_of(("calc.py", "edit", 2)))),
    mend,
    reply(("run_tests", {"selectors": ["tests/test_calc.py::test_add"]})),
    reply(("finish", {"summary": "add adds now"})),
]


@pytest.fixture
def w(tmp_path: Path) -> World:
    return world(tmp_path)


def carried(run: Run, kit: Kit) -> Run:
    """Move the run through these stages, as the loop over stages would."""
    while run.state in STAGES:
        run = STAGES[run.state](kit)(run)
    return run


def test_a_scripted_fix_ends_with_a_candidate_that_holds_exactly_the_edit(w: World) -> None:
    model = ScriptedModel([FIX])
    run = carried(w.run(), w.kit(model))

    assert run.state is State.VERIFY
    assert run.candidate is not None
    assert w.read(run.candidate.tree, "calc.py") == CALC.replace(BROKEN.encode(), FIXED.encode(), 1)
    assert [delta.path for delta in w.store.deltas(w.base, run.candidate.tree)] == ["calc.py"]
    assert run.grounding is not None
    assert run.grounding.summary == "calc.add subtracts"
    assert run.grounding.paths == ("calc.py",)
    assert run.plan is not None
    assert [f.path for f in run.plan.files] == ["calc.py"]
    assert (run.spend.calls, run.spend.turns, run.spend.card) == (6, 1, "2026-11")
    assert run.spend.dollars == w.hold.spent == 6 * (1_000 * 2 + 100 * 10)
    assert (run.model, run.prompts) == ("claude-sonnet-5-5", PROMPTS_VERSION)
    assert w.tests.asked == [("unit", ("tests/test_calc.py::test_add",), run.candidate.tree, 120)]


def wide(count: int) -> list[Made]:
    names = [("calc.py", "edit", 2), *((f"new{n}.py", "create", 2) for n in range(count - 1))]
    return [
        reply(("finish", WORDS)),
        reply(("submit_plan", plan_of(*names, turns=20))),
        reply(("finish", WORDS)),
    ]


def answer_of(model: ScriptedModel) -> str:
    return str(model.requests[-1].messages[-1]["content"])


@pytest.mark.parametrize(
    ("count", "larger", "accepted"),
    [(8, LARGE, False), (9, LARGE, True), (40, LARGE, True), (41, LARGE, False), (9, None, False)],
)
def test_a_plan_of_many_files_makes_the_run_large_where_it_may(
    w: World, count: int, larger: Limits | None, accepted: bool
) -> None:
    run = w.run()
    assert run.contract is not None
    run = replace(run, contract=replace(run.contract, larger=larger))
    model = ScriptedModel([wide(count)])
    run = locate(w.kit(model))(run)
    if not accepted:  # 20 turns, or so many files, are too many for what this plan makes of it
        assert plan(w.kit(model))(run).state is State.LOCATE
        assert "The plan is not accepted" in answer_of(model)
        return
    run = plan(w.kit(model))(run)
    assert run.state is State.EDIT and run.large and run.limits == LARGE
    first = str(model.requests[0].messages[0])
    assert "at most 8 files" in first and "it may name 40" in first
    with pytest.raises(Halt):
        edit(w.kit(model))(run)
    assert "30 accepted edits" in answer_of(model)


def test_the_stages_are_one_conversation_whose_requests_only_grow(w: World) -> None:
    model = ScriptedModel([FIX])
    carried(w.run(), w.kit(model))
    for before, later in zip(model.requests, model.requests[1:], strict=False):
        assert later.system == before.system
        assert list(later.messages[: len(before.messages)]) == list(before.messages)


def test_a_repair_begins_anew_with_the_records_and_goes_on_from_the_candidate(w: World) -> None:
    def wrong(request: Request) -> Reply:
        return mend(request, "def add(a, b):\n    return a * b\n")

    def again(request: Request) -> Reply:
        sha = hashes(request)["calc.py"]
        return reply(("edit", edit_of("calc.py", sha, "    return a * b\n", FIXED)))

    first = [*FIX[:3], wrong, reply(("finish", WORDS))]
    model = ScriptedModel([first, [again, reply(("finish", WORDS))]])
    run = tried(carried(w.run(), w.kit(model)))
    run = carried(run, w.kit(model))

    assert run.state is State.VERIFY
    assert run.candidate is not None
    assert FIXED.encode() in w.read(run.candidate.tree, "calc.py")
    assert run.spend.turns == 2
    opening = model.requests[5].messages
    assert len(opening) == 1
    text = opening[0]["content"][0]["text"]
    assert text.startswith("Repair attempt 1\n")
    for wanted in (
        "add(2, 3) == 5",
        "+    return a * b",
        "AssertionError",
        "path: calc.py  sha256:",
    ):
        assert wanted in text
    assert "tail" not in text, "the log is paged, not sent"


def test_plan_passes_a_repair_on_without_a_call(w: World) -> None:
    model = ScriptedModel([FIX])
    run = tried(carried(w.run(), w.kit(model)))
    asked = len(model.requests)
    assert plan(w.kit(model))(run).state is State.EDIT
    assert len(model.requests) == asked


def test_finish_without_a_plan_goes_back_to_looking_around(w: World) -> None:
    model = ScriptedModel([[reply(("finish", WORDS)), reply(("finish", WORDS))]])
    run = locate(w.kit(model))(w.run())
    assert run.state is State.PLAN
    assert plan(w.kit(model))(run).state is State.LOCATE


def test_looking_around_for_ever_ends_as_grounding(w: World) -> None:
    model = ScriptedModel([[reply(("finish", WORDS))] * 6])
    with pytest.raises(Halt) as caught:
        carried(w.run(), w.kit(model))
    assert halted_by(caught.value) == "grounding"
    assert "calc.add subtracts" in caught.value.record.details


def test_finish_without_a_change_ends_with_the_models_words(w: World) -> None:
    script = [*FIX[:3], reply(("finish", {"summary": "it is right as it is"}))]
    with pytest.raises(Halt) as caught:
        carried(w.run(), w.kit(ScriptedModel([script])))
    assert halted_by(caught.value) == "no-change"
    assert caught.value.record.details == ("it is right as it is",)


def test_a_repair_that_changes_nothing_is_told_once_and_then_ends(w: World) -> None:
    script = [reply(("finish", {"summary": "cannot"})), reply(("finish", {"summary": "cannot!"}))]
    model = ScriptedModel([FIX, script])
    run = tried(carried(w.run(), w.kit(model)))
    with pytest.raises(Halt) as caught:
        carried(run, w.kit(model))
    assert halted_by(caught.value) == "no-progress"


def test_a_plan_with_a_blocked_path_stops_and_names_the_line_that_unlocks_it(w: World) -> None:
    script = [*FIX[:2], reply(("submit_plan", plan_of(("db/migrations/1.py", "create", 2))))]
    with pytest.raises(Halt) as caught:
        carried(w.run(), w.kit(ScriptedModel([script])))
    assert halted_by(caught.value) == "blocked-path"
    assert "unlock" in caught.value.record.next_step + caught.value.record.message


def test_a_plan_with_problems_is_an_answer_and_a_better_one_is_taken(w: World) -> None:
    model = ScriptedModel(
        [[*FIX[:2], reply(("submit_plan", plan_of(("nope.py", "edit", 2)))), *FIX[2:3]]]
    )
    run = locate(w.kit(model))(w.run())
    run = plan(w.kit(model))(run)
    assert run.state is State.EDIT
    assert "nope.py" in model.requests[3].messages[-1]["content"][0]["content"]


# -- outside the plan ----------------------------------------------------------------------------


def outside(request: Request) -> Reply:
    sha = hashes(request).get("README.md", "0" * 64)
    return reply(("edit", edit_of("README.md", sha, "# calc", "# Calc")))


def amend(number: int) -> Reply:
    add = {"path": f"new{number}.py", "action": "create", "why": "needed", "lines": 3}
    return reply(("amend_plan", {"reason": "it turned out", "add": [add], "remove": []}))


def test_the_third_attempt_outside_the_plan_ends_the_run_with_all_paths(w: World) -> None:
    model = ScriptedModel([[*FIX[:3], outside, mend, outside, outside]])
    with pytest.raises(Halt) as caught:
        carried(w.run(), w.kit(model))
    assert halted_by(caught.value) == "scope"
    assert caught.value.record.details == ("README.md",)
    kept = [entry.data["paths"] for entry in w.hold.journal if entry.kind is Kept.REFUSAL]
    assert kept == [["README.md"]] * 3
    told = salvage(w.kit(model))(w.run())
    assert told.candidate is not None
    assert [change.path for change in told.candidate.changes] == ["calc.py"]


def test_with_both_amendments_used_one_attempt_outside_is_the_end(w: World) -> None:
    model = ScriptedModel([[*FIX[:3], amend(1), amend(2), outside]])
    with pytest.raises(Halt) as caught:
        carried(w.run(), w.kit(model))
    assert halted_by(caught.value) == "scope"


def test_an_amended_plan_lets_the_file_in(w: World) -> None:
    new = {"edits": [{"path": "new1.py", "content": "X = 1\n"}]}
    model = ScriptedModel(
        [[*FIX[:3], amend(1), mend, reply(("edit", new)), reply(("finish", WORDS))]]
    )
    run = carried(w.run(), w.kit(model))
    assert run.candidate is not None
    assert [c.path for c in run.candidate.changes] == ["calc.py", "new1.py"]
    assert run.plan is not None
    assert len(run.plan.amendments) == 1


def test_an_edit_taken_back_is_no_change(w: World) -> None:
    def back(request: Request) -> Reply:
        return reply(("edit", edit_of("calc.py", hashes(request)["calc.py"], GOOD, ADD)))

    model = ScriptedModel([[*FIX[:3], mend, back, reply(("finish", WORDS))]])
    with pytest.raises(Halt) as caught:
        carried(w.run(), w.kit(model))
    assert halted_by(caught.value) == "no-change"


# -- asking --------------------------------------------------------------------------------------

QUESTION = {"questions": [{"question": "Floats too?", "default": "yes"}]}
ASKING: list[Made] = [reply(("read", {"path": "calc.py"}), ("ask", QUESTION)), *FIX[1:]]


def test_a_question_parks_the_run_and_the_answer_goes_on(w: World) -> None:
    model = ScriptedModel([ASKING])
    with pytest.raises(Park) as caught:
        carried(w.run(), w.kit(model))
    assert caught.value.waiting is Waiting.ANSWER
    assert caught.value.seconds == 7 * 86_400
    assert w.hold.journal[-1].data["questions"] == QUESTION["questions"]

    w.hold.note(Kept.NOTE, {"answer": "No, integers.", "event": "comment:1"})
    run = carried(w.run(), w.kit(model))
    assert run.state is State.VERIFY
    assert "No, integers." in model.requests[1].messages[-1]["content"][1]["content"]
    assert len(model.requests) == len(ASKING), "the paid reply was not asked for again"


def test_without_an_answer_in_time_the_defaults_hold(w: World) -> None:
    model = ScriptedModel([ASKING])
    with pytest.raises(Park):
        carried(w.run(), w.kit(model))
    w.now += 86_400_000
    with pytest.raises(Park) as early:
        carried(w.run(), w.kit(model))
    assert early.value.seconds == 6 * 86_400
    w.now += 7 * 86_400_000
    assert carried(w.run(), w.kit(model)).state is State.VERIFY
    assert "Floats too? -> yes" in model.requests[1].messages[-1]["content"][1]["content"]


def test_no_more_than_five_questions_a_run(w: World) -> None:
    many = {"questions": QUESTION["questions"] * 3}
    model = ScriptedModel([[reply(("ask", many)), reply(("ask", many)), *FIX]])
    with pytest.raises(Park):
        carried(w.run(), w.kit(model))
    w.hold.note(Kept.NOTE, {"answer": "yes"})
    assert carried(w.run(), w.kit(model)).state is State.VERIFY
    second = model.requests[2].messages[-1]["content"][0]
    assert second["is_error"]
    assert "2 of 5" in second["content"]


# -- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(calls=3), "budget-calls"),
        (Limits(turns=1), "budget-turns"),
        (Limits(dollars=10_000), "budget-dollars"),
    ],
)
def test_a_limit_ends_the_run_before_the_call_that_would_break_it(
    w: World, limits: Limits, reason: str
) -> None:
    planned = reply(("submit_plan", plan_of(("calc.py", "edit", 2), turns=1)))
    model = ScriptedModel([[*FIX[:2], planned, mend, mend]])
    with pytest.raises(Halt) as caught:
        carried(w.run(limits), w.kit(model))
    assert halted_by(caught.value) == reason
    assert len(model.requests) <= limits.calls
    assert w.hold.reserved == 0


def test_the_wall_clock_counts_work_and_not_waiting(w: World) -> None:
    def slow(request: Request) -> Reply:
        w.now += 1_000_000
        w.hold.ms += 1_000_000
        return reply(("read", {"path": "calc.py"}), ("ask", QUESTION))

    model = ScriptedModel([[slow, *FIX[1:]]])
    run = w.run(Limits(wall=1_800))
    with pytest.raises(Park):
        carried(run, w.kit(model))
    w.now += 8 * 86_400_000  # a week of waiting costs nothing
    w.hold.ms += 8 * 86_400_000
    told = locate(w.kit(model))(run)
    assert 1_000_000 <= told.spend.active_ms < 1_001_000

    assert carried(told, w.kit(model)).state is State.VERIFY


def test_a_run_whose_time_is_over_asks_no_more(w: World) -> None:
    model = ScriptedModel([FIX])
    run = w.run(Limits(wall=1_800))
    with pytest.raises(Halt) as caught:
        carried(replace(run, spend=replace(run.spend, active_ms=1_800_000)), w.kit(model))
    assert not model.requests
    assert halted_by(caught.value) == "budget-time"


def test_try_outs_are_bounded_and_never_in_the_candidate(w: World) -> None:
    scratch: dict[str, Any] = {"kind": "code", "text": "print(1)", "on": "base"}
    script = [FIX[0], reply(("try_out", scratch), ("try_out", scratch)), *FIX[1:]]
    model = ScriptedModel([script])
    run = carried(w.run(Limits(try_outs=1)), w.kit(model))
    results = model.requests[2].messages[-1]["content"]
    assert [block.get("is_error", False) for block in results] == [False, True]
    assert run.spend.try_outs == 1
    assert run.candidate is not None
    assert [c.path for c in run.candidate.changes] == ["calc.py"]
    assert all(box.closed for box in w.sandbox.boxes)
