"""How much memory a process used at most: its own, not what it was forked from.

`ru_maxrss` is no measure of that: it outlives `exec`, so a small program that a large one starts
begins with the large one's peak. `VmHWM` belongs to the program's own address space.
"""

from __future__ import annotations

import re

_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


def peak_mib(status: str) -> float:
    """MiB at the highest, from the text of `/proc/self/status`. Raises `ValueError`."""
    found = _PEAK.search(status)
    if found is None:
        raise ValueError("/proc/self/status has no line VmHWM: the peak cannot be measured here")
    return int(found[1]) / 1024
