"""locate: the model looks around on the base until it knows what must change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.domain.run import Grounding, Run
from app.domain.state import Signal, State
from worker.runner.agent.context import opening
from worker.runner.agent.kit import Kit
from worker.runner.agent.loop import Loop


def locate(kit: Kit) -> Callable[[Run], Run]:
    """The stage for one held run: `Grounding` is what the model found and which files it read."""

    def stage(run: Run) -> Run:
        loop = Loop(kit, run, State.LOCATE)
        told = loop.converse(lambda: opening(kit, run))
        end, talk = loop.talk.ended, loop.talk
        grounding = Grounding(end.words if end else "", talk.paths)
        found = replace(told, grounding=grounding, model=talk.model, prompts=talk.prompts)
        return found.moved(Signal.DONE)

    return stage
