"""pytest's terminal output: the summary says which tests failed, the blocks above it how.

What a test printed is inside captured sections or before the last summary, so that a line that
only looks like a verdict is none.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from app.domain.check import Case, CaseStatus, Counts, Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import Found, failure, merged, status_of, told
from worker.runner.checks.parsers.trace import failure_of

BLOCKS_MOST = 1_000
TEXT_CAP = 400  # lines of one block that are looked at

_START = re.compile(r"^=+ test session starts =+$")
_SECTION = re.compile(
    r"^={3,} (ERRORS|FAILURES|PASSES|XFAILURES|XPASSES|warnings summary|short test summary info"
    r"|slowest .{1,40}|tests coverage) ={3,}$"
)
_BLOCK = re.compile(r"^_{3,} (.{1,400}?) _{3,}$")
_NARROW = re.compile(r"^_ (\S.{0,400}?) _$")  # pytest writes long names without more underscores
_END = re.compile(
    r"^(?:=+ )?((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?)+|no tests ran) in \d[\d.]*s"
    r"(?: \([\d:, day]+\))?(?: =+)?$"
)
_COUNT = re.compile(r"(\d+) ([a-z]+)")
_LISTED = re.compile(
    r"^(?:\([^\n]{0,200}?\) |\[[^\n]{0,200}?\] )?(FAILED|ERROR|SUBFAILED|SUBFAIL|SUBERROR)"
    r"(?:\([^\n]{0,200}?\)|\[[^\n]{0,200}?\])? (\S.*)$"
)
_CAPTURED = re.compile(r"^-+ (?:Captured|live log) .*-+$")
_VERBOSE = re.compile(
    r" (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: \([^()]*\))?(?: +\[ *\d+%\])?$"
)
_PARALLEL = re.compile(
    r"^\[gw\d+\] (?:\[ *\d+%\] )?(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S.*)$"
)
_DOTS = re.compile(r"^(?:\S+ )?([.FEsxX]+)\s*\[\s*(\d+)%\]$")
_RUNNING = re.compile(r"^(\S+\.py::\S.*) $")
_NODE = re.compile(r"^\S+\.\w+(?:::|$)")
_USAGE = re.compile(r"^(?:ERROR|[\w./-]*: error): (.+)$")
_MISSING = re.compile(r"(?:file or directory not found|not found): (\S+)")
_CONFTEST = re.compile(r"^ImportError while loading conftest '([^']+)'")
_INTERNAL = re.compile(r"^INTERNALERROR> ([A-Za-z_][\w.]*): ?(.*)$")
_STRICT = re.compile(r"^\[XPASS\(strict\)\] ?(.*)$")
_FIXTURE = re.compile(r"^E\s+(fixture '.{1,200}' not found)")
_SUBTEST = re.compile(r"^(\S+) (?:\(.*\)|\[.*\])$")
_FILE_LINE = re.compile(r"^(?:file )?(\S+?\.py)(?:, line |:)(\d+)$")
_COVERAGE = re.compile(r"^(?:ERROR: |FAIL )?(?:Coverage failure: |Required test coverage of )(.+)$")
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in ')
SIGNALS = {132: "SIGILL", 134: "SIGABRT", 135: "SIGBUS", 137: "SIGKILL", 139: "SIGSEGV"}
SIGNALS |= {143: "SIGTERM", 124: "timeout"}


def parse(log: Log) -> Found:
    """Every session of the log; a command may run pytest more than once."""
    return merged(_session(lines, log) for lines in _sessions(log.lines))


def _sessions(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """A session begins anew only behind one that has ended: a test's output may hold others."""
    begin = 0
    ended = False
    for index, line in enumerate(lines):
        if line.startswith("=") and ended and _START.match(line):
            yield lines[begin:index]
            begin, ended = index, False
        elif " in " in line and line.endswith("=") and _END.match(line):
            ended = True
        elif line.startswith("-") and _CAPTURED.match(line):
            ended = False
    yield lines[begin:]


