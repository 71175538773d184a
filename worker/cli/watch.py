"""`patchwarrant watch [RUN]`: a run's journal as it is written, a line an entry."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.markup import escape

from app.domain.record import JournalEntry, Kept
from app.domain.state import ENDS
from worker.cli import opened
from worker.settings.door import Door
from worker.store.ledger import Ledger

SHOWN = 400  # characters of a refused call's answer


def main(door: Door, arguments: list[str]) -> int:
    ledger = opened.ledger(door)
    console = Console()
    run = arguments[0] if arguments else next((run.id for run in ledger.runs(1)), "")
    if not run:
        console.print("There is no run yet.")
        return 1
    if ledger.run(run) is None:
        console.print(f"There is no run {escape(run)}; `patchwarrant status` lists them.")
        return 1
    for entry in follow(ledger, run):
        if words := line(entry):
            console.print(words)
    return 0


def follow(ledger: Ledger, run_id: str, pause: float = 0.3) -> Iterator[JournalEntry]:
    """Entries of a run until it ended and told so."""
    seen = 0
    while True:
        run = ledger.run(run_id)
        entries = ledger.journal(run_id)
        yield from entries[seen:]
        seen = len(entries)
        if run is None or (run.state in ENDS and run.explained):
            return
        time.sleep(pause)


def line(entry: JournalEntry) -> str:
    """One entry for a terminal, "" where people need not see it (rich markup, text escaped)."""
    data = entry.data
    match entry.kind:
        case Kept.MOVE:
            return f"[bold]{data['from']} → {data['to']}[/bold]"
        case Kept.CHECK:
            return _check(data)
        case Kept.MODEL:
            return f"  model  a reply for ${data.get('dollars', 0) / 1e6:.4f}"
        case Kept.TOOL:
            mark = "[yellow]✗[/yellow]" if data.get("error") else "[green]✓[/green]"
            return f"  tool   {mark} {escape(str(data.get('name', '')))}{_about(data)}"
        case Kept.HALT:
            return f"[yellow]stopped in {data['state']}: {data['reason']}[/yellow]"
        case Kept.WAIT:
            return f"  waits  {data['for']}: {escape(str(data['note']))}"
        case Kept.REFUSAL:
            paths = escape(", ".join(data["paths"]))
            return f"  [yellow]refused, outside the plan: {paths}[/yellow]"
        case Kept.NOTE if "setup" in data and "key" in data:
            return _set_up(data)
        case _:
            return ""


def _set_up(data: Mapping[str, object]) -> str:
    if data.get("error"):
        return f"  set-up [red]{escape(str(data['error']))}[/red]"
    how = "made before" if data.get("reused") else f"made in {_number(data.get('ms')) / 1000:.1f} s"
    return f"  set-up environment {escape(str(data['key'])[:12])}, {how}; log {data.get('log')}"


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _about(data: dict[str, object]) -> str:
    """The first sentences of a refused call's answer, which say why, whole up to a bound."""
    if not data.get("error"):
        return ""
    first, _, rest = str(data.get("text", "")).strip().partition("\n")
    if first.endswith(":"):
        first = f"{first} {rest.partition(chr(10))[0].lstrip('- ')}"
    shown = first if len(first) <= SHOWN else f"{first[:SHOWN].rpartition(' ')[0]} …"
    return f": {escape(shown)}"


def _check(data: dict[str, object]) -> str:
    result = data.get("result")
    if not isinstance(result, dict):
        return "  check"
    colour = {"passed": "green", "failed": "red"}.get(str(result.get("standing")), "yellow")
    counts = result.get("counts")
    tests = ""
    if isinstance(counts, dict):
        tests = f" {counts['passed']} passed, {counts['failed']} failed"
    words = f"{result.get('check')}: {result.get('standing')} {result.get('reason', '')}{tests}"
    return f"  check  ({data.get('phase')}) [{colour}]{escape(words)}[/{colour}]"
