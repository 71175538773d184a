"""Trees as the tools see them: the working snapshot's files by path, read once for each tree."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.edit import EXECUTABLE, FILE, Entry
from app.domain.errors import Missing
from app.domain.ports import Objects

_KEPT = 3  # base, candidate, and the one before it


class Views:
    """Remembers the last few trees; a tree id never means another tree, so nothing goes stale."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._files: dict[str, Mapping[str, Entry]] = {}

    def files(self, tree: str) -> Mapping[str, Entry]:
        """Every entry of `tree` by path, sorted by path."""
        known = self._files.get(tree)
        if known is None:
            known = {entry.path: entry for entry in self._objects.entries(tree)}
            self._files[tree] = known
            while len(self._files) > _KEPT:
                del self._files[next(iter(self._files))]
        return known

    def read(self, tree: str, path: str) -> tuple[bytes, int] | None:
        """Bytes and mode of a path, None where there is nothing. A link's bytes are empty: its
        mode tells what it is, and it is never followed."""
        entry = self.files(tree).get(path)
        if entry is None:
            return None
        if entry.mode not in (FILE, EXECUTABLE):
            return b"", entry.mode
        try:
            return self._objects.read(tree, path), entry.mode
        except Missing:
            return None
