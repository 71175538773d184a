"""javac, Maven's compiler and Surefire, Gradle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from app.domain.check import Counts, Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import FAILURES_READ, Found, against, failure, merged, told

_JAVAC = re.compile(r"^(\S.*?\.(?:java|kt)):(\d+): error: (.+)$")
_MAVEN = re.compile(r"^\[ERROR\] (\S+\.(?:java|kt)):\[(\d+),(\d+)\] (?:error: )?(.+)$")
_PRE = r"^(?:\[\w+\] )?"
_FAILED = re.compile(
    _PRE + r"(\S+?)(?:\(([\w.$]+)\))? {1,2}(?:-- )?Time elapsed: [\d.,]+ ?s(?:ec)?"
    r" +<<< (FAILURE|ERROR)!"
)
_TOTAL = re.compile(
    _PRE + r"Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?:, Flakes: \d+)?$"
)
_RAISED = re.compile(r"^([a-z]\w*(?:\.\w+)*\.[A-Z][\w$]*)(?:: ?(.*))?$")
_FRAME = re.compile(r"^\s+at (?:\S+/)?([\w.$]+)\.[\w$<>]+\(([\w$]+\.(?:java|kt|groovy)):(\d+)\)$")
_GRADLE = re.compile(r"^(\S+(?: > .+)?) > (.+) FAILED$")
_GRADLE_WHAT = re.compile(
    r"^ {4}([\w.$]+(?:Error|Exception|Failure)\w*)(?:: (.*))? at (\S+):(\d+)$"
)
_GRADLE_TOTAL = re.compile(r"^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?$")
_BUILD = re.compile(r"^(?:\[(?:INFO|ERROR)\] )?(?:BUILD FAILURE|BUILD FAILED.*|FAILURE: Build .*)$")
_NO_TESTS = "No tests to run."
_ROOTS = ("src/test/java/", "src/main/java/", "src/test/kotlin/", "src/main/kotlin/", "src/", "")


def parse(log: Log) -> Found:
    """Compiler messages, then tests."""
    found = merged((told(_compiler(log)), _surefire(log), _gradle(log)))
    return against(log, found, _BUILD)


def _compiler(log: Log) -> Iterator[Failure]:
    for index, line in enumerate(log.lines):
        if ".java:" not in line and ".kt:" not in line:
            continue
        if match := _JAVAC.match(line):
            caret = log.lines[index + 2] if index + 2 < len(log.lines) else ""
            column = caret.index("^") + 1 if caret.strip() == "^" else 0
            place = (log.place(match[1]), match[2], column)
            shown = log.lines[index + 1 : index + 3] if column else ()
            yield failure("", "error", match[3], *place, shown, "error")
        elif match := _MAVEN.match(line):
            place_m = (log.place(match[1]), match[2], match[3])
            yield failure("", "error", match[4], *place_m, status="error")


def _surefire(log: Log) -> Found:
    totals = [m for line in log.lines if "Tests run:" in line and (m := _TOTAL.match(line))]
    failures = list(islice(_tests(log), FAILURES_READ))
    if not totals:
        nothing = any(line.endswith(_NO_TESTS) for line in log.lines)
        return Found(tuple(failures), ran=False) if nothing else told(failures)
    ran, failed, errors, skipped = (int(totals[-1][n]) for n in (1, 2, 3, 4))
    return told(failures, Counts(max(0, ran - failed - errors - skipped), failed + errors, skipped))


def _tests(log: Log) -> Iterator[Failure]:
    for index, line in enumerate(log.lines):
        match = _FAILED.match(line) if "<<< " in line else None
        if match is None:
            continue
        name, inside = match[1], match[2] or ""
        test = f"{inside}.{name}" if inside else name
        if test.startswith("Tests"):
            continue
        body = log.lines[index + 1 : index + 120]
        yield read_java(test, body, log, "error" if match[3] == "ERROR" else "failed")


def read_java(test: str, body: Sequence[str], log: Log, status: str = "failed") -> Failure:
    """The failure of a JVM test from its stack trace."""
    error, message = "failure", ""
    begin = 0
    for index, line in enumerate(body[:20]):
        if match := _RAISED.match(line.strip()):
            error, message, begin = match[1], match[2] or "", index
            break
    frames: list[str] = []
    place = ("", 0)
    for line in body[begin + 1 :]:
        match = _FRAME.match(line)
        if match:
            path = _source(match[1], match[2], log)
            if path and not place[0]:
                place = (path, int(match[3]))
            frames.append(line.strip())
        elif not message and not frames and line.strip():
            message = line.strip()
        elif frames and not line.lstrip().startswith(("at ", "...", "Caused by", "Suppressed")):
            break
    return failure(test, error, message, *place, 0, frames, status)


def _source(dotted: str, name: str, log: Log) -> str:
    """The tree's file of a class's frame, "" for a library's."""
    folder = "/".join(dotted.split(".")[:-1])
    for root in _ROOTS:
        path = "/".join(part for part in (root.rstrip("/"), folder, name) if part)
        placed = log.place(path)
        if placed in log.paths:
            return placed
    return ""


def _gradle(log: Log) -> Found:
    failures = []
    for index, line in enumerate(log.lines):
        match = _GRADLE.match(line) if line.endswith(" FAILED") else None
        what = None
        if match:
            what = next((m for x in log.lines[index + 1 : index + 4] if (m := _what(x))), None)
        if match and what:
            test = f"{match[1]}.{match[2]}"
            failures.append(failure(test, what[1], what[2] or "", what[3], what[4]))
    total = next((m for line in log.lines if (m := _GRADLE_TOTAL.match(line))), None)
    if total is None:
        return told(failures)
    ran, failed, skipped = (int(total[n] or 0) for n in (1, 2, 3))
    return told(failures, Counts(max(0, ran - failed - skipped), failed, skipped))


def _what(line: str) -> re.Match[str] | None:
    return _GRADLE_WHAT.match(line) if line.startswith("    ") else None
