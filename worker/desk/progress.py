"""Progress: edits the sticky comment of a run that moved, at most every few seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from app.domain import report
from app.domain.errors import Stop
from app.domain.permissions import Phase
from app.domain.run import Run
from app.domain.state import ENDS, State
from worker.desk.kit import Write
from worker.desk.notices import status_marker

log = logging.getLogger(__name__)


@dataclass
class Progress:
    """Shows runs that another role is working on. Needs no lease: an edit of a known comment can
    be done twice. Endings are `explain`'s. `now` is Redis milliseconds."""

    write: Write
    now: Callable[[], int]
    gap_ms: int = 3_000
    shown: dict[str, tuple[State, str, int]] = field(default_factory=dict)

    def __call__(self, run: Run) -> bool:
        """Bring the comment up to date; False where nothing was sent. Never raises a `Stop`."""
        at = self.now()
        waiting = run.wait.waiting if run.wait else ""
        if not run.status_comment or run.state in ENDS:
            self.shown.pop(run.id, None)
            return False
        state, waited, when = self.shown.get(run.id, (None, "", 0))
        if (state, waited) == (run.state, waiting) or at - when < self.gap_ms:
            return False
        body = report.status(run, max(0, at - run.created), run.publication.pull_url)
        try:
            with self.write(run, Phase.STATUS) as writer:
                writer.comment(run.issue, body, status_marker(run.change), run.status_comment)
        except Stop as stop:
            log.info("run %s: its progress could not be shown: %s", run.id, stop)
            return False
        self.shown[run.id] = (run.state, waiting, at)
        return True
