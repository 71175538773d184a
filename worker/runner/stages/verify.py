"""Verify: the required checks on the candidate's tree; no edit is possible here, no model call.

The stage is visited twice for each candidate: the first visit measures and records the attempt
(so that no ending can lose it), the second decides: on to the gate, a repair, or a Halt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.domain.budget import before_repair
from app.domain.check import CheckResult, Standing, Tier
from app.domain.errors import Halt, Reason
from app.domain.progress import stuck
from app.domain.run import Run
from app.domain.state import JUDGING, Signal
from worker.runner.stages.attempts import as_on_base, measured
from worker.runner.stages.check_kit import CheckKit


def verify(kit: CheckKit) -> Callable[[Run], Run]:
    """The stage for one held run. Raises `Halt` with NO_PROGRESS or BUDGET_REPAIRS, and what
    certifying raises. Every repair was charged once, so `attempts` tells which visit this is."""

    def stage(run: Run) -> Run:
        if len(run.attempts) > run.spend.repairs:
            return _decided(run)
        return measured(kit, run)

    return stage


def _decided(run: Run) -> Run:
    """What follows from the last attempt. Only a failure is repaired: what could not run, and what
    was broken on the base already while the rest is done, no repair of ours would change."""
    failed = [
        one
        for one in run.attempts[-1].results
        if one.standing is Standing.FAILED and not (_quick(run, one) and as_on_base(run, one))
    ]
    if run.kind in JUDGING:  # what others made: told, never repaired
        return run.moved(Signal.DONE)
    if not failed or all(_foreign(run, result) for result in failed):
        return run.moved(Signal.DONE)
    limits = run.limits
    if limits is None:
        raise LookupError("a run without a contract has no limits")
    why = stuck(run.attempts, limits)
    if why:
        raise Halt(
            Reason.NO_PROGRESS,
            f"The repairs got nowhere: {why}.",
            "Read the failures; a narrower issue, or a hint in it, often helps.",
            tuple(f"{one.check}: {one.reason}" for one in failed),
        )
    before_repair(limits, run.spend)
    spend = replace(run.spend, repairs=run.spend.repairs + 1)
    return replace(run, spend=spend).moved(Signal.REPAIR)


def _quick(run: Run, result: CheckResult) -> bool:
    checks = run.snapshot.checks if run.snapshot else ()
    return any(one.tier is Tier.QUICK and one.name == result.check for one in checks)


def _foreign(run: Run, result: CheckResult) -> bool:
    """Whether all that fails in `result` failed on base, while something that did is mended.

    A planned test that still fails is never foreign. Such a result stays failed all the same.
    """
    seen = result.comparison
    if seen is None or not seen.already_failing or not seen.fixed:
        return False
    if seen.newly_failing or seen.gone or seen.newly_skipped or result.reason.startswith("limit:"):
        return False
    wanted = run.plan.tests_must_pass if run.plan else ()
    return not any(_names(test, one) for test in wanted for one in seen.already_failing)


def _names(wanted: str, test: str) -> bool:
    """Whether a planned test (an id, a file, or the end of an id) means `test`."""
    return bool(wanted) and (test.startswith(wanted) or test.endswith(wanted))
