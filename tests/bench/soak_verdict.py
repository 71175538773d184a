"""What became of a soak: runs, lost, duplicates, broken invariants, by the crash tests' checker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.domain.record import Kept
from app.domain.run import Run
from app.domain.state import ENDS
from tests.crash.invariants import Expected, broken_run, left_behind, secrets_shown
from tests.crash.town import Town

Issue = tuple[str, int]


@dataclass(frozen=True)
class Verdict:
    """Counts, and in words whatever does not hold."""

    runs: int
    lost: int
    duplicates: int
    broken: tuple[str, ...]
    repeated: int  # requests to the model beyond the recorded replies
    orphans: int  # tokens whose minter died before it had written them down


def judged(
    town: Town, issues: Mapping[str, int], wanted: Expected, kills: int, log: Path
) -> Verdict:
    """`issues` by repository, each with one label and two deliveries; after the last process."""
    count = sum(issues.values())
    runs = town.ledger.runs(2 * count + 100)
    by_issue: dict[Issue, list[Run]] = defaultdict(list)
    for run in runs:
        by_issue[run.repository.full_name, run.issue].append(run)
    ended = [one for one in runs if one.state in ENDS and one.explained]
    over = {(one.repository.full_name, one.issue) for one in ended}
    again = len(runs) - len(by_issue)
    broken = [
        f"{run.repository.full_name}#{run.issue}: {amiss}"
        for run in ended
        for amiss in broken_run(town, run.repository.full_name, run, wanted)
    ]
    broken += [*left_behind(town), *secrets_shown(town, log), *_money(town, runs)]
    orphans = sum(bool(one["alive"]) for one in town.hub.tokens())
    if orphans > kills:
        broken.append(f"I5: {orphans} live tokens after {kills} kills")
    extra = again + sum(_second(town, name, number) for name, number in issues.items())
    asked = len(town.model.requests()) - len(ended) * wanted.calls
    return Verdict(len(ended), count - len(over), extra, tuple(broken), asked, orphans)


def _second(town: Town, name: str, issues: int) -> int:
    """Pull requests and branches of a repository beyond one an issue."""
    pulls = len(town.hub.pulls(name))
    branches = sum("agent/" in ref for ref in town.hub.refs(name))
    return max(0, pulls - issues) + max(0, branches - issues)


def _money(town: Town, runs: Sequence[Run]) -> list[str]:
    """The day's account covers what is journalled; calls whose fate nobody knows come on top."""
    ledger = town.ledger
    kept = sum(
        int(entry.data["dollars"])
        for run in runs
        for entry in ledger.journal(run.id)
        if entry.kind is Kept.MODEL
    )
    spent = ledger.spent_today()
    return [] if spent >= kept else [f"I4: the day's account says {spent}, the journals {kept}"]
