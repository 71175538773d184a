"""Where a tool works: the run, what the journal says of it, and the trees; and how it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.domain.budget import Limits
from app.domain.contract import Contract
from app.domain.edit import Candidate
from app.domain.plan import Plan
from app.domain.policy import Rules, rules_of
from app.domain.record import Kept
from app.domain.run import Run, Snapshot
from app.domain.state import State
from worker.runner.agent.boxes import Boxes
from worker.runner.agent.kit import Kit
from worker.runner.agent.quote import framed
from worker.runner.agent.talk import Talk
from worker.runner.agent.tally import Tally
from worker.runner.agent.views import Views


@dataclass(frozen=True)
class Answer:
    """What a tool says to the model. `error` marks a refusal, `bad` a call that no tool takes.

    `effect` is what the call did, for the journal: plan, candidate, outcomes, end, read,
    log, try_out, idle.
    """

    text: str
    error: bool = False
    bad: bool = False
    effect: Mapping[str, Any] = field(default_factory=dict)


def refused(text: str) -> Answer:
    """An answer that says why nothing was done and what to do instead."""
    return Answer(text, error=True)


@dataclass(frozen=True)
class Bench:
    """One moment of a stage. `run` is as the stage got it; `tally` and `talk` as the journal has
    them now; `note` writes to the journal on the conversation's behalf."""

    kit: Kit
    run: Run
    state: State
    tally: Tally
    talk: Talk
    views: Views
    boxes: Boxes
    note: Callable[[Kept, dict[str, Any]], None]

    def last_refusal(self, tool: str) -> tuple[str, ...]:
        """What the latest refused call of `tool` was told, as one sentence; () where none was."""
        for entry in reversed(self.kit.hold.entries()):
            data = entry.data
            if entry.kind is Kept.TOOL and data.get("name") == tool and data.get("error"):
                return (f"Its last {tool} was refused: {' '.join(str(data['text']).split())}",)
        return ()

    @property
    def contract(self) -> Contract:
        return contract_of(self.run)

    @property
    def snapshot(self) -> Snapshot:
        return snapshot_of(self.run)

    @property
    def limits(self) -> Limits:
        return limits_of(self.run)

    @property
    def rules(self) -> Rules:
        revision = self.contract.revision
        return rules_of(self.contract.config, revision.scope if revision else None)

    @property
    def plan(self) -> Plan | None:
        return self.tally.plan or self.run.plan

    @property
    def candidate(self) -> Candidate | None:
        return self.tally.candidate or self.run.candidate

    @property
    def base(self) -> str:
        """Where the run's own edits begin: the base, or a revised pull request's head."""
        return self.snapshot.start

    @property
    def tree(self) -> str:
        """The working snapshot: the candidate, or the base while there is none."""
        return self.candidate.tree if self.candidate else self.base

    def framed(self, kind: str, text: str) -> str:
        return framed(kind, text, self.talk.delimiter)


def contract_of(run: Run) -> Contract:
    """The run's contract; a run without one never reaches the runner."""
    if run.contract is None:
        raise LookupError(f"run {run.id} has no contract")
    return run.contract


def limits_of(run: Run) -> Limits:
    """What the run may use, by its class."""
    if run.limits is None:
        raise LookupError(f"run {run.id} has no contract")
    return run.limits


def snapshot_of(run: Run) -> Snapshot:
    """What the run stands on; `prepare` has filled it."""
    if run.snapshot is None:
        raise LookupError(f"run {run.id} has no snapshot")
    return run.snapshot
