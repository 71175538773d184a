"""Whose turn it is: rings for the review comments that waited for a run which ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from app.domain.record import ChangeRow

FIRST_MS = 5_000  # until a ring that led to no run is repeated, doubled each time
LAST_MS = 600_000


class Waiting(Protocol):
    """What of the ledger is needed here."""

    def change(self, change_id: str) -> ChangeRow | None: ...

    def waiting(self, change: str) -> list[str]: ...

    def taken(self, change: str, event_keys: Sequence[str]) -> None: ...

    def changes_waiting(self) -> list[str]: ...

    def now(self) -> int: ...


@dataclass
class NextTurn:
    """`ring` wakes the desk for an event, under a name that is the same for the same turn."""

    ledger: Waiting
    ring: Callable[[str, str], None]
    rung: dict[str, tuple[str, int, int]] = field(default_factory=dict)

    def sweep(self) -> None:
        """Ring where a turn has come and nobody rang, or nothing came of it."""
        for change_id in self.ledger.changes_waiting():
            self(change_id)

    def __call__(self, change_id: str) -> None:
        """Ring for the first of the Change's waiting comments, if nobody is at work for it. Those
        of a Change that is closed wait no longer: its end was told."""
        change, waiting = self.ledger.change(change_id), self.ledger.waiting(change_id)
        if change is None or change.active or not waiting:
            return
        if not change.open:
            self.ledger.taken(change_id, waiting)
            return
        first, now = waiting[0], self.ledger.now()
        key, at, pause = self.rung.get(change_id, ("", 0, FIRST_MS))
        if key == first and now - at < pause:
            return
        again = min(pause * 2, LAST_MS) if key == first else FIRST_MS
        self.rung[change_id] = (first, now, again)
        self.ring(first, f"turn-{first}-{now}")
