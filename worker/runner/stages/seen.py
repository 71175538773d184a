"""The tests of a result by id, from the artifact that it names."""

from __future__ import annotations

from app.domain.check import Case, CaseStatus, CheckResult
from worker.runner.checks.compare import unpacked
from worker.runner.stages.check_kit import CheckKit


def cases_of(kit: CheckKit, result: CheckResult) -> tuple[Case, ...]:
    """All cases, () where nothing said which tests ran."""
    return unpacked(kit.hold.get(result.cases)) if result.cases else ()


def statuses(kit: CheckKit, result: CheckResult) -> dict[str, CaseStatus]:
    return {case.id: case.status for case in cases_of(kit, result)}


def passed_cases(kit: CheckKit, result: CheckResult) -> list[str]:
    """Ids that passed, in the artifact's order."""
    return [case.id for case in cases_of(kit, result) if case.status is CaseStatus.PASSED]
