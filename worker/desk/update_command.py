"""`/agent update` and `/agent verify` on a pull request of ours: the Change goes on without a
model."""

from __future__ import annotations

from dataclasses import replace

from app.domain import told
from app.domain.commands import Word
from app.domain.event import Event
from app.domain.record import ChangeRow
from app.domain.run import Run
from app.domain.state import Kind
from worker.desk.front import EventDesk, begin, note_of
from worker.desk.heads import following
from worker.store.rows import Opening


def gone_on(
    event: Event, asking: Run, change: ChangeRow | None, desk: EventDesk, kind: Kind, word: Word
) -> tuple[str | None, str]:
    """(id of the run to wake, None without one; what is answered, "" for nothing)."""
    who = told.mention(event.sender)
    if change is None or not change.pull:
        return None, f"{who}{told.no_pull_of_mine(word)}"
    if not change.open:
        return None, f"{who}{told.not_followed(word, change.pull)}"
    opened = begin(event, replace(following(asking, change), kind=kind, word=word), desk)
    if opened is None:
        return None, ""
    if opened.outcome in (Opening.NEW, Opening.KNOWN):
        return opened.run_id or None, ""
    if opened.outcome is Opening.GONE:
        return None, f"{who}{told.not_followed(word, change.pull)}"
    return None, f"{who}{note_of(opened, on_pull=event.pull)[1]}"
