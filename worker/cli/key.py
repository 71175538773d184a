"""`patchwarrant key seal|signing FILE`: makes a secret that set-up needs, readable by its owner."""

from __future__ import annotations

import os
from pathlib import Path

from worker import settings
from worker.attest.keys import line_of
from worker.attest.signing import KeyUnusable, Signer
from worker.attest.verify import public_key
from worker.store.sealing import new_secret


def main(_door: settings.Door, arguments: list[str]) -> int:
    match arguments:
        case ["seal", file]:
            try:
                Path(file).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                print(f"{file} is there already; what is sealed with it opens with nothing else")
                return 1
            except OSError as error:
                print(f"{file} cannot be made: {error.strerror}; name a place of this user")
                return 1
            with os.fdopen(descriptor, "w", encoding="ascii") as out:
                out.write(new_secret() + "\n")
            print(f"{file}: a random secret that seals tokens. Set PATCHWARRANT_SEAL_FILE={file}")
        case ["signing", file]:
            try:
                signer = Signer.load(Path(file))
            except KeyUnusable as problem:
                print(problem)
                return 1
            print(f"{file}: the key that signs evidence. Its public half, to be kept elsewhere:")
            print(signer.public_pem)
            line = line_of(public_key(signer.public_pem))
            print("For .github/agent.yml on the default branch, so that others need no file:")
            print(f'evidence: {{key: "{line}"}}')
        case _:
            print("usage: patchwarrant key seal FILE | patchwarrant key signing FILE")
            return 2
    return 0
