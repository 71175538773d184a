"""A Python test's failure text (pytest's own style or a plain traceback) as one `Failure` (C5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from app.domain.check import Failure
from worker.runner.checks.output import cleaned, shortened

TRACE_LINES = 8
WORKSPACE = "/workspace/"
MESSAGE_CAP = 600

_SPOT = re.compile(r"^\s{0,20}([^\s:>][^:\n]{0,300}):(\d{1,7}): ?(.*)$")
_FILE = re.compile(r'^(?:E\s+|\s*)File "([^"\n]{1,300})", line (\d{1,7})')
_RAISED = re.compile(r"^(?:E\s+)?([A-Za-z_][\w.]{0,100}): (.*)$")
_BARE = re.compile(r"^(?:E\s+)?([A-Za-z_][\w.]{0,100}):?$")
_TYPE = re.compile(r"[A-Za-z_][\w.]{0,100}")
_NAMED = re.compile(r"(?:Error|Exception|Warning|Exit|Interrupt|Failed|Skipped|Group)$")

Place = Callable[[str], str]


def plain(path: str) -> str:
    """A path inside the sandbox's workspace without the workspace."""
    return path.removeprefix(WORKSPACE).removeprefix("./")


def failure_of(
    test: str, text: str, claim: str = "", place: Place = plain, status: str = "failed"
) -> Failure:
    """The failure of `test` as `text` tells it; `claim` is the report's own one-line message."""
    lines = cleaned(text).split("\n")
    spots = _spots(lines, place)
    file, line, kind = _where(spots)
    raised, message = _what(lines, cleaned(claim))
    return Failure(
        test=test,
        error=shortened(raised or kind or "failure", 100),
        message=shortened(message, MESSAGE_CAP),
        file=file,
        line=line,
        trace=_trace(lines, [index for index, _, _, _ in spots]),
        status=status,
    )


def traceback_of(
    test: str, lines: Sequence[str], place: Place = plain, status: str = "failed"
) -> Failure:
    """The failure of `test` from a plain traceback; what was raised is behind the last frame."""
    lines = [line.rstrip() for line in lines]
    spots = _spots(lines, place)
    file, line, _ = _where(spots)
    start = spots[-1][0] + 1 if spots else 0
    error, message, at = "", "", len(lines)
    for index in range(start, len(lines)):
        match = _RAISED.match(lines[index]) or _BARE.match(lines[index])
        if match:
            error, at = match[1], index
            message = match[2].strip() if match.re is _RAISED else ""
            break
    told = [lines[n] for n, _, _, _ in spots[-TRACE_LINES + 1 :]] + lines[at : at + 1]
    return Failure(
        test=test,
        error=shortened(error or "failure", 100),
        message=shortened(message, MESSAGE_CAP),
        file=file,
        line=line,
        trace=tuple(shortened(each.strip()) for each in told),
        status=status,
    )


Spot = tuple[int, str, int, str]  # index of the text line, path, line number, the rest


def _spots(lines: Sequence[str], place: Place) -> list[Spot]:
    found: list[Spot] = []
    for index, text in enumerate(lines):
        match = _SPOT.match(text) or _FILE.match(text)
        if match:
            rest = match[3].strip() if match.re is _SPOT else ""
            found.append((index, place(match[1]), int(match[2]), rest))
    return found


def _where(spots: list[Spot]) -> tuple[str, int, str]:
    """The last place inside the repository, and the error type that stands at the very end."""
    kind = spots[-1][3] if spots and _TYPE.fullmatch(spots[-1][3]) else ""
    for _, path, line, _ in reversed(spots):
        if not path.startswith(("/", "<")) and "site-packages/" not in path:
            return path, line, kind
    return "", 0, kind


def _what(lines: list[str], claim: str) -> tuple[str, str]:
    """(error type, message) of the exception that came out last, else the claim."""
    sources = [index for index, line in enumerate(lines) if line.startswith(">")]
    last = lines[sources[-1] :] if sources else lines  # a chain of exceptions ends with the final
    marked = [line for line in last if line.startswith("E ")]
    for line in marked or lines[::-1]:
        match = _RAISED.match(line)
        if match and _NAMED.search(match[1]):
            return match[1], match[2].strip()
    if marked:
        return "", marked[0][1:].strip()
    first = claim.strip().split("\n")[0]
    match = _RAISED.match(first)
    return (match[1], match[2].strip()) if match and _NAMED.search(match[1]) else ("", first)


def _trace(lines: list[str], spots: list[int]) -> tuple[str, ...]:
    """The lines that tell: places, the failing source lines, what was raised; the last frames."""
    places = set(spots)
    told = [
        (index, line)
        for index, line in enumerate(lines)
        if index in places or line.startswith(("E ", ">"))
    ]
    if len(told) > TRACE_LINES:
        sources = [n for n, (_, line) in enumerate(told) if line.startswith(">")]
        start = min(max(0, sources[-1] - 2) if sources else len(told), len(told) - TRACE_LINES)
        told = [*told[start : start + TRACE_LINES - 1], told[-1]]
    if not told:
        told = list(enumerate([line for line in lines if line.strip()][-TRACE_LINES:]))
    return tuple(shortened(line.rstrip()) for _, line in told)
