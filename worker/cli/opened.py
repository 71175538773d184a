"""The ledger as an operator's command opens it: impatient, since a person waits."""

from __future__ import annotations

from worker.settings.door import Door
from worker.settings.person import operator_settings
from worker.store.connect import connect
from worker.store.ledger import Ledger

PATIENCE = 2.0  # seconds


def ledger(door: Door) -> Ledger:
    """Raises `SettingsError`, or `Halt` for an address that is none."""
    return Ledger(connect(operator_settings(door).redis_url), patience=PATIENCE)
