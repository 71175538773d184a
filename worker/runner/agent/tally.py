"""What a run has used and made so far, folded from the whole journal: spend, plan, candidate.

Counting anew from the journal instead of adding up in the run's row makes every count the same
however often a worker died in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.domain.budget import Spend, Usage
from app.domain.edit import Candidate
from app.domain.plan import Plan
from app.domain.record import JournalEntry, Kept
from app.domain.revision import Outcome, merged
from app.domain.run import Run
from worker.runner.agent.codec import candidate_of, plan_of, usage_of

NO_USAGE = Usage()


@dataclass(frozen=True)
class Tally:
    """Sums over all conversations of a run. `outside` holds the paths of each refused attempt."""

    calls: int = 0
    turns: int = 0
    try_outs: int = 0
    dollars: int = 0
    broken: int = 0  # micro-dollars of broken replies, not charged
    usage: Usage = NO_USAGE
    plan: Plan | None = None
    candidate: Candidate | None = None
    questions: int = 0
    outcomes: tuple[Outcome, ...] = ()
    outside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    began_ms: int = 0  # the ledger's time when the latest visit of a stage began
    before_ms: int = 0  # active time before that visit
    seen_ms: int = 0  # the latest entry of the agent's

    def onto(self, run: Run, card: str) -> Run:
        """The run with what the journal knows better than its row."""
        spend: Spend = replace(
            run.spend,
            calls=self.calls,
            turns=self.turns,
            try_outs=self.try_outs,
            dollars=self.dollars,
            broken=self.broken,
            usage=self.usage,
            card=card,
            active_ms=max(run.spend.active_ms, self.before_ms),
        )
        return replace(
            run,
            spend=spend,
            plan=self.plan or run.plan,
            candidate=self.candidate or run.candidate,
            outcomes=self.outcomes or run.outcomes,
        )

    def active_before(self, run: Run) -> int:
        """Milliseconds at work before now: the row's, or the journal's when a visit ended without
        being saved. Waiting in between is not counted."""
        return max(run.spend.active_ms, self.before_ms + max(0, self.seen_ms - self.began_ms))


def counted(entries: Iterable[JournalEntry]) -> Tally:
    """The sums over a whole journal."""
    tally = Tally()
    for entry in entries:
        tally = plus(tally, entry)
    return tally


def plus(tally: Tally, entry: JournalEntry) -> Tally:
    """The sums after one more entry."""
    data = entry.data
    if entry.kind is Kept.NOTE and data.get("agent") == "began":
        now = entry.ms
        return replace(tally, began_ms=now, before_ms=data["active_ms"], seen_ms=now)
    if "conversation" not in data:
        return tally
    tally = replace(tally, seen_ms=max(tally.seen_ms, entry.ms))
    if entry.kind is Kept.MODEL and not data.get("charged", True):
        return replace(tally, broken=tally.broken + data["dollars"])
    if entry.kind is Kept.MODEL:
        return replace(
            tally,
            calls=tally.calls + ("failed" not in data),
            dollars=tally.dollars + data["dollars"],
            usage=tally.usage + usage_of(data["usage"]),
        )
    if entry.kind is Kept.TOOL:
        return _effect(tally, data["effect"])
    if entry.kind is Kept.REFUSAL:
        outside = {**tally.outside, data["use"]: tuple(data["paths"])}
        return replace(tally, outside=outside)
    if entry.kind is Kept.NOTE and "outcomes" in data:
        given = tuple(Outcome(*row) for row in data["outcomes"])
        return replace(tally, outcomes=merged(tally.outcomes, given))
    if entry.kind is Kept.NOTE and "questions" in data:
        return replace(tally, questions=tally.questions + len(data["questions"]))
    return tally


def _effect(tally: Tally, effect: Mapping[str, Any]) -> Tally:
    if "plan" in effect:
        tally = replace(tally, plan=plan_of(effect["plan"]))
    if "candidate" in effect:
        candidate = candidate_of(effect["candidate"])
        tally = replace(tally, candidate=candidate, turns=tally.turns + 1)
    if "try_out" in effect:
        tally = replace(tally, try_outs=tally.try_outs + 1)
    return tally
