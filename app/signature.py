"""Whether a delivery is genuine: HMAC-SHA256 over the raw bytes, GitHub's own scheme."""

from __future__ import annotations

import hmac
import re

HEADER = b"x-hub-signature-256"
_SHAPE = re.compile(rb"sha256=[0-9a-f]{64}")


def well_formed(value: bytes) -> bool:
    """`sha256=` and 64 lower-case hex digits, nothing else; `sha1=` is not accepted."""
    return _SHAPE.fullmatch(value) is not None


def genuine(secret: bytes, body: bytes | bytearray, value: bytes) -> bool:
    """Compares in constant time, as bytes: a text with other letters would raise."""
    made = hmac.digest(secret, body, "sha256").hex().encode()
    return hmac.compare_digest(made, value[7:])
