"""rustc and cargo (text and JSON diagnostics), clippy, cargo test and nextest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from app.domain.check import Case, CaseStatus, Counts, Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import Found, against, failure, merged, status_of, told

_HEAD = re.compile(r"^error(?:\[(E\d+)\])?: (.+)$")
_NEXT = re.compile(r"^(?:error|warning)(?:\[\w+\])?: ")
_AT = re.compile(r"^ *--> (.+?):(\d+):(\d+)$")
_LINT = re.compile(r"rust-clippy/\S+#(\w+)|`-[DF] ([\w:-]+)`|`#\[(?:deny|forbid)\(([\w:]+)\)\]`")
_TARGETS = re.compile(r"^\d+ targets? failed:$")
_CLOSING = ("could not compile", "aborting due to", "test failed, to rerun", "doctest failed")
_AMISS = re.compile(r"^error: (?:could not compile|test failed, to rerun|doctest failed)\b")
_TEST = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b")
_BEGUN = re.compile(r"^running (\d+) tests?$")
_RESULT = re.compile(
    r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;(?: (\d+) measured;)?"
)
_STDOUT = re.compile(r"^---- (.+) stdout ----$")
_PANIC = re.compile(r"^thread '.+?'(?: \(\d+\))? panicked at (?:'(.*)', )?(.+?):(\d+):(\d+):?$")
_CALM = re.compile(r"^note: test did not panic as expected(?: at (.+?):(\d+):(\d+))?$")
_NEXTEST = re.compile(
    r"^ *(PASS|FAIL|SKIP|TIMEOUT|SIG[A-Z]+|LEAK|ABORT) +\[ *[\d.]+s\] +(?:\( *\d+/\d+\) +)?"
    r"(\S+) (\S+)$"
)
_SUMMARY = re.compile(
    r"^ *Summary +\[ *[\d.]+s\] +(?:\d+/)?\d+ tests? run: (\d+) passed(?: \([^()]*\))?"
    r"(?:, (\d+) failed)?(?:, (\d+) timed out)?(?:, (\d+) skipped)?"
)


def parse(log: Log) -> Found:
    """Diagnostics, then tests."""
    found = merged((told(_diagnostics(log)), _tests(log), _nextest(log)))
    return against(log, found, _AMISS)


def _diagnostics(log: Log) -> list[Failure]:
    found: list[Failure] = []
    rest: list[Failure] = []
    lines = log.lines
    printed = False  # by a test: a failing example of the documentation shows its own errors
    for index, line in enumerate(lines):
        printed = bool(_stdout(line)) or (printed and not line.startswith("test result: "))
        if printed:
            continue
        if line.startswith("{") and '"level"' in line:
            found += _json(line, log)
        elif line.startswith("error") and (match := _HEAD.match(line)):
            place = _AT.match(lines[index + 1]) if index + 1 < len(lines) else None
            if place:
                block = list(_block(lines, index + 1))
                kind = match[1] or _lint("\n".join(block)) or "error"
                path = log.place(place[1])
                found.append(failure("", kind, match[2], path, place[2], place[3], block, "error"))
            elif not match[2].startswith(_CLOSING) and not _TARGETS.match(match[2]):
                rest.append(failure("", match[1] or "error", match[2], status="error"))
    return found or rest


def _block(lines: Sequence[str], at: int) -> Iterator[str]:
    for line in lines[at : at + 60]:
        if _NEXT.match(line):
            return
        yield line


def _lint(text: str) -> str:
    match = _LINT.search(text)
    if match is None:
        return ""
    if match[1]:
        return f"clippy::{match[1]}"
    return (match[2] or match[3]).replace("-", "_")


def _json(line: str, log: Log) -> Iterator[Failure]:
    try:
        said = json.loads(line)
    except ValueError:
        return
    message = said.get("message") if isinstance(said, dict) else None
    said = message if isinstance(message, dict) else said
    if not isinstance(said, dict) or said.get("level") != "error":
        return
    spans = said.get("spans")
    places = spans if isinstance(spans, list) else []
    span = next((one for one in places if isinstance(one, dict) and one.get("is_primary")), None)
    text = str(said.get("message", ""))
    if span is None:
        if not text.startswith(_CLOSING):
            yield failure("", "error", text, status="error")
        return
    code = said.get("code")
    kind = str(code.get("code", "error")) if isinstance(code, dict) else "error"
    line_no, column = (_number(span.get(key)) for key in ("line_start", "column_start"))
    file = log.place(str(span.get("file_name", "")))
    shown = str(said.get("rendered") or "").split("\n")[1:]
    yield failure("", kind, text, file, line_no, column, shown, "error")


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 10**8 else 0


def _tests(log: Log) -> Found:
    cases: list[Case] = []
    totals = [0, 0, 0]
    seen = printed = False
    begun = 0
    for line in log.lines:
        printed = bool(_stdout(line)) or (printed and not line.startswith("test result: "))
        if not printed and line.startswith("test ") and (match := _TEST.match(line)):
            cases.append(Case(match[1], status_of(match[2])))
        elif line.startswith("test result: ") and (match := _RESULT.match(line)):
            seen = True
            totals = [one + int(match[n + 1]) for n, one in enumerate(totals)]
            totals[0] += int(match[4] or 0)  # a benchmark
        elif not printed and line.startswith("running ") and (match := _BEGUN.match(line)):
            begun += int(match[1])
    cut = max(0, begun - sum(totals))  # a test that ends the process takes the others with it
    counts = Counts(totals[0], totals[1] + cut, totals[2]) if seen else None
    blocks = dict(_blocks(log))
    failed = [case.id for case in cases if case.status is CaseStatus.FAILED]
    names = dict.fromkeys([*failed, *blocks])
    failures = [_failure(name, blocks.get(name, ()), log) for name in names]
    if cut:
        failures.append(failure("", "cut off", f"{cut} tests began and have no result"))
    return told(failures, counts, cases)


def _blocks(log: Log) -> Iterator[tuple[str, Sequence[str]]]:
    starts = [(n, m[1]) for n, line in enumerate(log.lines) if (m := _stdout(line))]
    for at, name in starts:
        body: list[str] = []
        for line in log.lines[at + 1 : at + 200]:
            if _stdout(line) or line == "failures:":
                break
            body.append(line)
        yield name, body


def _stdout(line: str) -> re.Match[str] | None:
    return _STDOUT.match(line) if line.startswith("---- ") else None


def _failure(name: str, body: Sequence[str], log: Log) -> Failure:
    for index, line in enumerate(body):
        match = _PANIC.match(line) if line.startswith("thread '") else None
        if match:
            message = match[1] or " ".join(body[index + 1 : index + 4]).partition(" note: ")[0]
            path = log.place(match[2])
            return failure(name, "panic", message, path, match[3], match[4], body)
    for line in body:
        if match := _CALM.match(line):
            path = log.place(match[1] or "")
            return failure(name, "panic", "it did not panic as expected", path, match[2], match[3])
    first = next((line for line in body if line.startswith("Error: ")), "")
    message = first.removeprefix("Error: ") or next((line for line in body if line), "")
    return failure(name, "Error" if first else "failure", message, trace=body)


def _nextest(log: Log) -> Found:
    status: dict[str, str] = {}
    counts: Counts | None = None
    at: dict[str, int] = {}
    for index, line in enumerate(log.lines):
        if "s] " not in line:
            continue
        if match := _NEXTEST.match(line):
            name = f"{match[2]} {match[3]}"
            status[name] = match[1]
            at.setdefault(name, index)
        elif match := _SUMMARY.match(line):
            failed = int(match[2] or 0) + int(match[3] or 0)
            counts = Counts(int(match[1]), failed, int(match[4] or 0))
    failures = []
    for name, word in status.items():
        if word not in ("PASS", "SKIP", "LEAK"):
            body = log.lines[at[name] + 1 : at[name] + 40]
            failures.append(_failure(name, body, log))
    return told(failures, counts)
