"""One attempt: the required checks on a run's candidate, each skipped, measured or unavailable."""

from __future__ import annotations

from dataclasses import replace

from app.domain.check import Check, CheckResult, Standing, Tier
from app.domain.edit import Candidate
from app.domain.policy import match
from app.domain.progress import fingerprint
from app.domain.run import Attempt, Run, Snapshot
from worker.runner.stages.check_kit import VERIFY, CheckKit, baseline_of, charged


def measured(kit: CheckKit, run: Run) -> Run:
    """The run with one more attempt: the required checks on its candidate, in its present state."""
    if run.snapshot is None or run.candidate is None:
        raise LookupError("a run without snapshot and candidate cannot be verified")
    attempt = len(run.attempts)
    results = tuple(
        _checked(kit, run, run.snapshot, run.candidate, check, attempt)
        for check in run.snapshot.checks
        if check.tier is Tier.REQUIRED
    )
    tree = run.candidate.tree
    made = Attempt(tree, results, fingerprint(tree, results))
    return charged(
        replace(run, attempts=(*run.attempts, made)), sum(result.ms for result in results)
    )


def applies(check: Check, candidate: Candidate) -> bool:
    """Whether the candidate touches what the check is about."""
    paths = [change.path for change in candidate.changes]
    return not check.paths or any(match(glob, path) for glob in check.paths for path in paths)


def _checked(
    kit: CheckKit,
    run: Run,
    snapshot: Snapshot,
    candidate: Candidate,
    check: Check,
    attempt: int,
) -> CheckResult:
    if applies(check, candidate):
        base = baseline_of(run, check)
        return kit.certify(run.id, VERIFY, check, candidate.tree, snapshot.image, base, attempt)
    return CheckResult(
        check=check.name,
        digest=check.digest(),
        tree=candidate.tree,
        image=snapshot.image,
        standing=Standing.SKIPPED,
        reason="paths",
        exit_code=None,
        ms=0,
        counts=None,
        failures=(),
        log="",
        tail="",
    )
