"""Rows of what follows an open pull request: its Change goes on, pushes wait, it is reopened."""

from __future__ import annotations

from dataclasses import replace

import pytest
from redis import Redis

from app.domain.event import Event
from app.domain.run import Publication, Run
from app.domain.state import Kind, State
from tests.worker.store import samples
from worker.store.ledger import Ledger
from worker.store.rows import Opening


@pytest.fixture
def ledger(redis: Redis) -> Ledger:
    return Ledger(redis)


def heard(ledger: Ledger, key: str) -> Event:
    event = samples.an_event(key)
    ledger.add_event(event)
    return event


def published(ledger: Ledger) -> Run:
    """A Change whose first run opened a pull request and is over."""
    samples.opened(ledger, "r1")
    lease = ledger.claim("r1", "desk", 60_000)
    assert lease is not None
    there = Publication("b", "c" * 40, 9, "u")
    done = replace(lease.run, state=State.COMPLETE, explained=True, publication=there)
    ledger.save(lease, done, release=True)
    return done


def following(first: Run, run_id: str, change: str) -> Run:
    return replace(first, id=run_id, kind=Kind.RECHECK, change=change, state=State.ADMIT)


def test_only_what_follows_goes_on_with_a_change_that_has_a_pull_request(ledger: Ledger) -> None:
    first = published(ledger)
    heard(ledger, "k2")
    assert ledger.open_run("k2", replace(first, id="r2")).outcome is Opening.PULL
    opened = ledger.open_run("k2", following(first, "r3", first.change))
    assert (opened.outcome, opened.run_id, opened.change) == (Opening.NEW, "r3", first.change)
    heard(ledger, "k3")
    again = ledger.open_run("k3", following(first, "r4", first.change))
    assert (again.outcome, again.run_id) == (Opening.ACTIVE, "r3")
    run = ledger.run("r3")
    assert run is not None and [one.id for one in ledger.history(run)] == ["r1", "r3"]


def test_a_change_that_is_closed_or_another_is_gone_and_nothing_is_opened(ledger: Ledger) -> None:
    first = published(ledger)
    heard(ledger, "k2")
    other = ledger.open_run("k2", following(first, "r2", "nobody"))
    assert other.outcome is Opening.GONE and ledger.run("r2") is None
    change = ledger.change(first.change)
    assert change is not None and ledger.close_change(change)
    assert ledger.open_run("k2", following(first, "r3", first.change)).outcome is Opening.GONE
    with pytest.raises(ValueError, match="names no Change"):
        ledger.open_run("k2", following(first, "r4", ""))


def test_a_change_is_opened_again_unless_its_issue_has_another(ledger: Ledger) -> None:
    first = published(ledger)
    change = ledger.change(first.change)
    assert change is not None
    assert not ledger.reopen_change(change), "it is open"
    ledger.close_change(change)
    assert ledger.reopen_change(change) and ledger.open_change(change.repository, change.issue)
    ledger.close_change(change)
    heard(ledger, "k2")
    assert ledger.open_run("k2", samples.a_run("r9")).outcome is Opening.NEW
    assert not ledger.reopen_change(change)


def test_the_first_push_waits_for_all_until_the_head_is_looked_at(ledger: Ledger) -> None:
    for key in ("a", "b", "c"):
        heard(ledger, key)
    assert ledger.wait_for_head("c1", "a") == "a" == ledger.wait_for_head("c1", "a")
    assert ledger.wait_for_head("c1", "b") == "a"
    assert ledger.wait_for_head("c2", "b") == "b", "each Change has its own"
    ledger.look_at_head("c1", "b")  # not the one that waits
    assert ledger.wait_for_head("c1", "c") == "a"
    ledger.look_at_head("c1", "a")
    assert ledger.wait_for_head("c1", "c") == "c", "what comes after the look waits for itself"


def test_a_push_whose_event_is_over_holds_nobody_up(ledger: Ledger) -> None:
    for key in ("a", "b"):
        heard(ledger, key)
    ledger.wait_for_head("c1", "a")
    ledger.event_done("a", "done")
    assert ledger.wait_for_head("c1", "b") == "b"
