"""The repository's own workflows on the pushed tree: which start, and may they before a look."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.ci import Ci, decide
from app.domain.contract import Contract
from app.domain.edit import Delta
from app.domain.run import Run
from app.domain.workflows import FOLDER, Push, judge
from worker.runner.stages.check_kit import CheckKit

MOST = 200  # workflow files that are read


def started(kit: CheckKit, run: Run, contract: Contract, tree: str, deltas: Sequence[Delta]) -> Ci:
    """What the push of `tree` would start. GitHub takes the workflows of the pushed commit."""
    paths = [one.path for one in kit.objects.entries(tree) if _workflow(one.path)]
    read = {path: kit.workflow_of(kit.objects.read(tree, path)) for path in paths[:MOST]}
    unread = dict.fromkeys(paths[MOST:])
    push = Push(
        branch=run.branch,
        base=contract.base_branch,
        paths=tuple(one.path for one in deltas),
    )
    return decide(contract.config.ci, judge({**read, **unread}, push))


def _workflow(path: str) -> bool:
    inside = path.removeprefix(FOLDER)
    return inside != path and "/" not in inside and path.endswith((".yml", ".yaml"))
