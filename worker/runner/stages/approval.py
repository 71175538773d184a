"""Plan approval: editing begins only after a person approved, where a contract wants that."""

from __future__ import annotations

from collections.abc import Callable

from app.domain import plan_approval
from app.domain.errors import Halt, Park, Reason, Waiting
from app.domain.ports.hold import Hold
from app.domain.record import Kept
from app.domain.run import Run


def approved(hold: Hold, clock: Callable[[], int], run: Run) -> None:
    """Return where `run` may go on with its plan. Else the plan is put to people, once, by a note
    in the journal, and `Park(PLAN)` is raised; after the deadline `Halt(PLAN_UNAPPROVED)`.

    `clock` is Redis milliseconds.
    """
    contract = run.contract
    if contract is None or run.plan is None or not (contract.plan_approval or run.large):
        return
    digest = plan_approval.plan_hash(run.plan, contract)
    journal = hold.entries()
    if digest in plan_approval.approved(journal):
        return
    asked = plan_approval.pending(journal)
    if asked is None or asked.data["plan_hash"] != digest:
        hold.note(Kept.NOTE, plan_approval.note_of(run.plan, digest))
    elif clock() - asked.ms >= plan_approval.WAIT * 1000:
        raise Halt(
            Reason.PLAN_UNAPPROVED,
            "Nobody approved the plan within seven days, so nothing was edited.",
            "Comment `/agent retry` for the same request on the base as it is then.",
        )
    raise Park(Waiting.PLAN, plan_approval.WAIT, "a person has to approve the plan")
