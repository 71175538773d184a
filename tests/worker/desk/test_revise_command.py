"""`/agent revise`: where it counts, what waits for its turn, and whose turn it is."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import pytest
from redis import Redis

from app.domain.event import EventKind, Person
from app.domain.run import Publication, Run
from app.domain.state import Kind, State
from tests.worker.desk.made import office
from tests.worker.desk.test_events import Front, pull
from worker.desk.events import handle_event
from worker.desk.next_turn import FIRST_MS, NextTurn
from worker.store.caps import Caps
from worker.store.ledger import Ledger

NUMBERS = itertools.count(800)
PULL = 7


@pytest.fixture
def front(redis: Redis) -> Front:
    """A Change whose first run published pull request 7."""
    made = Front(Ledger(redis), office().hub)
    made.send("k1")
    finished(made, "run1", Publication("agent/issue-1-run1", "c" * 40, PULL, "u"))
    made.hub.pulls[PULL] = pull(PULL, "agent/issue-1-run1")
    return made


def finished(front: Front, run_id: str, publication: Publication | None = None) -> None:
    lease = front.ledger.claim(run_id, "desk", 60_000)
    assert lease is not None
    shown = publication or lease.run.publication
    ended = replace(lease.run, state=State.COMPLETE, explained=True, publication=shown)
    front.ledger.save(lease, ended, release=True)


def say(front: Front, text: str = "revise Mend it.", who: Person | None = None, **more: object):  # type: ignore[no-untyped-def]
    number = next(NUMBERS)
    told: dict[str, object] = {
        "kind": EventKind.COMMENT, "text": f"/agent {text}", "comment": number, "label": "",
        "sender": who or Person(1, "alice"), "pull": True, "issue": PULL,
    }  # fmt: skip
    key = str(more.pop("key", f"comment:{number}"))
    return front.send(key, **{**told, **more})


def revisions(front: Front) -> list[Run]:
    return [run for run in reversed(front.ledger.runs(20)) if run.kind is Kind.REVISE]


def test_it_opens_a_revision_of_the_change_and_shows_it_on_the_pull_request(front: Front) -> None:
    run_id = say(front)
    (run,) = revisions(front)
    assert run.id == run_id and run.change == "run1" and run.issue == 1 and run.place == PULL
    assert run.publication == Publication("agent/issue-1-run1", "", PULL, "")
    assert run.word == "revise" and front.hub.comment_reactions
    assert front.notes() == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"pull": False, "issue": 1}, "#7: say it there"),
        ({"issue": 8}, "none, so nothing was done"),
        ({"text": "revise"}, "say what should be changed"),
    ],
)
def test_elsewhere_it_is_explained(front: Front, more: dict[str, object], words: str) -> None:
    front.hub.pulls[8] = pull(8, "topic")
    assert say(front, **more) is None
    assert revisions(front) == []
    (note,) = front.notes()
    assert words in note
    assert front.ledger.changes_waiting() == []


def test_a_closed_pull_request_is_explained(front: Front) -> None:
    change = front.ledger.change("run1")
    assert change is not None
    front.ledger.close_change(change)
    assert say(front) is None
    assert "is closed" in front.notes()[0] and revisions(front) == []


def test_one_who_may_not_write_is_refused_and_nothing_of_it_waits(front: Front) -> None:
    say(front)
    assert say(front, who=Person(2, "bob")) is None
    assert front.ledger.waiting("run1") == [revisions(front)[0].event]


def test_during_a_run_comments_wait_once_in_order_and_are_told_in_one_comment(front: Front) -> None:
    say(front)
    keys = [f"comment:{one}" for one in (901, 902)]
    for key in (*keys, keys[0]):
        assert say(front, key=key) is None
    first = revisions(front)[0]
    assert front.ledger.waiting("run1") == [first.event, *keys]
    (note,) = front.notes()
    assert "2 comments wait" in note
    front.ledger.taken("run1", [first.event])
    finished(front, first.id)
    rung: list[str] = []
    turns = NextTurn(front.ledger, lambda event, _name: rung.append(event))
    turns("run1")
    assert rung == [keys[0]]
    assert front.send(keys[0]) is not None  # the same event once more, as the bell brings it
    assert len(revisions(front)) == 2
    assert handle_event(keys[0], front.desk) is None  # rung for twice
    assert len(front.notes()) == 1
    front.ledger.taken("run1", keys)
    finished(front, revisions(front)[1].id)
    assert front.ledger.changes_waiting() == []
    assert front.send(keys[1]) is None, "what a run took up starts nothing a second time"
    assert len(revisions(front)) == 2


def test_a_cap_refuses_it_and_nothing_waits_for_ever(front: Front) -> None:
    front.desk = replace(front.desk, caps=Caps(front.ledger.calls, {"issue": 0}))
    assert say(front) is None
    assert "which is the cap" in front.notes()[0]
    assert front.ledger.changes_waiting() == []


def test_retry_asks_for_the_same_revision_again(front: Front) -> None:
    say(front)
    first = revisions(front)[0]
    finished(front, first.id)
    assert say(front, "retry") is not None
    again = revisions(front)[1]
    assert (again.event, again.place, again.kind) == (first.event, PULL, Kind.REVISE)


def test_the_ledger_opens_no_revision_without_an_open_change(redis: Redis) -> None:
    front = Front(Ledger(redis), office().hub)
    front.send("k1")
    run = replace(
        front.ledger.run("run1") or revisions(front)[0], id="rev", kind=Kind.REVISE, issue=99
    )
    front.ledger.add_event(replace(front.ledger.event("k1"), key="k9"))  # type: ignore[type-var]
    assert front.ledger.open_run("k9", run).outcome == "gone"


@dataclass
class Waits:
    """A ledger of turns in memory; `active` runs and `closed` Changes by id."""

    rows: dict[str, list[str]]
    active: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    ms: int = 0

    def change(self, change_id: str):  # type: ignore[no-untyped-def]
        from app.domain.record import ChangeRow

        busy = "r" if change_id in self.active else ""
        return ChangeRow(change_id, 5, 1, "b", busy, ("r",), 7, change_id not in self.closed)

    def waiting(self, change: str) -> list[str]:
        return self.rows.get(change, [])

    def taken(self, change: str, event_keys: object) -> None:
        self.rows.pop(change)

    def changes_waiting(self) -> list[str]:
        return sorted(self.rows)

    def now(self) -> int:
        return self.ms


def test_a_ring_that_led_to_nothing_is_repeated_ever_more_rarely() -> None:
    ledger, rung = Waits({"c1": ["e1", "e2"]}), []
    turns = NextTurn(ledger, lambda event, _name: rung.append((ledger.ms, event)))
    for ledger.ms in range(0, 8 * FIRST_MS, 1_000):
        turns.sweep()
    assert [at // FIRST_MS for at, _ in rung] == [0, 1, 3, 7]
    ledger.rows["c1"].pop(0)
    turns.sweep()
    assert rung[-1][1] == "e2"


def test_nobody_rings_while_a_run_is_at_work_and_a_closed_change_is_done_with() -> None:
    ledger, rung = Waits({"c1": ["e1"], "c2": ["e2"]}, active={"c1"}, closed={"c2"}), []
    NextTurn(ledger, lambda event, _name: rung.append(event)).sweep()
    assert rung == [] and ledger.rows == {"c1": ["e1"]}
