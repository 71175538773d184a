"""`patchwarrant cancel RUN`: ends a run within seconds, wherever it is."""

from __future__ import annotations

from worker import settings
from worker.cli import opened


def main(door: settings.Door, arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: patchwarrant cancel RUN   (`patchwarrant status` lists the runs)")
        return 2
    if not opened.ledger(door).cancel(arguments[0]):
        print(f"There is no run {arguments[0]}; `patchwarrant status` lists them.")
        return 1
    print(f"Run {arguments[0]} is asked to stop.")
    return 0
