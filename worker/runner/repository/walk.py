"""Reading tree objects ourselves, since libgit2 checks little of what a server sent.

A tree that is not exactly as git itself would write it could not be rebuilt byte for byte beside a
change, so such a base is refused before anything is done with it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pygit2

from app.domain.edit import EXECUTABLE, FILE, GITLINK, LINK, TREE
from app.domain.errors import Halt, Reason
from app.domain.paths import MAX_COMPONENT, MAX_PATH, like_git

MAX_ENTRIES = 200_000
MAX_FOLDERS_DEEP = 128

_MODES = {
    b"100644": FILE,
    b"100755": EXECUTABLE,
    b"120000": LINK,
    b"160000": GITLINK,
    b"40000": TREE,
}

Raw = tuple[str, int, str]  # name, mode, object id in hex


def base_invalid(path: bytes, why: str) -> Halt:
    """The ending for a base that could not be kept; `path` is escaped for any reader."""
    return Halt(
        Reason.BASE_INVALID,
        f"The base commit cannot be worked on: {path.decode('utf-8', 'replace')!a} {why}.",
        "Rewrite that entry with a current git (rename it, or `git rm --cached` and `git add` it "
        "again) and start a new run.",
    )


def listing(repo: pygit2.Repository, tree: str, at: bytes = b"") -> list[Raw]:
    """The entries of one tree object as stored, every rule of their form checked.

    `at` is the tree's own path for messages. Raises `Halt(BASE_INVALID)`.
    """
    raw = _tree_bytes(repo, tree, at)
    entries: list[Raw] = []
    last = b""
    seen: set[bytes] = set()
    offset = 0
    while offset < len(raw):
        blank, end = raw.find(b" ", offset), raw.find(b"\0", offset)
        if not offset < blank < end <= len(raw) - 21:
            raise base_invalid(at or b".", "is a damaged folder")
        name = raw[blank + 1 : end]
        path = at + b"/" + name if at else name
        mode = _MODES.get(raw[offset:blank])
        if mode is None:
            spelled = raw[offset:blank].decode("ascii", "replace")
            raise base_invalid(path, f"has the file mode {spelled!a}, which git writes no more")
        key = name + b"/" if mode == TREE else name
        if name in seen or key <= last:
            raise base_invalid(path, "is listed twice or out of order")
        seen.add(name)
        last = key
        entries.append((_name(name, path), mode, raw[end + 1 : end + 21].hex()))
        offset = end + 21
    return entries


def walk(repo: pygit2.Repository, tree: str) -> Iterator[tuple[str, int, str]]:
    """(path, mode, object id) of all entries that are not trees, each tree checked on the way.

    Raises `Halt(BASE_INVALID)`, also where there are more than `MAX_ENTRIES`.
    """
    waiting: list[tuple[str, str, int]] = [("", tree, 0)]
    count = 0
    while waiting:
        at, oid, depth = waiting.pop()
        if depth > MAX_FOLDERS_DEEP:
            raise base_invalid(at.encode(), f"lies deeper than {MAX_FOLDERS_DEEP} folders")
        for name, mode, entry in listing(repo, oid, at.encode()):
            count += 1
            if count > MAX_ENTRIES:
                raise base_invalid(at.encode() or b".", f"holds over {MAX_ENTRIES} entries")
            path = f"{at}/{name}" if at else name
            if mode == TREE:
                waiting.append((path, entry, depth + 1))
            else:
                yield path, mode, entry


def _tree_bytes(repo: pygit2.Repository, tree: str, at: bytes) -> bytes:
    try:
        kind, raw = repo.odb.read(tree)
    except (KeyError, pygit2.GitError):
        raise base_invalid(at or b".", "was not sent by the server or is damaged") from None
    if kind != pygit2.enums.ObjectType.TREE:
        raise base_invalid(at or b".", "is no folder although it is listed as one")
    return bytes(raw)


def _name(name: bytes, path: bytes) -> str:
    try:
        text = name.decode()
    except UnicodeDecodeError:
        raise base_invalid(path, "has a name that is not UTF-8") from None
    if name in (b"", b".", b"..") or b"/" in name or like_git(text):
        raise base_invalid(path, "has a name that git forbids")
    if len(name) > MAX_COMPONENT or len(path) > MAX_PATH:
        raise base_invalid(path[:200], "has a name too long for a file system")
    return text
