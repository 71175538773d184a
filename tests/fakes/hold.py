"""An honest `ports.Hold` in memory: the same promises as the ledger's, for one run at a time."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.domain.errors import Fenced, Halt, Missing, Reason, Refused
from app.domain.record import BLOB_CAP, JournalEntry, Kept


@dataclass
class FakeHold:
    """Set `lost` or `cancelled` to act out another worker or a person. `ms` is the journal's
    clock; it grows by one with every entry, and a test may set it."""

    daily: int = 25_000_000
    spent: int = 0
    reserved: int = 0
    ms: int = 1_700_000_000_000
    lost: bool = False
    cancelled: bool = False
    journal: list[JournalEntry] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    intents: dict[str, dict[str, Any]] = field(default_factory=dict)
    memory: dict[str, dict[str, Any]] = field(default_factory=dict)
    looks: int = 0

    def look(self) -> None:
        self.looks += 1
        self._mine()
        if self.cancelled:
            raise Halt(Reason.CANCELLED, "A person cancelled this run.", "Label the issue again.")

    def note(self, kind: Kept, data: Mapping[str, Any]) -> JournalEntry:
        self._mine()
        entry = JournalEntry(f"{self.ms}-0", kind, _json(data))
        self.ms += 1
        self.journal.append(entry)
        return copy.deepcopy(entry)

    def entries(self) -> list[JournalEntry]:
        return copy.deepcopy(self.journal)

    def put(self, data: bytes) -> str:
        self._mine()
        if len(data) > BLOB_CAP:
            raise Refused(f"{len(data)} bytes are more than one artifact may have", 413)
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = bytes(data)
        return digest

    def get(self, digest: str) -> bytes:
        if digest not in self.blobs:
            raise Missing(f"the artifact {digest} is not in the ledger")
        return self.blobs[digest]

    def remember(self, name: str, data: Mapping[str, Any]) -> None:
        self._mine()
        self.memory[name] = _json(data)

    def recall(self, name: str) -> dict[str, Any] | None:
        return copy.deepcopy(self.memory.get(name))

    def reserve(self, dollars: int) -> None:
        self._mine()
        self.spent += self.reserved  # nobody knows what became of a call that was not settled
        self.reserved = 0
        if self.spent + dollars > self.daily:
            raise Halt(Reason.DAILY_CAP, "The operator's cap of the day is used.", "Tomorrow.")
        self.reserved = dollars

    def settle(self, dollars: int) -> None:
        self._mine()
        self.spent += dollars
        self.reserved = 0

    def paid(self, dollars: int, data: Mapping[str, Any]) -> JournalEntry:
        self.settle(dollars)
        return self.note(Kept.MODEL, data)

    def intent(self, key: str) -> dict[str, Any] | None:
        found = self.intents.get(key)
        return copy.deepcopy(found)

    def intend(self, key: str, data: Mapping[str, Any]) -> None:
        self._mine()
        if not self.intents.get(key, {}).get("done"):
            self.intents[key] = {**_json(data), "done": False}

    def fulfil(self, key: str, data: Mapping[str, Any]) -> None:
        self._mine()
        self.intents[key] = {**self.intents.get(key, {}), **_json(data), "done": True}

    def _mine(self) -> None:
        if self.lost:
            raise Fenced("another worker took the run over; this worker stops")


def _json(data: Mapping[str, Any]) -> dict[str, Any]:
    """A copy as JSON hands it back: tuples become lists, enums their values."""
    copied: dict[str, Any] = json.loads(json.dumps(dict(data)))
    return copied
