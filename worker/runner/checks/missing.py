"""Stops a run whose required checks cannot start on the base: no model call could help it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.domain.check import Check, CheckResult, Standing, Tier
from app.domain.errors import Halt, Reason
from app.domain.repo_config import CONFIG_PATH
from worker.runner.checks.rules import ENVIRONMENT, NOT_FOUND

_MODULE = re.compile(r"No module named '?([A-Za-z_][\w.]*)'?")
_COMMAND = re.compile(r"(?:^|[\s:])([\w./+-]{1,80}): (?:command )?not found", re.MULTILINE)
_NOT_STARTED = "--- not started ---\n"


def some_check_starts(checks: Sequence[Check], baseline: Sequence[CheckResult]) -> None:
    """Raise `Halt(CHECKS_UNAVAILABLE)` when every required check is unavailable on the base for its
    environment; it names what is missing and the cure."""
    required = [check for check in checks if check.tier is Tier.REQUIRED]
    found = {result.digest: result for result in baseline}
    told = []
    for check in required:
        result = found.get(check.digest())
        if result is None or result.standing is not Standing.UNAVAILABLE:
            return
        if result.reason != ENVIRONMENT:
            return
        told.append(f"`{check.name}`: {lacking(check, result)}")
    if not told:
        return
    raise Halt(
        Reason.CHECKS_UNAVAILABLE,
        "No required check can run in the sandbox, on the base already, so nothing could show "
        f"whether a change works. {told[0]}",
        f"Name what is missing under `setup` in `{CONFIG_PATH}` on the default branch (such as "
        "`setup: {packages: [NAME]}`), or an image that has it under `image` (the operator allows "
        "images in `PATCHWARRANT_IMAGES`); then label the issue again. Nothing was asked of the "
        "model.",
        tuple(told[1:]),
    )


def lacking(check: Check, result: CheckResult) -> str:
    """What a check that cannot start misses, as one sentence."""
    if _NOT_STARTED in result.tail:
        why = result.tail.partition(_NOT_STARTED)[2].strip().partition("\n")[0]
        return f"it was not started: {why[:300]}."
    module = _MODULE.findall(result.tail)
    if module and result.exit_code not in NOT_FOUND:
        return f"the module `{module[-1]}` is not there."
    command = _COMMAND.findall(result.tail)
    program = command[-1] if command else check.argv[0]
    where = f", in the folder `{check.workdir}`" if check.workdir else ""
    if result.exit_code is None:
        return f"`{program}` could not be started{where}."
    return f"the program `{program}` is not there or cannot be run (exit code {result.exit_code})."
