"""The bare object store of one repository: fetched commits in, candidates and tars out.

Implements `ports.Objects`. A store is a cache: it may be deleted between runs. One process may use
one instance from one thread; several processes may share the folder.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pygit2

from app.domain.edit import EXECUTABLE, FILE, Change, Delta, Entry
from app.domain.errors import Missing, Refused, Unavailable
from app.domain.paths import shown
from worker.runner.repository import fetching, tree
from worker.runner.repository.tar import pack

_COMMIT = re.compile(r"[0-9a-f]{40}")
LOCK_SECONDS = 60.0
LOCK_AGAIN = 0.05
_KEPT = 8  # listings of whole trees in memory
ROOM = 4 << 20  # bytes free below which what fails is the disk's fault


def store_path(root: Path, repository: int) -> Path:
    """Where the store of a repository id lies; names can be given to another repository later."""
    return root / f"{repository}.git"


def beside(store: Path, path: Path) -> Store:
    """A new store at `path` that also sees the objects of `store`, and writes nothing there.
    Raises `Missing` where there is no such store."""
    if not (store / "HEAD").exists():
        raise Missing(f"There is no object store {store}.")
    pygit2.init_repository(str(path), bare=True, initial_head="none")
    alternates = path / "objects" / "info" / "alternates"
    alternates.parent.mkdir(parents=True, exist_ok=True)
    alternates.write_text(f"{store.resolve() / 'objects'}\n", encoding="utf-8")
    return Store(path)


@contextmanager
def on_disk(place: Path) -> Iterator[None]:
    """Turns what fails while there is no room below `place` into `Unavailable`: it is waited for.

    libgit2 tells a full disk in words of its own or not at all ("no error"), so the disk is asked.
    """
    try:
        yield
    except (pygit2.GitError, OSError, Refused, Unavailable) as error:
        if (free := _free(place)) >= ROOM:
            raise
        raise Unavailable(
            f"The runner's disk is full ({free >> 10:,} KiB free), so nothing can be kept of the "
            "repository; the operator has to make room where PATCHWARRANT_STATE lies."
        ) from error


def _free(place: Path) -> int:
    """Bytes that may still be written at `place` or the nearest folder above it that is there; 0
    where no file can be made any more."""
    while not place.exists():
        place = place.parent
    found = os.statvfs(place)
    inodes = found.f_favail or not found.f_files  # some file systems do not count them
    return found.f_bavail * found.f_frsize if inodes else 0


class Store:
    """`ports.Objects` on a bare repository at `path`, which is made when it is not there. What
    cannot be written because the disk is full raises `Unavailable`."""

    def __init__(self, path: Path, limit: int = fetching.MAX_RECEIVED) -> None:
        fetching.settle()
        self._path = path
        self._limit = limit
        with on_disk(path):
            if not (path / "HEAD").exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                pygit2.init_repository(str(path), bare=True, initial_head="none")
            self._repo = pygit2.Repository(str(path))
        self._listings: OrderedDict[str, dict[str, Entry]] = OrderedDict()

    def fetch(self, url: str, token: str, commit: str) -> str:
        """Bring one commit, depth 1; its tree id. A commit that is here already is not asked for.

        Raises `Refused`, `Missing`, `IntegrityError`, `Unavailable`."""
        if not _COMMIT.fullmatch(commit):
            raise Refused(f"{shown(commit)} is no full commit id.")
        ref = f"refs/base/{commit}"
        with on_disk(self._path), self._locked():
            if not self._has(ref, commit):
                fetching.fetch(self._repo, url, token, commit, ref, self._limit)
        kind, _ = self._repo.odb.read_header(commit)
        if kind != pygit2.enums.ObjectType.COMMIT:
            raise Missing(f"{commit} is a {kind.name.lower()}, not a commit.")
        return str(self._repo[commit].peel(pygit2.Commit).tree_id)

    def validate(self, tree_id: str) -> None:
        """Raise `Halt(BASE_INVALID)` where the tree holds what we could not keep byte for byte."""
        self.entries(tree_id)
        with on_disk(self._path):
            tree.rebuilt(self._repo, tree_id)

    def entries(self, tree_id: str) -> tuple[Entry, ...]:
        """All entries that are not trees, sorted by path, with sizes. Raises
        `Halt(BASE_INVALID)` as `validate` does."""
        return tuple(self._listing(tree_id).values())

    def _listing(self, tree_id: str) -> dict[str, Entry]:
        """Entries by path, in the order of paths; kept, since the id fixes them."""
        if tree_id not in self._listings:
            found = sorted(tree.sizes(self._repo, tree_id))
            self._listings[tree_id] = {one[0]: Entry(*one) for one in found}
            if len(self._listings) > _KEPT:
                self._listings.popitem(last=False)
        self._listings.move_to_end(tree_id)
        return self._listings[tree_id]

    def read(self, tree_id: str, path: str) -> bytes:
        """A regular file's bytes. Raises `Missing` for anything else; no link is followed."""
        entry = self._listing(tree_id).get(path)
        if entry is None or entry.mode not in (FILE, EXECUTABLE):
            raise Missing(f"There is no file {shown(path)} in this tree.")
        return tree.blob(self._repo, entry.oid)

    def blob(self, oid: str) -> bytes:
        """The bytes of a blob by its id. Raises `Missing`."""
        return tree.blob(self._repo, oid)

    def build(self, base: str, changes: Iterable[Change], get: Callable[[str], bytes]) -> str:
        """The tree id of `base` plus `changes`. Raises `Refused` for what git would not keep and
        `IntegrityError` when `get` gives other bytes than those named."""
        with on_disk(self._path):
            return tree.build(self._repo, base, changes, get)

    def put_back(self, tree_id: str, base: str, paths: Iterable[str]) -> str:
        """The tree id of `tree_id` with each of `paths` as `base` has it, or without it."""
        with on_disk(self._path):
            return tree.put_back(self._repo, tree_id, base, paths)

    def merged(self, fork: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """(tree id of both trees merged, ()), or ("", the paths that conflict, sorted)."""
        with on_disk(self._path):
            return tree.merged(self._repo, fork, ours, theirs)

    def deltas(self, old: str, new: str) -> tuple[Delta, ...]:
        """Differences from the trees themselves, without rename detection, sorted by path."""
        return tree.deltas(self._repo, old, new)

    def reapplied(self, base: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """Three-way, file by file, without rename detection: (tree id, ()), or ("", paths in
        conflict)."""
        with on_disk(self._path):
            return tree.reapplied(self._repo, base, ours, theirs)

    def diff(self, old: str, new: str) -> bytes:
        """The unified diff, for reading only."""
        return tree.diff(self._repo, old, new)

    def tar(self, tree_id: str, extra: Mapping[str, bytes]) -> bytes:
        """An uncompressed tar of regular files and inner links, `extra` laid over it. Raises
        `Refused` for an `extra` without a safe place and for trees that are too large."""
        return pack(self.entries(tree_id), extra, self.blob)

    def _has(self, ref: str, commit: str) -> bool:
        found = self._repo.references.get(ref)
        return found is not None and str(found.target) == commit and commit in self._repo

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One fetch at a time into one folder: libgit2 writes the list of shallow commits whole.

        Raises `Unavailable` when another process keeps it for `LOCK_SECONDS`: one that hangs must
        not hang every run of its repository with it."""
        with (self._path / "patchwarrant.lock").open("w") as file:
            ends = time.monotonic() + LOCK_SECONDS
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= ends:
                        raise Unavailable(
                            f"Another process of this machine has been fetching into {self._path} "
                            f"for {LOCK_SECONDS:.0f} s; it is tried again later."
                        ) from None
                time.sleep(LOCK_AGAIN)
            yield
