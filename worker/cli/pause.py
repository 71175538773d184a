"""`patchwarrant pause`: no new run starts until `resume`; what is at work is finished."""

from __future__ import annotations

import getpass

from worker.cli import opened
from worker.settings.door import Door


def main(door: Door, _arguments: list[str]) -> int:
    opened.ledger(door).pause(getpass.getuser())
    print(
        "Paused: new requests are refused with that reason; runs at work or waiting go on "
        "(`patchwarrant cancel RUN` ends one). `patchwarrant resume` ends the pause."
    )
    return 0
