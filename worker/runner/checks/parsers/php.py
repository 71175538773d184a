"""PHPUnit, and php -l."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.domain.check import Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import Found, failure, merged, tally, told

_SYNTAX = re.compile(r"^(?:PHP )?(Parse error|Fatal error): +(.+) in (.+?)(?: on line |:)(\d+)$")
_LIST = re.compile(r"^There (?:was|were) \d+ (failure|error|warning|risky test|skipped test)s?:$")
_HEAD = re.compile(r"^\d+\) (\S+::\S+.*)$")
_SPOT = re.compile(r"^(\S.*\.(?:php|phpt)):(\d+)$")
_RAISED = re.compile(r"^([A-Z]\w*(?:\\\w+)*): (.+)$")
_OK = re.compile(r"^OK \((\d+) tests?, \d+ assertions?\)$")
_TOTAL = re.compile(r"^Tests: (\d+), Assertions: \d+(.*)\.$")
_PART = re.compile(r"(\w+): (\d+)")
_NOTHING = "No tests executed!"


def parse(log: Log) -> Found:
    """Syntax errors, then tests."""
    return merged((told(_syntax(log)), _tests(log)))


def _syntax(log: Log) -> Iterator[Failure]:
    for line in log.lines:
        if " error: " in line and (match := _SYNTAX.match(line)):
            yield failure("", match[1], match[2], log.place(match[3]), match[4], status="error")


def _tests(log: Log) -> Found:
    failures = list(_listed(log))
    for line in reversed(log.lines):
        if match := _OK.match(line):
            return told(failures, tally(int(match[1])).counts)
        if match := _TOTAL.match(line):
            by = {word.lower(): int(number) for word, number in _PART.findall(match[2])}
            failed = by.get("failures", 0) + by.get("errors", 0)
            skipped = by.get("skipped", 0) + by.get("incomplete", 0)
            passed = int(match[1]) - failed - skipped
            return told(failures, tally(passed, failed, skipped).counts)
        if line.startswith(_NOTHING):
            return Found(tuple(failures), ran=False)
    return told(failures)


def _listed(log: Log) -> Iterator[Failure]:
    kind = ""
    lines = log.lines
    heads: list[tuple[int, str, str]] = []
    for index, line in enumerate(lines):
        if line.startswith("There w") and (match := _LIST.match(line)):
            kind = match[1]
            heads.append((index, "", ""))
        elif kind and line[:1].isdigit() and (match := _HEAD.match(line)):
            heads.append((index, match[1], kind))
        elif line in ("--", "FAILURES!", "ERRORS!"):
            heads.append((index, "", ""))
    heads.append((len(lines), "", ""))
    for (at, test, sort), (end, _, _) in pairwise(heads):
        if sort in ("failure", "error"):
            yield _failure(test, sort, lines[at + 1 : min(end, at + 200)], log)


def _failure(test: str, sort: str, body: Sequence[str], log: Log) -> Failure:
    spots = [(log.place(m[1]), m[2]) for line in body if (m := _SPOT.match(line))]
    file, at = next(((f, n) for f, n in spots if log.ours(f)), ("", "0"))
    first = next((line for line in body if line.strip()), "")
    raised = _RAISED.match(first)
    error, message = (raised[1], raised[2]) if raised else (sort, first)
    status = "error" if sort == "error" else "failed"
    return failure(test, error, message, file, at, trace=body, status=status)
