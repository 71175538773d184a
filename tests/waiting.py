"""Waits until something is so: what holds at last costs nothing, what never does fails loudly."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0  # seconds: a machine with much else to do may take most of them


def until(holds: Callable[[], object], seconds: float = PATIENCE, pause: float = 0.02) -> None:
    """Return when `holds()` is true; look again each `pause` seconds. Raises `AssertionError`."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"it did not come to be in {seconds:.0f} s"
        time.sleep(pause)
