"""Waits until a condition holds; when it does not come, the error tells what was waited for."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable

PATIENCE = 120.0  # seconds: a machine that is busy with other tests is slow, not wrong
PAUSE = 0.02


def until(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Return once `holds()` is true; `AssertionError` when it is not within `seconds`."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, f"not within {seconds:g} seconds: {_told(holds)}"
        time.sleep(PAUSE)


def _told(holds: Callable[[], object]) -> str:
    """The condition's name, or for a lambda the lines that it stands in."""
    name = getattr(holds, "__qualname__", repr(holds))
    if not name.endswith("<lambda>"):
        return str(name)
    try:
        return " ".join(inspect.getsource(holds).split())
    except OSError:
        return str(name)
