"""Events and runs for tests of the ledger."""

from __future__ import annotations

from app.domain.event import Event, EventKind, Person, Repository
from app.domain.run import Run
from app.domain.state import Kind
from worker.store.ledger import Ledger

REPOSITORY = Repository(1296269, "octocat", "hello-world")


def an_event(key: str = "issue:1296269:7:208045946:2026-11-30T10:00:00Z", issue: int = 7) -> Event:
    return Event(
        key=key,
        kind=EventKind.ISSUE_LABELED,
        installation=5,
        repository=REPOSITORY,
        issue=issue,
        sender=Person(1, "octocat"),
        label="agent:fix",
        title="Ünicode 😊",
        body="as signed\r\n\x00",
        author=Person(2, "hubot"),
        updated_at="2026-11-30T10:00:00Z",
    )


def a_run(run_id: str = "r1", issue: int = 7, event: str = "") -> Run:
    return Run(
        id=run_id,
        kind=Kind.FIX,
        change="",
        event=event,
        installation=5,
        repository=REPOSITORY,
        issue=issue,
        requester=Person(1, "octocat"),
        created=1_700_000_000_000,
    )


def opened(ledger: Ledger, run_id: str = "r1", issue: int = 7) -> str:
    """A new run, opened by an event of its own; its id."""
    event = an_event(f"issue:1:{issue}:{run_id}", issue)
    ledger.add_event(event)
    ledger.open_run(event.key, a_run(run_id, issue, event.key))
    return run_id
