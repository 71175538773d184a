"""Events as rows: told, read, done, and what is remembered of an issue beside them."""

from __future__ import annotations

from app.domain import record
from app.domain.errors import IntegrityError
from app.domain.event import Event, EventKind
from app.domain.run import Run
from app.domain.scripts.events import EVENT_DONE, GREET, RECEIVE, RING_AGAIN
from worker.store import codec
from worker.store.calls import Calls

TRIGGERS = 200  # open events that are looked through for a newer trigger
EVENTS = record.event_key("")


def heard(calls: Calls, key: str) -> int:
    """When the event was written (Redis ms), 0 for one that is not there."""
    return int(calls.fields(record.event_key(key), "at")[0] or 0)


class Events:
    """The part of the ledger about what we were told."""

    calls: Calls

    def add_event(self, event: Event) -> bool:
        """Write an event that did not come through the receiver; False if it is there already."""
        letter, *why = self.calls.script(
            RECEIVE,
            (record.INBOX, record.EVENTS_OPEN),
            (record.SCHEMA, EVENTS, event.key, codec.encode(event)),
        )
        if why:
            raise IntegrityError(f"event {event.key} cannot be written: {why[0].decode()}")
        return bool(letter == b"n")

    def event(self, key: str) -> Event | None:
        version, data = self.calls.fields(record.event_key(key), "v", "data")
        if version is None or data is None:
            return None
        codec.guard(version, f"event {key}")
        return codec.event(data)

    def unhandled_events(self, limit: int, older_ms: int = 0) -> list[str]:
        """Keys of events without outcome that were written `older_ms` or more ago, oldest first."""
        newest: str | int = self.calls.now() - older_ms if older_ms else "+inf"
        words = (record.EVENTS_OPEN, "-inf", newest, "LIMIT", 0, limit)
        return [key.decode() for key in self.calls.command("ZRANGEBYSCORE", *words)]

    def opened_by(self, key: str) -> str:
        """The run that an event opened, "" for none."""
        return (self.calls.fields(record.event_key(key), "run")[0] or b"").decode()

    def event_done(self, key: str, outcome: str) -> None:
        """Nobody needs to handle this event again; the first outcome stays."""
        keys = (record.event_key(key), record.EVENTS_OPEN)
        self.calls.script(EVENT_DONE, keys, (key, outcome, record.EVENT_SECONDS))

    def greeted(self, key: str) -> bool:
        """Whether the person who is behind the event had a first sign."""
        return bool(self.calls.fields(record.event_key(key), "greeted")[0])

    def greet(self, key: str) -> None:
        """Note that there was a first sign, on a row that is there."""
        self.calls.script(GREET, (record.event_key(key),))

    def heard(self, key: str) -> int:
        """When the event was written (Redis ms), 0 for one that is not there."""
        return heard(self.calls, key)

    def newer_trigger(self, run: Run) -> bool:
        """Whether a label event of the run's issue other than its own waits to be handled."""
        for key in self.unhandled_events(TRIGGERS):
            event = self._told(key) if key != run.event else None
            if (
                event is not None
                and event.kind is EventKind.ISSUE_LABELED
                and (event.repository.id, event.issue) == (run.repository.id, run.issue)
            ):
                return True
        return False

    def _told(self, key: str) -> Event | None:
        try:
            return self.event(key)
        except codec.NewerSchema:
            return None

    def ring_again(self, key: str, pause_ms: int) -> int:
        """Count a wake-up of the desk for an event (for the job's id); 0 where the last one waits
        in its queue still, or was counted here less than `pause_ms` ago."""
        keys = (record.event_key(key), record.waiting_jobs(record.QUEUE_DESK))
        words = (record.event_job(key, ""), pause_ms)
        return int(self.calls.script(RING_AGAIN, keys, words))

    # -- an issue's text and label

    def edited(self, repository: int, issue: int, at: str, by: str) -> None:
        """Remember an edit of an issue's text as we were told of it, for a week."""
        key = record.edited_key(repository, issue)
        self.calls.command("SET", key, codec.encode({"at": at, "by": by}), "EX", 7 * 86_400)

    def last_edit(self, repository: int, issue: int) -> tuple[str, str]:
        """(when as GitHub said it, by whom) its text was last edited; ("", "") if unknown."""
        found = self.calls.command("GET", record.edited_key(repository, issue))
        row = codec.mapping(found) if found else {}
        return str(row.get("at", "")), str(row.get("by", ""))

    def taking_off(self, repository: int, issue: int) -> None:
        """Remember, for an hour, that we take the trigger's label off an issue now."""
        key = record.taken_off_key(repository, issue)
        self.calls.command("SET", key, self.calls.now(), "EX", 3_600)

    def taken_off(self, repository: int, issue: int) -> int:
        """When we took the trigger's label off last (Redis ms), 0 if that is long ago."""
        return int(self.calls.command("GET", record.taken_off_key(repository, issue)) or 0)
