"""Vouch: publishes signed evidence about a commit that somebody else made, and nothing else.

One check run on the commit that was checked, whatever the pull request's head is by then. No
branch, no commit, no label; the sticky comment is the ending's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.domain.errors import Halt, IntegrityError, Missing, Reason
from app.domain.run import Publication, Run
from app.domain.state import Signal
from worker.desk.authority import require_repository, require_role
from worker.desk.evidence import certified, facts_of, shown, signed
from worker.desk.faults import guarded
from worker.desk.kit import DeskKit


def vouch(kit: DeskKit) -> Callable[[Run], Run]:
    """The stage. Ends complete with the check run read back, or `Halt`, `Park`."""

    def stage(run: Run) -> Run:
        contract, _, verdict = certified(run)
        overtaken = _still_allowed(kit, run, contract.head, verdict.tree)
        signed(kit, run, contract.head)
        run = replace(run, publication=Publication(commit=contract.head, overtaken=overtaken))
        check = shown(kit, run, facts_of(kit, run))
        published = replace(run.publication, check_run=check)
        return replace(run, publication=published).moved(Signal.DONE)

    return guarded(stage)


def _still_allowed(kit: DeskKit, run: Run, head: str, tree: str) -> str:
    """Ask again, live, before anything is published; the present head where it is another one.

    A pull request that was closed or merged meanwhile keeps its evidence: it is about a commit.
    """
    begun = kit.hold.intent("check") is not None
    with kit.read(run) as reader:
        require_repository(reader, kit.owners)
        if not begun:
            require_role(run, reader)
        try:
            now = reader.pull(run.issue).head_sha
            is_there = reader.tree_of(head)
        except Missing as gone:
            raise Halt(
                Reason.CANCELLED,
                "The pull request or its commit is not there any more, so nothing was published.",
                "Say it on an open pull request.",
            ) from gone
    if is_there != tree:
        raise IntegrityError(f"The commit {head} has the tree {is_there}; {tree} was checked")
    return "" if now == head else now
