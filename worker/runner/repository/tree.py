"""Trees of a bare store: looking up, building a candidate, and comparing two of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping

import pygit2
from pygit2.enums import DiffOption, FileMode, MergeFlag

from app.domain.edit import EXECUTABLE, FILE, GITLINK, TREE, Change, Delta
from app.domain.errors import IntegrityError, Missing, Refused
from app.domain.paths import PathRefused, canon, folded, shown
from worker.runner.repository.walk import Raw, base_invalid, listing, walk

_LOOK = 8_000  # bytes that git looks at to tell a binary file
_Wanted = Mapping[str, tuple[int, str] | None]  # path -> (mode, blob id), None deletes


def rebuilt(repo: pygit2.Repository, tree: str) -> None:
    """Assert that every folder keeps its id when libgit2 writes it again. Raises
    `Halt(BASE_INVALID)`."""
    waiting = [("", tree)]
    while waiting:
        at, oid = waiting.pop()
        if str(repo.TreeBuilder(oid).write()) != oid:
            raise base_invalid(at.encode() or b".", "changes when it is written again")
        waiting += [
            (f"{at}/{name}" if at else name, entry)
            for name, mode, entry in listing(repo, oid)
            if mode == TREE
        ]


def build(
    repo: pygit2.Repository, base: str, changes: Iterable[Change], get: Callable[[str], bytes]
) -> str:
    """The id of `base` plus `changes`, all objects written. Raises `Refused`, `IntegrityError`."""
    wanted: dict[str, tuple[int, str] | None] = {}
    for change in changes:
        try:
            path = canon(change.path)
        except PathRefused as wrong:
            raise Refused(f"The path is refused: {wrong}.") from None
        if path in wanted:
            raise Refused(f"{shown(path)} is changed twice.")
        wanted[path] = _blob(repo, change, get)
    made = _folder(repo, base, wanted, "")
    return made if made is not None else str(repo.TreeBuilder().write())


def _blob(
    repo: pygit2.Repository, change: Change, get: Callable[[str], bytes]
) -> tuple[int, str] | None:
    if not change.blob:
        return None
    if change.mode not in (FILE, EXECUTABLE):
        raise Refused(f"{shown(change.path)} would have the mode {change.mode:o}.")
    data = get(change.blob)
    if hashlib.sha256(data).hexdigest() != change.blob:
        raise IntegrityError(f"The bytes kept for {shown(change.path)} are not those accepted.")
    return change.mode, str(repo.create_blob(data))


def _folder(repo: pygit2.Repository, tree: str | None, wanted: _Wanted, at: str) -> str | None:
    """The id of one folder after its changes, None when nothing is left in it."""
    old = {name: (mode, oid) for name, mode, oid in listing(repo, tree)} if tree else {}
    new = dict(old)
    here, below = _parted(wanted)
    for name in (name for name, entry in here.items() if entry is None):
        if name not in new:
            raise Refused(f"{shown(at + name)} cannot be deleted: it is not there.")
        _is_file(new, name, at)
        del new[name]
    for name, inside in below.items():
        if name in new and new[name][0] != TREE:
            raise Refused(f"{shown(at + name)} is not a folder.")
        made = _folder(repo, new[name][1] if name in new else None, inside, f"{at}{name}/")
        if made is None:
            del new[name]
        else:
            new[name] = (TREE, made)
    for name, entry in here.items():
        if entry is not None:
            _is_file(new, name, at)
            new[name] = entry
    _no_twins(old, new, at)
    return _written(repo, tree, old, new)


def put_back(repo: pygit2.Repository, tree: str, base: str, paths: Iterable[str]) -> str:
    """The id of `tree` with each of `paths` as the tree `base` has it, of whatever kind it is:
    files, links and submodules of `base` take the place of what stands there, and what `base` has
    not goes."""
    there = {path: (mode, oid) for path, mode, oid in walk(repo, base)}
    made = _with(repo, tree, {path: there.get(path) for path in paths})
    return made if made is not None else str(repo.TreeBuilder().write())


def _with(repo: pygit2.Repository, tree: str | None, wanted: _Wanted) -> str | None:
    """The id of one folder with its part of `wanted`, None when nothing is left in it."""
    old = {name: (mode, oid) for name, mode, oid in listing(repo, tree)} if tree else {}
    new = dict(old)
    here, below = _parted(wanted)
    for name, entry in here.items():
        if entry is None and new.get(name, (TREE, ""))[0] != TREE:
            del new[name]
    for name, inside in below.items():
        mode, oid = new.get(name, (TREE, None))
        if mode != TREE and not any(inside.values()):
            continue  # nothing of the base lies there
        made = _with(repo, oid if mode == TREE else None, inside)
        new.pop(name, None)
        if made is not None:
            new[name] = (TREE, made)
    new.update({name: entry for name, entry in here.items() if entry is not None})
    return _written(repo, tree, old, new)


def _parted(wanted: _Wanted) -> tuple[_Wanted, Mapping[str, _Wanted]]:
    """(what is wanted in this folder itself, what in each folder below)."""
    here = {path: entry for path, entry in wanted.items() if "/" not in path}
    below: dict[str, dict[str, tuple[int, str] | None]] = {}
    for path in wanted.keys() - here.keys():
        head, _, rest = path.partition("/")
        below.setdefault(head, {})[rest] = wanted[path]
    return here, below


def _is_file(entries: Mapping[str, tuple[int, str]], name: str, at: str) -> None:
    if name in entries and entries[name][0] not in (FILE, EXECUTABLE):
        raise Refused(f"{shown(at + name)} is a folder, a link or a submodule, never replaced.")


def _no_twins(old: Mapping[str, object], new: Mapping[str, object], at: str) -> None:
    """A new name may not be one that a file system which folds letters takes for another."""
    fresh = new.keys() - old.keys()
    if not fresh:
        return
    seen: dict[str, str] = {}
    for name in sorted(new, key=lambda one: one in fresh):  # those of the base first
        twin = seen.setdefault(folded(name), name)
        if twin != name and name in fresh:
            raise Refused(f"{shown(at + name)} and {shown(at + twin)} differ in letter case only.")


def _written(
    repo: pygit2.Repository,
    tree: str | None,
    old: Mapping[str, tuple[int, str]],
    new: Mapping[str, tuple[int, str]],
) -> str | None:
    if not new:
        return None
    builder = repo.TreeBuilder(tree) if tree else repo.TreeBuilder()
    for name in old.keys() - new.keys():
        builder.remove(name)
    for name, (mode, oid) in new.items():
        if old.get(name) != (mode, oid):
            builder.insert(name, oid, FileMode(mode))
    return str(builder.write())


def merged(
    repo: pygit2.Repository, fork: str, ours: str, theirs: str
) -> tuple[str, tuple[str, ...]]:
    """(id of `ours` and `theirs` merged, both made from `fork`; ()), or ("", paths that conflict).

    As git merges two trees: no attributes of the repository, so no merge driver of its own. Raises
    `Refused` for trees that libgit2 cannot merge.
    """
    try:
        index = repo.merge_trees(pygit2.Oid(hex=fork), pygit2.Oid(hex=ours), pygit2.Oid(hex=theirs))
        clashes = {
            side.path for sides in index.conflicts or () for side in sides if side is not None
        }
        return ("", tuple(sorted(clashes))) if clashes else (str(index.write_tree(repo)), ())
    except (pygit2.GitError, ValueError, KeyError) as error:
        raise Refused(f"The two trees cannot be merged: {error}") from None


def deltas(repo: pygit2.Repository, old: str, new: str) -> tuple[Delta, ...]:
    """Differences of two trees, path by path, sorted; no rename detection, no git attributes."""
    found: list[Delta] = []
    waiting: list[tuple[str, str | None, str | None]] = [("", old, new)]
    while waiting:
        at, left, right = waiting.pop()
        if left == right:
            continue
        before = _by_name(listing(repo, left) if left else [])
        after = _by_name(listing(repo, right) if right else [])
        for name in before.keys() | after.keys():
            was, now = before.get(name), after.get(name)
            if was == now:
                continue
            path = f"{at}{name}"
            left_tree = was[1] if was and was[0] == TREE else None
            right_tree = now[1] if now and now[0] == TREE else None
            if left_tree or right_tree:
                waiting.append((f"{path}/", left_tree, right_tree))
            was = None if left_tree else was
            now = None if right_tree else now
            if was or now:
                found.append(_delta(repo, path, was, now))
    return tuple(sorted(found, key=lambda delta: delta.path))


def _by_name(entries: Iterable[Raw]) -> dict[str, tuple[int, str]]:
    return {name: (mode, oid) for name, mode, oid in entries}


def _delta(
    repo: pygit2.Repository,
    path: str,
    was: tuple[int, str] | None,
    now: tuple[int, str] | None,
) -> Delta:
    old_mode, new_mode = was[0] if was else 0, now[0] if now else 0
    if was and now and was[1] == now[1]:
        return Delta(path, old_mode, new_mode, 0, 0)
    before, after = (_content(repo, side) for side in (was, now))
    if b"\0" in before[:_LOOK] or b"\0" in after[:_LOOK]:
        return Delta(path, old_mode, new_mode, -1, -1)
    patch = pygit2.Patch.create_from(before, after, flag=DiffOption.FORCE_TEXT, context_lines=0)
    _, added, removed = patch.line_stats
    return Delta(path, old_mode, new_mode, added, removed)


def _content(repo: pygit2.Repository, entry: tuple[int, str] | None) -> bytes:
    if entry is None:
        return b""
    mode, oid = entry
    return f"Subproject commit {oid}\n".encode() if mode == GITLINK else blob(repo, oid)


def blob(repo: pygit2.Repository, oid: str) -> bytes:
    """The bytes of a blob. Raises `Missing`."""
    try:
        kind, data = repo.odb.read(oid)
    except (KeyError, ValueError, pygit2.GitError):
        raise Missing(f"There is no object {shown(oid)}.") from None
    if kind != pygit2.enums.ObjectType.BLOB:
        raise Missing(f"{shown(oid)} is no blob.")
    return data


def diff(repo: pygit2.Repository, old: str, new: str) -> bytes:
    """The unified diff with renames found, as bytes in the files' own encodings."""
    found = repo.diff(old, new)
    found.find_similar()
    return b"".join(patch.data for patch in found if patch is not None)


