"""Trees as the tools see them: the working snapshot's files by path, and their bytes.

A candidate is known from its base and its few changes, so that no edit walks a whole tree again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.domain.edit import EXECUTABLE, FILE, Candidate, Change, Entry
from app.domain.errors import Missing
from app.domain.ports.objects import Objects

_KEPT = 3  # base, candidate, and the one before it


class Views:
    """Remembers the last few trees; a tree id never means another tree, so nothing goes stale.

    `get` gives the artifacts that hold the bytes of what a candidate changes."""

    def __init__(self, objects: Objects, get: Callable[[str], bytes]) -> None:
        self._objects = objects
        self._get = get
        self._files: dict[str, Mapping[str, Entry]] = {}
        self._made: dict[str, tuple[str, Mapping[str, Change]]] = {}
        self._bytes: dict[str, bytes] = {}

    def files(self, tree: str) -> Mapping[str, Entry]:
        """Every entry of `tree` by path, sorted by path."""
        known = self._files.get(tree)
        if known is None:
            known = {entry.path: entry for entry in self._objects.entries(tree)}
            self._keep(tree, known)
        else:
            self._files[tree] = self._files.pop(tree)  # the latest used is the last to go
        return known

    def derive(self, base: str, candidate: Candidate) -> None:
        """Know a candidate from its base. Changed entries have no object id here; nobody who
        reads by path needs one."""
        if candidate.tree == base:
            return
        files = dict(self.files(base))
        for change in candidate.changes:
            files.pop(change.path, None)
            if change.blob:
                size = len(self.blob(change.blob))
                files[change.path] = Entry(change.path, change.mode, "", size)
        self._made[candidate.tree] = base, {c.path: c for c in candidate.changes}
        self._keep(candidate.tree, dict(sorted(files.items())))
        used = {change.blob for change in candidate.changes}
        self._bytes = {blob: data for blob, data in self._bytes.items() if blob in used}

    def read(self, tree: str, path: str) -> tuple[bytes, int] | None:
        """Bytes and mode of a path, None where there is nothing. A link's bytes are empty: its
        mode tells what it is, and it is never followed."""
        entry = self.files(tree).get(path)
        if entry is None:
            return None
        if entry.mode not in (FILE, EXECUTABLE):
            return b"", entry.mode
        below, changes = self._made.get(tree, (tree, {}))
        try:
            change = changes.get(path)
            data = self.blob(change.blob) if change else self._objects.read(below, path)
        except Missing:
            return None
        return data, entry.mode

    def blob(self, digest: str) -> bytes:
        """The bytes of an artifact. Raises `Missing`."""
        if digest not in self._bytes:
            self._bytes[digest] = self._get(digest)
        return self._bytes[digest]

    def remember(self, digest: str, data: bytes) -> None:
        """Know an artifact that was put just now, instead of getting it back."""
        self._bytes[digest] = data

    def _keep(self, tree: str, files: Mapping[str, Entry]) -> None:
        self._files[tree] = files
        while len(self._files) > _KEPT:
            oldest = next(iter(self._files))
            del self._files[oldest]
            self._made.pop(oldest, None)
