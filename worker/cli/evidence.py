"""`patchwarrant evidence RUN`: hands out a run's bundle or page, after looking at its journal."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.domain import chain
from app.domain.errors import IntegrityError, Missing
from app.domain.report_facts import kept_facts
from worker.attest import bundle
from worker.attest.bundle import Bundle, NotABundle
from worker.cli import opened
from worker.page import page
from worker.settings.door import Door
from worker.store.ledger import Ledger


def main(door: Door, arguments: list[str]) -> int:
    """Exit code: 0 written, 1 there is none or the journal is not what was signed, 2 wrong words or
    a file that could not be written."""
    asked = _parser().parse_args(arguments)
    ledger = opened.ledger(door)
    name = asked.run
    signed = ledger.intent(name, "statement") or {}
    run = ledger.run(name)
    if run is None or not signed.get("bundle"):
        print(f"There is no signed evidence about the run {name!r}; it is made when it publishes.")
        return 1
    try:
        data = ledger.artifact(str(signed["bundle"]))
        found = bundle.read(data)
    except (IntegrityError, Missing, NotABundle) as problem:
        print(f"The bundle of run {name} is not what was kept: {problem}")
        return 1
    fault = tampered(ledger, name, found)
    if fault:
        print(f"The journal of run {name} was tampered with: {fault}.")
        return 1
    path = Path(asked.file or f"{name}.bundle.json")
    if not _written(path, data):
        return 2
    print(f"{path}: {len(data):,} bytes, SHA-256 {signed['bundle']}, commit {signed['commit']}")
    if asked.page:
        facts = kept_facts(run, ledger.journal(name), signed, ledger.artifact, bundle.packed)
        if not _written(Path(asked.page), page(run, facts).encode()):
            return 2
        print(f"{asked.page}: the same for reading, one file that loads nothing")
    return 0


def _written(path: Path, data: bytes) -> bool:
    """Whether the file could be written; it says so where not."""
    try:
        path.write_bytes(data)
    except OSError as error:
        print(f"{path} could not be written: {error.strerror}. Name a place of this user.")
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="patchwarrant evidence",
        description="Hands out a run's signed evidence, after looking at its journal.",
        epilog="`patchwarrant status` lists the runs. "
        "Exit code: 0 written, 1 there is none or it was tampered with, 2 wrong words or a file "
        "that could not be written.",
    )
    parser.add_argument("run", help="the run's id")
    parser.add_argument("file", nargs="?", default="", help="the bundle (RUN.bundle.json)")
    parser.add_argument("--page", default="", metavar="FILE", help="the same as an HTML page")
    return parser


def tampered(ledger: Ledger, run: str, found: Bundle) -> str:
    """Where the ledger's journal is not what was written, or not what was signed; else ""."""
    return ledger.journal_fault(run) or chain.difference(
        found.journal, chain.links(ledger.journal(run))
    )
