"""`patchwarrant resume [--new-ledger]`: ends a pause, or takes what Redis holds as the ledger."""

from __future__ import annotations

from worker import settings
from worker.cli import opened
from worker.store.epoch import accept


def main(door: settings.Door, arguments: list[str]) -> int:
    ledger = opened.ledger(door)
    if "--new-ledger" in arguments:
        accept(ledger.calls)
        print("What Redis holds now is the ledger; every desk takes it up within an hour.")
        return 0
    ledger.resume()
    print("Resumed.")
    return 0
