"""Who goes in when: places, memory, runs, installations, and a queue that keeps its order."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import pytest

from app.domain.errors import Missing, Refused, Unavailable
from tests.patience import PATIENCE, until
from worker.sandbox.admission import KEPT_SECONDS, Admission, Ask, Kind, Room
from worker.sandbox.service import Ceilings
from worker.sandbox.services import MEMORY, WAITER, Wanted, weight

GIB = 1 << 30
ROOM = Room(checks=2, boxes=2, memory=8 * GIB, per_run=2, per_tenant=2, waiting=4)


def check(run: str, tenant: str = "", memory: int = GIB) -> Ask:
    return Ask(Kind.CHECK, run, tenant, memory)


def box(run: str, memory: int = GIB) -> Ask:
    return Ask(Kind.BOX, run, "", memory)


def builder(run: str, memory: int = GIB) -> Ask:
    return Ask(Kind.SETUP, run, "", memory)


def never() -> bool:
    return False


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Waiting:
    """A wish in a thread of its own."""

    admission: Admission
    ask: Ask
    stop: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        before = self.admission.counts()["waiting"]
        self.thread = threading.Thread(target=self._go)
        self.thread.start()
        until(lambda: self.done.is_set() or self.admission.counts()["waiting"] > before)

    def _go(self) -> None:
        try:
            self.admission.enter(self.ask, 10 * PATIENCE, self.stop.is_set)
            self.done.set()
        except Missing:
            pass

    def end(self) -> None:
        self.stop.set()
        self.thread.join(PATIENCE)


def refused(admission: Admission, ask: Ask) -> str:
    with pytest.raises(Unavailable) as caught:
        admission.enter(ask, 0, never)
    assert caught.value.retry_after
    return str(caught.value)


def test_places_are_counted_by_kind() -> None:
    admission = Admission(ROOM)
    for ask in (check("a"), check("b"), box("a"), box("b")):
        admission.enter(ask, 0, never)
    assert "all 2 places for checks of the sandbox are in use; place 1 of 1" in refused(
        admission, check("c")
    )
    assert "place 2 of 2 in the queue" in refused(admission, check("d"))
    assert "all 2 kept boxes" in refused(admission, box("c"))
    admission.leave(check("a"))
    admission.enter(check("c"), 0, never)


def test_memory_is_for_all_and_boxes_get_half() -> None:
    admission = Admission(replace(ROOM, boxes=9))
    admission.enter(check("a", memory=6 * GIB), 0, never)
    assert "memory for places for checks is in use" in refused(
        admission, check("b", memory=3 * GIB)
    )
    admission.enter(check("c", memory=2 * GIB), 0, never)
    roomy = Admission(replace(ROOM, boxes=9, per_run=9))
    roomy.enter(box("a", 6 * GIB), 0, never)  # a single one is never too much
    assert "memory for kept boxes" in refused(roomy, box("a", GIB))
    roomy.enter(check("a", memory=2 * GIB), 0, never)


def test_a_run_and_an_installation_have_their_share_and_block_nobody() -> None:
    admission = Admission(replace(ROOM, checks=9, per_run=1, per_tenant=2))
    admission.enter(check("a", "t"), 0, never)
    assert "this run or this installation holds as many" in refused(admission, check("a", "t"))
    admission.enter(check("b", "t"), 0, never)
    assert "this run or this installation" in refused(admission, check("c", "t"))
    admission.enter(check("c", "other"), 0, never)
    admission.enter(check("d"), 0, never)


def test_who_waits_longer_goes_in_first_and_nobody_smaller_slips_past() -> None:
    admission = Admission(replace(ROOM, checks=9))
    admission.enter(check("a", memory=7 * GIB), 0, never)
    big = Waiting(admission, check("big", memory=4 * GIB))
    small = Waiting(admission, check("small", memory=GIB))
    assert not small.done.wait(0.4)
    admission.leave(check("a", memory=7 * GIB))
    for one in (big, small):
        assert one.done.wait(PATIENCE)
        one.end()


def test_an_installation_that_holds_less_comes_first() -> None:
    admission = Admission(replace(ROOM, checks=2, per_run=9, per_tenant=9))
    admission.enter(check("a", "many"), 0, never)
    admission.enter(check("b", "many"), 0, never)
    again = Waiting(admission, check("c", "many"))
    other = Waiting(admission, check("x", "few"))
    admission.leave(check("a", "many"))
    assert other.done.wait(PATIENCE)
    assert not again.done.is_set()
    admission.leave(check("b", "many"))
    assert again.done.wait(PATIENCE)
    for one in (again, other):
        one.end()


def test_a_place_is_kept_for_who_gave_up_for_a_while() -> None:
    clock = Clock()
    admission = Admission(replace(ROOM, checks=1), clock)
    admission.enter(check("a"), 0, never)
    assert "place 1 of 1" in refused(admission, check("first"))
    assert "place 2 of 2" in refused(admission, check("second"))
    assert "place 1 of 2" in refused(admission, check("first"))
    admission.leave(check("a"))
    admission.enter(check("second"), 0, never)  # who is away holds nobody up
    clock.now += KEPT_SECONDS + 1
    assert "place 1 of 1" in refused(admission, check("third"))


def test_a_cancelled_wish_leaves_no_place_behind() -> None:
    admission = Admission(replace(ROOM, checks=1))
    admission.enter(check("a"), 0, never)
    with pytest.raises(Missing):
        admission.enter(check("b"), 9, lambda: True)
    assert admission.counts() == {"inside": 1, "waiting": 0, "checks": 1}


def test_too_long_a_queue_is_refused_at_once() -> None:
    admission = Admission(replace(ROOM, checks=1, waiting=1))
    admission.enter(check("a"), 0, never)
    admission.crowded()
    one = Waiting(admission, check("b"))
    with pytest.raises(Unavailable, match="too many"):
        admission.crowded()
    one.end()
    admission.crowded()


def test_leaving_is_not_forgotten_when_the_block_fails() -> None:
    admission = Admission(replace(ROOM, checks=1))
    with pytest.raises(ZeroDivisionError), admission.entered(check("a"), 0, never):
        raise ZeroDivisionError
    with admission.entered(check("b"), 0, never) as keep:
        keep()
    assert admission.inside == [check("b")]


def test_a_builder_counts_in_memory_and_waits_with_its_place() -> None:
    admission = Admission(ROOM)
    admission.enter(check("a", memory=6 * GIB), 0, never)
    with pytest.raises(Unavailable, match="memory for places for set-ups is in use; place 1 of 1"):
        admission.enter(builder("b", 4 * GIB), 0, never)
    admission.leave(check("a", memory=6 * GIB))
    admission.enter(builder("b", 4 * GIB), 0, never)
    admission.enter(builder("c", 4 * GIB), 0, never)
    with pytest.raises(Unavailable, match="all 2 places for set-ups of the sandbox are in use"):
        admission.enter(builder("d"), 0, never)
    with pytest.raises(Unavailable, match="memory for places for checks is in use"):
        admission.enter(check("e"), 0, never)


def test_set_ups_that_wait_crowd_no_check_out() -> None:
    admission = Admission(replace(ROOM, setups=0, waiting=1))
    waiting = Waiting(admission, builder("a"))
    admission.crowded()
    waiting.stop.set()
    waiting.thread.join()


def test_a_builder_fits_beside_the_boxes_of_a_small_machine() -> None:
    for total in (3 * GIB, 6 * GIB, 12 * GIB, 0):
        limits = Ceilings(total=total)
        wanted = limits.builder(4 * GIB)
        assert 0 < wanted <= 4 * GIB
        assert not total or wanted + limits.box_largest <= total


def test_services_take_their_memory_from_what_there_is() -> None:
    wanted = Wanted("db", "sha256:1", 1, {}, (), 1)
    two = weight([wanted, wanted])
    assert weight([]) == 0
    assert two == 2 * MEMORY + WAITER
    small, open_end = Ceilings(total=3 * GIB), Ceilings()
    assert small.beside(2 * GIB, 0) == open_end.beside(2 * GIB, two) == 2 * GIB
    assert small.beside(2 * GIB, two) == 3 * GIB - two
    with pytest.raises(Refused, match=r"take 2112 MiB .* may have 2200: .*SANDBOX_TOTAL_MIB"):
        Ceilings(total=2200 << 20).beside(GIB, two)
