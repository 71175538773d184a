"""Bytes kept under their SHA-256: patches, logs, file contents."""

from __future__ import annotations

import hashlib

from app.domain.errors import IntegrityError, Missing, Refused
from app.domain.record import BLOB_CAP, blob_key, held_key, holders_key, run_key
from app.domain.scripts.journal import PUT
from worker.store.calls import Calls


def put(calls: Calls, run_id: str, fence: int, data: bytes) -> str:
    """Keep bytes for a run that is still ours; their SHA-256. Raises `Fenced`, and `Refused` for
    more than `BLOB_CAP` bytes: half a file would be worse than none."""
    if len(data) > BLOB_CAP:
        raise Refused(f"{len(data)} bytes are more than one artifact may have ({BLOB_CAP})", 413)
    digest = hashlib.sha256(data).hexdigest()
    keys = (run_key(run_id), blob_key(digest), held_key(run_id), holders_key(digest))
    calls.fenced(PUT, fence, keys, (data, digest, run_id))
    return digest


def get(calls: Calls, digest: str) -> bytes:
    """Bytes kept before. Raises `Missing`, and `IntegrityError` if they are not what was kept."""
    data = calls.command("GET", blob_key(digest))
    if data is None:
        raise Missing(f"the artifact {digest} is not in the ledger")
    if hashlib.sha256(data).hexdigest() != digest:
        raise IntegrityError(f"the artifact {digest} has other bytes than its name says")
    return bytes(data)
