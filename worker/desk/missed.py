"""Finds what GitHub could not deliver and has it delivered once more."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from app.domain.missed import RETENTION_MS, Attempt, sweep
from worker.desk.github.deliveries import Deliveries

MARK = "deliveries"
log = logging.getLogger(__name__)


class Marks(Protocol):
    """How far a keeper looked, over restarts and between processes."""

    def mark(self, name: str) -> int: ...

    def set_mark(self, name: str, at: int) -> None: ...


@dataclass(frozen=True)
class Redeliver:
    """One pass a call; `now` gives Redis milliseconds."""

    deliveries: Deliveries
    marks: Marks
    now: Callable[[], int]

    def __call__(self) -> int:
        """How many deliveries were asked for once more. Raises `Unavailable`, `Refused`."""
        now = self.now()
        mark = max(self.marks.mark(MARK), now - RETENTION_MS)
        seen = [Attempt(d.id, d.guid, d.at, d.code) for d in self.deliveries.since(mark)]
        found = sweep(seen, now, mark)
        for number in found.again:
            self.deliveries.again(number)
        if found.again:
            log.warning(
                "%d of %d deliveries that the receiver did not take are asked for once more",
                len(found.again),
                found.open,
            )
        if found.mark > mark:
            self.marks.set_mark(MARK, found.mark)
        return len(found.again)
