"""`patchwarrant resume [--new-ledger]`: ends a pause, or takes what Redis holds as the ledger."""

from __future__ import annotations

import sys

from worker.cli import opened
from worker.settings.door import Door
from worker.store.epoch import accept


def main(door: Door, arguments: list[str]) -> int:
    odd = [word for word in arguments if word != "--new-ledger"]
    if odd:  # a mistyped word must not end a pause
        sys.stderr.write(
            f"patchwarrant resume: takes --new-ledger and nothing else, not {odd[0]!r}\n"
        )
        return 2
    ledger = opened.ledger(door)
    if "--new-ledger" in arguments:
        accept(ledger.calls)
        print("What Redis holds now is the ledger; every desk takes it up within an hour.")
        print("A pause stays: `patchwarrant resume` ends it.")
        return 0
    ledger.resume()
    print("Resumed.")
    return 0
