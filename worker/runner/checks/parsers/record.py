"""What a parser makes of a log: failures, counts, and whether anything was run at all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

from app.domain.check import Case, CaseStatus, Counts, Failure
from worker.runner.checks.output import shortened
from worker.runner.checks.parsers.log import Log

FAILURES_READ = 500  # of one log; what is kept of them is `bounded`
FAILURES_KEPT = 12
TRACE_KEPT = 8
TEXT_KEPT = 8_000  # characters of all failures together (B10)
MESSAGE_CAP = 600
NAME_CAP = 400


@dataclass(frozen=True)
class Found:
    """What one tool's output says, as its claim.

    `counts` are of tests, None where the output tells none (a linter, a tool cut short). `cases`
    hold every test where each one is named, () else. `ran` is False when the tool says that it ran
    nothing, True when it says that it ran something, None when it does not say.
    """

    failures: tuple[Failure, ...] = ()
    counts: Counts | None = None
    cases: tuple[Case, ...] = ()
    ran: bool | None = None


NOTHING = Found()


def failure(
    test: str,
    error: str,
    message: str,
    file: str = "",
    line: int | str | None = 0,
    column: int | str | None = 0,
    trace: Iterable[str] = (),
    status: str = "failed",
) -> Failure:
    """A record whose texts are cut to what is kept; `line` and `column` may be digits."""
    return Failure(
        test=shortened(test.strip(), NAME_CAP),
        error=shortened(error.strip() or "failure", 100),
        message=shortened(" ".join(message.split()), MESSAGE_CAP),
        file=shortened(file, NAME_CAP),
        line=int(line or 0),
        column=int(column or 0),
        trace=tuple(shortened(text.rstrip()) for text in trace if text.strip())[:TRACE_KEPT],
        status=status,
    )


def tally(passed: int = 0, failed: int = 0, skipped: int = 0) -> Found:
    """A `Found` that only counts: tests were run unless all of them were skipped."""
    return Found(counts=Counts(max(0, passed), failed, skipped), ran=passed + failed > 0)


def told(
    failures: Iterable[Failure],
    counts: Counts | None = None,
    cases: Iterable[Case] = (),
    ran: bool | None = None,
) -> Found:
    """A `Found` without repeats; cases stay only where they are as many as the counts say."""
    kept = tuple(dict.fromkeys(islice(failures, 2 * FAILURES_READ)))[:FAILURES_READ]
    each = tuple(cases)
    if counts is None or len({case.id for case in each}) != counts.total:
        each = ()
    if ran is None and counts is not None:
        ran = counts.passed + counts.failed > 0
    return Found(kept, counts, each, ran)


def merged(found: Iterable[Found]) -> Found:
    """Several tools' (or runs') words as one: failures in order, counts added up."""
    parts = [one for one in found if one != NOTHING]
    if len(parts) == 1:
        return parts[0]
    failures = tuple(dict.fromkeys(each for one in parts for each in one.failures))
    counted = [one.counts for one in parts if one.counts is not None]
    said = [one.ran for one in parts if one.ran is not None]
    cases = [case for one in parts for case in one.cases]
    counts = None
    if counted:
        counts = Counts(
            sum(one.passed for one in counted),
            sum(one.failed for one in counted),
            sum(one.skipped for one in counted),
        )
    return told(failures, counts, cases, any(said) if said else None)


def bounded(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """The first failures, at most 12 of 8 trace lines, 8,000 characters in all (B10).

    More tests than that are taken by name: parallel runs end in any order, and two runs of the
    same failures must keep the same ones.
    """
    given = list(failures)
    if len(given) > FAILURES_KEPT and all(one.test for one in given):
        given.sort(key=lambda one: one.test)
    kept: list[Failure] = []
    room = TEXT_KEPT
    for one in given:
        size = _size(one)
        if size > room and one.trace:
            one = replace(one, trace=one.trace[-2:])
            size = _size(one)
        if len(kept) == FAILURES_KEPT or size > room:
            break
        kept.append(one)
        room -= size
    return tuple(kept)


def status_of(word: str) -> CaseStatus:
    """A tool's own word for how a test ended."""
    return _WORDS.get(word.lower(), CaseStatus.FAILED)


def _size(one: Failure) -> int:
    texts = (one.test, one.error, one.message, one.file, *one.trace, *one.context)
    return sum(map(len, texts))


_WORDS = {
    "passed": CaseStatus.PASSED,
    "pass": CaseStatus.PASSED,
    "ok": CaseStatus.PASSED,
    "xpass": CaseStatus.PASSED,
    "skipped": CaseStatus.SKIPPED,
    "skip": CaseStatus.SKIPPED,
    "ignored": CaseStatus.SKIPPED,
    "xfail": CaseStatus.SKIPPED,
    "expected failure": CaseStatus.SKIPPED,
}


def against(log: Log, found: Found, line: re.Pattern[str]) -> Found:
    """`found`, and at exit 0 the tool's own closing word of failure where no record tells one: the
    exit code was swallowed."""
    if log.exit_code != 0 or found.failures:
        return found
    said = next((one.strip() for one in log.lines if line.match(one)), "")
    return (
        replace(found, failures=(failure("", "failure", said, status="error"),)) if said else found
    )
