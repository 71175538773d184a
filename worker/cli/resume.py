"""`patchwarrant resume`: ends a pause."""

from __future__ import annotations

from worker import settings
from worker.cli import opened


def main(door: settings.Door, _arguments: list[str]) -> int:
    opened.ledger(door).resume()
    print("Resumed.")
    return 0
