"""A tree as an uncompressed tar for the sandbox, made from its objects and the same each time.

Not `git archive`: attributes in the repository (export-ignore, export-subst) would change it.
"""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Callable, Mapping, Sequence

from app.domain.edit import EXECUTABLE, GITLINK, LINK, Entry
from app.domain.errors import Refused
from app.domain.paths import shown

OWNER = 65534  # nobody, as in the sandbox
MAX_BYTES = 1 << 30


def pack(
    entries: Sequence[Entry], extra: Mapping[str, bytes], data_of: Callable[[str], bytes]
) -> bytes:
    """Regular files with `extra` laid over them, and links that stay inside; owner and times are
    fixed. A link that leaves the tree is left out; a submodule is an empty folder. Raises `Refused`
    where a file of `extra` has no safe place, and over `MAX_BYTES`."""
    total = sum(entry.size for entry in entries) + sum(map(len, extra.values()))
    if total > MAX_BYTES:
        raise Refused(f"The files are {total >> 20} MiB; at most {MAX_BYTES >> 20} MiB are run.")
    there = {entry.path: entry for entry in entries}
    folders = _folders(there.keys() | extra.keys())
    for path in extra:
        _has_place(path, there, folders)
    out = io.BytesIO()
    with tarfile.open(
        fileobj=out, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="strict"
    ) as tar:
        for path in sorted(there.keys() | extra.keys() | folders):
            entry = there.get(path)
            executable = entry is not None and entry.mode == EXECUTABLE
            if path in folders or (entry and entry.mode == GITLINK):
                tar.addfile(_member(path, tarfile.DIRTYPE, 0o755))
            elif entry and entry.mode == LINK:
                _link(tar, path, data_of(entry.oid))
            else:
                data = extra[path] if path in extra else data_of(there[path].oid)
                _add(tar, path, 0o755 if executable else 0o644, data)
    return out.getvalue()


def _folders(paths: set[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        while "/" in path:
            path = path.rpartition("/")[0]
            if path in found:
                break
            found.add(path)
    return found


def _has_place(path: str, there: Mapping[str, Entry], folders: set[str]) -> None:
    """Raise where unpacking `path` would leave the tree, go through a link or hide a folder."""
    if any(name in ("", ".", "..") for name in path.split("/")) or "\0" in path:
        raise Refused(f"{shown(path)} is no path inside the tree.")
    above = path
    while "/" in above:
        above = above.rpartition("/")[0]
        if above in there:
            raise Refused(f"{shown(path)} cannot be laid over the tree: {shown(above)} is a file.")
    if path in folders or (path in there and there[path].mode in (LINK, GITLINK)):
        raise Refused(f"{shown(path)} cannot be laid over a folder, a link or a submodule.")


def _member(path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.type, member.mode = kind, mode
    member.uid = member.gid = OWNER
    return member


def _add(tar: tarfile.TarFile, path: str, mode: int, data: bytes) -> None:
    member = _member(path, tarfile.REGTYPE, mode)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _link(tar: tarfile.TarFile, path: str, target: bytes) -> None:
    try:
        text = target.decode()
    except UnicodeDecodeError:
        return
    if not inside(path, text):
        return
    member = _member(path, tarfile.SYMTYPE, 0o777)
    member.linkname = text
    tar.addfile(member)


def inside(path: str, target: str) -> bool:
    """Whether a link at `path` to `target` stays in the tree, judged by its letters."""
    if not target or target.startswith("/") or "\0" in target:
        return False
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return end != ".." and not end.startswith("../")
