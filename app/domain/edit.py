"""Edits as the model proposes them, and the change set that trusted code makes of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.paths import PathRefused, canon, folded, fresh, hidden
from app.domain.replace import BOM, MANY, nearest, places, put, rewrite

FILE = 0o100644
EXECUTABLE = 0o100755
LINK = 0o120000
GITLINK = 0o160000
TREE = 0o040000

MAX_EDITS = 64
MAX_NEW_FILE = 1 << 20  # bytes of a file as a change leaves it
MAX_NEW_TOTAL = 2 << 20  # bytes of all files that one call writes
MAX_LINE = 20_000  # characters of an added line
LFS = b"version https://git-lfs.github.com/spec/"


class EditRefused(ValueError):
    """An edit that is not accepted; the text is the answer to the model. Nothing was changed."""


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


Read = Callable[[str], tuple[bytes, int] | None]


def parse(arguments: Mapping[str, Any]) -> tuple[Edit, ...]:
    """The edits of one call of the tool `edit`. Raises `EditRefused` unless each of them is
    exactly one of replacement, whole content and deletion."""
    given = arguments.get("edits")
    if not isinstance(given, list) or not given:
        raise EditRefused("`edits` is empty: propose at least one edit.")
    if len(given) > MAX_EDITS:
        raise EditRefused(f"{len(given)} edits in one call; at most {MAX_EDITS} are taken.")
    return tuple(_edit(one, f"edits[{at}]") for at, one in enumerate(given))


def _edit(given: Mapping[str, Any], where: str) -> Edit:
    path, sha256 = str(given.get("path", "")), str(given.get("sha256", "")).lower()
    kinds = [
        name
        for name, there in (
            ("old/new", "old" in given or "new" in given),
            ("content", "content" in given),
            ("delete", bool(given.get("delete"))),
        )
        if there
    ]
    if len(kinds) != 1:
        what = " and ".join(kinds) or "none of them"
        raise EditRefused(f"{where} must be one of old/new, content, delete; it has {what}.")
    if kinds == ["content"]:
        return Write(path, sha256, str(given["content"]))
    if not sha256:
        raise EditRefused(f"{where}: `sha256` is missing; reading the file gives it.")
    if kinds == ["delete"]:
        return Delete(path, sha256)
    if "old" not in given or "new" not in given:
        raise EditRefused(f"{where}: a replacement needs both `old` and `new`.")
    return Replace(path, sha256, str(given["old"]), str(given["new"]))


def apply(edits: Sequence[Edit], read: Read) -> dict[str, tuple[int, bytes | None]]:
    """What the edits make of each path: (mode, new bytes), (0, None) for a deletion.

    `read` gives (bytes, git mode) of a path of the working snapshot, None for what is not there or
    is a folder. All edits are accepted or `EditRefused` is raised. Several replacements in one file
    follow each other and all carry the SHA-256 of the file as it was read. Whether a path may be
    changed at all is the caller's question (`policy`, `plan.declares`).
    """
    if any("\ud800" <= char <= "\udfff" for edit in edits for char in _words(edit)):
        raise EditRefused("An edit holds half of a surrogate pair, which no file can keep.")
    groups: dict[str, list[Edit]] = {}
    for edit in edits:
        try:
            groups.setdefault(canon(edit.path), []).append(edit)
        except PathRefused as wrong:
            raise EditRefused(f"The path is refused: {wrong}.") from None
    _no_twins(groups)
    result = {path: _applied(path, group, read) for path, group in groups.items()}
    total = sum(len(data) for _, data in result.values() if data is not None)
    if total > MAX_NEW_TOTAL:
        raise EditRefused(
            f"The call writes {total:,} bytes; at most {MAX_NEW_TOTAL:,} go in one call."
        )
    return result


def _words(edit: Edit) -> str:
    if isinstance(edit, Replace):
        return edit.old + edit.new
    return edit.content if isinstance(edit, Write) else ""


def _no_twins(groups: Mapping[str, Sequence[Edit]]) -> None:
    seen: dict[str, str] = {}
    for path, group in groups.items():
        twin = seen.setdefault(folded(path), path)
        if twin != path:
            raise EditRefused(f"`{path}` and `{twin}` are one file where letter case is ignored.")
        if len(group) > 1 and not all(isinstance(edit, Replace) for edit in group):
            raise EditRefused(f"`{path}` is written or deleted and edited again in one call.")


def _applied(path: str, group: Sequence[Edit], read: Read) -> tuple[int, bytes | None]:
    first, found = group[0], read(path)
    if found is None:
        if not isinstance(first, Write) or first.sha256:
            raise EditRefused(f"There is no file `{path}`; list its folder to see what is there.")
        return FILE, _created(path, first.content, read)
    data, mode = found
    _editable(path, data, mode)
    for edit in group:
        _current(edit, data)
    if isinstance(first, Delete):
        return 0, None
    made = data
    for edit in group:
        made = _written(edit, made) if isinstance(edit, Write) else _replaced(edit, made)
    if made == data:
        raise EditRefused(f"`{path}` would stay as it is: the edit changes nothing.")
    _acceptable(path, data, made)
    return mode, made


def _created(path: str, content: str, read: Read) -> bytes:
    try:
        above = fresh(path)
    except PathRefused as wrong:
        raise EditRefused(f"The path is refused: {wrong}.") from None
    while "/" in above:
        above = above.rpartition("/")[0]
        if read(above) is not None:
            raise EditRefused(f"`{path}` cannot be created: `{above}` is not a folder.")
    made = content.encode()
    _acceptable(path, b"", made)
    return made


def _editable(path: str, data: bytes, mode: int) -> None:
    if mode not in (FILE, EXECUTABLE):
        raise EditRefused(f"`{path}` is a link or a submodule, which is never edited.")
    if b"\0" in data:
        raise EditRefused(f"`{path}` is a binary file, which is never edited.")
    if data.startswith(LFS):
        raise EditRefused(f"`{path}` is a pointer to a large file (Git LFS), never edited.")


def _current(edit: Edit, data: bytes) -> None:
    current = hashlib.sha256(data).hexdigest()
    if edit.sha256 == current:
        return
    if isinstance(edit, Write) and not edit.sha256:
        raise EditRefused(
            f"`{edit.path}` exists; to replace it, carry its `sha256` {current} after reading it."
        )
    raise EditRefused(
        f"`{edit.path}` is not what you read: its `sha256` is {current} now. Read it again."
    )


def _written(edit: Write, data: bytes) -> bytes:
    if not _is_utf8(data):
        raise EditRefused(
            f"`{edit.path}` is not UTF-8; replace the ASCII parts of it with `old` and `new`."
        )
    return rewrite(data, edit.content)


def _replaced(edit: Edit, data: bytes) -> bytes:
    assert isinstance(edit, Replace)
    if not edit.old:
        raise EditRefused(f"`{edit.path}`: `old` is empty; quote the lines that change.")
    if edit.old == edit.new:
        raise EditRefused(f"`{edit.path}`: `old` and `new` are the same, so nothing would change.")
    if not edit.new.isascii() and not _is_utf8(data):
        raise EditRefused(f"`{edit.path}` is not UTF-8, so that only ASCII can be put into it.")
    lines = places(data, edit.old)
    if not lines:
        near = nearest(data, edit.old)
        hint = "The closest lines are:\n" + "\n".join(near) if near else "No line is close to it."
        raise EditRefused(f"`{edit.path}`: `old` occurs nowhere. {hint}")
    if len(lines) > 1:
        count = f"{MANY} or more" if len(lines) == MANY else str(len(lines))
        where = ", ".join(map(str, lines[:20])) + (", …" if len(lines) > 20 else "")
        raise EditRefused(
            f"`{edit.path}`: `old` has {count} matches (lines {where}). Quote more of the "
            "surroundings, so that it occurs once."
        )
    return put(data, edit.old, edit.new)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _acceptable(path: str, before: bytes, after: bytes) -> None:
    """Raise `EditRefused` for content that no reviewer could judge, or that is too large."""
    if len(after) > MAX_NEW_FILE:
        raise EditRefused(f"`{path}` would have {len(after):,} bytes; at most {MAX_NEW_FILE:,}.")
    if b"\0" in after or after.startswith(LFS):
        raise EditRefused(f"`{path}` would become a binary file or a Git LFS pointer.")
    if before.startswith(BOM):  # it stays, and belongs to no line
        before, after = before.removeprefix(BOM), after.removeprefix(BOM)
    kept = set(before.split(b"\n"))
    for number, line in enumerate(after.split(b"\n"), 1):
        if line in kept:
            continue
        text = line.removesuffix(b"\r").decode("utf-8", "replace")
        if len(text) > MAX_LINE:
            raise EditRefused(
                f"`{path}` line {number} would have {len(text):,} characters; at most {MAX_LINE:,}."
            )
        found = hidden(text)
        if found:
            raise EditRefused(
                f"`{path}` line {number} would hold characters that a reviewer cannot see: "
                f"{', '.join(found)}. Write them as escapes."
            )
