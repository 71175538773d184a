"""go build, vet and test (text and -json), gotestsum."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.check import Case, CaseStatus, Counts, Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import Found, failure, merged, told

_BUILD = re.compile(r"^(?:vet: )?(\S+\.go):(\d+)(?::(\d+))?: (.+)$")
_TEST = re.compile(r"^( *)--- (FAIL|PASS|SKIP): (\S+) \(")
_RUN = re.compile(r"^=== (?:RUN|CONT|NAME) +(\S+)$")
_SUM = re.compile(r"^=== (FAIL|SKIP): (\S+) (\S+) \(")
_PACKAGE = re.compile(r"^(ok|FAIL|---|\?) *\t(\S+)(?:\t(.*)|\s+(\[.+\]))?$")
_DONE = re.compile(r"^DONE (\d+) tests?(?:, (\d+) skipped)?(?:, (\d+) failures?)?(?:, | in )")
_SPOT = re.compile(r"^\s+(\S+\.go):(\d+): ?(.*)$")
_PANIC = re.compile(r"^(panic: .+|fatal error: .+)$")
_FRAME = re.compile(r"^\t(\S+\.go):(\d+)")
_STATUS = {"pass": CaseStatus.PASSED, "fail": CaseStatus.FAILED, "skip": CaseStatus.SKIPPED}
OUTPUT_LINES = 200


def parse(log: Log) -> Found:
    """Compiler and vet messages, then the tests."""
    events = [event for line in log.lines if (event := _event(line))]
    if events:
        printed = [str(event.get("Output", "")).rstrip("\n") for event in events if _loose(event)]
        return merged((told(_build(printed, log)), _json(events, log)))
    return merged((told(_build(log.lines, log)), _text(log)))


def _event(line: str) -> dict[str, Any] | None:
    if not line.startswith("{") or '"Action"' not in line:
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def _loose(event: dict[str, Any]) -> bool:
    return "Test" not in event and event.get("Action") in ("output", "build-output")


def _build(lines: Iterable[str], log: Log) -> Iterator[Failure]:
    """Messages begin at the line's start; what a test prints is indented."""
    for line in lines:
        if ".go:" not in line or line[0] in " \t":
            continue
        if match := _BUILD.match(line):
            path = log.place(match[1])
            if log.ours(path):
                yield failure("", "error", match[4], path, match[2], match[3], status="error")


@dataclass
class _Test:
    """One test while its output is read."""

    package: str
    name: str
    status: CaseStatus
    output: list[str] = field(default_factory=list)


def _json(events: Sequence[dict[str, Any]], log: Log) -> Found:
    tests: dict[tuple[str, str], _Test] = {}
    broken: list[str] = []
    for event in events:
        package, name = str(event.get("Package", "")), str(event.get("Test", ""))
        action = event.get("Action")
        if not name:
            if action == "fail":
                broken.append(package)
            continue
        test = tests.setdefault((package, name), _Test(package, name, CaseStatus.FAILED))
        if action == "output" and len(test.output) < OUTPUT_LINES:
            test.output.append(str(event.get("Output", "")).rstrip("\n"))
        elif action in _STATUS:
            test.status = _STATUS[str(action)]
    return _told(list(tests.values()), broken, log, whole=True)


def _text(log: Log) -> Found:
    """Packages close with a line of their own, which names the tests above it.

    What a test prints stands behind its verdict, in a verbose run behind `=== RUN` before it.
    """
    reading = _Reading()
    for line in log.lines:
        reading.take(line)
    named, done = reading.named, reading.done
    tests = named or [*reading.told, *reading.tests.values()]
    found = _told(tests, reading.broken, log, whole=not named and not reading.quiet)
    if done is not None:
        return told(found.failures, done)
    ran = reading.ran or found.ran or None
    if ran is None and reading.empty and not found.failures:
        return Found(ran=False)
    return told(found.failures, None if named else found.counts, found.cases, ran)


