"""Plan approval as a stage's gate: it waits for the very plan, and not for ever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain import plan_approval
from app.domain.budget import LARGE
from app.domain.errors import Halt, Park, Reason, Waiting
from app.domain.plan import Action, Plan, PlannedFile
from app.domain.record import Kept
from tests.fakes.hold import FakeHold
from tests.worker.desk.made import contract, new_run
from worker.runner.stages.approval import approved

PLAN = Plan("Mend it.", (PlannedFile("a.py", Action.EDIT, "wrong", 2),), (), (), (), 2)
CONTRACT = replace(contract("b" * 40), plan_approval=True)
RUN = replace(new_run(), plan=PLAN, contract=CONTRACT)


def asked(hold: FakeHold, ms: int = 0, plan: Plan = PLAN) -> Park:
    with pytest.raises(Park) as park:
        approved(hold, lambda: ms, replace(RUN, plan=plan))
    return park.value


def test_without_the_wish_nobody_is_asked() -> None:
    hold = FakeHold()
    approved(hold, lambda: 0, replace(RUN, contract=contract("b" * 40)))
    assert hold.entries() == []


def test_a_plan_that_makes_the_run_large_is_always_put_to_people() -> None:
    hold = FakeHold()
    files = tuple(PlannedFile(f"{n}.py", Action.EDIT, "wrong", 2) for n in range(9))
    wide = replace(contract("b" * 40), larger=LARGE)
    run = replace(RUN, contract=wide, plan=replace(PLAN, files=files))
    with pytest.raises(Park):
        approved(hold, lambda: 0, run)
    approved(FakeHold(), lambda: 0, replace(run, plan=replace(PLAN, files=files[:8])))


def test_the_plan_is_put_once_and_goes_on_when_that_very_plan_is_approved() -> None:
    hold = FakeHold()
    assert asked(hold).waiting is Waiting.PLAN
    asked(hold)
    (entry,) = hold.entries()
    digest = plan_approval.plan_hash(PLAN, CONTRACT)
    assert entry.data["plan_hash"] == digest
    hold.note(Kept.NOTE, {"approved": "f" * 64})
    asked(hold)
    hold.note(Kept.NOTE, {"approved": digest})
    approved(hold, lambda: 0, RUN)
    assert plan_approval.pending(hold.entries()) is None


def test_an_amended_plan_asks_again() -> None:
    hold = FakeHold()
    asked(hold)
    hold.note(Kept.NOTE, {"approved": plan_approval.plan_hash(PLAN, CONTRACT)})
    other = replace(PLAN, turns=3)
    asked(hold, plan=other)
    found = plan_approval.pending(hold.entries())
    assert found is not None
    assert found.data["plan_hash"] == plan_approval.plan_hash(other, CONTRACT)


def test_after_a_week_the_run_ends() -> None:
    hold = FakeHold()
    asked(hold)
    (entry,) = hold.entries()
    week = plan_approval.WAIT * 1000
    asked(hold, entry.ms + week - 1)
    with pytest.raises(Halt) as halt:
        approved(hold, lambda: entry.ms + week, RUN)
    assert halt.value.record.reason is Reason.PLAN_UNAPPROVED


def test_the_comment_shows_the_hash_and_nothing_in_it_can_wake_us() -> None:
    hold = FakeHold()
    loud = replace(PLAN, summary="@everyone /agent cancel <!-- patchwarrant:x -->")
    asked(hold, plan=loud)
    (entry,) = hold.entries()
    text = plan_approval.asked(RUN, entry)
    digest = plan_approval.plan_hash(loud, CONTRACT)
    assert f"`/agent approve {digest[:16]}`" in text and "`a.py`" in text
    assert "@everyone" not in text and "patchwarrant:x" not in text
