"""What a stage that stopped short leaves behind: spend, plan and candidate, from the journal."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.run import Run
from worker.runner.agent.kit import Kit
from worker.runner.agent.tally import counted


def salvage(kit: Kit) -> Callable[[Run], Run]:
    """A function that brings a run up to what its journal says; the state is left as it is."""

    def bring(run: Run) -> Run:
        return counted(kit.hold.entries()).onto(run, kit.card)

    return bring
