"""unittest's terminal output, and that of runners in its style (nose2, Django); doctest's too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.domain.check import Case, CaseStatus, Counts, Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import (
    NOTHING,
    Found,
    failure,
    merged,
    status_of,
    told,
)
from worker.runner.checks.parsers.trace import traceback_of

_RULE = "=" * 70
_LINE = "-" * 70
_STARS = "*" * 70
_HEAD = re.compile(r"^(ERROR|FAIL|UNEXPECTED SUCCESS): (\S.*)$")
_NAMED = re.compile(r"^(\S+) \(([\w.]+)\)")
_RAN = re.compile(r"^Ran (\d+) tests? in ")
_ENDED = re.compile(r"^(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$")
_PART = re.compile(r"([a-z ]+)=(\d+)")
_VERBOSE = re.compile(
    r"^(\w+) \(([\w.]+)\)(?: \.\.\.|.*\.\.\.) (ok|FAIL|ERROR|skipped .*|expected failure"
    r"|unexpected success)$"
)
_EXAMPLE = re.compile(r'^File "(.+)", line (\d+), in (\S+)$')
_TALLY = re.compile(r"^\*\*\*Test Failed\*\*\* (\d+) failure")
_ITEMS = re.compile(r"^(\d+) passed and (\d+) failed\.$|^(\d+) passed\.$")


def parse(log: Log) -> Found:
    """Every run of the log (tox runs several), and every doctest."""
    return merged((*_runs(log), _doctests(log)))


def _runs(log: Log) -> Iterator[Found]:
    """A run is all up to its `Ran N tests` and the verdict behind it."""
    failures: list[Failure] = []
    cases: list[Case] = []
    lines = log.lines
    for index, line in enumerate(lines):
        if line.startswith(_RULE[:10]) and line == _RULE and index + 1 < len(lines):
            failures += _block(lines, index + 1, log)
        elif "... " in line and (match := _VERBOSE.match(line)):
            word = "skipped" if match[3].startswith("skipped") else match[3]
            cases.append(Case(_dotted(match[1], match[2]), _status(word)))
        elif line.startswith("Ran ") and (match := _RAN.match(line)):
            yield told(failures, _counts(lines, index, int(match[1])), cases)
            failures, cases = [], []
    if failures:
        yield told(failures)


def _status(word: str) -> CaseStatus:
    return CaseStatus.FAILED if word == "unexpected success" else status_of(word)


def _counts(lines: Sequence[str], ran: int, total: int) -> Counts:
    by: dict[str, int] = {}
    for line in lines[ran + 1 : ran + 6]:
        if match := _ENDED.match(line):
            by = {word.strip(" ,"): int(number) for word, number in _PART.findall(match[2] or "")}
            break
    failed = by.get("failures", 0) + by.get("errors", 0) + by.get("unexpected successes", 0)
    skipped = by.get("skipped", 0) + by.get("expected failures", 0)
    return Counts(max(0, total - failed - skipped), failed, skipped)


def _block(lines: Sequence[str], at: int, log: Log) -> Iterator[Failure]:
    head = _HEAD.match(lines[at])
    if head is None:
        return
    body: list[str] = []
    for line in lines[at + 1 : at + 400]:
        if line == _RULE or (line == _LINE and body) or line in ("Stdout:", "Stderr:"):
            break
        if line == _LINE:
            body.append("")  # the rule below the title and its docstring: the traceback follows
        elif body:
            body.append(line)
    test = _id(head[2])
    if head[1] == "UNEXPECTED SUCCESS":
        yield failure(test, "UnexpectedSuccess", "unexpected success", log.module(test))
        return
    if not any(line.startswith("Traceback (most recent") for line in body[:8]):
        return  # printed by a test: the runner's own blocks hold a traceback
    status = "error" if head[1] == "ERROR" else "failed"
    one = traceback_of(test, body, log.place, status)
    yield one if one.file else replace(one, file=log.module(test))


def _id(title: str) -> str:
    """`module.Class.test` of `test (module.Class)` or `test (module.Class.test)`."""
    match = _NAMED.match(title)
    return _dotted(match[1], match[2]) if match else title.partition(" ")[0]


def _dotted(name: str, inside: str) -> str:
    if inside.startswith("unittest.loader._FailedTest"):
        return name
    return inside if inside.endswith("." + name) else f"{inside}.{name}"


def _doctests(log: Log) -> Found:
    failures: list[Failure] = []
    lines = log.lines
    for index, line in enumerate(lines):
        if line.startswith("File ") and index and lines[index - 1] == _STARS:
            failures += _example(lines, index, log)
    if not failures:
        return NOTHING
    for line in lines:
        if line.endswith(" failed.") and (match := _ITEMS.match(line)):
            return told(failures, Counts(int(match[1]), int(match[2]), 0))
    said = [match for line in lines if (match := _TALLY.match(line))]
    return told(failures, Counts(0, int(said[-1][1]) if said else len(failures), 0))


def _example(lines: Sequence[str], at: int, log: Log) -> Iterator[Failure]:
    head = _EXAMPLE.match(lines[at])
    if head is None:
        return
    body: list[str] = []
    for line in lines[at + 1 : at + 200]:
        if line == _STARS:
            break
        body.append(line)
    error, message = "DoctestFailure", ""
    if "Exception raised:" in body:
        raised = [line[4:] for line in body[body.index("Exception raised:") + 1 :]]
        one = traceback_of("", raised, log.place)
        error, message = one.error, one.message
    else:
        kept = [line.strip() for line in body if line.strip()]
        begin = kept.index("Expected:") if "Expected:" in kept else 0
        message = " ".join(kept[begin : begin + 12])
    yield failure(head[3], error, message, log.place(head[1]), head[2], trace=body)
