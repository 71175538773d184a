"""`patchwarrant evidence RUN [FILE]`: hands out a run's bundle, after looking at its journal."""

from __future__ import annotations

from pathlib import Path

from app.domain import chain
from app.domain.errors import IntegrityError, Missing
from worker import settings
from worker.attest import bundle
from worker.attest.bundle import Bundle, NotABundle
from worker.store.connect import connect
from worker.store.ledger import Ledger


def main(door: settings.Door, arguments: list[str]) -> int:
    """Exit code: 0 written, 1 there is none or the journal is not what was signed, 2 usage."""
    if not 1 <= len(arguments) <= 2:
        print("usage: patchwarrant evidence RUN [FILE]   (`patchwarrant status` lists the runs)")
        return 2
    ledger = Ledger(connect(settings.operator(door).redis_url))
    run = arguments[0]
    signed = ledger.intent(run, "statement") or {}
    if not signed.get("bundle"):
        print(f"There is no signed evidence about the run {run!r}; it is made when it publishes.")
        return 1
    try:
        data = ledger.artifact(str(signed["bundle"]))
        found = bundle.read(data)
    except (IntegrityError, Missing, NotABundle) as problem:
        print(f"The bundle of run {run} is not what was kept: {problem}")
        return 1
    fault = tampered(ledger, run, found)
    if fault:
        print(f"The journal of run {run} was tampered with: {fault}.")
        return 1
    path = Path(arguments[1] if len(arguments) == 2 else f"{run}.bundle.json")
    path.write_bytes(data)
    print(f"{path}: {len(data):,} bytes, SHA-256 {signed['bundle']}, commit {signed['commit']}")
    return 0


def tampered(ledger: Ledger, run: str, found: Bundle) -> str:
    """Where the ledger's journal is not what was written, or not what was signed; else ""."""
    return ledger.journal_fault(run) or chain.difference(
        found.journal, chain.links(ledger.journal(run))
    )
