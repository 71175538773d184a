"""Trees as the tools see them: the working snapshot's files by path, read once for each tree."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.edit import EXECUTABLE, FILE, Candidate, Entry
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
            self._keep(tree, known)
        return known

    def _keep(self, tree: str, files: Mapping[str, Entry]) -> None:
        self._files[tree] = files
        while len(self._files) > _KEPT:
            del self._files[next(iter(self._files))]

    def derive(self, base: str, candidate: Candidate) -> None:
        """Know the files of a candidate from those of its base, instead of walking its tree. The
        changed entries have no object id here; nobody who reads by path needs one."""
        files = dict(self.files(base))
        for change in candidate.changes:
            files.pop(change.path, None)
            if change.blob:
                size = len(self._objects.read(candidate.tree, change.path))
                files[change.path] = Entry(change.path, change.mode, "", size)
        self._keep(candidate.tree, dict(sorted(files.items())))

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
