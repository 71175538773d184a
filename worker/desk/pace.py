"""When an installation may ask GitHub: turns that all processes share, limits that all obey.

Nobody sleeps for minutes: what is far off is `Limited` with the seconds, and the run parks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from app.domain.errors import Limited
from worker.store.pacing import Pacing, Turn

LONGEST_MS = 5_000  # that a worker waits for its turn
HURRIED_MS = 1_000
_WORDS = {
    "full": "This installation's writes of this hour are used up.",
    "queue": "Other writes of this installation are ahead.",
}


@dataclass
class AlonePace:
    """Keeps the writes of this process at least `gap` seconds apart, for tools and tests."""

    gap: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    last: float = field(default=float("-inf"))

    def ready(self) -> None:
        return

    def limited(self, _seconds: float, _said: bool, _why: str) -> None:
        return

    def wait(self, *, first: bool = False) -> None:
        """Sleep until the next write may be sent; nobody else is in the line."""
        pause = self.last + self.gap - self.clock()
        if pause > 0:
            self.sleep(pause)
        self.last = self.clock()


@dataclass(frozen=True)
class SharedPace:
    """One installation's pace as the ledger keeps it for every process."""

    installation: int
    pacing: Pacing
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def ready(self) -> None:
        turn = self.pacing.limited(self.installation)
        if turn.no:
            raise _far(turn)

    def limited(self, seconds: float, said: bool, why: str) -> None:
        self.pacing.limit(self.installation, round(seconds * 1000), said, why)

    def wait(self, *, first: bool = False) -> None:
        turn = self.pacing.take(self.installation, first=first)
        while turn.no == "wait":
            self.sleep(turn.wait / 1000)
            turn = self.pacing.take(self.installation, turn.place, first=first)
        if turn.no:
            raise _far(turn)


def _far(turn: Turn) -> Limited:
    words = _WORDS.get(turn.no) or f"GitHub limits this installation: {turn.why}"
    return Limited(words, max(1.0, turn.wait / 1000))
