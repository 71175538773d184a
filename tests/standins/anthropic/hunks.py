"""From two versions of a file to arguments of our `edit` tool, each `old` occurring only once."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any


class NotText(ValueError):
    """The file is not UTF-8 text, so that no tool argument can carry its change."""


def replacements(
    path: str, before: bytes | None, after: bytes | None, sha256: str
) -> list[dict[str, Any]]:
    """Edits that turn `before` into `after` when applied in order; [] where nothing changes."""
    if before == after:
        return []
    if before is None:
        assert after is not None
        return [{"path": path, "content": _text(path, after)}]
    if after is None:
        return [{"path": path, "sha256": sha256, "delete": True}]
    old, new = _text(path, before), _text(path, after)
    if _crlf(old) and _crlf(new):
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old or not new:
        return [{"path": path, "sha256": sha256, "content": _text(path, after)}]
    return [
        {"path": path, "sha256": sha256, "old": left, "new": right}
        for left, right in _pairs(old.splitlines(keepends=True), new.splitlines(keepends=True))
    ]


def changed_lines(before: bytes, after: bytes) -> int:
    """Lines added plus lines removed."""
    matcher = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return sum(
        (i2 - i1) + (j2 - j1) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"
    )


def _text(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise NotText(f"{path} is not UTF-8 text") from None


def _crlf(text: str) -> bool:
    return "\r\n" in text and text.count("\n") == text.count("\r\n")


def _pairs(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    """(old, new) of every change, last first, so that the lines above are still the old ones."""
    pairs = []
    current = list(old)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in reversed(matcher.get_opcodes()):
        if tag == "equal":
            continue
        top, end = _widened(current, i1, i2)
        left = "".join(current[top:end])
        right = "".join([*current[top:i1], *new[j1:j2], *current[i2:end]])
        pairs.append((left, right))
        current[i1:i2] = new[j1:j2]
    return pairs


def _widened(lines: list[str], start: int, end: int) -> tuple[int, int]:
    """The smallest growth of start:end, up and down in turn, whose text occurs exactly once."""
    whole = "".join(lines)
    top, bottom = start, end
    up = True
    while True:
        text = "".join(lines[top:bottom])
        if text and _once(whole, text):
            return top, bottom
        if top == 0 and bottom == len(lines):
            return top, bottom
        if (up and top > 0) or bottom == len(lines):
            top -= 1
        else:
            bottom += 1
        up = not up


def _once(whole: str, text: str) -> bool:
    first = whole.find(text)
    return first >= 0 and whole.find(text, first + 1) < 0