def sizes(repo: pygit2.Repository, tree: str) -> Iterable[tuple[str, int, str, int]]:
    """(path, mode, object id, size in bytes) of all entries that are not trees; a submodule has
    no size. Raises `Halt(BASE_INVALID)`, also for a file that the server did not send."""
    for path, mode, oid in walk(repo, tree):
        yield path, mode, oid, 0 if mode == GITLINK else _size(repo, path, oid)


def _size(repo: pygit2.Repository, path: str, oid: str) -> int:
    try:
        kind, size = repo.odb.read_header(oid)
    except (KeyError, pygit2.GitError):
        raise base_invalid(path.encode(), "was not sent by the server") from None
    if kind != pygit2.enums.ObjectType.BLOB:
        raise base_invalid(path.encode(), "is listed as a file and is none")
    return int(size)


def reapplied(
    repo: pygit2.Repository, base: str, ours: str, theirs: str
) -> tuple[str, tuple[str, ...]]:
    """(id of the merged tree, ()), or ("", paths in conflict, sorted). Nothing leaves memory but
    the objects, and no driver that an attribute names is run."""
    made = repo.merge_trees(base, ours, theirs, flags=MergeFlag(0))
    if made.conflicts is None:
        return str(made.write_tree(repo)), ()
    sides = (side for one in made.conflicts for side in one if side is not None)
    return "", tuple(sorted({str(side.path) for side in sides}))
