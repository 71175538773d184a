"""What every `ports.Hold` promises, on the fake and on the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from redis import Redis

from app.domain.errors import Fenced, Halt, Missing, Reason, Refused
from app.domain.ports.hold import Hold
from app.domain.record import BLOB_CAP, Kept
from tests.fakes.hold import FakeHold
from tests.worker.store.samples import opened
from worker.store.ledger import Ledger


@dataclass
class Case:
    """A hold, with the outside's ways to end it."""

    hold: Hold
    lose: Callable[[], None]
    cancel: Callable[[], None]
    spent: Callable[[], int]


@pytest.fixture(params=["fake", "ledger"])
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    if request.param == "fake":
        fake = FakeHold(daily=1_000)
        yield Case(
            fake,
            lambda: setattr(fake, "lost", True),
            lambda: setattr(fake, "cancelled", True),
            lambda: fake.spent + fake.reserved,
        )
        return
    redis: Redis = request.getfixturevalue("redis")
    ledger = Ledger(redis)
    run_id = opened(ledger)
    lease = ledger.claim(run_id, "first", 60_000)
    assert lease is not None
    hold = ledger.hold(lease, daily=1_000)

    def lose() -> None:
        redis.hset(f"pw:run:{run_id}", "lease", 1)
        assert ledger.claim(run_id, "second", 60_000)
        hold.heart.beat()

    def cancel() -> None:
        assert ledger.cancel(run_id)
        hold.heart.beat()

    yield Case(hold, lose, cancel, ledger.spent_today)


def test_a_held_run_looks_without_complaint(case: Case) -> None:
    case.hold.look()


def test_a_cancelled_run_ends_at_its_next_look(case: Case) -> None:
    case.cancel()
    with pytest.raises(Halt) as halt:
        case.hold.look()
    assert halt.value.record.reason is Reason.CANCELLED


@pytest.mark.parametrize(
    "act",
    [
        lambda hold: hold.look(),
        lambda hold: hold.note(Kept.NOTE, {}),
        lambda hold: hold.put(b"late"),
        lambda hold: hold.remember("m", {}),
        lambda hold: hold.reserve(1),
        lambda hold: hold.settle(1),
        lambda hold: hold.paid(1, {}),
        lambda hold: hold.intend("ref", {}),
        lambda hold: hold.fulfil("ref", {}),
    ],
    ids=["look", "note", "put", "remember", "reserve", "settle", "paid", "intend", "fulfil"],
)
def test_an_outdated_worker_can_do_nothing(case: Case, act: Callable[[Hold], object]) -> None:
    case.lose()
    with pytest.raises(Fenced):
        act(case.hold)
    assert case.hold.entries() == []
    assert case.hold.intent("ref") is None
    assert case.spent() == 0


def test_the_journal_keeps_order_kind_and_json(case: Case) -> None:
    first = case.hold.note(Kept.MODEL, {"text": "häß\u2028 😊", "n": [1, 2.5, None], "t": ("a",)})
    second = case.hold.note(Kept.TOOL, {"ok": True})
    assert case.hold.entries() == [first, second]
    assert first.data == {"text": "häß\u2028 😊", "n": [1, 2.5, None], "t": ["a"]}
    assert (first.kind, second.kind) == (Kept.MODEL, Kept.TOOL)
    assert 0 < first.ms <= second.ms
    assert first.id != second.id


def test_bytes_are_kept_under_their_digest(case: Case) -> None:
    digest = case.hold.put(b"\x00\xff\r\n")
    assert digest == case.hold.put(b"\x00\xff\r\n")
    assert case.hold.get(digest) == b"\x00\xff\r\n"
    assert case.hold.get(case.hold.put(b"")) == b""


def test_unknown_bytes_are_missing(case: Case) -> None:
    with pytest.raises(Missing):
        case.hold.get("0" * 64)


def test_a_measurement_is_there_for_other_runs_until_it_is_replaced(case: Case) -> None:
    assert case.hold.recall("baseline:1") is None
    case.hold.remember("baseline:1", {"a": (1,)})
    case.hold.remember("baseline:1", {"a": ("ä", 2)})
    assert case.hold.recall("baseline:1") == {"a": ["ä", 2]}
    assert case.hold.recall("baseline:2") is None


def test_bytes_over_the_cap_are_refused_whole(case: Case) -> None:
    assert case.hold.put(b"x" * BLOB_CAP)
    with pytest.raises(Refused):
        case.hold.put(b"x" * (BLOB_CAP + 1))


def test_a_settled_call_costs_what_it_cost(case: Case) -> None:
    case.hold.reserve(600)
    assert case.spent() == 600
    case.hold.settle(100)
    assert case.spent() == 100
    case.hold.reserve(900)
    case.hold.settle(0)
    assert case.spent() == 100


def test_a_paid_call_is_journalled_and_settled_in_one(case: Case) -> None:
    case.hold.reserve(600)
    entry = case.hold.paid(100, {"dollars": 100})
    assert (entry.kind, entry.data) == (Kept.MODEL, {"dollars": 100})
    assert case.hold.entries() == [entry]
    assert case.spent() == 100


def test_the_days_cap_stops_the_next_call(case: Case) -> None:
    case.hold.reserve(600)
    case.hold.settle(600)
    with pytest.raises(Halt) as halt:
        case.hold.reserve(401)
    assert halt.value.record.reason is Reason.DAILY_CAP
    case.hold.reserve(400)


def test_a_call_that_nobody_settled_is_charged_in_full(case: Case) -> None:
    case.hold.reserve(600)
    with pytest.raises(Halt):
        case.hold.reserve(401)
    assert case.spent() == 600


def test_an_intent_is_recorded_then_done(case: Case) -> None:
    assert case.hold.intent("ref") is None
    case.hold.intend("ref", {"branch": "agent/x", "tree": "t"})
    assert case.hold.intent("ref") == {"done": False, "branch": "agent/x", "tree": "t"}
    case.hold.fulfil("ref", {"commit": "c"})
    done = {"done": True, "branch": "agent/x", "tree": "t", "commit": "c"}
    assert case.hold.intent("ref") == done
    case.hold.intend("ref", {"branch": "other"})
    assert case.hold.intent("ref") == done


def test_a_write_may_be_recorded_as_done_at_once(case: Case) -> None:
    case.hold.fulfil("label", {"n": 1})
    assert case.hold.intent("label") == {"done": True, "n": 1}
