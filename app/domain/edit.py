"""Edits as the model proposes them, and the change set that trusted code makes of them."""

from __future__ import annotations

from dataclasses import dataclass

FILE = 0o100644
EXECUTABLE = 0o100755
LINK = 0o120000
GITLINK = 0o160000
TREE = 0o040000


@dataclass(frozen=True)
class Entry:
    """One entry of a git tree: `path` from the root, git `mode`, object id, `size` in bytes."""

    path: str
    mode: int
    oid: str
    size: int = 0


@dataclass(frozen=True)
class Replace:
    """Exactly one occurrence of `old` becomes `new` in a file whose SHA-256 is `sha256`."""

    path: str
    sha256: str
    old: str
    new: str


@dataclass(frozen=True)
class Write:
    """The whole content of a file; `sha256` is that of the file it replaces, "" for a new one."""

    path: str
    sha256: str
    content: str


@dataclass(frozen=True)
class Delete:
    """The file goes; `sha256` as the read gave it."""

    path: str
    sha256: str


Edit = Replace | Write | Delete


@dataclass(frozen=True)
class Change:
    """What a path becomes against the base: `blob` is the SHA-256 of its bytes in the artifact
    store, or "" for a deletion (then `mode` is 0)."""

    path: str
    mode: int
    blob: str


@dataclass(frozen=True)
class Candidate:
    """Base tree plus accepted edits: `tree` is its git id, `changes` is cumulative against base,
    one entry a path, sorted by path."""

    tree: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Delta:
    """One path's difference between two trees, from the trees themselves.

    `added` and `removed` count lines; both are -1 for a binary file. `old_mode` or `new_mode` is 0
    where the path does not exist.
    """

    path: str
    old_mode: int
    new_mode: int
    added: int
    removed: int
