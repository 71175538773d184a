"""The ledger's mark in Redis, and what this host saw of it last, in a file of the desk's."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import msgspec

from app.domain import record
from app.domain.epoch import CURE, Mark, amiss
from app.domain.errors import Unavailable
from worker.store.calls import Calls

ACCEPTED_SECONDS = 3_600  # that every desk has to take the operator's word
_decoder = msgspec.json.Decoder(Mark)


class OtherLedger(Unavailable):
    """Redis shows an emptied, older or other ledger; nothing is done on it. Says what to do."""


@dataclass(frozen=True)
class Epoch:
    """`file` belongs to the processes of one desk; any of them may look, one bumps."""

    calls: Calls
    file: Path

    def look(self) -> None:
        """Raise `OtherLedger` unless this is the ledger of before. The first look of a host takes
        what is there, and makes the mark where there is none yet."""
        known, found = self._known(), self._found()
        accepted = self.calls.command("GET", record.EPOCH_ACCEPTED) or b""
        why = amiss(known, found, accepted.decode())
        if why:
            raise OtherLedger(f"{why}. Nothing is published. {CURE}")
        if found is None:
            self.calls.command("HSETNX", record.EPOCH, "name", secrets.token_hex(8))
            found = self._found()
        if found is not None and (known is None or known.name != found.name):
            self._write(found)

    def bump(self) -> None:
        """Look, and let the count grow: in Redis first, so that the file is never ahead of it."""
        self.look()
        count = int(self.calls.command("HINCRBY", record.EPOCH, "count", 1))
        found = self._found()
        if found is not None:
            self._write(Mark(found.name, count))

    def renewed(self) -> bool:
        """Whether a ledger was lost before this one: the operator said that this one counts."""
        return self.calls.command("HGET", record.EPOCH, "renewed") is not None

    def _found(self) -> Mark | None:
        name, count = self.calls.command("HMGET", record.EPOCH, "name", "count")
        return None if name is None else Mark(name.decode(), int(count or 0))

    def _known(self) -> Mark | None:
        try:
            return _decoder.decode(self.file.read_bytes())
        except FileNotFoundError:
            return None

    def _write(self, mark: Mark) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new = self.file.with_suffix(f".{secrets.token_hex(4)}")
        new.write_bytes(msgspec.json.encode(mark))
        new.replace(self.file)


def accept(calls: Calls) -> str:
    """The operator's word that what Redis holds now is the ledger; its new name."""
    name = secrets.token_hex(8)
    calls.command("HSET", record.EPOCH, "name", name, "count", 0, "renewed", 1)
    calls.command("SET", record.EPOCH_ACCEPTED, name, "EX", ACCEPTED_SECONDS)
    return name