def _session(lines: Sequence[str], log: Log) -> Found:
    end, counts = _totals(lines)
    listed = _listed(lines, end)
    blocks = list(islice(_blocks(lines[:end], log), BLOCKS_MOST))
    failures = _failures(listed, blocks, log) if listed else [one for _, one in blocks]
    cases = tuple(_cases(lines))
    if counts is None:
        failures += _cut_short(lines, log, cases)
        counts = _dotted(lines) if log.exit_code == 0 else None
    if not failures and log.exit_code:
        failures = list(islice(_usage(lines, log), 20))
    return told(failures, counts, cases)


def _totals(lines: Sequence[str]) -> tuple[int, Counts | None]:
    """(index of the closing line, what it says); what a test printed stands before it."""
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        if " in " in line and (match := _END.match(line)):
            by: dict[str, int] = {}
            for number, word in _COUNT.findall(match[1]):
                by[word.removesuffix("s")] = int(number)
            failed = by.get("failed", 0) + by.get("error", 0)
            passed = by.get("passed", 0) + by.get("xpassed", 0)
            return index, Counts(passed, failed, by.get("skipped", 0) + by.get("xfailed", 0))
    return len(lines), None


def _listed(lines: Sequence[str], end: int) -> list[tuple[str, str, str]]:
    """(word, test id, message) of the last short summary before `end`."""
    begin = end
    for index in range(end - 1, -1, -1):
        if lines[index].startswith("=") and "= short test summary info =" in lines[index]:
            begin = index + 1
            break
    found = []
    for line in lines[begin:end]:
        match = _LISTED.match(line)
        if match and _NODE.match(match[2]):
            test, _, message = match[2].partition(" - ")
            found.append((match[1], test.strip(), message))
    return found


def _blocks(lines: Sequence[str], log: Log) -> Iterator[tuple[str, Failure]]:
    """(the block's title, its failure) in the sections ERRORS and FAILURES."""
    title, begin, inside, width = "", 0, False, 0
    for index, line in enumerate(lines):
        if not line or line[0] not in "=_" or len(line) < width - 1:
            continue  # pytest pads its headings to one width; a test's own rarely have it
        section = _SECTION.match(line) if line[0] == "=" else None
        block = _BLOCK.match(line) or _NARROW.match(line) if inside and line[0] == "_" else None
        if section is None and block is None:
            continue
        width = width or len(line)
        if title:
            yield title, _block(title, lines[begin : min(index, begin + TEXT_CAP)], log)
            title = ""
        if block:
            title, begin = block[1], index + 1
        elif section:
            inside = section[1] in ("ERRORS", "FAILURES")
    if title:
        yield title, _block(title, lines[begin : begin + TEXT_CAP], log)


def _block(title: str, lines: Sequence[str], log: Log) -> Failure:
    for index, line in enumerate(lines):
        if line.startswith("-") and _CAPTURED.match(line):
            lines = lines[:index]
            break
    status = "error" if title.startswith("ERROR ") else "failed"
    one = failure_of(_name(title), "\n".join(lines), place=log.place, status=status)
    first = lines[0] if lines else ""
    if match := _STRICT.match(first):
        return replace(one, error="XPASS(strict)", message=match[1], file="", line=0)
    for line in lines:
        if match := _FIXTURE.match(line):
            where = [_FILE_LINE.match(each) for each in lines]
            spot = next((each for each in reversed(where) if each), None)
            file, at = (log.place(spot[1]), int(spot[2])) if spot else (one.file, one.line)
            return replace(one, error="FixtureLookupError", message=match[1], file=file, line=at)
    return one


def _name(title: str) -> str:
    """A block's title without what it says about the phase."""
    for start in ("ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "):
        title = title.removeprefix(start)
    return title.removeprefix("[doctest] ")


