"""Containers started ahead: each used once, dead and old ones replaced, unwanted ones given up."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import cast

import pytest

from app.domain.errors import Unavailable
from tests.patience import PATIENCE, until
from worker.sandbox.container import Container
from worker.sandbox.pool import LIFE_SECONDS, PAUSE_SECONDS, WANTED_SECONDS, Pool


@dataclass
class Made:
    """The outside of a waiting container."""

    image: str
    alive: bool = True
    removed: int = 0

    def waiting(self) -> bool:
        return self.alive

    def remove(self) -> None:
        self.removed += 1


@dataclass
class World:
    now: float = 0.0
    made: list[Made] = field(default_factory=list)
    broken: bool = False

    def make(self, image: str, memory: int) -> Container:
        if self.broken:
            raise Unavailable("the engine is away")
        self.made.append(Made(image))
        return cast(Container, self.made[-1])

    def pool(self, size: int = 2) -> Pool:
        return Pool(self.make, size, lambda: self.now)


def test_nothing_is_made_before_it_is_wanted_or_when_it_is_off() -> None:
    world = World()
    pool, off = world.pool(), world.pool(size=0)
    assert pool.take("a", 1) is None
    off.want("a", 1)
    off.tend()
    off.close()
    pool.close()
    assert world.made == []


def test_each_is_handed_out_once_and_replaced() -> None:
    world = World()
    pool = world.pool()
    pool.want("a", 1)
    until(lambda: pool.count() == 2)
    first, second = pool.take("a", 1), pool.take("a", 1)
    assert first is not None
    assert second is not None
    assert first is not second
    assert pool.take("a", 2) is None  # another memory is another container
    assert pool.take("b", 1) is None
    until(lambda: pool.count() == 2)
    pool.close()
    assert [one.removed for one in world.made] == [0, 0, 1, 1]


class Noted(threading.Event):
    """Notes for how long it is waited for, and waits until it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.asked.append(timeout or 0.0)
        return super().wait(PATIENCE if timeout else 0.0)


def test_one_that_was_taken_is_replaced_when_its_taker_is_done() -> None:
    world, hurry = World(), Noted()
    pool = Pool(world.make, 1, lambda: world.now, hurry=hurry)
    pool.want("a", 1)
    until(lambda: pool.count() == 1)
    assert pool.take("a", 1) is not None
    until(lambda: len(hurry.asked) == 2)
    assert hurry.asked == [0.0, PAUSE_SECONDS]
    assert len(world.made) == 1  # its making would take the machine from the check
    pool.want("a", 1)  # as after each check
    until(lambda: pool.count() == 1)
    assert pool.take("a", 1) is not None
    began = time.monotonic()
    pool.close()  # waits for no pause
    assert time.monotonic() - began < PATIENCE / 2


def test_a_dead_one_is_never_handed_out() -> None:
    world = World()
    pool = world.pool(size=1)
    pool.want("a", 1)
    until(lambda: pool.count() == 1)
    world.made[0].alive = False
    assert pool.take("a", 1) is None
    assert world.made[0].removed == 1
    pool.close()


def test_old_dead_and_unwanted_ones_go() -> None:
    world = World()
    pool = world.pool(size=1)
    pool.want("a", 1)
    until(lambda: pool.count() == 1)
    world.now += LIFE_SECONDS + 1
    pool.tend()
    until(lambda: len(world.made) == 2 and pool.count() == 1)
    assert world.made[0].removed == 1
    for image in ("b", "c"):
        world.now += 1
        pool.want(image, 1)
    until(lambda: pool.count() == 3)
    pool.tend()  # the two images that were asked for last are kept warm
    kept = sorted((one.image, one.removed) for one in world.made[1:])
    assert kept == [("a", 1), ("b", 0), ("c", 0)]
    world.now += WANTED_SECONDS + 1
    pool.tend()
    assert pool.count() == 0
    pool.close()


def test_an_engine_that_is_away_is_no_error_of_the_pool() -> None:
    world = World(broken=True)
    pool = world.pool(size=1)
    pool.want("a", 1)
    assert pool.take("a", 1) is None
    world.broken = False
    pool.tend()
    until(lambda: pool.count() == 1)
    pool.close()
    pool.want("a", 1)  # after the end nothing starts any more
    assert pool.count() == 0


@pytest.mark.parametrize("size", [1, 3])
def test_no_more_are_made_than_asked_for(size: int) -> None:
    world = World()
    pool = world.pool(size)
    for _ in range(5):
        pool.want("a", 1)
    until(lambda: pool.count() == size)
    pool.close()
    assert len(world.made) == size
