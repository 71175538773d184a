"""`/agent revise`: opens a revision of our own pull request, or lets the comment wait its turn."""

from __future__ import annotations

from dataclasses import replace

from app.domain import told
from app.domain.commands import Word
from app.domain.event import EventKind
from app.domain.run import Publication, Run
from app.domain.state import Kind
from worker.desk.front import begin
from worker.desk.said import Said
from worker.store.rows import Opening


def revise(said: Said) -> str | None:
    """The id of the run to wake, None where there is none.

    While a run of the Change is at work the comment waits in the ledger; the next run takes all
    that wait together, whichever of them is the one that opens it.
    """
    event, desk, change = said.event, said.desk, said.change
    if not event.pull or not said.ours or change is None:
        said.reply(told.not_ours(event.sender, 0 if event.pull or not change else change.pull))
        return None
    if not change.open:
        said.reply(told.closed_pull(event.sender))
        return None
    if event.kind is EventKind.COMMENT and not said.command.text:
        said.reply(told.say_what(event.sender))
        return None
    count = desk.ledger.wait_turn(change.id, event.key)
    if not count:  # a run took it up already: this event came a second time
        return None
    active = desk.ledger.run(change.active) if change.active else None
    if active is not None:
        taken = {active.event, *events_of(active)}
        if event.key in taken:  # rung for twice: it is being done
            return None
        waits = [key for key in desk.ledger.waiting(change.id) if key not in taken]
        said.reply(told.noted(event.sender, len(waits), active.id), f"waits:{active.id}")
        return None
    run = replace(
        said.asking,
        kind=Kind.REVISE,
        word=Word.REVISE,
        change=change.id,
        issue=change.issue,
        publication=Publication(branch=change.branch, pull=change.pull),
    )
    opened = begin(event, run, desk)
    if opened is None:  # a cap is full, which was said: this comment does not wait any longer
        desk.ledger.taken(change.id, [event.key])
        return None
    if opened.outcome in (Opening.NEW, Opening.KNOWN):
        return opened.run_id or None
    if opened.outcome is Opening.GONE:
        desk.ledger.taken(change.id, [event.key])
        said.reply(told.closed_pull(event.sender))
    elif opened.outcome is Opening.ACTIVE:  # another run began just now
        said.reply(told.noted(event.sender, count, opened.run_id), f"waits:{opened.run_id}")
    return None


def events_of(run: Run) -> tuple[str, ...]:
    """Keys of the comments that a revision took up when it was admitted."""
    revision = run.contract.revision if run.contract else None
    return revision.events if revision is not None else ()


def revised_again(said: Said, again: Run, last: Run) -> Run:
    """`again` as the revision that `last` was: its other comments wait for it once more."""
    change, pull = said.change, last.publication.pull
    branch = change.branch if change is not None else ""
    return replace(again, change=last.change, publication=Publication(branch=branch, pull=pull))
