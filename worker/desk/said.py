"""A command with what it is about, as every word's doer is given it, and how it is answered."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain import told
from app.domain.commands import Command
from app.domain.event import Event
from app.domain.record import ChangeRow
from app.domain.repo_config import reaches
from app.domain.run import Run
from app.domain.state import ENDS
from worker.desk.authority import least_role
from worker.desk.front import EventDesk, speak


@dataclass(frozen=True)
class Said:
    """One command with what it is about: `issue` is the Change's where it was said on a pull
    request of ours (then `ours`), `change` the issue's open Change, `asking` names the tokens."""

    event: Event
    command: Command
    desk: EventDesk
    asking: Run
    issue: int
    change: ChangeRow | None
    role: str = ""
    ours: bool = False

    def may_steer(self, run: Run) -> bool:
        """Whether the repository's own `roles` let this person steer `run`; a no is said."""
        least = least_role(run)
        if reaches(self.role, least):
            return True
        text = told.refused(self.event.sender, self.role, self.command.said, f"{least} access")
        self.once(text, f"refused:{self.event.issue}:{self.event.sender.id}")
        return False

    def reply(self, text: str, marker: str = "") -> None:
        """A comment where the command was said; without `marker` each event has one of its own."""
        self._comment(text, marker or self.event.key, keep=False)

    def once(self, text: str, marker: str) -> None:
        """As `reply`, and an answer with this marker that is there already stays as it is: saying
        it again costs nobody anything."""
        self._comment(text, marker, keep=True)

    def _comment(self, text: str, marker: str, *, keep: bool) -> None:
        mark = f"<!-- patchwarrant:said:{marker} -->"
        body = f"{mark}\n{text}"
        issue = self.event.issue
        speak(self.desk, self.asking, lambda w: w.comment(issue, body, mark, keep=keep))

    def active(self) -> Run | None:
        """The run at work, if one is and it did not end yet."""
        if self.change is None or not self.change.active:
            return None
        run = self.desk.ledger.run(self.change.active)
        return run if run is not None and run.state not in ENDS else None
