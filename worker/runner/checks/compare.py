"""Results against the baseline, test by test: ids, never counts (2 fixed, 2 broken is a change)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from app.domain.check import Case, CaseStatus, Comparison, Counts, Outcome

_DOTS = re.compile(rb"^(?:\S{1,200} )?([.FEsxX]+)(?: {1,80}\[ {0,2}\d{1,3}%\])?\r?$", re.MULTILINE)
LIST_CAP = 1_000  # ids kept in a run's row; the cases artifact has them all


def compare(before: Iterable[Case], after: Iterable[Case]) -> Comparison:
    """What changed. `newly_failing` holds new tests that fail, too; lists are capped, sorted."""
    old = {case.id: case.status for case in before}
    new = {case.id: case.status for case in after}
    failed = CaseStatus.FAILED
    failing = {test for test, status in new.items() if status is failed}
    failed_before = {test for test, status in old.items() if status is failed}
    ran_before = {test for test, status in old.items() if status is not CaseStatus.SKIPPED}
    passing = {test for test, status in new.items() if status is CaseStatus.PASSED}
    return Comparison(
        newly_failing=_listed(failing - failed_before),
        fixed=_listed(failed_before & passing),
        already_failing=_listed(failing & failed_before),
        newly_skipped=_listed(
            test for test in ran_before & new.keys() if new[test] is CaseStatus.SKIPPED
        ),
        gone=_listed(ran_before - new.keys()),
        new=_listed(new.keys() - old.keys()),
    )


def counts_of(cases: Iterable[Case]) -> Counts:
    """How many tests ended how."""
    by = dict.fromkeys(CaseStatus, 0)
    for case in cases:
        by[case.status] += 1
    return Counts(by[CaseStatus.PASSED], by[CaseStatus.FAILED], by[CaseStatus.SKIPPED])


def subset_of(
    outcome: Outcome, cases: Sequence[Case] | None, known: Sequence[Case] | None
) -> tuple[int, int] | None:
    """(tests that ended, tests that the baseline knew) of a run that time cut, else None.

    Without a report pytest's progress is counted; where nothing is told, no test counts.
    """
    if outcome.limit != "time" or not known:
        return None
    if cases is not None:
        ran = sum(case.status is not CaseStatus.SKIPPED for case in cases)
    else:
        ran = sum(len(found) for found in _DOTS.findall(outcome.stdout))
    return min(ran, len(known)), len(known)


def packed(cases: Iterable[Case]) -> bytes:
    """The cases as the artifact that `CheckResult.cases` names: a JSON list of [id, status]."""
    return json.dumps(
        [[case.id, case.status] for case in cases], ensure_ascii=False, separators=(",", ":")
    ).encode()


def unpacked(data: bytes) -> tuple[Case, ...]:
    """The inverse of `packed`."""
    return tuple(Case(test, CaseStatus(status)) for test, status in json.loads(data))


def _listed(tests: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(tests)[:LIST_CAP])
