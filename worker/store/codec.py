"""Rows to bytes and back: our frozen dataclasses as JSON, through msgspec."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from app.domain.errors import IntegrityError, Unavailable
from app.domain.event import Event
from app.domain.record import SCHEMA
from app.domain.run import Run

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
_run = msgspec.json.Decoder(Run)
_event = msgspec.json.Decoder(Event)
_object = msgspec.json.Decoder(dict[str, Any])


class NewerSchema(Unavailable):
    """The row was written by a newer version of this program; it is left as it is."""


def guard(version: bytes | str | int, what: str) -> None:
    """Raise `NewerSchema` if the row `what` is of a schema that this program does not know."""
    if int(version) > SCHEMA:
        raise NewerSchema(
            f"{what} has schema {int(version)}, this worker knows {SCHEMA}: it waits for a newer "
            "worker; update this one"
        )


def encode(value: Any) -> bytes:
    """JSON of a dataclass, or of JSON-ready values."""
    return _encode(value)


def run(data: bytes) -> Run:
    return _decoded(_run, data, "a run's row")


def event(data: bytes) -> Event:
    return _decoded(_event, data, "an event's row")


def mapping(data: bytes) -> dict[str, Any]:
    return _decoded(_object, data, "a record")


def _decoded(decoder: msgspec.json.Decoder[T], data: bytes, what: str) -> T:
    try:
        return decoder.decode(data)
    except msgspec.DecodeError as error:
        raise IntegrityError(f"{what} in the ledger cannot be read: {error}") from error
