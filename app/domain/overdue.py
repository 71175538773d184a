"""Whether a labelled issue that the ledger knows nothing of may be opened as if we had been told.

We were not told what the text was when the label was set, so it counts only where nothing has
happened on the issue since: who could change the text later might not be who may label.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.domain.event import Event, EventKind, Person, Repository
from app.domain.triggers import FOUND, GHOST, ONE_ACT

AGE = timedelta(minutes=15)  # by then a delivery, or its repetition, would have come
BESIDE = range(-1, 4)  # seconds by which the issue's own time may differ from its label's


@dataclass(frozen=True)
class Labelled:
    """An open issue that carries our label now, and the act that put it on: `act` its id, `by` who,
    `at` when as GitHub says it; "" and id 0 where no such act is to be found."""

    repository: Repository
    installation: int
    issue: int
    title: str
    body: str
    author: Person
    updated_at: str
    label: str
    label_id: int
    act: int = 0
    by: Person = GHOST
    at: str = ""

    @property
    def key(self) -> str:
        """The key of the event that we would have made of it."""
        return f"found:{self.repository.id}:{self.issue}:{self.act or self.updated_at}"


def keys_as_told(found: Labelled) -> tuple[str, ...]:
    """The keys that the webhook of this act may have; the times of both may be seconds apart."""
    at = _moment(found.at)
    if at is None:
        return ()
    times = (at + timedelta(seconds=n) for n in BESIDE)
    head = f"issue:{found.repository.id}:{found.issue}:{found.label_id}:"
    return tuple(f"{head}{t.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" for t in times)


def ripe(found: Labelled, now_ms: int) -> bool:
    """Whether the label is old enough for us to have been told by now."""
    at = _moment(found.at) or _moment(found.updated_at)
    return at is not None and now_ms / 1000 - at.timestamp() >= AGE.total_seconds()


def event_of(found: Labelled) -> Event | None:
    """The event as if we had been told; None where a person has to set the label again."""
    at, updated = _moment(found.at), _moment(found.updated_at)
    if at is None or updated is None or updated - at > ONE_ACT or found.by.kind != "User":
        return None
    if not found.by.id:
        return None
    return Event(
        key=found.key,
        kind=EventKind.ISSUE_LABELED,
        installation=found.installation,
        repository=found.repository,
        issue=found.issue,
        sender=found.by,
        label=found.label,
        title=found.title,
        body=found.body,
        author=found.author,
        updated_at=found.at,
        told=FOUND,
    )


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
