"""What a run may do under its lease: journal, artifacts, intents, money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from app.domain.record import JournalEntry, Kept


class Hold(Protocol):
    """A live lease on one run: journal, artifacts, intents, money. All may raise `Fenced`."""

    def look(self) -> None:
        """Raise `Fenced` when the lease is gone, `Halt(CANCELLED)` when a person cancelled."""

    def note(self, kind: Kept, data: Mapping[str, Any]) -> JournalEntry:
        """Append to the journal, durable when it returns."""

    def entries(self) -> list[JournalEntry]:
        """The whole journal, oldest first."""

    def put(self, data: bytes) -> str:
        """Keep bytes (cut at `BLOB_CAP`); their SHA-256 in hex."""

    def get(self, digest: str) -> bytes:
        """Bytes kept before. Raises `Missing`."""

    def remember(self, name: str, data: Mapping[str, Any]) -> None:
        """Leave `data` for other runs under `name`, as a cache: for two weeks, or less."""

    def recall(self, name: str) -> dict[str, Any] | None:
        """What a run left under `name`, None where there is nothing."""

    def reserve(self, dollars: int) -> None:
        """Reserve micro-dollars of the day's cap for this run. Raises `Halt(DAILY_CAP)`."""

    def settle(self, dollars: int) -> None:
        """Replace this run's reservation by what was really spent."""

    def paid(self, dollars: int, data: Mapping[str, Any]) -> JournalEntry:
        """Append a paid call's entry (`Kept.MODEL`) and settle it, in one durable write."""

    def intent(self, key: str) -> dict[str, Any] | None:
        """The record of an external write of this run, or None: `{"done": bool, ...}`."""

    def intend(self, key: str, data: Mapping[str, Any]) -> None:
        """Record that the write `key` is about to be sent."""

    def fulfil(self, key: str, data: Mapping[str, Any]) -> None:
        """Record that the write `key` was done and read back as `data`."""
