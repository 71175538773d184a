"""Class large (B4): by the label or by the plan, with limits of its own, for good."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain import plan_approval, told
from app.domain.budget import LARGE, Limits
from app.domain.contract import Contract
from app.domain.event import Person
from app.domain.plan import Action, Amendment, Plan, PlannedFile, most_files
from app.domain.record import JournalEntry, Kept
from app.domain.run import Run
from tests.app.domain.report_world import contract, passed

MAY: Contract = replace(contract(), larger=LARGE)
MAY_NOT: Contract = contract()
IS: Contract = replace(contract(), limits=LARGE, large=True)


def files(count: int, start: int = 0) -> tuple[PlannedFile, ...]:
    return tuple(
        PlannedFile(f"part{n}.py", Action.EDIT, "because", 3) for n in range(start, start + count)
    )


def planned(held: Contract, count: int) -> Run:
    plan = Plan("Mend it.", files(count), (), (), (), 2) if count else None
    return replace(passed(), contract=held, plan=plan)


@pytest.mark.parametrize(
    ("held", "count", "large", "limits"),
    [
        (MAY, 0, False, Limits()),
        (MAY, 8, False, Limits()),
        (MAY, 9, True, LARGE),
        (MAY, 40, True, LARGE),
        (MAY_NOT, 9, False, Limits()),
        (IS, 0, True, LARGE),
        (IS, 2, True, LARGE),
        (IS, 40, True, LARGE),
    ],
)
def test_the_class_and_its_limits(held: Contract, count: int, large: bool, limits: Limits) -> None:
    run = planned(held, count)
    assert (run.large, run.limits) == (large, limits)


def test_without_a_contract_there_is_no_class_yet() -> None:
    run = replace(passed(), contract=None)
    assert (run.large, run.limits) == (False, None)


def test_a_plan_that_shrinks_leaves_the_run_large() -> None:
    run = planned(MAY, 9)
    assert run.plan is not None
    gone = tuple(one.path for one in run.plan.files[:4])
    less = replace(
        run.plan, files=run.plan.files[4:], amendments=(Amendment("too much", (), gone),)
    )
    more = replace(
        less, files=(*less.files, *files(1, 20)),
        amendments=(*less.amendments, Amendment("one more", files(1, 20))),
    )  # fmt: skip
    assert [most_files(one) for one in (run.plan, less, more)] == [9, 9, 9]
    assert replace(run, plan=more).large


def test_files_that_are_exchanged_do_not_make_a_run_large() -> None:
    run = planned(MAY, 8)
    assert run.plan is not None
    other = Amendment("elsewhere", files(2, 20), ("part0.py", "part1.py"))
    plan = replace(run.plan, files=(*run.plan.files[2:], *other.added), amendments=(other,))
    assert most_files(plan) == 8 and not replace(run, plan=plan).large


def test_people_are_told_the_class_and_its_budget() -> None:
    run = planned(MAY, 9)
    assert run.plan is not None
    note = plan_approval.note_of(run.plan, "d" * 64)
    asked = plan_approval.asked(run, JournalEntry("1-1", Kept.NOTE, note))
    assert "class large (9 files)" in asked and "$10.00, 150 model calls" in asked
    small = replace(planned(MAY, 2))
    assert small.plan is not None
    note = plan_approval.note_of(small.plan, "d" * 64)
    assert "class large" not in plan_approval.asked(small, JournalEntry("1-1", Kept.NOTE, note))
    assert "fix of class large" in told.status(Person(1, "ann"), [run], 5)
    assert "class large" not in told.status(Person(1, "ann"), [small], 5)
