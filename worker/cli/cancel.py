"""`patchwarrant cancel RUN`: ends a run within seconds, wherever it is."""

from __future__ import annotations

from worker.cli import opened
from worker.settings.door import Door


def main(door: Door, arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: patchwarrant cancel RUN   (`patchwarrant status` lists the runs)")
        return 2
    ledger = opened.ledger(door)
    if not ledger.cancel(arguments[0]):
        known = ledger.run(arguments[0]) is not None
        said = "is over already" if known else "is not known; `patchwarrant status` lists the runs"
        print(f"Run {arguments[0]} {said}.")
        return 1
    print(f"Run {arguments[0]} is asked to stop.")
    return 0
