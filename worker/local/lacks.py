"""What a check misses on this machine, in a sentence: it says nothing about the change."""

from __future__ import annotations

from app.domain.check import CheckResult
from app.domain.repo_config import CONFIG_PATH
from app.domain.report_parts import results_of
from app.domain.run import Run
from worker.runner.checks.missing import lacking
from worker.runner.checks.rules import ENVIRONMENT

CURE = (
    f"Name what is missing under `setup` in {CONFIG_PATH} at the base (such as `setup: "
    "{packages: [NAME]}`), or an image that has it under `image`."
)


def lacks(run: Run) -> tuple[str, ...]:
    """A sentence for each check that could not run here, and the cure behind them; () for none."""
    checks = {check.digest(): check for check in (run.snapshot.checks if run.snapshot else ())}
    told: dict[str, str] = {}
    for result in (*results_of(run), *run.baseline):
        check = checks.get(result.digest)
        if check is not None and stopped(result):
            told.setdefault(check.name, f"`{check.name}` could not run: {lacking(check, result)}")
    return (*told.values(), CURE) if told else ()


def stopped(result: CheckResult) -> bool:
    """Whether the environment is why there is no verdict on a check."""
    return result.reason == ENVIRONMENT
