"""A hold whose worker dies at a chosen record of an external write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.hold import FakeHold


class Killed(BaseException):
    """The worker is gone; nothing may catch this."""


@dataclass
class Mortal(FakeHold):
    """Dies before (or `after`) its `left`-th `intend` or `fulfil`, then lives on."""

    left: int = -1
    after: bool = False

    def intend(self, key: str, data: Mapping[str, Any]) -> None:
        self._record(lambda: FakeHold.intend(self, key, data))

    def fulfil(self, key: str, data: Mapping[str, Any]) -> None:
        self._record(lambda: FakeHold.fulfil(self, key, data))

    def _record(self, write: Callable[[], None]) -> None:
        self.left -= 1
        if self.left == 0 and not self.after:
            raise Killed
        write()
        if self.left == 0:
            raise Killed
