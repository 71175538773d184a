"""`patchwarrant resume`: ends a pause."""

from __future__ import annotations

from worker import settings
from worker.store.connect import connect
from worker.store.ledger import Ledger


def main(door: settings.Door, _arguments: list[str]) -> int:
    Ledger(connect(settings.operator(door).redis_url)).resume()
    print("Resumed.")
    return 0
