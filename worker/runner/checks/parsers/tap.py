"""TAP, with subtests and YAML diagnostics as node's runner, bats and prove's tools write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.check import Case, CaseStatus, Counts, Failure
from worker.runner.checks.parsers.frames import NOWHERE, javascript, raised
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import NOTHING, Found, failure, told

_POINT = re.compile(r"^( *)(not ok|ok)\b *(\d+)?(?: - | )?(.*)$")
_DIRECTIVE = re.compile(r"(?:^| )# (SKIP|TODO)\b", re.I)
_SUBTEST = re.compile(r"^( *)# Subtest: (.+)$")
_PLAN = re.compile(r"^1\.\.(\d+)(?:\s+#.*)?$")
_YAML = re.compile(r"^ *(error|message|code|name|type|failureType|location|file|line|at): (.*)$")
_PLACE = re.compile(r"^(.+?):(\d+):(\d+)$")
_BATS = re.compile(r"^# +\(?(?:in test file |from .* in (?:test )?file )(\S+?), line (\d+)\)?")
_PARENT = re.compile(r"^'?\d+ subtests? failed'?$")
_TOTAL = re.compile(r"^# (tests|pass|fail|cancelled|skipped|todo) (\d+)$")
_BAIL = re.compile(r"^Bail out! *(.*)$", re.I)
BODY_LINES = 120


@dataclass
class _Point:
    """One test point and the lines behind it."""

    name: str
    good: bool
    word: str
    body: list[str] = field(default_factory=list)


def parse(log: Log) -> Found:
    """Every point; one that is to do may fail; a plan that is not met is a failure."""
    points, planned = _points(log.lines)
    bail = next((m for line in log.lines if (m := _bailed(line))), None)
    if not points and planned is None and bail is None:
        return NOTHING
    failures = [
        one
        for point in points
        if not point.good and point.word != "TODO" and (one := _failure(point, log))
    ]
    if bail is not None:
        failures.append(failure("", "Bail out", bail[1], status="error"))
    cases = [Case(point.name, _status(point)) for point in points]
    counts = _said(log.lines) or _counted(cases)
    top = sum(1 for point in points if " > " not in point.name)
    lost = max(0, planned - top) if planned is not None else 1
    if lost and bail is None:
        plan = "no plan, so it was cut off" if planned is None else f"{planned} tests were planned"
        failures.append(failure("", "plan", f"{plan}; {top} were run"))
        counts = Counts(counts.passed, counts.failed + lost, counts.skipped)
    return told(failures, counts, cases)


def _points(lines: Sequence[str]) -> tuple[list[_Point], int | None]:
    """(the points with their whole names, the outermost plan)."""
    found: list[_Point] = []
    above: list[tuple[int, str]] = []
    planned: int | None = None
    for line in lines:
        text = line.lstrip()
        if text.startswith(("ok", "not ok")) and (match := _POINT.match(line)):
            depth = len(match[1])
            while above and above[-1][0] >= depth:
                above.pop()
            directive = _DIRECTIVE.search(match[4])
            said = match[4][: directive.start()] if directive else match[4]
            name = said.replace("\\#", "#").strip() or f"test {match[3] or len(found) + 1}"
            whole = " > ".join([*(each for _, each in above[-20:]), name])
            word = directive[1].upper() if directive else ""
            found.append(_Point(whole, match[2] == "ok", word))
        elif text.startswith("# Subtest: ") and (match := _SUBTEST.match(line)):
            depth = len(match[1])
            while above and above[-1][0] >= depth:
                above.pop()
            above.append((depth, match[2].strip()))
        elif line.startswith("1..") and (match := _PLAN.match(line)):
            planned = int(match[1])
        elif found and text and len(found[-1].body) < BODY_LINES:
            found[-1].body.append(line)
    return found, planned


def _status(point: _Point) -> CaseStatus:
    if point.word:
        return CaseStatus.SKIPPED
    return CaseStatus.PASSED if point.good else CaseStatus.FAILED


def _counted(cases: Sequence[Case]) -> Counts:
    by = [case.status for case in cases]
    return Counts(*(by.count(one) for one in CaseStatus))


def _said(lines: Sequence[str]) -> Counts | None:
    """The closing comments of node's runner."""
    by = {m[1]: int(m[2]) for line in lines if line[:2] == "# " and (m := _TOTAL.match(line))}
    if not {"tests", "pass", "fail"} <= by.keys():
        return None
    failed = by["fail"] + by.get("cancelled", 0)
    return Counts(by["pass"], failed, by.get("skipped", 0) + by.get("todo", 0))


def _failure(point: _Point, log: Log) -> Failure | None:
    values = _values(point.body)
    said = values.get("error") or values.get("message") or ""
    if values.get("failureType") == "subtestsFailed" or _PARENT.match(said):
        return None
    place = javascript(("at " + line.strip() for line in point.body if ":" in line), log)
    spot = _PLACE.match(values.get("location", ""))
    if place == NOWHERE and spot:
        place = (log.place(spot[1]), int(spot[2]), int(spot[3]))
    for line in point.body:
        if line.startswith("#") and (match := _BATS.match(line)):
            place = (log.place(match[1]), int(match[2]), 0)
    said = said or _comment(point.body)
    error, message = raised([said]) or (values.get("name") or "not ok", said)
    if values.get("code") == "ERR_ASSERTION":
        error = "AssertionError [ERR_ASSERTION]"
    if values.get("failureType") == "testTimeoutFailure":
        error = "timeout"
    return failure(point.name, error, message, *place, point.body)


def _values(body: Sequence[str]) -> dict[str, str]:
    """The scalar values of the YAML block that are of use; a block scalar is its first line."""
    found: dict[str, str] = {}
    for index, line in enumerate(body):
        match = _YAML.match(line)
        if match is None or match[1] in found:
            continue
        value = match[2].strip()
        if value in ("|-", "|", ">-", ">"):
            value = body[index + 1].strip() if index + 1 < len(body) else ""
        found[match[1]] = value.strip("'\"")
    return found


def _comment(body: Sequence[str]) -> str:
    texts = [line.lstrip("# ").strip() for line in body if line.lstrip().startswith("#")]
    return next((text for text in texts if text and not text.startswith("(")), "")


def _bailed(line: str) -> re.Match[str] | None:
    return _BAIL.match(line) if line[:4].lower() == "bail" else None
