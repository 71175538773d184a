"""Formats that belong to no tool: JUnit XML that is printed, `file:line: message`, tox's frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from app.domain.check import CaseStatus, Counts, Failure
from worker.runner.checks.parsers import junit
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import NOTHING, Found, failure, told

_LINE = re.compile(r"^(\S[^:\s]*):(\d+):(?:(\d+):)? ?(.+)$")
_ENDING = re.compile(r"\.[A-Za-z]\w{0,9}$")
_TOX_ENDS = re.compile(r"^([\w.,-]+): exit (\d+) \(")
_TOX_BEGINS = re.compile(r"^([\w.,-]+): commands\[\d+\]> ")
_NOT_ERRORS = ("note:", "warning:", "info:", "hint:")


def lines(log: Log) -> Found:
    """Every `file:line[:column]: message` that names a file of the tree, or looks like one."""
    return told(_placed(log.lines, log, named=bool(log.paths)))


def _placed(texts: Sequence[str], log: Log, *, named: bool) -> Iterator[Failure]:
    """`named`: only files that the tree has; else whatever has a file's ending."""
    for text in texts:
        match = _LINE.match(text) if ":" in text and text[0] not in " \t" else None
        if match is None or match[4].lower().startswith(_NOT_ERRORS):
            continue
        path = log.place(match[1])
        if path in log.paths or (not named and _ENDING.search(path)):
            yield failure("", "lint", match[4].removeprefix("error: "), path, match[2], match[3])


def tox(log: Log, known: Callable[[Sequence[str]], bool]) -> Found:
    """The lines of environments that failed and in which no tool is `known`."""
    found: list[Failure] = []
    begin = 0
    for index, text in enumerate(log.lines):
        if _TOX_BEGINS.match(text):
            begin = index + 1
        elif match := _TOX_ENDS.match(text):
            segment = log.lines[begin:index]
            if match[2] != "0" and not known(segment):
                found += _placed(segment, log, named=False)
            begin = index + 1
    return told(found)


def junit_text(log: Log) -> Found:
    """A JUnit document on standard output, with or without words around it."""
    start = log.raw.find(b"<testsuite")
    end = max(log.raw.rfind(b"</testsuite>"), log.raw.rfind(b"</testsuites>"))
    if start < 0 or end < start:
        return NOTHING
    report = junit.parse(log.raw[start : log.raw.index(b">", end) + 1], log.paths)
    if report is None:
        return NOTHING
    by = [case.status for case in report.cases]
    counts = Counts(*(by.count(one) for one in CaseStatus))
    return told(report.failures, counts, report.cases)
