"""What an outcome says about a check: one standing and its reason, and never a pass by default."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

from app.domain.check import (
    Case,
    Check,
    CheckResult,
    Comparison,
    Counts,
    Failure,
    Outcome,
    Standing,
)
from worker.runner.checks.output import tail_of

ENVIRONMENT = "environment"
UNUSABLE = "baseline unusable"
NOT_FOUND = frozenset({126, 127})  # the program cannot be run, or is not there
USAGE = 5  # pytest's code for "no test was collected"

_MODULE = re.compile(r"No module named '?([A-Za-z_][\w.]*)'?")
_MISSING = "ModuleNotFoundError"
_MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* .*Error 127$", re.MULTILINE)


@dataclass(frozen=True)
class Seen:
    """All that one run gave.

    `cases` is None without a readable report; `failures` are all that the report told; `names` are
    the names of the tree's own modules and folders; `baseline` is None when this is the baseline.
    """

    check: Check
    outcome: Outcome
    cases: Sequence[Case] | None
    counts: Counts | None
    failures: Sequence[Failure]
    comparison: Comparison | None
    names: Container[str]
    baseline: CheckResult | None


def stand(seen: Seen) -> tuple[Standing, str]:
    """(standing, reason). What the daemon says comes first, claims of the report last."""
    outcome = seen.outcome
    if outcome.limit:
        reason = f"limit:{outcome.limit}"
        hit = seen.baseline is not None and seen.baseline.reason == reason
        return (Standing.UNAVAILABLE if hit else Standing.FAILED), reason
    if outcome.exit_code is None:
        return Standing.UNAVAILABLE, ENVIRONMENT
    if _environment(seen, outcome.exit_code):
        return Standing.UNAVAILABLE, ENVIRONMENT
    if seen.baseline is not None and seen.baseline.standing is Standing.UNAVAILABLE:
        return Standing.UNAVAILABLE, UNUSABLE  # neither blame nor pass (A19)
    if seen.cases is None or seen.counts is None:
        return _by_exit_code(seen.check, outcome.exit_code)
    return _by_report(seen, outcome.exit_code, seen.counts)


def _by_exit_code(check: Check, code: int) -> tuple[Standing, str]:
    if code == 0 and check.report:
        return Standing.UNAVAILABLE, "exit 0 without a readable report"
    return (Standing.FAILED, f"exit {code}") if code else (Standing.PASSED, "")


def _by_report(seen: Seen, code: int, counts: Counts) -> tuple[Standing, str]:
    if code == 0 and counts.failed:
        return Standing.UNAVAILABLE, "exit code and report disagree"
    if counts.passed + counts.failed == 0:
        return Standing.FAILED, "no tests ran"
    if code and not counts.failed:
        return Standing.FAILED, f"exit {code} without a failing test"
    if code:
        return Standing.FAILED, f"exit {code}"
    lost = seen.comparison
    if lost is not None and (lost.gone or lost.newly_skipped):
        return Standing.FAILED, f"{len(lost.gone)} tests gone, {len(lost.newly_skipped)} skipped"
    return Standing.PASSED, ""


def _environment(seen: Seen, code: int) -> bool:
    """Whether the image, not the change, is what fails: seen on base, and still the same.

    A candidate is excused only by a baseline that was excused itself.
    """
    if seen.baseline is not None and seen.baseline.reason != ENVIRONMENT:
        return False
    if code in NOT_FOUND:
        return True
    if code == 0:
        return False
    if seen.cases is not None:
        failed = seen.counts.failed if seen.counts else 0
        missing = [one for one in seen.failures if _foreign(one.error, one.message, seen.names)]
        return failed > 0 and len(missing) == failed
    tail = tail_of(seen.outcome, 2_000)
    return _ends_with_missing(tail, seen.names) or bool(_MAKE.search(tail))


def _foreign(error: str, message: str, names: Container[str]) -> bool:
    """A missing module that the repository does not hold itself."""
    found = _MODULE.search(message)
    return error == _MISSING and found is not None and found[1].partition(".")[0] not in names


def _ends_with_missing(tail: str, names: Container[str]) -> bool:
    """Whether the output's last complaint is about a module that is not the repository's."""
    found = [line for line in tail.split("\n")[-6:] if "No module named" in line]
    module = _MODULE.search(found[-1]) if found else None
    return module is not None and module[1].partition(".")[0] not in names
