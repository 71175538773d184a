"""A worker that loses Redis says so once Redis is back, so that no outage counts as a crash.

A lease that nobody gives back counts as a crash of its run. A worker that was killed by what it ran
says nothing more; one that merely could not reach Redis is still there, or its parent is.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from app.domain.errors import Unavailable
from worker.handover import Ending
from worker.store.ledger import Ledger

PAUSE = 0.5  # seconds between two looks whether Redis is back
log = logging.getLogger(__name__)


@dataclass
class Holder:
    """In whose name leases are taken: drawn anew for each job, before its work-horse is forked, so
    that the parent knows it, too."""

    name: str = field(default_factory=lambda: secrets.token_hex(6))

    def renew(self) -> None:
        self.name = secrets.token_hex(6)


HOLDER = Holder()


def owner_of(role: str) -> str:
    """The owner of the leases that this process, or its work-horse, takes now."""
    return f"{role}-{HOLDER.name}"


def excuse(
    ledger: Ledger,
    run_id: str,
    owner: str,
    ending: Ending,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait for Redis and say that `owner` lost it; gives up only where this process is to end."""
    while True:
        try:
            if ledger.excuse(run_id, owner):
                log.warning("run %s: its worker lost Redis; that is no crash", run_id)
            return
        except Unavailable as away:
            if ending.soon():
                log.warning("run %s: its lapse was not told: %s", run_id, away)
                return
            sleep(PAUSE)
