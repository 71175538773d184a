"""Unhold: admits `/agent ci`, which lets the repository's own workflows run on a head held back.

Nothing is checked again: the newest evidence is about the head's tree, and is signed anew for a
commit of that very tree. Its journal stays the earlier run's; this one's names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.domain import doctor
from app.domain.errors import Halt, IntegrityError, Reason
from app.domain.permissions import Phase
from app.domain.record import Kept
from app.domain.repo_config import Roles
from app.domain.run import Run
from app.domain.state import Signal
from app.domain.told import skip_directive
from app.domain.two_looks import evidence_of
from worker.desk.authority import require_repository, require_role
from worker.desk.faults import guarded
from worker.desk.ground import by_its_rules, by_our_rules
from worker.desk.heads import goes_elsewhere
from worker.desk.kit import DeskKit
from worker.desk.notices import sticky
from worker.desk.still_open import own_pull, there

# Notes of the earlier run that a report is made from.
CARRIED = ("deltas", "thread_lines", doctor.NOTE)


def unhold(kit: DeskKit) -> Callable[[Run], Run]:
    """The stage. Ends with the verdict of the newest evidence and the head as the parent of what is
    published, or `Halt` (no-change where nothing is held, head-moved, refused, …), or `Park`."""

    def stage(run: Run) -> Run:
        by_our_rules(kit, run)
        last = evidence_of([one for one in kit.history(run) if one.id != run.id])
        with kit.read(run) as reader:
            require_repository(reader, kit.owners)
            require_role(run, reader)
            view = own_pull(run, reader)
            run = replace(run, publication=there(view))
            with kit.write(run, Phase.STATUS) as writer:
                run = replace(run, status_comment=sticky(kit.hold, writer, run, kit.now()))
            last = _about(last, view.head_sha)
            assert last.contract is not None
            assert last.verdict is not None
            goes_elsewhere(run, view, last.contract, kit.tell_oneself)
            by_its_rules(kit, run, last.contract.config)
            if last.contract.config.roles != Roles():
                require_role(run, reader, last.contract.config.roles)
            if not skip_directive(reader.message(view.head_sha)):
                raise _not_held(view.head_sha)
            if reader.tree_of(view.head_sha) != last.verdict.tree:
                raise IntegrityError(f"The head {view.head_sha} has another tree than was checked")
        _carried(kit, last)
        return _with_its_evidence(run, last, view.head_sha).moved(Signal.DONE)

    return guarded(stage)


def _about(last: Run | None, head: str) -> Run:
    """The run whose evidence is about this head; `Halt` where none is."""
    if last is None:
        raise Halt(
            Reason.NEEDS_OPERATOR,
            "The ledger knows no evidence about this pull request any more, so there is nothing "
            "that could be signed anew.",
            "Push an empty commit by hand: it is checked by itself.",
        )
    if last.publication.commit != head:
        raise Halt(
            Reason.HEAD_MOVED,
            f"The head {head[:12]} is not what the evidence is about "
            f"({last.publication.commit[:12]}).",
            "What was pushed is checked by itself; say it again when its evidence is there.",
        )
    return last


def _not_held(head: str) -> Halt:
    return Halt(
        Reason.NO_CHANGE,
        f"The head {head[:12]} is not held back: nothing in its message keeps the repository's "
        "own workflows away, so nothing was done.",
        "Where workflows wait for GitHub's own approval, press that on the pull request.",
    )


def _carried(kit: DeskKit, last: Run) -> None:
    """What the report needs of the earlier run's journal, if that is whole; said once."""
    fault = kit.journal_fault(last.id)
    if fault:
        raise IntegrityError(f"The journal of run {last.id} was tampered with: {fault}")
    if any("reissued" in entry.data for entry in kit.hold.entries()):
        return
    notes = [one.data for one in kit.journal(last.id) if one.kind is Kept.NOTE]
    for name in CARRIED:
        found = next((data for data in reversed(notes) if name in data), None)
        if found is not None:
            kit.hold.note(Kept.NOTE, {name: found[name]})
    kit.hold.note(Kept.NOTE, {"reissued": last.id, "commit": last.publication.commit})


def _with_its_evidence(run: Run, last: Run, head: str) -> Run:
    assert last.contract is not None
    return replace(
        run,
        contract=replace(last.contract, head=head, before=head, rewritten=False),
        snapshot=last.snapshot,
        baseline=last.baseline,
        grounding=last.grounding,
        plan=last.plan,
        candidate=last.candidate,
        attempts=last.attempts,
        verdict=last.verdict,
        model=last.model,
        prompts=last.prompts,
        outcomes=last.outcomes,
        people=last.people,
        ci=replace(last.ci, held=False, why=()) if last.ci is not None else None,
    )
