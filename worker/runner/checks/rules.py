"""What an outcome says about a check: one standing and its reason, and never a pass by default."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass

from app.domain.check import Check, CheckResult, Comparison, Counts, Outcome, Standing
from app.domain.unread import reason as unreadable
from worker.runner.checks.heard import REPORT, Heard
from worker.runner.checks.output import tail_of
from worker.runner.checks.parsers.read import DISAGREE, NO_TESTS

ENVIRONMENT = "environment"
UNUSABLE = "baseline unusable"
NOT_FOUND = frozenset({126, 127})  # the program cannot be run, or is not there
USAGE = 5  # pytest's code for "no test was collected"

_PASSED = (Standing.PASSED, "")
_MODULE = re.compile(r"No module named '?([A-Za-z_][\w.]*)'?")
_MISSING = "ModuleNotFoundError"
_MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* .*Error 127$", re.MULTILINE)


@dataclass(frozen=True)
class Seen:
    """All that one run gave.

    `heard` is what report or output told; `names` are the names of the tree's own modules and
    folders; `baseline` is None when this is the baseline.
    """

    check: Check
    outcome: Outcome
    heard: Heard
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
    if seen.heard.cases is None or seen.heard.counts is None:
        return _by_exit_code(seen, outcome.exit_code)
    return _by_cases(seen, outcome.exit_code, seen.heard.counts)


def _by_exit_code(seen: Seen, code: int) -> tuple[Standing, str]:
    """Without each test's name: the exit code decides, and an output that speaks against a pass."""
    if code:
        return Standing.FAILED, f"exit {code}"
    if seen.check.report and seen.heard.by != REPORT:
        return Standing.UNAVAILABLE, unreadable(seen.heard.unread)
    if seen.heard.doubt == NO_TESTS:
        return Standing.FAILED, NO_TESTS
    if seen.heard.doubt:
        return Standing.UNAVAILABLE, seen.heard.doubt
    fewer = _fewer(seen)
    return (Standing.FAILED, f"{fewer} fewer tests ran than on base") if fewer else _PASSED


def _fewer(seen: Seen) -> int:
    """How many tests less than on base ran, where only their number is known."""
    before = seen.baseline.counts if seen.baseline is not None else None
    after = seen.heard.counts
    if before is None or after is None:
        return 0
    return max(0, before.passed + before.failed - after.passed - after.failed)


def _by_cases(seen: Seen, code: int, counts: Counts) -> tuple[Standing, str]:
    if code == 0 and (counts.failed or seen.heard.doubt == DISAGREE):
        return Standing.UNAVAILABLE, f"exit code and {_source(seen)} disagree"
    if counts.passed + counts.failed == 0:
        return Standing.FAILED, NO_TESTS
    if code and not counts.failed:
        return Standing.FAILED, f"exit {code} without a failing test"
    if code:
        return Standing.FAILED, f"exit {code}"
    lost = seen.comparison
    if lost is not None and (lost.gone or lost.newly_skipped):
        return Standing.FAILED, f"{len(lost.gone)} tests gone, {len(lost.newly_skipped)} skipped"
    return _PASSED


def _source(seen: Seen) -> str:
    return "report" if seen.heard.by == REPORT else "output"


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
    if seen.heard.cases is not None:
        failed = seen.heard.counts.failed if seen.heard.counts else 0
        missing = [
            one for one in seen.heard.failures if _foreign(one.error, one.message, seen.names)
        ]
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
