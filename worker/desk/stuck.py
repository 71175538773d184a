"""Closes what says "at work" on GitHub for a run that is over: sticky comment and label."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from app.domain import report
from app.domain.errors import Refused
from app.domain.event import Repository
from app.domain.overdue import Labelled
from app.domain.permissions import Phase
from app.domain.ports.writer import GitHubWriter
from app.domain.run import Run
from app.domain.state import ENDS, Kind
from app.domain.triggers import GHOST
from worker.desk.kit import RUNNING, Write, label_of
from worker.desk.notices import status_marker
from worker.store.ledger import Ledger

LOOKED_AT = 500  # newest runs among which an issue's last one is looked for
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stuck:
    """One repository a call. `running` lists its open issues with the label of a run at work."""

    ledger: Ledger
    running: Callable[[Run], AbstractContextManager[Iterator[Labelled]]]
    write: Write

    def __call__(self, installation: int, repository: Repository) -> int:
        """How many issues were put right. Raises `Unavailable`, `Halt`."""
        now = self.ledger.now()
        asking = Run("survey", Kind.FIX, "", "", installation, repository, 0, GHOST, now)
        with self.running(asking) as found:
            numbers = [one.issue for one in found]
        return sum(self._closed(asking, number) for number in numbers)

    def _closed(self, asking: Run, issue: int) -> bool:
        last, at_work = self._last(asking.repository, issue)
        if at_work:
            return False
        try:
            with self.write(last or asking, Phase.STATUS) as writer:
                self._put_right(writer, last, issue)
        except Refused as refusal:
            log.info("issue %s#%d stays as it is: %s", asking.repository.full_name, issue, refusal)
            return False
        return True

    def _put_right(self, writer: GitHubWriter, last: Run | None, issue: int) -> None:
        if last is not None:
            if last.status_comment and not last.untold:  # a report that kills is not tried again
                body = report.status(last, max(0, self.ledger.now() - last.created), "")
                writer.comment(issue, body, status_marker(last.change), last.status_comment)
            writer.add_labels(issue, [label_of(last)])
        writer.remove_label(issue, RUNNING)
        log.warning("issue %d said that a run is at work; none is, and it says so now", issue)

    def _last(self, repository: Repository, issue: int) -> tuple[Run | None, bool]:
        """(the issue's newest run, whether anything of it is at work or could not be read)."""
        change = self.ledger.open_change(repository.id, issue)
        if change is not None:
            last = self.ledger.run(change.runs[-1])
            return last, bool(change.active) or not _over(last)
        for run in self.ledger.runs(LOOKED_AT):
            if run.repository.id == repository.id and run.issue == issue:
                return run, not _over(run)
        return None, False


def _over(run: Run | None) -> bool:
    return run is None or (run.state in ENDS and run.explained)
