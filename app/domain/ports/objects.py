"""The git objects of one repository."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from app.domain.edit import Change, Delta, Entry


class Objects(Protocol):
    """The bare object store of one repository."""

    def fetch(self, url: str, token: str, commit: str) -> str:
        """Bring one commit, depth 1; its tree id. Raises `Refused`, `Missing`, `IntegrityError`."""

    def validate(self, tree: str) -> None:
        """Raise `Halt(BASE_INVALID)` where the tree holds what we could not keep byte for byte."""

    def entries(self, tree: str) -> tuple[Entry, ...]:
        """All entries that are not trees, sorted by path."""

    def read(self, tree: str, path: str) -> bytes:
        """A file's bytes. Raises `Missing` for anything that is not a regular file."""

    def blob(self, oid: str) -> bytes:
        """The bytes of a blob by its id. Raises `Missing`."""

    def merged(self, fork: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """(tree id of `ours` and `theirs` merged as git merges branches, both made from the tree
        `fork`; ()), or ("", the paths that conflict, sorted)."""

    def build(self, base: str, changes: Iterable[Change], get: Callable[[str], bytes]) -> str:
        """The tree id of `base` plus `changes`. Raises `Refused` for what git would not keep."""

    def put_back(self, tree: str, base: str, paths: Iterable[str]) -> str:
        """The tree id of `tree` with each of `paths` as `base` has it (a file, a link, a submodule)
        or, where `base` has nothing there, without it."""

    def deltas(self, old: str, new: str) -> tuple[Delta, ...]:
        """Differences from the trees themselves, without rename detection, sorted by path."""

    def reapplied(self, base: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """Three-way, file by file, without rename detection: (tree id, ()), or ("", paths in
        conflict)."""

    def diff(self, old: str, new: str) -> bytes:
        """The unified diff, for reading only."""

    def tar(self, tree: str, extra: Mapping[str, bytes]) -> bytes:
        """An uncompressed tar of regular files and links, `extra` laid over it."""
