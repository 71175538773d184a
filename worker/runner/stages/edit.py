"""edit: proposals through the gateway until the model says that the change is complete."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.run import Run
from app.domain.state import Signal, State
from worker.runner.agent.context import opening
from worker.runner.agent.kit import Kit
from worker.runner.agent.loop import Loop


def edit(kit: Kit) -> Callable[[Run], Run]:
    """The stage for one held run: a candidate that differs from the base."""

    def stage(run: Run) -> Run:
        told = Loop(kit, run, State.EDIT).converse(lambda: opening(kit, run))
        return told.moved(Signal.DONE)

    return stage
