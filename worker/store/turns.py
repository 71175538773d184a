"""Whose turn it is at an issue: its events are handled one at a time, in the order they came."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain import record
from app.domain.scripts.waits import NEXT_TURN, TAKE_TURN
from worker.store.calls import Calls

TURN_MS = 30_000  # whoever is killed holds the others up no longer; their rows stay due


@dataclass(frozen=True)
class Turns:
    """The turn at one issue; one about no issue (`issue` 0) waits for nobody."""

    calls: Calls
    repository: int
    issue: int

    @property
    def _keys(self) -> tuple[str, str]:
        whose = (self.repository, self.issue)
        return record.turn_key(*whose), record.waiting_key(*whose)

    def take(self, token: str, event: str) -> bool:
        """Whether the event may be handled now; else it waits, and `passed` names it later.
        `token` is a fresh one for each try."""
        if not self.issue:
            return True
        return bool(self.calls.script(TAKE_TURN, self._keys, (token, event, TURN_MS)))

    def passed(self, token: str) -> str:
        """The turn of `token` is over; the key of the event that waits longest, "" if none does."""
        if not self.issue:
            return ""
        found = self.calls.script(NEXT_TURN, self._keys, (token,))
        return found.decode() if found else ""
