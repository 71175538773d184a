"""The parts of a run that evidence rests on, each named by its digest in the signed statement.

The bundle carries the parts themselves; whoever holds it compares them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.domain import chain
from app.domain.record import JournalEntry, Kept
from app.domain.run import Run
from worker.attest.canonical import builtins, digest

Parts = dict[str, Any]


def parts(run: Run) -> Parts:
    """Name to JSON-ready value: contract, plan, check definitions, findings and results."""
    return {
        "contract": builtins(run.contract),
        "plan": builtins(run.plan),
        "checks": builtins(run.snapshot.checks) if run.snapshot else [],
        "findings": builtins(run.verdict.findings) if run.verdict else [],
        "baseline": builtins(run.baseline),
        "attempts": builtins(run.attempts),
    }


def digests(whole: Parts) -> dict[str, str]:
    """Name to SHA-256 of the part's canonical JSON."""
    return {name: digest(part) for name, part in whole.items()}


def journal(run: str, entries: Sequence[JournalEntry]) -> dict[str, Any]:
    """What is signed of the journal: how many entries, and the head of their chain."""
    return {"entries": len(entries), "head": chain.head(run, chain.links(entries))}


def records(entries: Sequence[JournalEntry]) -> list[list[Any]]:
    """[journal id, data] of every check that ran, whatever it ran for."""
    return [[one.id, one.data] for one in entries if one.kind is Kept.CHECK]
