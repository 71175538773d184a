"""`patchwarrant status`: the newest runs, their states and what they spent."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from app.domain.run import Run
from worker import settings
from worker.cli import opened


def main(door: settings.Door, _arguments: list[str]) -> int:
    ledger = opened.ledger(door)
    table = Table("run", "issue", "state", "waits or ended", "spent", "pull request", box=None)
    for run in ledger.runs(30):
        pull = run.publication.pull_url or "-"
        issue = f"{run.repository.full_name}#{run.issue}"
        table.add_row(run.id, issue, run.state, _why(run), f"${run.spend.dollars / 1e6:.2f}", pull)
    console = Console()
    paused = ledger.paused()
    if paused:
        console.print(f"Paused by {paused}; `patchwarrant resume` ends it.")
    console.print(table)
    return 0


def _why(run: Run) -> str:
    if run.halt:
        return run.halt.reason
    return f"{run.wait.waiting}: {run.wait.note}" if run.wait else ""
