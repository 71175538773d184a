"""A removed installation: told by a webhook, looked at live, then erased."""

from __future__ import annotations

from redis import Redis

from app.domain.event import Event
from app.domain.triggers import event_of as told_by
from tests.standins.github_world import Acme
from tests.worker.desk.ways import access_to, app_of
from tests.worker.store.test_retention import worked
from worker.desk.events import EventDesk, handle_event
from worker.desk.removed import Removed
from worker.store.ledger import Ledger


def deleted(installation: int) -> Event:
    body = {
        "action": "deleted",
        "installation": {"id": installation},
        "sender": {"id": 1, "login": "alice", "type": "User"},
    }
    event = told_by("installation", body, lambda: "d" * 64)
    assert isinstance(event, Event)
    return event


def test_only_what_is_really_gone_is_erased(world: Acme, redis: Redis) -> None:
    ledger, access = Ledger(redis), access_to(world)
    worked(ledger, "r1", installation=world.installation)
    event = deleted(world.installation)
    ledger.add_event(event)
    desk = EventDesk(
        ledger, access.write, lambda: "x", ledger.now, frozenset({"acme"}), access.look
    )
    handle_event(event.key, desk)
    assert ledger.leaving() == [world.installation]
    remove = Removed(ledger, app_of(world))
    remove()
    assert ledger.leaving() == [] and ledger.run("r1") is not None

    ledger.leaves(world.installation)
    world.standin.uninstall(world.installation)
    remove()
    assert ledger.leaving() == [] and ledger.run("r1") is None