def _failures(
    listed: list[tuple[str, str, str]], blocks: list[tuple[str, Failure]], log: Log
) -> list[Failure]:
    """One failure for each listed test, with the detail of its block where there is one."""
    by: dict[tuple[bool, str], deque[Failure]] = {}
    for title, one in blocks:
        error = title.startswith("ERROR ")
        name = _name(title)
        by.setdefault((error, name), deque()).append(one)
        if match := _SUBTEST.match(name):
            by.setdefault((error, match[1]), deque()).append(one)
    found = []
    for word, test, message in listed:
        path, _, rest = test.partition("::")
        names = (rest.replace("::", "."), test, rest)
        detail = next(
            (by[key].popleft() for name in names if by.get(key := (word == "ERROR", name))), None
        )
        found.append(_joined(test, path, message, detail, log))
    return found


def _joined(test: str, path: str, message: str, detail: Failure | None, log: Log) -> Failure:
    file = log.place(path)
    if detail is None:
        error, _, text = message.partition(": ")
        if not text or " " in error:
            error, text = "failure", message
        return failure(test, error, text, file)
    if not detail.file:
        detail = replace(detail, file=file)
    return replace(detail, test=test, message=detail.message or message)


def _cases(lines: Sequence[str]) -> Iterator[Case]:
    """Each test that a verbose run names; a test that fails after it passed has failed."""
    found: dict[str, CaseStatus] = {}
    for line in lines:
        if "::" not in line:
            continue
        if match := _PARALLEL.match(line):
            test, word = match[2].rstrip(), match[1]
        elif line[0] not in " [=_" and (match := _VERBOSE.search(line)):
            test, word = line[: match.start()], match[1]
        else:
            continue
        if found.get(test) is not CaseStatus.FAILED:
            found[test] = status_of(word)
    for test, status in found.items():
        yield Case(test, status)


def _dotted(lines: Sequence[str]) -> Counts | None:
    """What the progress line counts, for a run that was told to print no summary.

    Only where it came to its end: what stops on the way has not run its tests.
    """
    found = [match for line in lines if line.endswith("%]") and (match := _DOTS.match(line))]
    if not found or found[-1][2] != "100":
        return None
    marks = "".join(match[1] for match in found)
    failed = marks.count("F") + marks.count("E")
    skipped = marks.count("s") + marks.count("x")
    return Counts(len(marks) - failed - skipped, failed, skipped)


def _cut_short(lines: Sequence[str], log: Log, cases: Sequence[Case]) -> Iterator[Failure]:
    """The test during which the process ended, where a signal ended it."""
    signal = SIGNALS.get(log.exit_code or 0)
    if signal is None:
        return
    test = ""
    for line in lines:
        if "::" in line and (match := _RUNNING.match(line)):
            test = match[1]
    known = {case.id for case in cases}
    test = "" if test in known else test
    fatal = next((line for line in lines if line.startswith("Fatal Python error: ")), "")
    frames = (_FRAME.match(line) for line in lines) if fatal else ()
    ours = ((log.place(each[1]), each[2]) for each in frames if each)
    file, at = next(((f, n) for f, n in ours if log.ours(f)), (test.partition("::")[0], "0"))
    yield failure(test, signal, fatal or "killed while running", file, at, status="killed")


def _usage(lines: Sequence[str], log: Log) -> Iterator[Failure]:
    """What kept pytest from running, or made it fail although no test did."""
    for index, line in enumerate(lines):
        if match := _CONFTEST.match(line):
            rest = "\n".join(lines[index : index + 40])
            yield replace(
                failure_of("", rest, place=log.place, status="error"), test=log.place(match[1])
            )
        elif match := _INTERNAL.match(line):
            yield failure("", match[1], match[2], status="error")
        elif match := _COVERAGE.match(line):
            yield failure("", "coverage", line.removeprefix("FAIL ").removeprefix("ERROR: "))
        elif (match := _USAGE.match(line)) and not match[1].startswith("usage: "):
            missing = _MISSING.search(match[1])
            file = log.place(missing[1]) if missing else ""
            yield failure("", "UsageError", match[1], file, status="error")
