"""Progress: edits the sticky comment of a run that moved, puts the agent's questions and plans."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from app.domain import plan_approval, questions, report
from app.domain.errors import Stop, Unavailable, Uncertain, Waiting
from app.domain.permissions import Phase
from app.domain.ports.writer import GitHubWriter
from app.domain.record import JournalEntry
from app.domain.run import Run
from app.domain.state import ENDS, OWNER, Role, State
from worker.desk.kit import Write
from worker.desk.notices import status_marker

log = logging.getLogger(__name__)


@dataclass
class Progress:
    """Shows runs that another role is working on. Needs no lease: an edit of a known comment can
    be done twice. Endings are `explain`'s. `now` is Redis milliseconds; `journal` gives a run's
    journal, without it the agent's questions are not put. `latest` gives a run's newest row, None
    where its comment is another run's by now: what was sent late is told again as it is."""

    write: Write
    now: Callable[[], int]
    gap_ms: int = 3_000
    journal: Callable[[str], Sequence[JournalEntry]] | None = None
    latest: Callable[[str], Run | None] | None = None
    late: set[str] = field(default_factory=set)
    shown: dict[str, tuple[State, str, int]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def __call__(self, run: Run) -> bool:
        """Bring the comments up to date; False where nothing was sent. Never raises a `Stop`."""
        if run.state in ENDS:
            self.shown.pop(run.id, None)
            return False
        at = self.now()
        question = self._question(run)
        due = self._due(run, at)
        if question is None and not due:
            return False
        try:
            with self.write(run, Phase.STATUS) as writer:
                if question is not None:
                    self._ask(run, question, writer)
                if due:
                    self._put(run, writer)
                    self._overtaken(run, writer)
        except Stop as stop:
            log.info("run %s: its progress could not be shown: %s", run.id, stop)
            return False
        if due:
            self.shown[run.id] = (run.state, _waiting(run), at)
        return True

    def settle(self) -> None:
        """Tell the end of runs that ended while their comment was on its way. Never raises."""
        for run_id in tuple(self.late):
            run = self.latest(run_id) if self.latest is not None else None
            if run is not None and not _over(run):
                continue
            if run is not None:
                try:
                    with self.write(run, Phase.STATUS) as writer:
                        self._put(run, writer)
                except Stop as stop:
                    log.info("run %s: its end could not be shown: %s", run_id, stop)
                    if isinstance(stop, Unavailable | Uncertain):
                        continue
            self.late.discard(run_id)

    def _put(self, run: Run, writer: GitHubWriter) -> None:
        body = report.status(run, max(0, self.now() - run.created), "")
        writer.comment(run.place, body, status_marker(run.change), run.status_comment)

    def _overtaken(self, sent: Run, writer: GitHubWriter) -> None:
        """The desk itself writes the comment when it publishes and at an end. What was sent before
        and arrives after that is put right: now, or by `settle` once the row says the end."""
        newest = self.latest(sent.id) if self.latest is not None else None
        if newest is None or OWNER[newest.state] is not Role.DESK:
            return
        if _over(newest):
            self._put(newest, writer)
        else:
            self.late.add(sent.id)

    def _due(self, run: Run, at: int) -> bool:
        """Whether the sticky comment, if there is one, may say something new by now."""
        state, waited, when = self.shown.get(run.id, (None, "", 0))
        fresh = (state, waited) != (run.state, _waiting(run)) and at - when >= self.gap_ms
        return fresh and run.status_comment > 0

    def _question(self, run: Run) -> JournalEntry | None:
        """The questions that this run waits for and that this process did not put yet."""
        if self.journal is None or _waiting(run) not in (Waiting.ANSWER, Waiting.PLAN):
            return None
        found = plan_approval.pending if _waiting(run) == Waiting.PLAN else questions.pending
        entry = found(self.journal(run.id))
        return None if entry is None or f"{run.id}:{entry.id}" in self.asked else entry

    def _ask(self, run: Run, entry: JournalEntry, writer: GitHubWriter) -> None:
        if _waiting(run) == Waiting.PLAN:
            marker = plan_approval.marker(run.id, str(entry.data["plan_hash"]))
            writer.comment(run.place, plan_approval.asked(run, entry), marker)
        else:
            marker = questions.marker(run.id, entry.id)
            writer.comment(run.place, questions.asked(run, entry), marker)
        self.asked.add(f"{run.id}:{entry.id}")


def _over(run: Run) -> bool:
    return run.state in ENDS and run.explained


def _waiting(run: Run) -> str:
    return run.wait.waiting if run.wait else ""