class _Reading:
    """What the lines of a text log have said so far."""

    def __init__(self) -> None:
        self.tests: dict[str, _Test] = {}  # of the package that is open
        self.told: list[_Test] = []  # of those that are closed
        self.named: list[_Test] = []  # gotestsum's, which name their package
        self.broken: list[str] = []
        self.ran = self.empty = self.quiet = False
        self.done: Counts | None = None
        self._open: _Test | None = None

    def take(self, line: str) -> None:
        if line.startswith("=== ") and (match := _RUN.match(line) or _SUM.match(line)):
            if match.re is _SUM:
                self._open = _Test(match[2], match[3], _STATUS[match[1].lower()])
                self.named.append(self._open)
            else:
                self._open = self._test(match[1])
        elif "--- " in line and not self.named and (match := _TEST.match(line)):
            known = match[3] in self.tests
            test = self._test(match[3])
            test.status = _STATUS[match[2].lower()]
            self._open = self._open if known else test
        elif line.startswith("DONE ") and (match := _DONE.match(line)):
            total, skipped, failed = (int(match[n] or 0) for n in (1, 2, 3))
            self.done = Counts(total - skipped - failed, failed, skipped)
        elif "\t" in line and (match := _PACKAGE.match(line)):
            self._close(match[1], match[2], line)
        elif self._open is not None and len(self._open.output) < OUTPUT_LINES:
            self._open.output.append(line)

    def _test(self, name: str) -> _Test:
        return self.tests.setdefault(name, _Test("", name, CaseStatus.FAILED))

    def _close(self, word: str, package: str, line: str) -> None:
        if word == "FAIL":
            self.broken.append(package)
        elif word == "ok" and "[no tests to run]" not in line:
            self.ran = True
            self.quiet = self.quiet or not self.tests
        else:
            self.empty = True
        for test in self.tests.values():
            test.package = package
        self.told += self.tests.values()
        self.tests, self._open = {}, None


def _told(tests: Sequence[_Test], broken: Sequence[str], log: Log, *, whole: bool) -> Found:
    """`whole`: every test is among them, so that they can be counted."""
    failures = [_failure(test, log) for test in tests if test.status is CaseStatus.FAILED]
    failing = {test.package for test in tests if test.status is CaseStatus.FAILED}
    for package in broken:
        if package not in failing and not failures:
            failures.append(failure(package, "package", "the package failed", status="error"))
    if not tests:
        return told(failures)
    cases = [Case(_id(test), test.status) for test in tests]
    by = [case.status for case in cases]
    counts = Counts(*(by.count(one) for one in CaseStatus))
    passed_shown = any(one is CaseStatus.PASSED for one in by)
    if whole and (passed_shown or not failures):
        return told(failures, counts, cases)
    return told(failures, ran=True)


def _id(test: _Test) -> str:
    return f"{test.package}.{test.name}" if test.package not in ("", ".") else test.name


def _failure(test: _Test, log: Log) -> Failure:
    return read_go(_id(test), test.output, test.package, log)


def read_go(test: str, output: Sequence[str], package: str, log: Log) -> Failure:
    """The failure of a Go test from what it printed; `package` helps to find its folder."""
    panic = next((line for line in output if _PANIC.match(line)), "")
    if panic:
        frames = (match for line in output if (match := _FRAME.match(line)))
        places = ((log.place(match[1]), match[2]) for match in frames)
        file, line_no = next(((f, n) for f, n in places if log.ours(f)), ("", "0"))
        message = panic.partition(": ")[2].removesuffix(" [recovered]")
        return failure(test, "panic", message, file, line_no, trace=output)
    spots = [match for line in output if (match := _SPOT.match(line))]
    if not spots:
        parent = any(_TEST.match(line) for line in output) or not any(map(str.strip, output))
        return failure(test, "parent" if parent else "failure", "", trace=output)
    first = spots[0]
    return failure(
        test, "Error", first[3] or "failed", _found(first[1], package, log), first[2], trace=output
    )


def _found(name: str, package: str, log: Log) -> str:
    """The file of a package: its folder is some tail of the package's name."""
    parts = package.split("/")[:20]
    for at in range(len(parts) + 1):
        path = "/".join([*parts[at:], name])
        if path in log.paths:
            return path
    return log.place(name)
