"""The ledger as an operator's command opens it: impatient, since a person waits."""

from __future__ import annotations

from worker import settings
from worker.store.connect import connect
from worker.store.ledger import Ledger

PATIENCE = 2.0  # seconds


def ledger(door: settings.Door) -> Ledger:
    """Raises `SettingsError`, or `Halt` for an address that is none."""
    return Ledger(connect(settings.operator(door).redis_url), patience=PATIENCE)
