"""mocha's spec, dot and other text reporters: they end with a numbered list of what failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.domain.check import Failure
from worker.runner.checks.parsers.frames import NOWHERE, frames, javascript, raised
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import NOTHING, Found, failure, tally, told

_TOTAL = re.compile(r"^ {2}(\d+) (passing|failing|pending)(?: \(.+\))?$")
_HEAD = re.compile(r"^ {2}(\d+)\) (.+)$")
_IN_FILE = re.compile(r"\((/[^()\s]+)\)$")


def parse(log: Log) -> Found:
    """The last totals, and the list behind them."""
    ends = [(n, m) for n, line in enumerate(log.lines) if (m := _TOTAL.match(line))]
    passing = [n for n, match in ends if match[2] == "passing"]
    if not passing:
        return NOTHING
    totals = {match[2]: int(match[1]) for n, match in ends if n >= passing[-1]}
    counts = tally(
        totals.get("passing", 0), totals.get("failing", 0), totals.get("pending", 0)
    ).counts
    return told(_listed(log.lines[ends[-1][0] + 1 :], log), counts)


def _listed(lines: Sequence[str], log: Log) -> Iterator[Failure]:
    starts = [n for n, line in enumerate(lines) if line.startswith("  ") and _HEAD.match(line)]
    for at, end in pairwise([*starts, len(lines)]):
        yield _failure(lines[at : min(end, at + 400)], log)


def _failure(lines: Sequence[str], log: Log) -> Failure:
    head = _HEAD.match(lines[0])
    title = [head[2].strip() if head else ""]
    body = 1
    while not title[-1].endswith(":") and body < min(len(lines), 20):
        if lines[body].strip():
            title.append(lines[body].strip())
        body += 1
    rest = lines[body:]
    first = next((line.strip() for line in rest if line.strip()), "")
    error, message = raised(rest) or ("failure", first)
    place = javascript(rest, log)
    if place == NOWHERE and (match := _IN_FILE.search(message)):
        place = (log.place(match[1]), 0, 0)
    test = " ".join(title).removesuffix(":")
    return failure(test, error, message, *place, frames(rest))
