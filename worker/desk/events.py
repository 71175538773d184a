"""An event becomes a run, or one short note why it does not, exactly once."""

from __future__ import annotations

import logging
from dataclasses import replace

from app.domain import triggers
from app.domain.ci_repair import TOLD as RED
from app.domain.errors import Halt, Waiting
from app.domain.event import Event, EventKind
from app.domain.intake import request_of
from app.domain.run import Run
from app.domain.state import ENDS
from worker.desk.again import PRESSED, pressed
from worker.desk.authority import require_role
from worker.desk.ci_repair import repaired
from worker.desk.conversation import conversed
from worker.desk.front import EventDesk, begin, note_of, run_for, tell
from worker.desk.heads import waited
from worker.desk.nudges import nudged
from worker.store.rows import Opening

__all__ = ["EventDesk", "handle_event"]
HURRIED = 3  # tries to tell an end that a new label hurries; the later ones have their own time
log = logging.getLogger(__name__)


def handle_event(key: str, desk: EventDesk) -> str | None:
    """Do what the event `key` asks for; the id of the run to wake, None where there is none.

    Safe to call again at any time. Raises `Unavailable`, `Uncertain`, `Park` while GitHub cannot be
    told; the event then stays open in the ledger and comes again.
    """
    event = desk.ledger.event(key)
    if event is None:
        return None
    if waited(event, desk):  # it comes again after a run; everything else was done the first time
        desk = replace(desk, approvals=None)
    marked = desk.approvals.mark(event) if desk.approvals is not None else ()
    woken = _handled(event, desk)
    if desk.approvals is not None:
        desk.approvals.look(marked)
    return woken


def _handled(event: Event, desk: EventDesk) -> str | None:
    if event.told == PRESSED:
        return pressed(event, desk)
    if event.told == RED:
        return repaired(event, desk)
    if event.kind is EventKind.NUDGE:
        if desk.approvals is not None and event.told.startswith("pull_request."):
            desk.approvals.others(event, run_for(event, desk, word="approval"))
        return nudged(event, desk)
    if event.kind is not EventKind.ISSUE_LABELED:
        return conversed(event, desk)
    return _labeled(event, desk)


def _labeled(event: Event, desk: EventDesk) -> str | None:
    run = run_for(event, desk)
    twin = _twin(event, desk)
    if twin:
        desk.ledger.event_done(event.key, f"same as {twin}")
        return None
    opened = begin(event, run, desk)
    if opened is None:
        return None
    if opened.outcome in (Opening.NEW, Opening.KNOWN):
        return opened.run_id or None
    if opened.waiting == Waiting.ANSWER and _answered(opened.run_id, event, run, desk):
        desk.ledger.event_done(event.key, f"answer:{opened.run_id}")
        return opened.run_id
    ending = _ending(opened.run_id, desk) if opened.outcome is Opening.ACTIVE else None
    if ending is not None:  # it tells its end first; the event stays open and comes again
        tried = ending.wait.times if ending.wait is not None else 0
        return ending.id if tried <= HURRIED else None
    marker, text = note_of(opened)
    tell(desk, run, marker, text)
    desk.ledger.event_done(event.key, f"{opened.outcome}:{opened.run_id or opened.pull}")
    return None


def _twin(event: Event, desk: EventDesk) -> str:
    """The key of the issue's newest run's event if both tell of one act: an issue opened with our
    label is told twice, as opened and as labelled, up to seconds apart."""
    change = desk.ledger.open_change(event.repository.id, event.issue)
    newest = desk.ledger.run(change.runs[-1]) if change is not None else None
    first = desk.ledger.event(newest.event) if newest is not None else None
    return first.key if first is not None and triggers.one_act(first, event) else ""


def _ending(run_id: str, desk: EventDesk) -> Run | None:
    run = desk.ledger.run(run_id)
    return run if run is not None and run.state in ENDS else None


def _answered(run_id: str, event: Event, asking: Run, desk: EventDesk) -> bool:
    """Hand the waiting run its answer: the questions were asked on the issue, and a writer who
    edits it and labels it again has answered them. False for anybody else."""
    if desk.read is None or event.repository.owner.casefold() not in desk.owners:
        return False
    try:
        with desk.read(asking) as reader:
            require_role(asking, reader)
    except Halt as refusal:
        log.info("run %s: an answer was not taken: %s", run_id, refusal)
        return False
    request = request_of(event)
    return desk.ledger.answer(run_id, event.key, f"{request.title}\n\n{request.body}")
