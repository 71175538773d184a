"""One attempt: the checks on a run's candidate, quick ones first; each skipped, measured or
unavailable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.domain.check import Check, CheckResult, Standing, Tier
from app.domain.edit import Candidate
from app.domain.policy import match
from app.domain.progress import fingerprint
from app.domain.run import Attempt, Run, Snapshot
from worker.runner.checks.run import FAILURES_KEPT
from worker.runner.stages.check_kit import VERIFY, CheckKit, baseline_of, charged


def measured(kit: CheckKit, run: Run) -> Run:
    """The run with one more attempt: its checks on its candidate, in its present state.

    Quick checks run first; where one fails that the base does not fail, the required ones are
    skipped: they are slower and could not make this candidate pass.
    """
    if run.snapshot is None or run.candidate is None:
        raise LookupError("a run without snapshot and candidate cannot be verified")
    attempt = len(run.attempts)
    snapshot, candidate = run.snapshot, run.candidate
    paths = changed_paths(kit, snapshot, candidate)
    results: list[CheckResult] = []
    for check in sorted(snapshot.checks, key=lambda one: one.tier is not Tier.QUICK):
        failed = [one.check for one in results if _stops(run, one)]
        if check.tier is Tier.REQUIRED and failed:
            why = f"quick check {failed[0]} failed"
            results.append(_skipped(check, snapshot, candidate, why))
        else:
            results.append(_checked(kit, run, snapshot, candidate, check, attempt, paths))
    tree = candidate.tree
    made = Attempt(tree, tuple(results), fingerprint(tree, results))
    return charged(
        replace(run, attempts=(*run.attempts, made)), sum(result.ms for result in results)
    )


def _stops(run: Run, result: CheckResult) -> bool:
    """Whether a quick check fails in a way that is this candidate's."""
    quick = run.snapshot is not None and any(
        one.tier is Tier.QUICK and one.digest() == result.digest for one in run.snapshot.checks
    )
    return quick and result.standing is Standing.FAILED and not as_on_base(run, result)


def as_on_base(run: Run, result: CheckResult) -> bool:
    """Whether a failure is the base's own: nothing is worse than it was before."""
    before = next((one for one in run.baseline if one.digest == result.digest), None)
    if before is None or before.standing is not Standing.FAILED:
        return False
    seen = result.comparison
    if seen is None:
        known = {(one.test, one.message) for one in before.failures}
        cut = len(before.failures) >= FAILURES_KEPT  # then nobody knows the rest of them
        new = {(one.test, one.message) for one in result.failures} - known
        return before.reason == result.reason and (cut or not new)
    return not (seen.newly_failing or seen.gone or seen.newly_skipped)


def changed_paths(kit: CheckKit, snapshot: Snapshot, candidate: Candidate) -> list[str]:
    """What the candidate changes against the base: more than its own edits, where those began
    elsewhere."""
    if snapshot.start == snapshot.base_tree:
        return [change.path for change in candidate.changes]
    return [one.path for one in kit.objects.deltas(snapshot.base_tree, candidate.tree)]


def applies(check: Check, paths: Sequence[str]) -> bool:
    """Whether a change of `paths` touches what the check is about."""
    return not check.paths or any(match(glob, path) for glob in check.paths for path in paths)


def _checked(
    kit: CheckKit,
    run: Run,
    snapshot: Snapshot,
    candidate: Candidate,
    check: Check,
    attempt: int,
    paths: Sequence[str],
) -> CheckResult:
    if applies(check, paths):
        base = baseline_of(run, check)
        return kit.certify(run.id, VERIFY, check, candidate.tree, snapshot.image, base, attempt)
    return _skipped(check, snapshot, candidate, "paths")


def _skipped(check: Check, snapshot: Snapshot, candidate: Candidate, why: str) -> CheckResult:
    return CheckResult(
        check=check.name,
        digest=check.digest(),
        tree=candidate.tree,
        image=snapshot.image,
        standing=Standing.SKIPPED,
        reason=why,
        exit_code=None,
        ms=0,
        counts=None,
        failures=(),
        log="",
        tail="",
    )
