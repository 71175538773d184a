"""An honest `ports.Objects` in memory: git's own ids, without git."""

from __future__ import annotations

import difflib
import hashlib
import io
import re
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from app.domain.edit import EXECUTABLE, FILE, LINK, Change, Delta, Entry
from app.domain.errors import Halt, IntegrityError, Missing, Reason, Refused

File = bytes | tuple[int, bytes]
Paths = dict[str, tuple[int, str]]  # path -> (mode, blob id)


def git_id(kind: str, data: bytes) -> str:
    """The id that git gives an object."""
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data).hexdigest()


@dataclass
class MemoryObjects:
    """`commit` makes a commit that can be fetched; `fetched` are the (url, commit) asked for.

    A tree named in `broken` fails validation.
    """

    blobs: dict[str, bytes] = field(default_factory=dict)
    trees: dict[str, Paths] = field(default_factory=dict)
    remote: dict[str, str] = field(default_factory=dict)
    fetched: list[tuple[str, str]] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)

    def commit(self, files: Mapping[str, File]) -> str:
        """A commit with these files on the far side; its id. Bytes alone are a plain file."""
        tree = self.tree(files)
        head = f"tree {tree}\nauthor A <a@example.org> 0 +0000\n"
        commit = git_id("commit", f"{head}committer A <a@example.org> 0 +0000\n\nmade\n".encode())
        self.remote[commit] = tree
        return commit

    def tree(self, files: Mapping[str, File]) -> str:
        """A tree with these files; its id."""
        paths: Paths = {}
        for path, file in files.items():
            mode, data = file if isinstance(file, tuple) else (FILE, file)
            paths[path] = (mode, self._keep(data))
        return self._tree(paths)

    def _keep(self, data: bytes) -> str:
        oid = git_id("blob", data)
        self.blobs[oid] = data
        return oid

    def _tree(self, paths: Paths) -> str:
        tree = _tree_id(paths)
        self.trees[tree] = dict(paths)
        return tree

    def _of(self, tree: str) -> Paths:
        try:
            return self.trees[tree]
        except KeyError:
            raise Missing(f"no tree {tree}") from None

    # -- ports.Objects

    def fetch(self, url: str, token: str, commit: str) -> str:
        self.fetched.append((url, commit))
        if commit not in self.remote:
            raise Missing(f"no commit {commit}", 404)
        return self.remote[commit]

    def validate(self, tree: str) -> None:
        if tree in self.broken:
            raise Halt(Reason.BASE_INVALID, "the base cannot be worked on", "fix it")

    def entries(self, tree: str) -> tuple[Entry, ...]:
        return tuple(
            Entry(path, mode, oid, len(self.blobs[oid]))
            for path, (mode, oid) in sorted(self._of(tree).items())
        )

    def read(self, tree: str, path: str) -> bytes:
        mode, oid = self._of(tree).get(path, (0, ""))
        if mode not in (FILE, EXECUTABLE):
            raise Missing(f"{path!r} is not a file of this tree")
        return self.blobs[oid]

    def blob(self, oid: str) -> bytes:
        if oid not in self.blobs:
            raise Missing(f"no blob {oid}")
        return self.blobs[oid]

    def build(self, base: str, changes: Iterable[Change], get: Callable[[str], bytes]) -> str:
        paths = dict(self._of(base))
        old, changed = frozenset(paths), set[str]()
        for change in changes:
            path = change.path
            if path in changed or any(p in ("", ".", "..", ".git") for p in path.split("/")):
                raise Refused(f"{path!r} cannot be changed")
            changed.add(path)
            if path in paths and paths[path][0] not in (FILE, EXECUTABLE):
                raise Refused(f"{path!r} is no file")
            if not change.blob and path not in old:
                raise Refused(f"{path!r} is not there")
            if not change.blob:
                del paths[path]
                continue
            if change.mode not in (FILE, EXECUTABLE):
                raise Refused(f"{path!r} would have mode {change.mode:o}")
            data = get(change.blob)
            if hashlib.sha256(data).hexdigest() != change.blob:
                raise IntegrityError(f"{path!r}: other bytes than those named")
            paths[path] = (change.mode, self._keep(data))
        _refuse_clashes(old, paths.keys())
        return self._tree(paths)

    def put_back(self, tree: str, base: str, paths: Iterable[str]) -> str:
        made, there = dict(self._of(tree)), self._of(base)
        wanted = {path: there.get(path) for path in paths}
        for path in wanted:
            made.pop(path, None)
        for path, entry in wanted.items():
            if entry is None:
                continue
            parts = path.split("/")
            for depth in range(1, len(parts)):
                made.pop("/".join(parts[:depth]), None)
            for other in [one for one in made if one.startswith(f"{path}/")]:
                del made[other]
            made[path] = entry
        return self._tree(made)

    def merged(self, fork: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """Whole files only: what both sides changed differently conflicts."""
        was, one, other = self._of(fork), self._of(ours), self._of(theirs)
        made: Paths = {}
        clashes = []
        for path in was.keys() | one.keys() | other.keys():
            sides = was.get(path), one.get(path), other.get(path)
            if sides[1] != sides[2] and sides[0] not in sides[1:]:
                clashes.append(path)
            kept = sides[2] if sides[1] == sides[0] else sides[1]
            if kept is not None:
                made[path] = kept
        return ("", tuple(sorted(clashes))) if clashes else (self._tree(made), ())

    def deltas(self, old: str, new: str) -> tuple[Delta, ...]:
        before, after = self._of(old), self._of(new)
        return tuple(
            self._delta(path, before.get(path), after.get(path))
            for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)
        )

    def _delta(self, path: str, was: tuple[int, str] | None, now: tuple[int, str] | None) -> Delta:
        left, right = (self.blobs[side[1]] if side else b"" for side in (was, now))
        modes = was[0] if was else 0, now[0] if now else 0
        if b"\0" in left + right:
            return Delta(path, *modes, -1, -1)
        lines = list(difflib.unified_diff(_lines(left), _lines(right), n=0))[2:]
        added = sum(line.startswith("+") for line in lines)
        return Delta(path, *modes, added, sum(line.startswith("-") for line in lines))

    def reapplied(self, base: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """Whole files merge where one side left them alone; within a file, hunks that are apart."""
        sides = [self._of(tree) for tree in (base, ours, theirs)]
        made: Paths = {}
        conflicts = []
        for path in sorted(set().union(*sides)):
            old, mine, other = (side.get(path) for side in sides)
            if mine in (old, other):
                kept = other
            elif other == old:
                kept = mine
            elif old is None or mine is None or other is None:
                conflicts.append(path)
                continue
            else:
                lines = _merged(*(_lines(self.blobs[one[1]]) for one in (old, mine, other)))
                if lines is None:
                    conflicts.append(path)
                    continue
                kept = (mine[0], self._keep("".join(lines).encode("latin-1")))
            if kept is not None:
                made[path] = kept
        return ("", tuple(conflicts)) if conflicts else (self._tree(made), ())

    def diff(self, old: str, new: str) -> bytes:
        before, after = self._of(old), self._of(new)
        text = ""
        for delta in self.deltas(old, new):
            left, right = (
                self.blobs[side[delta.path][1]] if delta.path in side else b""
                for side in (before, after)
            )
            text += f"diff --git a/{delta.path} b/{delta.path}\n" + "".join(
                difflib.unified_diff(_lines(left), _lines(right), f"a/{delta.path}", delta.path)
            )
        return text.encode("latin-1")

    def tar(self, tree: str, extra: Mapping[str, bytes]) -> bytes:
        paths = self._of(tree)
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(paths.keys() | extra.keys()):
                mode, oid = paths.get(path, (FILE, ""))
                member = tarfile.TarInfo(path)
                member.mode = 0o755 if mode == EXECUTABLE else 0o644
                data = extra[path] if path in extra else self.blobs.get(oid, b"")
                if mode == LINK:
                    member.type, member.linkname = tarfile.SYMTYPE, data.decode()
                    tar.addfile(member)
                elif mode in (FILE, EXECUTABLE):
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
        return out.getvalue()


def _merged(old: list[str], mine: list[str], other: list[str]) -> list[str] | None:
    """Both sides' hunks over `old`, None where two of them touch."""
    hunks = []
    for side in (mine, other):
        for tag, start, end, a, b in difflib.SequenceMatcher(None, old, side).get_opcodes():
            if tag != "equal":
                hunks.append((start, end, side[a:b]))
    made, at = [], -1
    for start, end, lines in sorted(hunks, key=lambda one: one[:2]):
        if start <= at:
            return None
        made += [*old[max(at, 0) : start], *lines]
        at = end
    return [*made, *old[max(at, 0) :]]


def _lines(data: bytes) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", data.decode("latin-1"))


def _refuse_clashes(old: Iterable[str], paths: Iterable[str]) -> None:
    """A path below a file, and new names that differ in letter case only."""
    there, old = set(paths), set(old)
    folds: dict[str, str] = {}
    for path in sorted(there, key=lambda one: one not in old):
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            if above != path and above in there:
                raise Refused(f"{above!r} is no folder")
            if folds.setdefault(above.casefold(), above) != above and path not in old:
                raise Refused(f"{above!r} is there in other letter case")


def _tree_id(paths: Paths) -> str:
    """The id of the tree with these paths, folders hashed from the leaves up."""
    here: dict[str, tuple[int, str]] = {}
    below: dict[str, Paths] = {}
    for path, entry in paths.items():
        head, _, rest = path.partition("/")
        if rest:
            below.setdefault(head, {})[rest] = entry
        else:
            here[head] = entry
    rows = [(name, f"{mode:o}", oid) for name, (mode, oid) in here.items()]
    rows += [(name + "/", "40000", _tree_id(inside)) for name, inside in below.items()]
    rows.sort(key=lambda row: row[0].encode())
    return git_id(
        "tree",
        b"".join(
            f"{mode} {name.rstrip('/')}\0".encode() + bytes.fromhex(oid) for name, mode, oid in rows
        ),
    )
