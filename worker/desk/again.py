"""The button "Re-run" of a check run: a look at the pull request, once more."""

from __future__ import annotations

import logging
import re
from dataclasses import replace

from app.domain.commands import Word
from app.domain.errors import Halt, Refused
from app.domain.event import Event
from app.domain.state import Kind
from worker.desk.authority import require_role
from worker.desk.front import EventDesk, begin, run_for
from worker.desk.heads import following
from worker.store.rows import Opening

PRESSED = "check_run.rerequested"
_RUN = re.compile(r"[A-Za-z0-9_-]{1,64}")
log = logging.getLogger(__name__)


def pressed(event: Event, desk: EventDesk) -> str | None:
    """Like `/agent verify` by whoever pressed, for the head as it is now; the id of the run to
    wake, None where there is none. A check run of any other kind, or a press of somebody who may
    not, starts nothing and is answered by nothing: GitHub shows no place for it."""
    last = desk.ledger.run(event.text) if _RUN.fullmatch(event.text) else None
    mine = last is not None and last.repository.id == event.repository.id
    change = desk.ledger.change(last.change) if last is not None and last.publication.pull else None
    looks = last is not None and (last.kind is Kind.VERIFY or change is not None)
    if last is None or not mine or not looks or not desk.allows(event):
        desk.ledger.event_done(event.key, "no look of an allowed owner")
        return None
    asking = run_for(event, desk, Kind.VERIFY, Word.VERIFY)
    again = replace(asking, issue=last.issue, event=last.event)
    if change is not None:  # a pull request of ours
        again = replace(following(asking, change), kind=Kind.RECHECK)
    if desk.read is None:
        desk.ledger.event_done(event.key, "nobody can be asked")
        return None
    try:
        with desk.read(again) as reader:
            require_role(again, reader)
    except (Refused, Halt) as refusal:
        log.info("a press on the check run of %s started nothing: %s", last.id, refusal)
        desk.ledger.event_done(event.key, "refused")
        return None
    opened = begin(event, again, desk)
    if opened is None:
        return None
    new = opened.outcome in (Opening.NEW, Opening.KNOWN)
    desk.ledger.event_done(event.key, f"{opened.outcome}:{opened.run_id}")
    return opened.run_id if new else None
