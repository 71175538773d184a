"""RSpec and minitest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from app.domain.check import Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import FAILURES_READ, NOTHING, Found, failure, tally, told

_NUMBERED = re.compile(r"^ {2}(\d+)\) (.+)$")
_TOTAL = re.compile(
    r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?"
    r"(?:, (\d+) errors? occurred outside of examples)?$"
)
_LISTED = re.compile(r"^rspec (?:'([^']+)'|(\S+)) # (.+)$")
_FRAME = re.compile(r"^ *# (\S+?):(\d+)(?::in .*)?$")
_ERROR = re.compile(r"^ *([A-Z][\w:]*(?:Error|Exception|NotFound|Timeout)):$")
_LOADING = re.compile(r"^An error occurred while loading (\S+?)\.$")
_RUNS = re.compile(
    r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors, (\d+) skips"
)
_MINI = re.compile(r"^ {2}\d+\) (Failure|Error):$")
_MINI_AT = re.compile(r"^(\S+#\S+)(?: \[(.+):(\d+)\])?:$")
_MINI_FRAME = re.compile(r"^ {4}(\S+?):(\d+):in ")
_MINI_RAISED = re.compile(r"^([A-Z][\w:]*): (.*)$")


def rspec(log: Log) -> Found:
    """RSpec's list of failures; the list of pending examples is none."""
    totals = [m for line in log.lines if " example" in line and (m := _TOTAL.match(line))]
    if not totals:
        return NOTHING
    total, failed, pending, outside = (int(totals[-1][n] or 0) for n in (1, 2, 3, 4))
    counts = tally(total - failed - pending, failed + outside, pending).counts
    return told((*islice(_loading(log), 50), *islice(_examples(log), FAILURES_READ)), counts)


def _loading(log: Log) -> Iterator[Failure]:
    for index, line in enumerate(log.lines):
        if line.startswith("An error ") and (match := _LOADING.match(line)):
            error, message, place = _read(log.lines[index + 1 : index + 40], log)
            path = log.place(match[1])
            yield failure(path, error, message, *(place or (path, 0)), status="error")


def _examples(log: Log) -> Iterator[Failure]:
    lines = log.lines
    ids: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("rspec ") and (match := _LISTED.match(line)):
            ids.setdefault(match[3], []).append(match[1] or match[2])
    start = max((n for n, line in enumerate(lines) if line == "Failures:"), default=len(lines))
    heads = []
    for index in range(start, len(lines)):
        if lines[index].startswith("Finished in "):
            heads.append((index, ""))
            break
        if lines[index].startswith("  ") and (match := _NUMBERED.match(lines[index])):
            heads.append((index, match[2]))
    for (at, name), (end, _) in pairwise(heads):
        yield _example(name, lines[at + 1 : min(end, at + 200)], ids, log)


def _example(name: str, body: Sequence[str], ids: dict[str, list[str]], log: Log) -> Failure:
    error, message, place = _read(body, log)
    fixed = name.endswith(" FIXED")
    name = name.removesuffix(" FIXED")
    test = ids[name].pop(0) if ids.get(name) else name
    file = log.place(test.partition(":")[0].partition("[")[0])
    if fixed:
        return failure(test, "PendingExampleFixedError", message, file)
    return failure(test, error, message, *(place or (file, 0)), trace=body)


def _read(body: Sequence[str], log: Log) -> tuple[str, str, tuple[str, int] | None]:
    """(error type, message, place) of one numbered block."""
    error, said = "ExpectationNotMetError", ""
    place = None
    for line in body:
        text = line.strip()
        if match := _FRAME.match(line):
            path = log.place(match[1])
            if place is None and log.ours(path):
                place = (path, int(match[2]))
        elif match := _ERROR.match(line):
            error, said = match[1], ""
        elif text and not said and not text.startswith(("#", "Failure/Error:")):
            said = text
    return error, said, place


def minitest(log: Log) -> Found:
    """minitest's numbered blocks."""
    totals = [m for line in log.lines if " assertions, " in line and (m := _RUNS.match(line))]
    if not totals:
        return NOTHING
    runs, failed, errors, skips = (int(totals[-1][n]) for n in (1, 2, 3, 4))
    counts = tally(runs - failed - errors - skips, failed + errors, skips).counts
    starts = [n for n, line in enumerate(log.lines) if _MINI.match(line)]
    blocks = (log.lines[a:b] for a, b in pairwise([*starts, len(log.lines)]))
    return told((_mini(block[:200], log) for block in blocks), counts)


def _mini(body: Sequence[str], log: Log) -> Failure:
    kind = _MINI.match(body[0])
    head = _MINI_AT.match(body[1]) if len(body) > 1 else None
    said = next((line.strip() for line in body[2:] if line.strip()), "")
    test = head[1] if head else ""
    if head and head[2]:
        return failure(test, "Failure", said, log.place(head[2]), head[3], trace=body[2:])
    raised = _MINI_RAISED.match(said)
    error, message = (raised[1], raised[2]) if raised else (kind[1] if kind else "Error", said)
    frames = (m for line in body if (m := _MINI_FRAME.match(line)))
    ours = ((log.place(m[1]), m[2]) for m in frames)
    file, at = next(((f, n) for f, n in ours if log.ours(f)), ("", "0"))
    return failure(test, error, message, file, at, trace=body[2:], status="error")
