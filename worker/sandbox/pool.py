"""Containers started ahead: each waits, unused, for one tree, serves one check or run, and goes.

A container from here is as fresh as one made on demand: nothing has run in it but PID 1, which has
read nothing yet. What is saved is the engine's time to make it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from app.domain.errors import Fault
from worker.sandbox.container import Container

LIFE_SECONDS = 900.0  # after which an unused container is replaced
WANTED_SECONDS = 1800.0  # for which an image that nobody asks for is kept warm
KEYS_MOST = 2  # images at once
PAUSE_SECONDS = 0.3  # before one that was taken is replaced: making it would slow its taker down

Key = tuple[str, int]  # image id, bytes of memory
log = logging.getLogger(__name__)


@dataclass
class Ready:
    """A container that waits, and since when."""

    container: Container
    born: float


@dataclass
class Pool:
    """`make` gives a started container for a key. `size` containers a key; 0 switches it off."""

    make: Callable[[str, int], Container]
    size: int
    clock: Callable[[], float] = time.monotonic
    ready: dict[Key, list[Ready]] = field(default_factory=dict)
    wanted: dict[Key, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    hurry: threading.Event = field(default_factory=threading.Event)  # its taker is done
    closed: bool = False

    def __post_init__(self) -> None:
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="pool")

    def want(self, image: str, memory: int) -> None:
        """Keep this kind warm from now on; returns at once."""
        if self.size:
            with self.lock:
                self.wanted[image, memory] = self.clock()
            self.hurry.set()
            self._refill()

    def take(self, image: str, memory: int) -> Container | None:
        """An unused container, None where none is ready; another one is made behind it, a moment
        later or when `want` tells that the taker is done, whichever comes first."""
        while True:
            with self.lock:
                waiting = self.ready.get((image, memory))
                if not waiting:
                    return None
                found = waiting.pop(0)
            if found.container.waiting():
                self._refill(PAUSE_SECONDS)
                return found.container
            found.container.remove()

    def tend(self) -> None:
        """Replace what is old or dead, and give up what nobody wants; for a regular call."""
        now = self.clock()
        with self.lock:
            recent = sorted(self.wanted, key=lambda key: self.wanted[key])[-KEYS_MOST:]
            self.wanted = {
                key: since
                for key, since in self.wanted.items()
                if key in recent and now - since < WANTED_SECONDS
            }
            gone: list[Container] = []
            for key, waiting in self.ready.items():
                kept = [
                    one
                    for one in waiting
                    if key in self.wanted
                    and now - one.born < LIFE_SECONDS
                    and one.container.waiting()
                ]
                gone += [one.container for one in waiting if one not in kept]
                self.ready[key] = kept
        for container in gone:
            container.remove()
        self._refill()

    def count(self) -> int:
        with self.lock:
            return sum(map(len, self.ready.values()))

    def close(self) -> None:
        """Remove every container that waits."""
        with self.lock:
            self.closed = True
        self.hurry.set()
        self._maker.shutdown(wait=True, cancel_futures=True)
        with self.lock:
            waiting = [one.container for kept in self.ready.values() for one in kept]
            self.ready.clear()
        for container in waiting:
            container.remove()

    def _refill(self, pause: float = 0.0) -> None:
        with self.lock:
            if not self.closed:
                if pause:
                    self.hurry.clear()
                self._maker.submit(self._fill, pause)

    def _fill(self, pause: float) -> None:
        """Make what is missing, one after another, newest wish first."""
        self.hurry.wait(pause)
        while (key := self._missing()) is not None:
            try:
                container = self.make(*key)
            except Fault as fault:
                log.warning("no container could be made ahead: %s", fault)
                return
            with self.lock:
                self.ready.setdefault(key, []).append(Ready(container, self.clock()))

    def _missing(self) -> Key | None:
        with self.lock:
            if self.closed:
                return None
            for key in sorted(self.wanted, key=lambda key: -self.wanted[key])[:KEYS_MOST]:
                if len(self.ready.get(key, ())) < self.size:
                    return key
        return None
