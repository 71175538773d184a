"""The check `patchwarrant/gate` on our pull requests: CI read live, said where it is news."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from app.domain import approval, ci_repair, merge_gate
from app.domain.approval import seal_of
from app.domain.errors import Halt, Refused
from app.domain.event import Event
from app.domain.merge_gate import CHECK, Gate
from app.domain.permissions import Phase
from app.domain.ports.approval import CheckView
from app.domain.ports.ci import CiReader
from app.domain.run import Run
from app.domain.two_looks import evidence_of
from worker.desk.kit import Write

EXTERNAL = "gate:"


class Wakes(Protocol):
    """What of the ledger is needed to wake the desk for a repair."""

    def event(self, key: str) -> Event | None: ...

    def add_event(self, event: Event) -> bool: ...


@dataclass(frozen=True)
class GateLook:
    """`reports` gives live reads about the CI of a run's repository. Without `ledger` no repair is
    asked for."""

    reports: Callable[[Run], AbstractContextManager[CiReader]]
    write: Write
    ledger: Wakes | None = None

    def gate(self, runs: Sequence[Run], about: approval.Facts) -> Gate:
        """How far the change came; CI is asked only where that can matter."""
        facts = merge_gate.Facts(about)
        if approval.evidence_wall(about) is not None or about.held:
            return merge_gate.gate(facts)
        last = evidence_of(runs)
        started = last.ci.started if last is not None and last.ci is not None else ()
        try:
            with self.reports(runs[-1]) as reader:
                found = reader.reports(about.head)
                required = reader.required_checks(about.base)
                facts = merge_gate.Facts(about, found, started, required)
                self._repaired(runs, facts, reader)
        except (Refused, Halt) as refusal:
            return merge_gate.gate(merge_gate.Facts(about, amiss=str(refusal)))
        return merge_gate.gate(replace(facts, repairs=ci_repair.sentence(runs)))

    def _repaired(self, runs: Sequence[Run], facts: merge_gate.Facts, reader: CiReader) -> None:
        """Wake the desk for a repair where CI is red and one may begin; it looks for itself."""
        head, red = facts.about.head, merge_gate.red_ones(facts)
        by, last = ci_repair.asker(runs), evidence_of(runs)
        if self.ledger is None or by is None or last is None or not red:
            return
        if not merge_gate.all_said(facts) or not ci_repair.wanted(runs, head):
            return
        pull = last.publication.pull
        if self.ledger.event(ci_repair.key_of(last.repository.id, pull, head)) is not None:
            return
        said = reader.failed(head, frozenset(one.name for one in red))
        self.ledger.add_event(ci_repair.event_of(last, by, pull, head, said))

    def show(
        self,
        change: str,
        run: Run,
        head: str,
        found: Gate,
        shown: tuple[CheckView, ...],
        beside: Sequence[str] = (),
    ) -> None:
        """Write the check run where it does not say that already."""
        title, summary = merge_gate.output(found, beside)
        conclusion = "success" if found.passed else "action_required"
        external = f"{EXTERNAL}{change}"
        there = next((one for one in shown if one.external_id == external), None)
        if there is not None and there.status == "completed":
            same = there.conclusion == conclusion and seal_of(there.summary) == seal_of(summary)
            if same:
                return
        with self.write(run, Phase.EVIDENCE) as writer:
            writer.check_run(CHECK, head, external, conclusion, title, summary, "")
