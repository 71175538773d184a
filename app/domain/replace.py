"""Putting new text into a file's bytes so that everything outside the change keeps its bytes.

Models write `\\n`. A file may end its lines with `\\r\\n`, mix both, start with a byte order mark
or end without a newline: the text is compared with line ends levelled, and what is put in takes
the line ends of its surroundings.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left

BOM = b"\xef\xbb\xbf"
MANY = 1_000  # occurrences counted
_SAMPLE = 5_000  # lines looked at for a near miss
_WIDTH = 300


class Levelled:
    """A file's bytes with every `\\r\\n` as `\\n`, and the way back to the real offsets."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.flat = data.replace(b"\r\n", b"\n")
        self._pairs: list[int] = []  # where in `flat` the line feeds of pairs are
        if len(self.flat) != len(data):
            at = data.find(b"\r\n")
            while at >= 0:
                self._pairs.append(at - len(self._pairs))
                at = data.find(b"\r\n", at + 2)

    def real(self, at: int) -> int:
        """The offset in the file's bytes of offset `at` in `flat`."""
        return at + bisect_left(self._pairs, at)

    def end_near(self, at: int) -> bytes:
        """The line end of the line in which offset `at` of `flat` lies; of the line before when it
        is the last one; `\\n` when there is only one line."""
        found = self.flat.find(b"\n", at)
        if found < 0:
            found = self.flat.rfind(b"\n", 0, at)
        if found < 0:
            return b"\n"
        pair = bisect_left(self._pairs, found)
        return b"\r\n" if pair < len(self._pairs) and self._pairs[pair] == found else b"\n"


def level(text: str) -> bytes:
    """`text` as bytes with every line end as `\\n`."""
    return text.encode("utf-8").replace(b"\r\n", b"\n")


def places(data: bytes, old: str) -> list[int]:
    """The line numbers at which `old` starts in `data`, overlapping ones too; at most `MANY`."""
    flat, wanted = Levelled(data).flat, level(old)
    found: list[int] = []
    at, line, counted = flat.find(wanted), 1, 0
    while at >= 0 and len(found) < MANY:
        line += flat.count(b"\n", counted, at)
        counted = at
        found.append(line)
        at = flat.find(wanted, at + 1)
    return found


def put(data: bytes, old: str, new: str) -> bytes:
    """`data` with its first (and only) occurrence of `old` replaced by `new`."""
    levelled = Levelled(data)
    wanted = level(old)
    start = levelled.flat.index(wanted)
    return _blend(levelled, start, start + len(wanted), level(new))


def rewrite(data: bytes, content: str) -> bytes:
    """`content` in place of the whole file, keeping the byte order mark and the line ends of the
    file wherever lines stay."""
    text = level(content)
    start = len(BOM) if data.startswith(BOM) and not text.startswith(BOM) else 0
    levelled = Levelled(data)
    return _blend(levelled, start, len(levelled.flat), text)


def _blend(levelled: Levelled, start: int, end: int, text: bytes) -> bytes:
    """The file's bytes with `flat[start:end]` replaced by `text`. Whole lines that both have at
    their start and at their end keep the file's own bytes."""
    before = levelled.flat[start:end].splitlines(keepends=True)
    after = text.splitlines(keepends=True)
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    start += sum(map(len, before[:head]))
    end -= sum(map(len, before[len(before) - tail :]))
    middle = b"".join(after[head : len(after) - tail])
    middle = middle.replace(b"\n", levelled.end_near(start))
    data = levelled.data
    return data[: levelled.real(start)] + middle + data[levelled.real(end) :]


def nearest(data: bytes, old: str) -> list[str]:
    """The real lines that come closest to `old`, each with its number; [] when none is near."""
    lines = [shorten(x) for x in data.decode("utf-8", "replace").split("\n")[:_SAMPLE]]
    bare = [" ".join(line.split()) for line in lines]
    wanted = [" ".join(line.split())[:_WIDTH] for line in old.strip().split("\n")]
    for at in range(len(bare) - len(wanted) + 1):
        if bare[at : at + len(wanted)] == wanted:  # only white space differs
            return [_numbered(lines, n) for n in range(at, at + min(len(wanted), 12))]
    first = next((line for line in wanted if line), "")
    near = difflib.get_close_matches(first, dict.fromkeys(bare), n=3, cutoff=0.6)
    return [_numbered(lines, n) for n in sorted(bare.index(line) for line in near)]


def shorten(line: str) -> str:
    """One line for a message."""
    return line.rstrip("\r")[:_WIDTH]


def _numbered(lines: list[str], at: int) -> str:
    return f"{at + 1}: {lines[at]}"
