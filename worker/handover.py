"""This process was told to end: what it carries is handed over within the grace period.

Between two stages a run is let go at once; inside one, what goes on has `DRAIN` seconds to come to
its end (a model's reply is paid for), and then the next look at the lease gives the run up.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

DRAIN = 8.0  # seconds, well below the supervisor's GRACE


@dataclass
class Ending:
    """Whether this process was told to end, by a clock that only grows."""

    clock: Callable[[], float] = time.monotonic
    asked: float = 0.0

    def ask(self) -> None:
        """End soon. Asked again, the first time counts."""
        self.asked = self.asked or max(self.clock(), 1e-9)

    def soon(self) -> bool:
        """Nothing new should be begun."""
        return self.asked > 0

    def now(self) -> bool:
        """What goes on should be given up."""
        return self.soon() and self.clock() - self.asked >= DRAIN


ENDING = Ending()


def listen_for(*signals: signal.Signals) -> None:
    """Take these signals as the word to end. Only from a main thread."""
    for number in signals:
        signal.signal(number, _told)


def _told(_number: int, _frame: FrameType | None) -> None:
    ENDING.ask()
