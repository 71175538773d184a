"""Public keys as people write them down: a PEM, or one line for the repository's configuration."""

from __future__ import annotations

import base64
import binascii
import re

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from worker.attest.verify import NotVerified, public_key

PREFIX = "ed25519:"
_LINE = re.compile(r"ed25519:[A-Za-z0-9+/=_-]*")
_PEM = re.compile(r"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)
_PRIVATE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")


def line_of(key: Ed25519PublicKey) -> str:
    """`ed25519:` and the key's 32 bytes in base64."""
    raw = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    return PREFIX + base64.b64encode(raw).decode()


def key_from(text: str) -> Ed25519PublicKey:
    """A key from its line or its PEM. Raises `NotVerified`."""
    text = text.strip()
    if not text.startswith(PREFIX):
        return public_key(text)
    try:
        raw = base64.b64decode(text.removeprefix(PREFIX), validate=True)
        key = Ed25519PublicKey.from_public_bytes(raw)
    except (binascii.Error, ValueError):
        raise NotVerified(f"`{text[:80]}` is no key: `{PREFIX}` and 32 bytes in base64.") from None
    if line_of(key) != text:
        raise NotVerified(f"`{text[:80]}` is no key in its one right spelling.")
    return key


def key_in(text: str) -> Ed25519PublicKey:
    """The one key of a file that a reader trusts, however it was written down: a PEM, the line, the
    configuration that holds the line, or all that `patchwarrant key signing` printed.

    Raises `NotVerified` for none, for two different ones, and for a private key."""
    if _PRIVATE.search(text):
        raise NotVerified(
            "It holds a private key, which signs and belongs to nobody else. To verify, its public "
            "half is wanted: `patchwarrant key signing FILE` prints that of the key in FILE."
        )
    written = dict.fromkeys([*_PEM.findall(text), *_LINE.findall(text)])
    if not written:
        raise NotVerified(
            "It holds no key. Wanted is a public key as `patchwarrant key signing` prints it: a "
            f"PEM, or `{PREFIX}` and 32 bytes in base64, alone or in `evidence: {{key: …}}`."
        )
    keys = {line_of(key_from(one)): key_from(one) for one in written}
    if len(keys) > 1:
        raise NotVerified(f"It holds {len(keys)} different keys; leave the one that you trust.")
    return next(iter(keys.values()))
