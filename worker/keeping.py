"""What every keeper does: one leader a role, which re-wakes the role's runs that nobody holds."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from functools import partial

from redis import Redis

from app.domain.errors import Stop
from app.domain.state import Role
from worker.queue import Bell
from worker.store.ledger import Ledger

PASS = 1.0  # seconds between two passes
LEAD_MS = 10_000
BATCH = 100
log = logging.getLogger(__name__)

Chore = Callable[[Ledger, Bell], None]


def keep(role: Role, connected: Callable[[], Redis], *chores: Chore) -> None:
    """Run for ever: while this process leads, re-wake what is due and do the role's `chores`."""
    lead(role, connected, partial(rewake, role), *chores)


def lead(name: str, connected: Callable[[], Redis], *chores: Chore) -> None:
    """Run for ever: do the chores once a pass while this process leads under `name`.

    A chore that fails on an expected stop (Redis or GitHub away) is logged, and the next pass
    tries again.
    """
    redis = connected()
    ledger, bell = Ledger(redis), Bell(redis)
    owner = secrets.token_hex(8)
    while True:
        try:
            if ledger.leader(name, owner, LEAD_MS):
                for chore in chores:
                    chore(ledger, bell)
        except Stop as stop:
            log.warning("keeper %s: %s", name, stop)
        time.sleep(PASS)


def every(seconds: float, chore: Chore) -> Chore:
    """The chore at most once in so many seconds of this process; a pass that stopped on an error
    waits as long."""
    last = float("-inf")

    def now_and_then(ledger: Ledger, bell: Bell) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            chore(ledger, bell)

    return now_and_then


def rewake(role: Role, ledger: Ledger, bell: Bell) -> None:
    """Ring for every run of this role that is past its wake time and has no live lease."""
    due = [row for row in ledger.due(ledger.now(), BATCH) if row.role is role]
    for row in due:
        bell.run(role, row.run_id, ledger.wake(row.run_id, role))
