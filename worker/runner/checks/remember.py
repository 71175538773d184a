"""Baselines across runs: a check's result on a base tree, kept by tree, command and image.

Only the phase that measures a base tree writes here: what a candidate made of a tree is never taken
for a baseline. The rows are a cache; losing one costs a run of the suite.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from app.domain.check import Check, CheckResult, Standing
from app.domain.errors import Missing
from app.domain.ports.hold import Hold

SHAPE = 1  # grows when results of older versions should not be used any more


def remembered(hold: Hold, check: Check, tree: str, image: str) -> CheckResult | None:
    """The result that an earlier run measured, marked as such; None where there is none."""
    data = hold.recall(_name(tree, check, image))
    if data is None:
        return None
    try:
        found = msgspec.convert(data, CheckResult)
        for digest in filter(None, (found.cases, found.log)):
            hold.put(hold.get(digest))  # this run's from now on, too: the other one may go
    except (msgspec.ValidationError, Missing):
        return None
    return replace(found, cached=True)


def remember(hold: Hold, check: Check, result: CheckResult) -> None:
    """Keep a result that another run on the same tree would repeat: no limit, no environment."""
    if result.standing in (Standing.PASSED, Standing.FAILED) and "limit:" not in result.reason:
        name = _name(result.tree, check, result.image)
        hold.remember(name, msgspec.to_builtins(result))


def _name(tree: str, check: Check, image: str) -> str:
    """The command's digest says what is run; what its output is read by is named beside it."""
    return f"baseline:{SHAPE}:{tree}:{check.digest()}:{check.parser}:{image}"
