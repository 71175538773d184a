"""Results against the baseline, test by test: ids, never counts (2 fixed, 2 broken is a change)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Container, Iterable, Sequence

from app.domain.check import Case, CaseStatus, Comparison, Counts, Outcome

_DOTS = re.compile(rb"^(?:\S{1,200} )?([.FEsxX]+)(?: {1,80}\[ {0,2}\d{1,3}%\])?\r?$", re.MULTILINE)
_MOUNT = "/workspace/"
# A case that stands for all of a file or a suite, which could not be loaded or set up.
_WHOLE = re.compile(
    r"^[^:\n]*\.(?:py|[cm]?[jt]sx?|rb|php|java|kt|go|rs|exs?)$|_FailedTest\b|\bsetUp(?:Class|Module)\b"
    r"|Test suite failed to run|\"before (?:all|each)\" hook|\[(?:build|setup) failed\]"
    r"|^(?P<file>[^:\n]+\.\w+)::(?P=file)$"
)
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
    skipped = {test for test, status in new.items() if status is CaseStatus.SKIPPED}
    whole = {test for test in failed_before - new.keys() if _WHOLE.search(test)}
    mended = {test for test in whole if _instead(test, passing - old.keys())}
    aside = {test for test in whole - mended if _instead(test, skipped - old.keys())}
    return Comparison(
        newly_failing=_listed(failing - failed_before),
        fixed=_listed(mended | (failed_before & passing)),
        already_failing=_listed(failing & failed_before),
        newly_skipped=_listed(aside | (ran_before & skipped)),
        gone=_listed(ran_before - new.keys() - mended - aside - _failing_now(whole, failing, old)),
        new=_listed(new.keys() - old.keys()),
    )


def _failing_now(
    whole: Iterable[str], failing: Iterable[str], old: Container[str]
) -> frozenset[str]:
    """What failed as a whole and fails test by test now: newly failing tests say so."""
    fresh = {test for test in failing if test not in old}
    return frozenset(test for test in whole if _instead(test, fresh))


def _instead(whole: str, tests: Collection[str]) -> bool:
    """Whether `tests` hold those that a file or a suite that failed as a whole now has."""
    name = whole.removeprefix(_MOUNT)
    inside = (f"{name}::", f"{name} > ", f"{whole}::", f"{name.partition('::')[0]}::")
    if any(test.startswith(inside) for test in tests):
        return True
    # Some tools name no file: then tests that the base did not know stand for it.
    return any("/" not in test.partition("::")[0] and not test.endswith(name) for test in tests)


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
