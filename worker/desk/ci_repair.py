"""Red CI on our own draft: opens a revision by itself, where the repository wants that."""

from __future__ import annotations

import logging
from dataclasses import replace

from app.domain import ci_repair
from app.domain.branch import BRANCH
from app.domain.errors import Halt, Refused
from app.domain.event import Event
from app.domain.record import ChangeRow
from app.domain.run import Publication
from app.domain.state import ENDS, Kind, State
from worker.desk.front import EventDesk, begin, run_for
from worker.store.rows import Opening

log = logging.getLogger(__name__)


def repaired(event: Event, desk: EventDesk) -> str | None:
    """The id of the run to wake, None where none begins. What the gate saw is looked at again:
    the draft, its head, what is left of the bound. While another run is at work none begins."""
    change = _of_ours(event, desk)
    if change is None or not change.open or desk.read is None:
        desk.ledger.event_done(event.key, "nothing to repair")
        return None
    runs = [run for one in change.runs if (run := desk.ledger.run(one)) is not None]
    known = [run for run in runs if run.event == event.key]
    if known:  # this event came a second time
        desk.ledger.event_done(event.key, f"repaired:{known[-1].id}")
        return known[-1].id if known[-1].state is State.ADMIT else None
    active = next((run for run in runs if run.id == change.active), None)
    if active is not None and active.state in ENDS:
        return None  # it tells its end first; the event stays open and comes again
    if not ci_repair.wanted(runs, ci_repair.head_of(event)):
        desk.ledger.event_done(event.key, "no repair is left")
        return None
    there = Publication(branch=change.branch, pull=change.pull)
    asking = run_for(event, desk, Kind.REVISE)
    run = replace(asking, change=change.id, issue=change.issue, publication=there)
    try:
        with desk.read(run) as reader:
            why = ci_repair.refusal(event, reader.pull(change.pull), change.branch)
    except (Refused, Halt) as unseen:
        log.info("Change %s: its pull request could not be read: %s", change.id, unseen)
        why = "unreadable"
    if why:
        desk.ledger.event_done(event.key, why)
        return None
    opened = begin(event, run, desk)
    if opened is None:
        return None
    if opened.outcome in (Opening.NEW, Opening.KNOWN):
        return opened.run_id or None
    desk.ledger.event_done(event.key, str(opened.outcome))
    return None


def _of_ours(event: Event, desk: EventDesk) -> ChangeRow | None:
    name = BRANCH.fullmatch(event.branch)
    change = desk.ledger.change(name["change"]) if name else None
    if change is None or change.repository != event.repository.id or not desk.allows(event):
        return None
    return change if change.pull == event.issue else None
