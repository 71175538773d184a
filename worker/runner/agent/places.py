"""The code around failing places and changed files, numbered and with the hashes for an edit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from app.domain.check import Failure
from app.domain.edit import EXECUTABLE, FILE
from worker.runner.agent.private import private
from worker.runner.agent.quote import framed
from worker.runner.agent.tools.reading import header, numbered
from worker.runner.agent.views import Views

AROUND = 12  # lines before and after a place
PLACES = 12
WHOLE = 200  # lines up to which a changed file is shown whole
CHARS = 40_000
_TRACE = re.compile(r"(?:File \"|^|\s)([\w./-]+\.\w+)(?:\", line |:)(\d+)")


def places(
    views: Views, tree: str, touched: Sequence[str], failures: Iterable[Failure], mark: str
) -> str:
    """Changed files first (short ones whole), then where failures point, as `read` shows them."""
    wanted: dict[str, set[int]] = {path: set() for path in touched}
    count = 0
    for path, line in _pointed(failures):
        if count >= PLACES:
            break
        if path in views.files(tree) and line not in wanted.get(path, ()):
            wanted.setdefault(path, set()).add(line)
            count += 1
    parts: list[str] = []
    room = CHARS
    for path, lines in wanted.items():
        part = _part(views, tree, path, lines, mark)
        if part and len(part) <= room:
            parts.append(part)
            room -= len(part)
    return "\n".join(parts) or "(no place is known; use `search` and `read`)"


def _pointed(failures: Iterable[Failure]) -> Iterable[tuple[str, int]]:
    for failure in failures:
        if failure.file and failure.line:
            yield failure.file, failure.line
        for line in failure.trace:
            for path, number in _TRACE.findall(line):
                yield path.removeprefix("./"), int(number[:7])


def _part(views: Views, tree: str, path: str, lines: set[int], mark: str) -> str:
    got = views.read(tree, path)
    if got is None or private(path) or got[1] not in (FILE, EXECUTABLE) or b"\0" in got[0]:
        return ""
    text = got[0].decode("utf-8", "replace").split("\n")
    if text[-1] == "":
        text.pop()
    shown = [numbered(text, start, end)[0] for start, end in _ranges(len(text), lines)]
    first, last = (1, len(text)) if len(text) <= WHOLE else (0, 0)
    head = header(path, got[0], first, last, len(text))
    return f"{head}\n{framed('file', chr(10).join(shown), mark)}"


def _ranges(length: int, lines: set[int]) -> list[tuple[int, int]]:
    """What to show of a file with `length` lines: all of a short one, else around `lines`."""
    if length <= WHOLE:
        return [(1, length)]
    ranges: list[tuple[int, int]] = []
    for line in sorted(one for one in lines if one <= length):
        start, end = max(1, line - AROUND), min(length, line + AROUND)
        if ranges and start <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges
