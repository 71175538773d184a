"""Values as the one JSON text that is signed and hashed; lists as count, digest and some ids."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import msgspec

IDS = 200  # ids of a list that did not pass; more are counted


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no blanks, in ASCII; no floats are ever in it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def digest(value: Any) -> str:
    """SHA-256 in hex over the canonical JSON."""
    return hashlib.sha256(canonical(value)).hexdigest()


def builtins(value: Any) -> Any:
    """A frozen dataclass, or a collection of them, as JSON-ready values."""
    return msgspec.to_builtins(value)


def ids(names: Sequence[str], most: int = IDS) -> dict[str, Any]:
    """A list of ids as its count, the digest of all of them, and the first `most`."""
    if not names:
        return {"count": 0}
    return {"count": len(names), "digest": digest(list(names)), "ids": list(names[:most])}
