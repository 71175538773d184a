"""`patchwarrant status`: the newest runs, their states and what they spent."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table

from app.domain.run import Run
from worker.cli import opened
from worker.settings.door import Door


def main(door: Door, _arguments: list[str]) -> int:
    ledger = opened.ledger(door)
    table = Table("run", "issue", "state", "waits or ended", "spent", "pull request", box=None)
    for run in ledger.runs(30):
        pull = run.publication.pull_url or "-"
        issue = f"{run.repository.full_name}#{run.issue}"
        state = f"{run.state}, large" if run.large else run.state
        table.add_row(run.id, issue, state, _why(run), f"${run.spend.dollars / 1e6:.2f}", pull)
    console = Console()
    paused = ledger.paused()
    if paused:
        console.print(f"Paused by {paused}; `patchwarrant resume` ends it.")
    console.print(table)
    return 0


def _why(run: Run) -> str:
    if run.untold:
        reason = f"{run.halt.reason}, " if run.halt else ""
        return f"{reason}set aside: {run.untold}"
    if run.halt:
        return run.halt.reason
    if run.wait is None:
        return ""
    until = datetime.fromtimestamp(run.wait.until / 1000, tz=UTC)
    return f"{run.wait.waiting} until {until:%m-%d %H:%M} UTC: {run.wait.note}"
