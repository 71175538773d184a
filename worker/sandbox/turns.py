"""One at a time for equal work: who comes meanwhile waits in order, and not for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.domain.errors import Missing, Unavailable

TICK = 0.25  # seconds between looks at a cancellation
AGAIN = 5.0  # seconds after which to come back


@dataclass
class Turns:
    """Safe from any thread; `clock` gives growing seconds. A key's first is whose turn it is."""

    clock: Callable[[], float] = time.monotonic
    lines: dict[str, list[object]] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def entered(self, key: str, seconds: float, cancelled: Callable[[], bool]) -> Iterator[None]:
        """Alone with `key` until the block ends, after at most `seconds` of waiting.

        Raises `Unavailable` that names the place in the line, `Missing` (410) when cancelled."""
        me = object()
        with self.changed:
            self.lines.setdefault(key, []).append(me)
        try:
            self._await(key, me, self.clock() + seconds, cancelled)
            yield
        finally:
            with self.changed:
                line = self.lines[key]
                line.remove(me)
                if not line:
                    del self.lines[key]
                self.changed.notify_all()

    def _await(self, key: str, me: object, end: float, cancelled: Callable[[], bool]) -> None:
        with self.changed:
            line = self.lines[key]
            while line[0] is not me:
                if cancelled():
                    raise Missing("the set-up was stopped together with its run", 410)
                left = end - self.clock()
                if left <= 0:
                    raise Unavailable(
                        "another set-up makes this very environment; place "
                        f"{line.index(me)} of {len(line) - 1} in the queue",
                        AGAIN,
                    )
                self.changed.wait(min(TICK, left))
