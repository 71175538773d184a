"""The journal as a chain of digests: an entry that was changed, moved or removed shows.

Two chains. The one of SHA-256 is computed from the entries and its head is signed. The one of
SHA-1, which Redis can compute, is written with each entry in the same step, so that an entry
removed before anything was signed shows too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.domain.record import JournalEntry


@dataclass(frozen=True)
class Link:
    """One entry without its content: stream id, kind, SHA-256 of its data as canonical JSON."""

    id: str
    kind: str
    sha256: str


def links(entries: Iterable[JournalEntry]) -> tuple[Link, ...]:
    """The entries' links, in their order."""
    return tuple(Link(one.id, str(one.kind), _digest(one.data)) for one in entries)


def head(run: str, chain: Sequence[Link]) -> str:
    """SHA-256 over all links in order, beginning with the run's id."""
    at = _digest(["journal", run])
    for link in chain:
        at = _digest([at, link.id, link.kind, link.sha256])
    return at


def difference(kept: Sequence[Link], found: Sequence[Link]) -> str:
    """Where `found` stops to be what was `kept`, "" where it begins with all of it."""
    for number, link in enumerate(kept, 1):
        if number > len(found):
            return f"entry {number} ({link.kind}, {link.id}) is missing"
        if found[number - 1] != link:
            return f"entry {number} ({link.kind}, {link.id}) is not what was kept"
    return ""


def stamp(before: str, kind: str, data: bytes) -> str:
    """What the ledger writes beside an entry: SHA-1 over the one before it and its own bytes.

    The script in `scripts.journal.NOTE` computes the same.
    """
    text = b"%b\n%b\n%b" % (before.encode(), kind.encode(), data)
    return hashlib.sha1(text).hexdigest()  # noqa: S324 - the only digest that Redis offers


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
