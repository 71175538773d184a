"""The bundle: both signed envelopes with everything that they name by its digest, in one file.

It says nothing by itself. `worker.attest.examine` compares every part with what was signed.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain import chain
from app.domain.record import BLOB_CAP, JournalEntry
from app.domain.run import Run
from worker.attest import parts
from worker.attest.canonical import canonical

FORMAT = "https://patchwarrant.dev/bundle/v1"
KEYS = frozenset({"format", "run", "envelopes", "parts", "journal", "records"})
LINE = 120  # characters of one line of an attached bundle
SIZE = 64 << 20  # bytes of a file that is looked at


class NotABundle(ValueError):
    """The bytes are no bundle; the text says where they stop to be one."""


@dataclass(frozen=True)
class Bundle:
    """A bundle as it was read; nothing of it is verified yet."""

    run: str
    envelopes: tuple[Mapping[str, Any], ...]
    parts: Mapping[str, Any]
    journal: tuple[chain.Link, ...]
    records: tuple[tuple[str, Mapping[str, Any]], ...]


def make(
    run: Run, envelopes: Sequence[Mapping[str, Any]], entries: Sequence[JournalEntry]
) -> bytes:
    """The bundle's bytes, canonical JSON, small enough to be kept as an artifact: where all checks
    that ever ran would be too many, their records are left out and only their digests stay."""
    whole = {
        "format": FORMAT,
        "run": run.id,
        "envelopes": list(envelopes),
        "parts": parts.parts(run),
        "journal": [[one.id, one.kind, one.sha256] for one in chain.links(entries)],
        "records": parts.records(entries),
    }
    made = canonical(whole)
    return made if len(made) <= BLOB_CAP else canonical({**whole, "records": []})


def packed(data: bytes) -> str:
    """A bundle as text for a check run: gzip, base64, in lines."""
    text = base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
    return "\n".join(text[at : at + LINE] for at in range(0, len(text), LINE))


def unpacked(text: str) -> bytes:
    """The bytes that `packed` was given. Raises `NotABundle`, also for what grows too large."""
    try:
        joined = "".join(text.split("\n"))
        squeezed = base64.b64decode(joined, validate=True)
        unzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
        data = unzip.decompress(squeezed, SIZE + 1)
    except (ValueError, zlib.error) as odd:
        raise NotABundle(f"The attached bundle cannot be unpacked: {odd}.") from None
    whole = base64.b64encode(squeezed).decode() == joined
    if not whole or not unzip.eof or unzip.unused_data or len(data) > SIZE:
        raise NotABundle("The attached bundle is cut, too large, or followed by something else.")
    return data


def read(data: bytes) -> Bundle:
    """Take a bundle apart. Raises `NotABundle`: every byte has its one right place."""
    if len(data) > SIZE:
        raise NotABundle(f"The bundle has {len(data):,} bytes; at most {SIZE:,} are read.")
    whole = _object(data)
    if whole.keys() != KEYS or whole["format"] != FORMAT:
        odd = sorted(whole.keys() ^ KEYS)
        raise NotABundle(f"The bundle is not of the form {FORMAT} ({', '.join(odd) or 'format'}).")
    _canonical(whole, data)
    try:
        return Bundle(
            run=str(whole["run"]),
            envelopes=tuple(dict(one) for one in whole["envelopes"]),
            parts=dict(whole["parts"]),
            journal=tuple(chain.Link(*map(str, _three(one))) for one in whole["journal"]),
            records=tuple((str(name), dict(record)) for name, record in whole["records"]),
        )
    except (TypeError, ValueError) as odd_shape:
        raise NotABundle(f"The bundle has an odd shape: {odd_shape}.") from None


def _canonical(whole: Mapping[str, Any], data: bytes) -> None:
    """Raise `NotABundle` where the bytes could have been written in another way."""
    try:
        right = canonical(whole)
    except ValueError as error:
        raise NotABundle(f"The bundle holds a number that is none: {error}.") from None
    if right == data:
        return
    at = next(
        (n for n, (one, two) in enumerate(zip(right, data, strict=False)) if one != two),
        min(len(right), len(data)),
    )
    raise NotABundle(f"The bundle is not in canonical form at byte {at:,}.")


def _three(one: Any) -> list[Any]:
    if not isinstance(one, list) or len(one) != 3:
        raise ValueError("a journal entry is [id, kind, digest]")
    return one


def _object(data: bytes) -> dict[str, Any]:
    try:
        whole = json.loads(data, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise NotABundle(f"The bundle is no JSON at byte {error.pos:,}: {error.msg}.") from None
    except (ValueError, RecursionError) as error:
        raise NotABundle(f"The bundle is no JSON with each key once: {error}.") from None
    if not isinstance(whole, dict):
        raise NotABundle("The bundle is no JSON object.")
    return whole


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found
