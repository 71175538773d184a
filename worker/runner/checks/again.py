"""A failure that was not there before is looked at twice: what differs is flaky, not a result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.domain.check import Case, CaseStatus, CheckResult, Standing


def doubtful(result: CheckResult) -> tuple[str, ...]:
    """The tests to run once more: those that fail now and did not on the base."""
    if result.comparison is None or result.standing is not Standing.FAILED:
        return ()
    if result.reason.startswith("limit:"):
        return ()
    return result.comparison.newly_failing


def settled(result: CheckResult, again: Iterable[Case], ms: int) -> CheckResult:
    """`result` after its newly failing tests ran again for `ms`.

    A test that passes now is flaky: it fails no check and passes none. Where nothing else was
    wrong, the check is unavailable, so that nobody repairs what may not be broken.
    """
    seen = result.comparison
    assert seen is not None
    passing = {case.id for case in again if case.status is CaseStatus.PASSED}
    flaky = tuple(test for test in seen.newly_failing if test in passing)
    result = replace(result, ms=result.ms + ms)
    if not flaky:
        return result
    left = tuple(test for test in seen.newly_failing if test not in passing)
    result = replace(result, comparison=replace(seen, newly_failing=left, flaky=flaky))
    if left or seen.already_failing or seen.gone or seen.newly_skipped:
        return result
    plural = "" if len(flaky) == 1 else "s"
    return replace(
        result, standing=Standing.UNAVAILABLE, reason=f"flaky: {len(flaky)} test{plural}"
    )


def differing(first: Iterable[Case], second: Iterable[Case]) -> tuple[str, ...]:
    """Ids that passed in one of two runs on one tree and failed in the other, sorted."""
    decided = (CaseStatus.PASSED, CaseStatus.FAILED)
    old = {case.id: case.status for case in first if case.status in decided}
    return tuple(
        sorted(
            case.id
            for case in second
            if case.status in decided and old.get(case.id, case.status) is not case.status
        )
    )
