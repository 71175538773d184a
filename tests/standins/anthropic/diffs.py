"""Unified diffs: parsed strictly from bytes, and applied to the bytes of files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
PREFIX = re.compile(r"[abciow12]/")
ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b'"': b'"', b"\\": b"\\", b"a": b"\a"}


class BadDiff(ValueError):
    """The text is no diff that this reader takes, or it does not fit the file; says where."""


@dataclass
class Hunk:
    """`start` counts from 1; lines keep their ends."""

    start: int
    old: list[bytes] = field(default_factory=list)
    new: list[bytes] = field(default_factory=list)


@dataclass
class FilePatch:
    """`old` or `new` is "" where the file does not exist on that side."""

    old: str
    new: str
    hunks: list[Hunk] = field(default_factory=list)


def parse(text: bytes) -> list[FilePatch]:
    """All file patches of a diff. Raises `BadDiff`."""
    lines = text.split(b"\n")
    if lines and lines[-1] == b"":
        lines.pop()
    patches: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(b"diff --git "):
            patch, at = _git_file(lines, at)
            patches.append(patch)
        elif line.startswith(b"--- ") and at + 1 < len(lines) and lines[at + 1][:4] == b"+++ ":
            patch = FilePatch(_plain_name(line[4:]), _plain_name(lines[at + 1][4:]))
            at = _hunks(lines, at + 2, patch)
            patches.append(patch)
        elif line.startswith(b"@@ "):
            raise BadDiff(f"line {at + 1}: a hunk without a file")
        else:
            at += 1
    if not patches:
        raise BadDiff("there is no file in this diff")
    return patches


def _git_file(lines: list[bytes], at: int) -> tuple[FilePatch, int]:
    head = lines[at][len(b"diff --git ") :]
    middle = len(head) // 2  # both names are equal unless `rename` or `---` says otherwise
    patch = FilePatch(_git_name(head[:middle]), _git_name(head[middle + 1 :]))
    at += 1
    while at < len(lines) and not lines[at].startswith((b"diff --git ", b"@@ ")):
        line = lines[at]
        if line.startswith(b"GIT binary patch") or line.startswith(b"Binary files "):
            raise BadDiff(f"line {at + 1}: {patch.new or patch.old} is binary")
        if line.startswith(b"new file mode"):
            patch.old = ""
        elif line.startswith(b"deleted file mode"):
            patch.new = ""
        elif line.startswith((b"rename from ", b"copy from ")):
            patch.old = _unquote(line.split(b" from ", 1)[1])
        elif line.startswith((b"rename to ", b"copy to ")):
            patch.new = _unquote(line.split(b" to ", 1)[1])
        elif line.startswith(b"--- "):
            patch.old = _git_name(line[4:])
        elif line.startswith(b"+++ "):
            patch.new = _git_name(line[4:])
            at += 1
            break
        at += 1
    return patch, _hunks(lines, at, patch)


def _unquote(name: bytes) -> str:
    if name.startswith(b'"') and name.endswith(b'"'):
        name = ESCAPE.sub(
            lambda found: (
                bytes([int(found.group(1), 8)])
                if found.group(1).isdigit()
                else ESCAPES.get(found.group(1), found.group(1))
            ),
            name[1:-1],
        )
    return name.decode("utf-8")


def _git_name(name: bytes) -> str:
    quoted = name.startswith(b'"')
    name = name.rstrip(b"\t") if quoted else name.split(b"\t", 1)[0]  # git ends odd names so
    text = _unquote(name)
    if text == "/dev/null":
        return ""
    return text[2:] if PREFIX.match(text) else text


def _plain_name(name: bytes) -> str:
    """A name of a diff without git's header: its first folder is left out, as `patch -p1` does."""
    text = _unquote(name.split(b"\t", 1)[0].rstrip())
    if text == "/dev/null":
        return ""
    return text.split("/", 1)[1] if "/" in text else text


def _hunks(lines: list[bytes], at: int, patch: FilePatch) -> int:
    while at < len(lines):
        found = HUNK.match(lines[at])
        if found is None:
            break
        hunk = Hunk(int(found.group(1)))
        left = int(found.group(2) or 1)
        right = int(found.group(4) or 1)
        at += 1
        while left > 0 or right > 0:
            if at >= len(lines):
                raise BadDiff(f"the last hunk of {patch.new or patch.old} is cut short")
            mark, rest = lines[at][:1] or b" ", lines[at][1:] + b"\n"
            if mark not in (b" ", b"-", b"+"):
                raise BadDiff(f"line {at + 1}: a hunk line begins with {mark!r}")
            if mark in (b" ", b"-"):
                hunk.old.append(rest)
                left -= 1
            if mark in (b" ", b"+"):
                hunk.new.append(rest)
                right -= 1
            at += 1
            if at < len(lines) and lines[at].startswith(b"\\ No newline"):
                for side in ((hunk.old,) if mark == b"-" else ()) + (
                    (hunk.new,) if mark == b"+" else ()
                ):
                    side[-1] = side[-1][:-1]
                if mark == b" ":
                    hunk.old[-1] = hunk.old[-1][:-1]
                    hunk.new[-1] = hunk.new[-1][:-1]
                at += 1
        patch.hunks.append(hunk)
    return at


def apply(patches: list[FilePatch], read: Callable[[str], bytes | None]) -> dict[str, bytes | None]:
    """Path → its bytes afterwards, None where it is gone. Raises `BadDiff` on a misfit."""
    after: dict[str, bytes | None] = {}

    def current(path: str) -> bytes | None:
        return after[path] if path in after else read(path)

    for patch in patches:
        before = current(patch.old) if patch.old else None
        if patch.old and before is None and not _makes(patch):
            raise BadDiff(f"{patch.old} is not in the repository")
        if patch.new:
            after[patch.new] = _patched(before or b"", patch)
        if patch.old and patch.old != patch.new:
            after[patch.old] = None
    return after


def _makes(patch: FilePatch) -> bool:
    return bool(patch.hunks) and patch.hunks[0].start == 0 and not patch.hunks[0].old


def _patched(data: bytes, patch: FilePatch) -> bytes:
    lines = _split(data)
    shift = 0
    for hunk in patch.hunks:
        wanted = max(hunk.start - 1, 0) + shift if hunk.old else hunk.start + shift
        place = _place(lines, hunk.old, wanted)
        if place is None:
            raise BadDiff(f"a hunk at line {hunk.start} does not fit {patch.old or patch.new}")
        lines[place : place + len(hunk.old)] = hunk.new
        shift += len(hunk.new) - len(hunk.old) + place - wanted
    return b"".join(lines)


def _split(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _place(lines: list[bytes], old: list[bytes], wanted: int) -> int | None:
    """Where `old` lies: at `wanted`, else at the nearest line."""
    for distance in range(len(lines) + 1):
        for place in (wanted - distance, wanted + distance):
            if 0 <= place <= len(lines) and lines[place : place + len(old)] == old:
                return place
    return None
