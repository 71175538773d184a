"""`node --test` with its spec reporter (TAP, its other one, is read by `tap`)."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.domain.check import Failure
from worker.runner.checks.parsers.frames import NOWHERE, frames, javascript, raised
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import NOTHING, Found, failure, tally, told

_NODE = re.compile(r"^( *)(▶|✔|✖|﹣|⚠) (.+?)(?: \((\d[\d.]*)ms\)(.*))?$")
_PLACE = re.compile(r"^test at (.+):(\d+):(\d+)$")
_INFO = "\u2139 "
_TOTAL = re.compile(rf"^{_INFO}(tests|pass|fail|cancelled|skipped|todo) (\d+)$")
_PARENT = re.compile(r"^'?\d+ subtests? failed'?$")
_FAILING = "✖ failing tests:"


def parse(log: Log) -> Found:
    """The list at the end says what failed; the tree above it gives each its whole name."""
    info = [line for line in log.lines if line.startswith(_INFO)]
    totals = {match[1]: int(match[2]) for line in info if (match := _TOTAL.match(line))}
    if "tests" not in totals:
        return NOTHING
    start = next((n for n, line in enumerate(log.lines) if line == _FAILING), len(log.lines))
    names = _names(log.lines[:start])
    failures = list(_failing(log.lines[start + 1 :], names, log))
    failed = totals.get("fail", 0) + totals.get("cancelled", 0)
    skipped = totals.get("skipped", 0) + totals.get("todo", 0)
    return told(failures, tally(totals.get("pass", 0), failed, skipped).counts)


def _names(lines: Sequence[str]) -> dict[str, deque[str]]:
    """A failing test's own name -> its whole names (`suite > test`), in the tree's order."""
    found: dict[str, deque[str]] = defaultdict(deque)
    above: list[tuple[int, str]] = []
    for line in lines:
        match = _NODE.match(line) if line.lstrip()[:1] in ("▶", "✖") else None
        if match is None:
            continue
        depth, name = len(match[1]), match[3]
        while above and above[-1][0] >= depth:
            above.pop()
        if match[2] == "▶" and match[4] is None:
            above.append((depth, name))
        elif match[2] == "✖":
            found[name].append(" > ".join([*(each for _, each in above[-20:]), name]))
    return found


def _failing(lines: Sequence[str], names: dict[str, deque[str]], log: Log) -> Iterator[Failure]:
    starts = [n for n, line in enumerate(lines) if _PLACE.match(line)]
    for at, end in pairwise([*starts, len(lines)]):
        spot = _PLACE.match(lines[at])
        head = _NODE.match(lines[at + 1]) if at + 1 < len(lines) else None
        if spot is None or head is None or (head[5] or "").lstrip().startswith("# "):
            continue  # what is to do may fail
        body = lines[at + 2 : min(end, at + 400)]
        first = next((line.strip() for line in body if line.strip()), "")
        if _PARENT.match(first):
            continue
        test = names[head[3]].popleft() if names.get(head[3]) else head[3]
        yield _failure(test, first, body, (log.place(spot[1]), int(spot[2]), int(spot[3])), log)


def _failure(
    test: str, first: str, body: Sequence[str], test_at: tuple[str, int, int], log: Log
) -> Failure:
    error, message = raised(body) or ("failure", first.strip("'"))
    if error == "failure" and "timed out" in message:
        error = "timeout"
    place = javascript(body, log)
    return failure(test, error, message, *(place if place != NOWHERE else test_at), frames(body))
