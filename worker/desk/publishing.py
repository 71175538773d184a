"""`/agent publish TREE`: an allowed person lets exactly the tree that waits be published."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain import publish_approval
from app.domain.approval import barred, could
from app.domain.errors import Waiting
from app.domain.run import Run
from app.domain.state import Kind
from app.domain.told import mention
from worker.desk.said import Said
from worker.desk.weighed import Known, prompted


def let_publish(said: Said, run: Run | None, runs: Sequence[Run]) -> str | None:
    """The id of the run to wake, None where nothing is published. `run` is the Change's run at
    work, `runs` are all of it; the person's role was asked before. Who may is the same rule by
    which the pull request is approved later (docs/approval.md)."""
    event, desk = said.event, said.desk
    given = (said.command.text.split() or [""])[0]
    waits = run is not None and run.wait is not None and run.wait.waiting is Waiting.PUBLISH
    if run is None or not waits or run.verdict is None or run.contract is None:
        _nothing_waits(said, runs)
        return None
    tree, config = run.verdict.tree, run.contract.config
    if not publish_approval.fits(given, tree):
        said.reply(f"{mention(event.sender)}{publish_approval.another(tree)}")
        return None
    took = tuple(prompted(Known(runs, desk.ledger.event, desk.ledger.journal), config.approval))
    parts = barred(config.approval, event.sender, took)
    if parts:
        may = could(config.approval, config.roles.change, took)
        said.reply(f"{mention(event.sender)}{publish_approval.not_by(parts, may)}")
        return None
    by = f"{event.sender.login} ({event.sender.id})"
    if desk.ledger.publish(run.id, event.key, tree, by):
        return run.id
    _nothing_waits(said, runs)  # somebody else said it just now
    return None


def _nothing_waits(said: Said, runs: Sequence[Run]) -> None:
    """Say what became of the last word of this kind, once for each person and outcome; nothing
    where this very comment was that word and came a second time."""
    who = said.event.sender
    for run in reversed(runs):
        if run.kind is not Kind.FIX or run.verdict is None or not publish_approval.held_back(run):
            continue
        entry = publish_approval.release(said.desk.ledger.journal(run.id), run.verdict.tree)
        if entry is None:
            break
        if entry.data.get("event") != said.event.key:
            text = publish_approval.already(run, str(entry.data.get("by", "")))
            outcome = run.publication.pull or run.state
            said.once(f"{mention(who)}{text}", f"published:{run.id}:{outcome}:{who.id}")
        return
    said.reply(f"{mention(who)}nothing waits for `/agent publish` here.")
