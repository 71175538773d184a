"""`patchwarrant key seal|signing FILE`: makes a secret that set-up needs, readable by its owner."""

from __future__ import annotations

import os
from pathlib import Path

from worker import settings
from worker.attest.signing import create_key
from worker.store.sealing import new_secret


def main(_door: settings.Door, arguments: list[str]) -> int:
    match arguments:
        case ["seal", file]:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as out:
                out.write(new_secret() + "\n")
            print(f"{file}: 32 random bytes that seal tokens. Set PATCHWARRANT_SEAL_FILE={file}")
        case ["signing", file]:
            public = create_key(Path(file))
            print(f"{file}: the key that signs evidence. Its public half, to be kept elsewhere:")
            print(public)
        case _:
            print("usage: patchwarrant key seal FILE | patchwarrant key signing FILE")
            return 2
    return 0
