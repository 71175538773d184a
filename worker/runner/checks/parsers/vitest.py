"""vitest's terminal output: a block that begins with FAIL for each test or suite that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from app.domain.check import Counts, Failure
from worker.runner.checks.parsers.frames import NOWHERE, frames, javascript, raised
from worker.runner.checks.parsers.jest import totals
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import (
    FAILURES_READ,
    NOTHING,
    Found,
    against,
    failure,
    told,
)

_FAIL = re.compile(r"^ *FAIL +(?:\|[^|]+\| +)?(\S.*?)(?: \[ (\S+) \])?$")
_TESTS = re.compile(r"^ +Tests +(.+)$")
_CUT = re.compile(r"^⎯+\[\d+/\d+\]⎯$")
_LOOSE = re.compile(r"^⎯+ Unhandled (?:Errors?|Rejection|Exception)s? .*⎯+$")
_AMISS = re.compile(r"^ +(?:Test Files +\d+ failed|Errors +[1-9]\d* errors?)\b")
_EMPTY = "No test files found"


def parse(log: Log) -> Found:
    """The blocks, and the closing table's count of tests."""
    counts = _counts(log.lines)
    failures = list(islice(_blocks(log), FAILURES_READ))
    if counts is None and any(line.startswith(_EMPTY) for line in log.lines):
        return Found(tuple(failures), Counts(0, 0, 0), ran=False)
    return against(log, told(failures, counts) if failures or counts else NOTHING, _AMISS)


def _counts(lines: Sequence[str]) -> Counts | None:
    for line in reversed(lines):
        if " Tests " in line and (match := _TESTS.match(line)):
            return totals(match[1])
    return None


def _blocks(log: Log) -> Iterator[Failure]:
    """Tests that failed in the same way stand above one block."""
    heads: list[tuple[str, str]] = []
    begin = 0
    lines = log.lines
    for index, line in enumerate(lines):
        if "FAIL" in line and (match := _FAIL.match(line)):
            if heads and index != begin:
                yield from _told(heads, lines[begin : min(index, begin + 400)], log)
                heads = []
            heads.append((match[1], match[2] or match[1].partition(" > ")[0]))
            begin = index + 1
        elif line[:1] == "⎯":
            yield from _told(heads, lines[begin : min(index, begin + 400)], log)
            loose = _LOOSE.match(line) and "Errors" not in line
            heads = [("", "")] if loose else []
            begin = index + 1


def _told(heads: Sequence[tuple[str, str]], body: Sequence[str], log: Log) -> Iterator[Failure]:
    first = next((line.strip() for line in body if line.strip()), "")
    error, message = raised(body[:3]) or ("failure", first)
    for title, file in heads:
        place = javascript(body, log)
        if place == NOWHERE and file:
            place = (log.place(file), 0, 0)
        suite = " > " not in title
        status = "error" if suite else "failed"
        yield failure(title, error, message, *place, frames(body), status)
