"""Label events and the label itself, as the ledger remembers them for the desk."""

from __future__ import annotations

import pytest
from redis import Redis

from tests.worker.store.samples import REPOSITORY, a_run, an_event
from worker.store.ledger import Ledger


@pytest.fixture
def ledger(redis: Redis) -> Ledger:
    return Ledger(redis)


def test_a_newer_trigger_is_another_open_label_event_of_the_same_issue(ledger: Ledger) -> None:
    run = a_run(event="first")
    for key, issue in (("first", 7), ("elsewhere", 8)):
        ledger.add_event(an_event(key, issue))
    assert not ledger.newer_trigger(run)
    ledger.add_event(an_event("second", 7))
    assert ledger.newer_trigger(run)
    ledger.event_done("second", "note")
    assert not ledger.newer_trigger(run)


def test_when_an_event_was_heard_and_the_label_was_taken_off(ledger: Ledger) -> None:
    assert ledger.heard("first") == 0 and ledger.taken_off(REPOSITORY.id, 7) == 0
    before = ledger.now()
    ledger.add_event(an_event("first"))
    ledger.taking_off(REPOSITORY.id, 7)
    assert before <= ledger.heard("first") <= ledger.taken_off(REPOSITORY.id, 7) <= ledger.now()
    assert ledger.taken_off(REPOSITORY.id, 8) == 0
