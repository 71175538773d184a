"""`ports.Hold` for one run in one process: journal and artifacts in memory, nobody to take over."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from app.domain.errors import Missing, Refused
from app.domain.record import BLOB_CAP, JournalEntry, Kept


class MemoryHold:
    """Everything that a run keeps, until the process ends. Stop it with the keyboard."""

    def __init__(self, now: int) -> None:
        self._now = now  # milliseconds; entries count on from here
        self._journal: list[JournalEntry] = []
        self._blobs: dict[str, bytes] = {}
        self._intents: dict[str, dict[str, Any]] = {}
        self._memory: dict[str, dict[str, Any]] = {}

    def look(self) -> None:
        """Nobody else can cancel."""

    def note(self, kind: Kept, data: Mapping[str, Any]) -> JournalEntry:
        entry = JournalEntry(f"{self._now + len(self._journal)}-0", kind, _json(data))
        self._journal.append(entry)
        return copy.deepcopy(entry)

    def entries(self) -> list[JournalEntry]:
        return copy.deepcopy(self._journal)

    def put(self, data: bytes) -> str:
        if len(data) > BLOB_CAP:
            raise Refused(f"{len(data)} bytes are more than one artifact may have", 413)
        digest = hashlib.sha256(data).hexdigest()
        self._blobs[digest] = bytes(data)
        return digest

    def get(self, digest: str) -> bytes:
        if digest not in self._blobs:
            raise Missing(f"there is no artifact {digest}")
        return self._blobs[digest]

    def remember(self, name: str, data: Mapping[str, Any]) -> None:
        self._memory[name] = _json(data)

    def recall(self, name: str) -> dict[str, Any] | None:
        return copy.deepcopy(self._memory.get(name))

    def reserve(self, dollars: int) -> None:
        """No model is called here, so nothing is spent."""

    def settle(self, dollars: int) -> None:
        """Nothing was reserved."""

    def paid(self, dollars: int, data: Mapping[str, Any]) -> JournalEntry:
        return self.note(Kept.MODEL, data)

    def intent(self, key: str) -> dict[str, Any] | None:
        return copy.deepcopy(self._intents.get(key))

    def intend(self, key: str, data: Mapping[str, Any]) -> None:
        if not self._intents.get(key, {}).get("done"):
            self._intents[key] = {**_json(data), "done": False}

    def fulfil(self, key: str, data: Mapping[str, Any]) -> None:
        self._intents[key] = {**self._intents.get(key, {}), **_json(data), "done": True}


def _json(data: Mapping[str, Any]) -> dict[str, Any]:
    """A copy as JSON hands it back: tuples become lists, enums their values."""
    copied: dict[str, Any] = json.loads(json.dumps(dict(data)))
    return copied
