"""jest's terminal output: a block with a bullet for each failing test, or suite that cannot run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from app.domain.check import Counts, Failure
from worker.runner.checks.parsers.frames import NOWHERE, frames, javascript, raised
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import FAILURES_READ, NOTHING, Found, failure, told

_SUITE = re.compile(r"^(?:FAIL|PASS) (?:[\w@-]+ )?(\S+\.\w+)(?: \(.*\))?$")
_BULLET = re.compile(r"^ {2}● (.+)$")
_TESTS = re.compile(r"^Tests: +(.+)$")
_PART = re.compile(r"(\d+) (failed|passed|skipped|todo)")
_BROKEN = "Test suite failed to run"
_NO_TEST = ("Console", "Deprecation Warning", "Validation Warning", "Cannot log after tests")
_AT = re.compile(r"^(.*?) ?\((\d+):(\d+)\)$")
_SAID = re.compile(r"^\s*(Expected|Received)[^:]{0,40}: +(\S.*)$")
_MODULE = re.compile(r"^\s*(?:Error: )?(Cannot find module .+)$")
_PATH = re.compile(r"^(/\S+): ")
_NOTHING = "No tests found, exiting with code "


def parse(log: Log) -> Found:
    """The bullets; jest repeats them all in a summary when there are many suites."""
    counts = _counts(log.lines)
    failures = list(islice(_bullets(log), FAILURES_READ))
    if counts is None and any(line.startswith(_NOTHING) for line in log.lines):
        return Found(tuple(failures), Counts(0, 0, 0), ran=False)
    return told(failures, counts) if failures or counts else NOTHING


def _counts(lines: Sequence[str]) -> Counts | None:
    for line in reversed(lines):
        if line.startswith("Tests:") and (match := _TESTS.match(line)):
            return totals(match[1])
    return None


def totals(words: str) -> Counts:
    """`1 failed, 2 skipped, 3 passed, 6 total`, as jest and vitest count."""
    by = {word: int(number) for number, word in _PART.findall(words)}
    skipped = by.get("skipped", 0) + by.get("todo", 0)
    return Counts(by.get("passed", 0), by.get("failed", 0), skipped)


def _bullets(log: Log) -> Iterator[Failure]:
    suite, title, begin = "", "", 0
    for index, line in enumerate(log.lines):
        bullet = _BULLET.match(line) if line.startswith("  ●") else None
        head = _SUITE.match(line) if line[:4] in ("FAIL", "PASS") else None
        if not (bullet or head or line.startswith(("Test Suites:", "Summary of all failing"))):
            continue
        if title:
            yield _failure(suite, title, log.lines[begin : min(index, begin + 400)], log)
            title = ""
        if head:
            suite = log.place(head[1])
        elif bullet and not bullet[1].startswith(_NO_TEST):
            title, begin = bullet[1], index + 1
    if title:
        yield _failure(suite, title, log.lines[begin : begin + 400], log)


def _failure(suite: str, title: str, body: Sequence[str], log: Log) -> Failure:
    broken = title == _BROKEN
    error, message = _what(body)
    place = javascript(body, log)
    if match := _PATH.match(message):  # the transformer names file and place itself
        message = message[match.end() :]
        at = _AT.match(message)
        if at:
            message = at[1]
            place = (log.place(match[1]), int(at[2]), int(at[3]))
    if place == NOWHERE:
        place = (suite, 0, 0)
    status = "error" if broken else "failed"
    return failure(suite if broken else title, error, message, *place, frames(body), status)


def _what(body: Sequence[str]) -> tuple[str, str]:
    texts = [line.strip() for line in body if line.strip()]
    first = texts[0] if texts else ""
    if first.startswith("expect("):
        if "Snapshot" in first:
            return "snapshot", first
        said = [f"{m[1]}: {m[2]}" for line in texts[1:12] if (m := _SAID.match(line))]
        return "expect", " / ".join(said) or (texts[1] if len(texts) > 1 else first)
    if match := _MODULE.match(first):
        return "ModuleNotFound", match[1]
    return raised(texts[:3]) or ("failure", first)
