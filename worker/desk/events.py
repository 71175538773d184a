"""An event becomes a run, or one short note why it does not, exactly once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from app.domain.errors import Halt, Refused, Waiting
from app.domain.event import Event
from app.domain.intake import request_of
from app.domain.permissions import Phase
from app.domain.run import Run
from app.domain.state import Kind
from worker.desk.authority import require_role
from worker.desk.kit import FIX_LABEL, Read, Write
from worker.store.rows import Opened, Opening

log = logging.getLogger(__name__)


class Events(Protocol):
    """What of the ledger is needed here."""

    def event(self, key: str) -> Event | None: ...

    def event_done(self, key: str, outcome: str) -> None: ...

    def open_run(self, event_key: str, run: Run) -> Opened: ...

    def answer(self, run_id: str, event_key: str, text: str) -> bool: ...


@dataclass(frozen=True)
class EventDesk:
    """`new_run_id` gives a fresh id of letters and digits, `now` Redis milliseconds, `owners` the
    operator's allow-list in lower case. Without `read` nobody's role can be asked, so that no
    answer is taken."""

    ledger: Events
    write: Write
    new_run_id: Callable[[], str]
    now: Callable[[], int]
    owners: frozenset[str]
    read: Read | None = None


def handle_event(key: str, desk: EventDesk) -> str | None:
    """Open a run for the event `key`; the id of the run to wake, None where there is none.

    Safe to call again at any time. Raises `Unavailable`, `Uncertain`, `Park` while GitHub cannot be
    told; the event then stays open in the ledger and comes again.
    """
    event = desk.ledger.event(key)
    if event is None:
        return None
    run = _run_for(event, desk)
    opened = desk.ledger.open_run(key, run)
    if opened.outcome in (Opening.NEW, Opening.KNOWN):
        return opened.run_id or None
    if opened.waiting == Waiting.ANSWER and _answered(opened.run_id, event, run, desk):
        desk.ledger.event_done(key, f"answer:{opened.run_id}")
        return opened.run_id
    marker, text = _note(opened, event)
    _tell(desk, run, marker, text)
    desk.ledger.event_done(key, f"{opened.outcome}:{opened.run_id or opened.pull}")
    return None


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


def _run_for(event: Event, desk: EventDesk) -> Run:
    run_id = desk.new_run_id()
    return Run(
        id=run_id,
        kind=Kind.FIX,
        change="",
        event=event.key,
        installation=event.installation,
        repository=event.repository,
        issue=event.issue,
        requester=event.sender,
        created=desk.now(),
    )


def _note(opened: Opened, event: Event) -> tuple[str, str]:
    """(marker, text) of the one note; a second event of the same kind finds the first note."""
    if opened.outcome is Opening.PULL:
        return (
            f"<!-- patchwarrant:pull:{opened.change} -->",
            f"This issue has an open pull request of mine already: #{opened.pull}. "
            "Comment `/agent revise …` there to have it changed, or close it and set the label "
            f"`{FIX_LABEL}` again for a new start.",
        )
    waits = f" It is waiting ({opened.waiting.removeprefix('waiting-')})." if opened.waiting else ""
    return (
        f"<!-- patchwarrant:active:{opened.run_id} -->",
        f"A run for this issue is at work already (`{opened.run_id}`), so this label starts no "
        f"second one.{waits}",
    )


def _tell(desk: EventDesk, run: Run, marker: str, text: str) -> None:
    """Say it on the issue and take the label off; owners outside the allow-list get no words."""
    if run.repository.owner.casefold() not in desk.owners or run.requester.kind != "User":
        return
    try:
        with desk.write(run, Phase.STATUS) as writer:
            writer.comment(run.issue, f"{marker}\n{text}", marker)
            writer.remove_label(run.issue, FIX_LABEL)
    except (Refused, Halt) as unheard:
        log.info("event of issue %s: nobody could be told: %s", run.issue, unheard)
