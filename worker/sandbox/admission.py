"""Who may start a container now: by the machine's memory and cores, per run and per installation.

Who may not waits in a queue, in the order of arrival, but an installation that holds less comes
first; a caller that gave up keeps its place for a while, so that coming back costs nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from app.domain.errors import Missing, Unavailable

TICK = 0.25  # seconds between looks at a cancellation
KEPT_SECONDS = 300.0  # for which a place is kept for a caller that gave up
AGAIN = 5.0  # seconds after which to come back


class Kind(StrEnum):
    """A certifying check's container, a box that is kept for a run, or a set-up's builder."""

    CHECK = "check"
    BOX = "box"
    SETUP = "setup"


WORDS = {
    Kind.CHECK: "places for checks",
    Kind.BOX: "kept boxes",
    Kind.SETUP: "places for set-ups",
}


@dataclass(frozen=True)
class Room:
    """What there is: `checks`, `boxes` and `setups` at once, `memory` in bytes for all together
    (boxes get half), how many of each kind one run and one installation may hold, and how many
    checks and boxes may wait."""

    checks: int
    boxes: int
    memory: int
    per_run: int
    per_tenant: int
    waiting: int = 64
    setups: int = 2

    def places(self, kind: Kind) -> int:
        return {Kind.CHECK: self.checks, Kind.BOX: self.boxes, Kind.SETUP: self.setups}[kind]


@dataclass(frozen=True)
class Ask:
    """One wish. `tenant` names the installation, "" where the caller did not say."""

    kind: Kind
    run: str
    tenant: str
    memory: int


@dataclass
class Waiter:
    """A place in the queue; `left` is when its caller gave up, None while it waits."""

    ask: Ask
    left: float | None = None


@dataclass
class Admission:
    """Safe from any thread; `clock` gives growing seconds."""

    room: Room
    clock: Callable[[], float] = time.monotonic
    inside: list[Ask] = field(default_factory=list)
    queue: list[Waiter] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def entered(
        self, ask: Ask, seconds: float, cancelled: Callable[[], bool]
    ) -> Iterator[Callable[[], None]]:
        """Held until the block ends, or longer when the block calls what it is given.

        Raises what `enter` raises."""
        self.enter(ask, seconds, cancelled)
        keep = threading.Event()
        try:
            yield keep.set
        finally:
            if not keep.is_set():
                self.leave(ask)

    def enter(self, ask: Ask, seconds: float, cancelled: Callable[[], bool]) -> None:
        """Wait for a place, at most `seconds`; undone by `leave` with the same wish.

        Raises `Unavailable` that names the place in the queue, `Missing` (410) when cancelled."""
        end = self.clock() + seconds
        with self.changed:
            me = self._place(ask)
            while not self._turn(me):
                left = end - self.clock()
                if left <= 0 or cancelled():
                    me.left = self.clock()
                    self.changed.notify_all()
                    if left <= 0:
                        raise Unavailable(self._why(me), AGAIN)
                    self.queue.remove(me)
                    raise Missing("the check was stopped together with its run", 410)
                self.changed.wait(min(TICK, left))
            self.queue.remove(me)
            self.inside.append(ask)
            self.changed.notify_all()

    def leave(self, ask: Ask) -> None:
        with self.changed:
            self.inside.remove(ask)
            self.changed.notify_all()

    def crowded(self) -> None:
        """Raises `Unavailable` where one more would wait for nothing but its turn to wait."""
        with self.changed:
            waiting = [one for one in self.queue if one.ask.kind is not Kind.SETUP]
            if sum(one.left is None for one in waiting) >= self.room.waiting:
                raise Unavailable("too many checks wait for the sandbox already", AGAIN)

    def counts(self) -> dict[str, int]:
        """How many are inside and how many wait."""
        with self.changed:
            waiting = sum(one.left is None for one in self.queue)
            return {"inside": len(self.inside), "waiting": waiting, "checks": self.room.checks}

    def _place(self, ask: Ask) -> Waiter:
        """The place that was kept for this wish, else one at the end."""
        now = self.clock()
        self.queue = [
            one for one in self.queue if one.left is None or now - one.left < KEPT_SECONDS
        ]
        for one in self.queue:
            if one.left is not None and one.ask == ask:
                one.left = None
                return one
        self.queue.append(Waiter(ask))
        return self.queue[-1]

    def _turn(self, me: Waiter) -> bool:
        """Whether `me` is first of those who may go in, and fits: the installation that holds the
        fewest comes first, then who came first. Nobody smaller slips past."""
        first = min(
            (
                (self._held(one.ask), number)
                for number, one in enumerate(self.queue)
                if one.ask.kind is me.ask.kind and one.left is None and self._allowed(one.ask)
            ),
            default=None,
        )
        return first is not None and self.queue[first[1]] is me and self._fits(me.ask)

    def _held(self, ask: Ask) -> int:
        return sum(one.kind is ask.kind and one.tenant == ask.tenant for one in self.inside)

    def _allowed(self, ask: Ask) -> bool:
        """Whether a run and an installation may hold one more of this kind."""
        alike = [one for one in self.inside if one.kind is ask.kind]
        mine = sum(one.run == ask.run for one in alike)
        tenants = sum(one.tenant == ask.tenant for one in alike if ask.tenant)
        return mine < self.room.per_run and tenants < self.room.per_tenant

    def _fits(self, ask: Ask) -> bool:
        alike = [one for one in self.inside if one.kind is ask.kind]
        if len(alike) >= self.room.places(ask.kind):
            return False
        if sum(one.memory for one in self.inside) + ask.memory > self.room.memory:
            return False
        boxed = sum(one.memory for one in alike) + ask.memory
        return ask.kind is not Kind.BOX or not alike or boxed <= self.room.memory // 2

    def _why(self, me: Waiter) -> str:
        alike = [one for one in self.queue if one.ask.kind is me.ask.kind]
        place = next(number for number, one in enumerate(alike, 1) if one is me)
        what = WORDS[me.ask.kind]
        if not self._allowed(me.ask):
            why = f"this run or this installation holds as many {what} as it may"
        elif sum(one.kind is me.ask.kind for one in self.inside) >= self.room.places(me.ask.kind):
            why = f"all {self.room.places(me.ask.kind)} {what} of the sandbox are in use"
        else:
            why = f"the memory for {what} is in use"
        return f"{why}; place {place} of {len(alike)} in the queue"
