"""How much slower this machine is just now, for promises that are made in seconds.

"Within ten seconds" is a promise about a machine of one's own. Where other work shares the
processors, the same steps take as many times longer as there are others; a fixed limit would then
measure the neighbours. On a quiet machine the factor is one and the promise is held as it stands.
"""

from __future__ import annotations

import os
import time

SAMPLE_S = 0.05  # of one processor's time
MOST = 8.0  # a wait that is longer than this many times is no wait any more


def crowding() -> float:
    """At least 1, at most `MOST`: the load of the last minute for each processor, or how much
    longer than its own processor time a short loop takes now, whichever is more."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    began, ran = time.monotonic(), time.process_time()
    while time.process_time() - ran < SAMPLE_S:
        pass
    now = (time.monotonic() - began) / (time.process_time() - ran)
    return min(MOST, max(1.0, load, now))


def in_time(took: float, seconds: float) -> bool:
    """Whether `took` (seconds by the clock) keeps a promise of `seconds` on this machine now."""
    return took < seconds or took < seconds * crowding()
