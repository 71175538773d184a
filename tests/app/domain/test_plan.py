"""The plan: what is accepted, what is sent back, what ends the run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.budget import Limits
from app.domain.edit import EXECUTABLE, FILE, GITLINK, LINK, Delta, Entry
from app.domain.errors import Halt, Reason
from app.domain.plan import (
    Action,
    Plan,
    PlanRefused,
    Step,
    action_of,
    amend,
    declares,
    order,
    parse,
    validate,
)
from app.domain.policy import Rules

TREE = {
    path: Entry(path, mode, "0" * 40)
    for path, mode in {
        "src/a.py": FILE,
        "src/b.py": FILE,
        "src/deep/c.py": FILE,
        "run.sh": EXECUTABLE,
        "link": LINK,
        "sub": GITLINK,
        "db/migrations/1.py": FILE,
    }.items()
}
LIMITS = Limits()
BARE = Rules()


def planned(path: str, action: str = "edit", lines: int = 5) -> dict[str, Any]:
    return {"path": path, "action": action, "why": "because", "lines": lines}


def arguments(*files: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {
        "summary": "Add up right",
        "files": list(files),
        "tests_must_pass": ["tests/test_a.py::test_add"],
        "tests_to_write": [],
        "steps": [{"id": "1", "what": "fix", "needs": []}],
        "turns": 2,
    } | changed


def problems(*files: dict[str, Any], rules: Rules = BARE, **changed: Any) -> tuple[str, ...]:
    return validate(parse(arguments(*files, **changed)), TREE, rules, LIMITS)


def test_a_plan_is_read_as_it_was_written() -> None:
    plan = parse(arguments(planned("src/a.py"), planned("new.py", "create", 7)))
    assert [f.path for f in plan.files] == ["src/a.py", "new.py"]
    assert plan.files[1].action is Action.CREATE
    assert plan.planned_lines == 12
    assert plan.steps == (Step("1", "fix"),)
    assert plan.tests_must_pass == ("tests/test_a.py::test_add",)
    assert plan.amendments == ()


@pytest.mark.parametrize(
    "broken",
    [
        {"turns": "many"},
        {"files": None},
        {"files": [{"path": "a"}]},
        {"steps": [{"id": "1"}]},
        {"files": [planned("a", "rename")]},
    ],
)
def test_a_plan_that_does_not_fit_its_schema_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(PlanRefused, match="does not fit"):
        parse(arguments(planned("src/a.py")) | broken)


def test_a_good_plan_has_no_problem() -> None:
    files = [
        planned("src/a.py"),
        planned("src/new/x.py", "create"),
        planned("src/b.py", "delete"),
        planned("run.sh"),
    ]
    assert problems(*files) == ()


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (planned("src/missing.py"), "is not a file of this repository; list"),
        (planned("src/A.py"), "did you mean `src/a.py`?"),
        (planned("src"), "is not a file"),
        (planned("gone.py", "delete"), "is not a file"),
        (planned("link"), "is a link or a submodule"),
        (planned("sub", "delete"), "is a link or a submodule"),
        (planned("src/a.py", "create"), "there is `src/a.py` already"),
        (planned("SRC/A.py", "create"), "there is `src/a.py` already"),
        (planned("src", "create"), "there is `src` already"),
        (planned("Src/x.py", "create"), "`src` stands where its folder would be"),
        (planned("link/x.py", "create"), "`link` stands where its folder would be"),
        (planned("sub/x.py", "create"), "`sub` stands where its folder would be"),
        (planned("run.sh/x.py", "create"), "`run.sh` stands where its folder would be"),
        (planned("../x"), "'..'"),
        (planned("./src/a.py"), "write it without"),
        (planned("con.py", "create"), "Windows"),
        (planned(".git/config", "create"), "git's own folder"),
        (planned("src/a.py", lines=0), "`lines` is 0"),
        (planned("src/a.py", lines=-3), "`lines` is -3"),
        (planned("src/a.py", lines=2_001), "2001 changed lines"),
    ],
)
def test_a_file_that_cannot_be_planned_is_sent_back(file: dict[str, Any], said: str) -> None:
    found = problems(file)
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"summary": "  "}, "`summary` is empty"),
        ({"files": []}, "`files` is empty"),
        ({"files": [planned(f"n{n}.py", "create") for n in range(9)]}, "names 9 files"),
        ({"turns": 0}, "`turns` is 0"),
        ({"turns": 13}, "`turns` is 13"),
        ({"tests_must_pass": ["t"] * 41}, "At most 40 tests"),
        ({"steps": [{"id": str(n), "what": "x", "needs": []} for n in range(41)]}, "41 steps"),
        ({"steps": [{"id": "1", "what": "x", "needs": ["2"]}]}, "which is no step"),
        ({"steps": [{"id": "1", "what": "x", "needs": ["1"]}]}, "in a circle"),
        ({"files": [planned("src/a.py"), planned("src/a.py", "delete")]}, "planned twice"),
        ({"files": [planned("N.py", "create"), planned("n.py", "create")]}, "planned twice"),
    ],
)
def test_a_plan_of_the_wrong_shape_is_sent_back(changed: dict[str, Any], said: str) -> None:
    found = problems(planned("src/a.py"), **changed)
    assert len(found) == 1
    assert said in found[0]


def test_eight_files_are_still_one_small_task() -> None:
    assert problems(*(planned(f"n{n}.py", "create") for n in range(8))) == ()


def test_all_problems_are_told_at_once() -> None:
    assert len(problems(planned("nope"), planned("../x"), turns=99)) == 3


def test_a_path_out_of_scope_is_sent_back_with_the_scope() -> None:
    found = problems(planned("run.sh"), rules=Rules(allow=("src/**", "*.md")))
    assert found == (
        "`run.sh` is outside the paths that this repository allows (`src/**`, `*.md`).",
    )


def test_a_blocked_path_ends_the_run_with_the_line_that_would_unlock_it() -> None:
    with pytest.raises(Halt) as stopped:
        problems(planned("src/missing.py"), planned("db/migrations/1.py"))
    record = stopped.value.record
    assert record.reason is Reason.BLOCKED_PATH
    assert "`db/migrations/1.py`" in record.message
    assert 'paths: {unlock: ["db/migrations/**"]}' in record.next_step
    assert record.details == ("db/migrations/1.py",)
    assert problems(planned("db/migrations/1.py"), rules=Rules(unlock=("db/migrations/**",))) == ()


def test_a_workflow_file_ends_the_run_and_nothing_is_said_to_unlock_it() -> None:
    with pytest.raises(Halt) as stopped:
        problems(planned(".github/workflows/ci.yml", "create"))
    assert stopped.value.record.next_step.startswith("Nothing unlocks")
    assert "unlock:" not in stopped.value.record.next_step


# -- amendments


PLAN = parse(arguments(planned("src/a.py"), planned("new.py", "create")))


def amended(plan: Plan = PLAN, **changed: Any) -> Plan:
    given = {"reason": "the caller too", "add": [planned("src/b.py")], "remove": []} | changed
    return amend(plan, given, TREE, BARE, LIMITS)


def test_an_amendment_adds_and_removes_and_is_kept_with_its_reason() -> None:
    plan = amended(remove=["new.py"])
    assert [f.path for f in plan.files] == ["src/a.py", "src/b.py"]
    assert plan.amendments[0].reason == "the caller too"
    assert [f.path for f in plan.amendments[0].added] == ["src/b.py"]
    assert plan.amendments[0].removed == ("new.py",)


def test_a_planned_file_is_changed_by_removing_it_in_the_same_call() -> None:
    plan = amended(add=[planned("src/a.py", "edit", 50)], remove=["src/a.py"])
    assert {f.path: f.lines for f in plan.files} == {"new.py": 5, "src/a.py": 50}


def test_a_plan_is_amended_twice_and_no_more() -> None:
    twice = amended(amended(), add=[planned("run.sh")])
    assert len(twice.amendments) == 2
    with pytest.raises(PlanRefused, match="at most 2 times"):
        amended(twice, add=[planned("src/deep/c.py")])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"reason": " "}, "`reason` is empty"),
        ({"add": []}, "changes nothing"),
        ({"remove": ["other.py"]}, "not in the plan"),
        ({"add": [planned("src/a.py")]}, "planned already"),
        ({"add": [planned("missing.py")]}, "is not a file"),
        ({"add": [planned(f"x{n}.py", "create") for n in range(7)]}, "names 9 files"),
        ({"add": [], "remove": ["src/a.py", "new.py"]}, "`files` is empty"),
        ({"add": None}, "does not fit"),
        ({"add": [{"path": "x"}]}, "does not fit"),
    ],
)
def test_a_bad_amendment_is_refused_and_leaves_the_plan(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanRefused, match=said):
        amended(**changed)


def test_an_amendment_cannot_reach_a_blocked_path() -> None:
    with pytest.raises(Halt, match="blocked-path"):
        amended(add=[planned("db/migrations/1.py")])


# -- steps, declarations


def steps(*pairs: tuple[str, str]) -> tuple[Step, ...]:
    return tuple(Step(name, "do", tuple(needs)) for name, needs in pairs)


def test_prerequisites_come_first_else_the_plan_s_order_stays() -> None:
    ordered = order(steps(("d", "bc"), ("a", ""), ("c", "a"), ("b", "a"), ("e", "")))
    assert [step.id for step in ordered] == ["a", "c", "b", "d", "e"]
    assert order(()) == ()


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("a", "b"), ("b", "a"), ("c", "")], "`a`, `b`"),
        ([("a", "z")], "`z`"),
        ([("a", ""), ("a", "")], "same id"),
    ],
)
def test_what_cannot_be_ordered_is_named(pairs: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(PlanRefused, match=said):
        order(steps(*pairs))


@given(st.lists(st.sets(st.integers(0, 7)), max_size=8))
def test_an_order_puts_every_prerequisite_before(graph: list[set[int]]) -> None:
    plan = tuple(Step(str(n), "do", tuple(map(str, needs))) for n, needs in enumerate(graph))
    try:
        ordered = [step.id for step in order(plan)]
    except PlanRefused:
        return
    assert sorted(ordered) == sorted(step.id for step in plan)
    for step in plan:
        assert all(ordered.index(need) < ordered.index(step.id) for need in step.needs)


def test_a_plan_declares_a_path_for_an_action() -> None:
    plan = parse(arguments(planned("e"), planned("c", "create"), planned("d", "delete")))
    allowed = {
        (path, action) for path in "ecdx" for action in Action if declares(plan, path, action)
    }
    assert allowed == {
        ("e", Action.EDIT),
        ("d", Action.DELETE),
        ("c", Action.CREATE),
        ("c", Action.EDIT),
        ("c", Action.DELETE),
    }


def test_a_delta_says_what_happened_to_its_path() -> None:
    assert action_of(Delta("a", 0, FILE, 1, 0)) is Action.CREATE
    assert action_of(Delta("a", FILE, FILE, 1, 1)) is Action.EDIT
    assert action_of(Delta("a", FILE, 0, 0, 1)) is Action.DELETE
