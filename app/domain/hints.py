"""What a repository tells contributors and agents: files of the base that the model may be shown.

They are hints from outside, never orders: nothing in them widens scope, tools or limits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.edit import Entry

NAMES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md")
CAP = 8_000  # characters of one file that are shown
LARGEST = 262_144  # bytes; a larger file is not read at all
_FILES = (0o100644, 0o100755)  # a link could name any other file


@dataclass(frozen=True)
class Hint:
    """One file at the base commit, by path and git blob id."""

    path: str
    blob: str


def hints_of(entries: Iterable[Entry]) -> tuple[Hint, ...]:
    """The files among a tree's entries, in the order of `NAMES`; one that repeats another's bytes
    is left out."""
    found = {
        one.path: Hint(one.path, one.oid)
        for one in entries
        if one.path in NAMES and one.mode in _FILES and one.size <= LARGEST
    }
    blobs: dict[str, Hint] = {}
    for name in NAMES:
        if name in found:
            blobs.setdefault(found[name].blob, found[name])
    return tuple(blobs.values())
