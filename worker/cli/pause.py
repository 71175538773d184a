"""`patchwarrant pause`: no new run starts and no waiting one goes on until `resume`."""

from __future__ import annotations

import getpass

from worker import settings
from worker.cli import opened


def main(door: settings.Door, _arguments: list[str]) -> int:
    opened.ledger(door).pause(getpass.getuser())
    print("Paused: new labels are refused with that reason. `patchwarrant resume` ends it.")
    return 0
