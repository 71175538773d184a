"""`/agent publish TREE`: an allowed person lets exactly the tree that waits be published."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.domain import publish_approval
from app.domain.approval import barred, could
from app.domain.errors import Waiting
from app.domain.event import Event
from app.domain.run import Run
from app.domain.told import mention
from worker.desk.front import EventDesk
from worker.desk.weighed import Known, prompted


def let_publish(
    event: Event,
    given: str,
    run: Run | None,
    runs: Sequence[Run],
    desk: EventDesk,
    reply: Callable[[str], None],
) -> str | None:
    """The id of the run to wake, None where nothing is published. `run` is the Change's run at
    work, `runs` are all of it; the person's role was asked before. Who may is the same rule by
    which the pull request is approved later (docs/approval.md)."""
    waits = run is not None and run.wait is not None and run.wait.waiting is Waiting.PUBLISH
    if run is None or not waits or run.verdict is None or run.contract is None:
        reply(f"{mention(event.sender)}nothing waits for `/agent publish` here.")
        return None
    tree, config = run.verdict.tree, run.contract.config
    if not publish_approval.fits((given.split() or [""])[0], tree):
        reply(f"{mention(event.sender)}{publish_approval.another(tree)}")
        return None
    took = tuple(prompted(Known(runs, desk.ledger.event, desk.ledger.journal), config.approval))
    parts = barred(config.approval, event.sender, took)
    if parts:
        may = could(config.approval, config.roles.change, took)
        reply(f"{mention(event.sender)}{publish_approval.not_by(parts, may)}")
        return None
    by = f"{event.sender.login} ({event.sender.id})"
    return run.id if desk.ledger.publish(run.id, event.key, tree, by) else None
