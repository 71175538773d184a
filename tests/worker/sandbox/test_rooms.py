"""Bookkeeping of what runs: boxes by run, boxes that were forgotten."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from typing import cast

import pytest

from app.domain.errors import Missing
from worker.sandbox.admission import Ask, Kind
from worker.sandbox.cell import KeptBox, Maker
from worker.sandbox.image import Images
from worker.sandbox.service import Ceilings, Live, Rooms


@dataclass
class Box:
    """The outside of a kept box."""

    run_id: str
    tenant: str = "7"
    born: float = 0.0
    used: float = 0.0
    busy: threading.Lock = field(default_factory=threading.Lock)
    closed: int = 0

    def close(self) -> None:
        self.closed += 1


def added(live: Live, box: Box) -> str:
    name = secrets.token_hex(4)
    live.add(name, cast(KeptBox, box))
    return name


def test_a_box_is_found_by_its_own_run_only_and_dropped_once() -> None:
    live, box = Live(), Box("a")
    name = added(live, box)
    assert live.box(name, "a", "7") is cast(KeptBox, box)
    for other in ((name, "b", "7"), ("x", "a", "7"), (name, "a", "8"), (name, "a", "")):
        with pytest.raises(Missing):
            live.box(*other)
    assert (live.drop(name), live.drop(name), box.closed) == (True, False, 1)


def test_stopping_touches_one_run_or_all() -> None:
    live = Live()
    mine, other = added(live, Box("a")), added(live, Box("b"))
    with (
        live.check("a", "7") as first,
        live.check("a", "7") as second,
        live.check("b", "7") as third,
    ):
        assert live.stop(("a", "8")) == (0, [])
        assert live.stop(("a", "7")) == (2, [mine])
        assert (first.is_set(), second.is_set(), third.is_set()) == (True, True, False)
        assert live.stop(None) == (3, [mine, other])
    assert live.checks == {}


class Hasty(Live):
    """Each box is closed the moment that it can be found, as by a run that is stopped just now."""

    def __init__(self, rooms: Rooms) -> None:
        super().__init__()
        self.rooms = rooms

    def add(self, name: str, box: KeptBox) -> None:
        super().add(name, box)
        self.rooms._close(name)


def test_a_box_that_is_stopped_while_it_opens_gives_its_place_back() -> None:
    rooms = Rooms(cast(Maker, None), cast(Images, None), Ceilings(boxes=1))
    rooms.live = Hasty(rooms)
    box = Box("a")
    for _ in range(2):
        wish = Ask(Kind.BOX, "a", "7", 1)
        rooms.admission.enter(wish, 0, lambda: False)
        name = rooms._keep(cast(KeptBox, box), wish)
        rooms._close(name)  # its own request sees it, too
    assert (box.closed, rooms.held, rooms.admission.inside) == (2, {}, [])
    rooms.pool.shutdown()


def test_boxes_that_nobody_uses_are_stale() -> None:
    live = Live()
    idle, old, fresh, busy = (
        added(live, Box("a", born=90, used=90)),
        added(live, Box("a", born=10, used=199)),
        added(live, Box("a", born=90, used=199)),
        added(live, held := Box("a")),
    )
    with held.busy:
        assert live.stale(200, idle=100, life=150) == [idle, old]
    assert live.stale(200, idle=100, life=150) == [idle, old, busy]
    assert fresh in live.boxes
