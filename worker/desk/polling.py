"""`intake: poll`: deliveries are read from GitHub into the ledger, so that no address is needed.

The same bodies by the same triggers into the same rows as the receiver's, with the same keys: an
event that came both ways is one event. Oldest first; how far it came is kept after every delivery,
so a process that is killed goes on where it stopped and reads at most one delivery twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from app.domain.errors import Missing, Refused, Unavailable
from app.domain.event import Event, Ignored
from app.domain.triggers import Misfit, digest_of, event_of, worth_reading
from worker.desk.github.deliveries import Deliveries, Delivery

MARK = "polled"
OVERLAP_MS = 300_000  # GitHub may list a delivery later than a newer one
FIRST_MS = 3_600_000  # how far back the very first look goes
RETENTION_MS = 3 * 86_400_000
LEAST_REST = 5.0  # seconds after GitHub could not be asked
REFUSED_REST = 60.0
log = logging.getLogger(__name__)


class Taken(Protocol):
    """What of the ledger is needed here."""

    def mark(self, name: str) -> int: ...

    def set_mark(self, name: str, at: int) -> None: ...

    def polled(self, delivery: int) -> bool: ...

    def set_polled(self, delivery: int, at: int, before: int) -> None: ...

    def add_event(self, event: Event) -> bool: ...

    def unheard(self, key: str) -> None: ...


@dataclass
class Poll:
    """One pass a call. `ring` wakes the desk for a new event's key, `now` gives Redis milliseconds,
    `clock` seconds that only grow. With `missed` only those deliveries are read that no receiver
    took (`intake: both`). `bots` are ids of bots that the operator lets trigger."""

    deliveries: Deliveries
    ledger: Taken
    ring: Callable[[str], None]
    now: Callable[[], int]
    clock: Callable[[], float]
    bots: frozenset[int] = frozenset()
    missed: bool = False
    rest_until: float = field(default=float("-inf"))

    def __call__(self) -> int:
        """How many events were new. Raises `Unavailable`, `Refused`; after a rate limit nothing is
        asked until it is over."""
        if self.clock() < self.rest_until:
            return 0
        try:
            return self._pass()
        except Unavailable as away:
            self.rest_until = self.clock() + max(LEAST_REST, away.retry_after or 0.0)
            raise
        except Refused:  # saying it again will not help soon: a key or a clock is wrong
            self.rest_until = self.clock() + REFUSED_REST
            raise

    def _pass(self) -> int:
        now, mark = self.now(), self.ledger.mark(MARK)
        since = max(mark - OVERLAP_MS, now - RETENTION_MS) if mark else now - FIRST_MS
        if not mark:
            self.ledger.set_mark(MARK, since)
        if self.deliveries.unchanged():
            return 0
        new = 0
        for one in sorted(self.deliveries.since(since), key=lambda each: (each.at, each.id)):
            if self.ledger.polled(one.id):
                continue
            new += self._take(one)
            self.ledger.set_polled(one.id, one.at, one.at - 2 * OVERLAP_MS)
            mark = max(mark, one.at)
            self.ledger.set_mark(MARK, mark)
        self.deliveries.seen()
        return new

    def _take(self, one: Delivery) -> bool:
        """Write the delivery's event, if it is one; True where it was not known."""
        if not worth_reading(one.event, one.action) or (self.missed and one.taken):
            return False
        try:
            body = self.deliveries.body(one.id)
            found = event_of(one.event, body, lambda: digest_of(body), self.bots)
        except (Missing, Misfit) as amiss:
            log.warning("delivery %d (%s) cannot be read, and is left: %s", one.id, one.guid, amiss)
            return False
        if isinstance(found, Ignored):
            return False
        new = self.ledger.add_event(found)
        if new:
            self.ring(found.key)
            self.ledger.unheard(found.key)
        return new
