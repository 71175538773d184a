"""What a command told about its tests: the report, or what its output is understood to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.domain.check import Case, Check, Counts, Failure, Outcome
from app.domain.errors import Missing
from app.domain.ports.objects import Objects
from app.domain.record import BLOB_CAP
from app.domain.unread import cause
from worker.runner.checks.compare import counts_of, packed
from worker.runner.checks.parsers import junit, sarif, tap
from worker.runner.checks.parsers.log import log_from
from worker.runner.checks.parsers.read import DISAGREE, Parsed, read, with_context

SOURCE_CAP = 1 << 20  # bytes of a file whose lines are shown
REPORT_CAP = 4 << 20
REPORT = "report"
Source = Callable[[str], bytes | None]


@dataclass(frozen=True)
class Heard:
    """Claims of untrusted code, all of them.

    `cases` is None unless every test is named. `doubt` is why an exit code of 0 is no pass, "" for
    none and for every other exit code. `by` says what was understood: `report`, the tools' names,
    or "" (unparsed: the exit code alone decides). `unread` is why a configured report was not
    taken, "" where it was, where none is configured, and where nobody knows.
    """

    cases: tuple[Case, ...] | None
    counts: Counts | None
    failures: tuple[Failure, ...]
    doubt: str
    by: str
    unread: str = ""


def hear(check: Check, outcome: Outcome, paths: frozenset[str], source: Source) -> Heard:
    """The report where one is configured and readable, else the output.

    A configured report that cannot be read is not replaced by the output's words: those only say
    what failed. `paths` are the tree's files, `source` gives one of them.
    """
    heard = _heard(check, outcome, paths, source)
    return heard if outcome.exit_code == 0 else replace(heard, doubt="")


def _heard(check: Check, outcome: Outcome, paths: frozenset[str], source: Source) -> Heard:
    if check.report and outcome.report and not outcome.unread:
        report = _report(check, outcome.report, paths, source)
        if report is not None and len(packed(report.cases or ())) <= BLOB_CAP:
            return report
    streams = (outcome.stdout, outcome.stderr)
    left_out = sum(outcome.seen) - sum(map(len, streams))
    log = log_from(streams, outcome.exit_code, paths, check.workdir, max(0, left_out))
    parsed = read(log, check.argv, check.parser)
    found = with_context(parsed.found.failures, source)
    cases = parsed.found.cases
    whole = bool(cases) and not check.report and len(packed(cases)) <= BLOB_CAP
    return Heard(
        tuple(sorted(cases, key=lambda case: case.id)) if whole else None,
        parsed.found.counts,
        tuple(one if one.test else replace(one, test=_name(one)) for one in found),
        parsed.doubt(),
        ", ".join(parsed.tools),
        cause(outcome, REPORT_CAP) if check.report else "",
    )


def _report(check: Check, data: bytes, paths: frozenset[str], source: Source) -> Heard | None:
    """A report in JUnit XML, TAP or SARIF; None where it is none of them, or broken."""
    found = junit.parse(data, paths)
    if found is not None:
        failures = with_context(found.failures, source)
        doubt = DISAGREE if found.more else ""
        return Heard(found.cases, counts_of(found.cases), failures, doubt, REPORT)
    start = data.lstrip()[:200]
    if len(data) > REPORT_CAP or not start.startswith((b"TAP version", b"1..", b"ok", b"{")):
        return None
    log = log_from((data,), None, paths, check.workdir)
    document = start.startswith(b"{")
    said = sarif.parse(log) if document else tap.parse(log)
    if said.ran is None or not (document or any(line.startswith("1..") for line in log.lines)):
        return None  # TAP without its plan was cut off
    named = tuple(replace(one, test=one.test or _name(one)) for one in said.failures)
    errors = any(one.status == "error" for one in named) if document else said.counts is None
    doubt = DISAGREE if errors else Parsed((REPORT,), said, False).doubt()
    cases = tuple(sorted(said.cases, key=lambda case: case.id)) or None
    if doubt == DISAGREE and cases is None:
        doubt = "exit code and report disagree"
    return Heard(cases, said.counts, with_context(named, source), doubt, REPORT)


def source_of(objects: Objects, tree: str, paths: frozenset[str]) -> Source:
    """Reads the tree's files for `hear`; None for what is no regular file, or too large to show."""

    def read_one(path: str) -> bytes | None:
        if path not in paths:
            return None
        try:
            data = objects.read(tree, path)
        except Missing:
            return None
        return data if len(data) <= SOURCE_CAP else None

    return read_one


def _name(one: Failure) -> str:
    """What stands for a test's id where a linter or a compiler complains; holds across edits."""
    return f"{one.file}: {one.error}" if one.file else one.error
