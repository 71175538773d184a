"""plan: the model submits its plan; a repair under the unchanged one passes without a call."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.run import Run
from app.domain.state import Signal, State
from worker.runner.agent.context import opening
from worker.runner.agent.kit import Kit
from worker.runner.agent.loop import Loop


def plan(kit: Kit) -> Callable[[Run], Run]:
    """The stage for one held run: an accepted plan, or back to looking around without one."""

    def stage(run: Run) -> Run:
        if run.plan is not None and run.attempts:
            return run.moved(Signal.DONE)
        loop = Loop(kit, run, State.PLAN)
        told = loop.converse(lambda: opening(kit, run))
        end = loop.talk.ended
        return told.moved(end.signal if end else Signal.MORE)

    return stage
