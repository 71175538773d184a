"""Public keys as people write them down: a PEM, or one line for the repository's configuration."""

from __future__ import annotations

import base64
import binascii

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from worker.attest.verify import NotVerified, public_key

PREFIX = "ed25519:"


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
