"""`patchwarrant key seal|signing FILE`: makes a secret that set-up needs, readable by its owner."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from worker.attest.keys import line_of
from worker.attest.signing import KeyUnusable, Signer
from worker.attest.verify import public_key
from worker.settings.door import Door
from worker.store.sealing import new_secret

EPILOG = """
seal     a random secret that seals tokens. A file that is there is
         never replaced: what is sealed with it opens with nothing else.
         Its place goes into PATCHWARRANT_SEAL_FILE of the desk.
signing  the Ed25519 key that signs evidence, as PEM. Where FILE is there it stays, and
         its public half is printed again: as PEM, and as the line
         `evidence: {key: "ed25519:…"}` for .github/agent.yml on the default branch.
         Its place goes into PATCHWARRANT_SIGNING_KEY_FILE of the desk, or after --key
         of `patchwarrant check`; the public half, after --key of `patchwarrant verify`.

examples
  patchwarrant key signing ~/.config/patchwarrant/signing.pem > public.txt
  patchwarrant check --key ~/.config/patchwarrant/signing.pem
  patchwarrant verify --repo . --key public.txt

Exit code: 0 done, 1 the file is of no use or cannot be made, 2 wrong words."""


def main(_door: Door, arguments: list[str]) -> int:
    """Exit code: 0 done, 1 the file is of no use or cannot be made, 2 wrong words."""
    asked = _parser().parse_args(arguments)
    return _seal(asked.file) if asked.kind == "seal" else _signing(asked.file)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="patchwarrant key",
        description="Makes a secret that set-up needs, in a file that only its owner reads.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", choices=("seal", "signing"), help="which secret")
    parser.add_argument("file", metavar="FILE", help="where it is kept, best outside repositories")
    return parser


def _seal(file: str) -> int:
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
    return 0


def _signing(file: str) -> int:
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
    return 0
