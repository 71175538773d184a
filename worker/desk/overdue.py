"""Finds issues with our label that no event told of: beyond what GitHub keeps of deliveries, or
after rows were lost; opens them as if they had just been told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from app.domain import told
from app.domain.errors import Fault, Halt, Unavailable
from app.domain.event import Event, EventKind, Repository
from app.domain.overdue import Labelled, event_of, keys_as_told, ripe
from app.domain.permissions import Phase
from app.domain.run import Run
from app.domain.state import Kind
from app.domain.triggers import FOUND, GHOST
from worker.desk.front import EventDesk, run_for, tell
from worker.desk.github.http import Client
from worker.desk.github.survey import Place, act_of, labelled
from worker.desk.kit import FIX_LABEL
from worker.store.ledger import Ledger

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Overdue:
    """One look over everything a call. `places` are the installations, `repositories` those of one;
    `client` opens a client of the phase `survey` on a run's repository; `stuck` puts right what
    says "at work" there for a run that is over."""

    ledger: Ledger
    desk: EventDesk
    places: Callable[[], Iterator[Place]]
    repositories: Callable[[int], AbstractContextManager[Iterator[Repository]]]
    client: Callable[[Run, Phase], AbstractContextManager[Client]]
    stuck: Callable[[int, Repository], int] | None = None

    def __call__(self) -> int:
        """How many events were opened. What cannot be looked at is logged and left for next time;
        raises `Unavailable` when GitHub or Redis is away."""
        opened = 0
        for place in self.places():
            if place.suspended or place.owner.casefold() not in self.desk.owners:
                continue
            try:
                with self.repositories(place.id) as found:
                    mine = list(found)
                opened += sum(self._in(place, repository) for repository in mine)
            except Unavailable:
                raise
            except (Fault, Halt) as unseen:
                log.warning("installation %d could not be looked over: %s", place.id, unseen)
        return opened

    def _in(self, place: Place, repository: Repository) -> int:
        asking = Run("survey", Kind.FIX, "", "", place.id, repository, 0, GHOST, self.desk.now())
        if self.stuck is not None:
            self.stuck(place.id, repository)
        with self.client(asking, Phase.SURVEY) as client:
            seen = labelled(client, place.id, FIX_LABEL)
            return sum(self._one(act_of(client, one)) for one in seen)

    def _one(self, found: Labelled) -> bool:
        if not ripe(found, self.desk.now()) or self._known(found):
            return False
        event = event_of(found)
        if event is not None:
            log.warning("issue %s was never told; it is opened now", found.key)
            return self.ledger.add_event(event)
        self._ask_again(found)
        return False

    def _known(self, found: Labelled) -> bool:
        keys = (found.key, *keys_as_told(found))
        if any(self.ledger.heard(key) for key in keys):
            return True
        change = self.ledger.open_change(found.repository.id, found.issue)
        return change is not None and bool(change.active)

    def _ask_again(self, found: Labelled) -> None:
        """Say on the issue that the label has to be set again, and take it off."""
        person = found.by if found.by.kind == "User" else replace(GHOST, kind="User")
        event = Event(
            key=found.key,
            kind=EventKind.ISSUE_LABELED,
            installation=found.installation,
            repository=found.repository,
            issue=found.issue,
            sender=person,
            label=found.label,
            title="",
            body="",
            author=found.author,
            updated_at=found.updated_at,
            told=FOUND,
        )
        marker = f"<!-- patchwarrant:{found.key} -->"
        tell(self.desk, run_for(event, self.desk), marker, told.label_again(person))
        self.ledger.add_event(event)
        self.ledger.event_done(found.key, "label-again")
