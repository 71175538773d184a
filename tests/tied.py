"""Children that end with us, also when nobody could clean up any more (kill -9)."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)  # loaded before any fork


def tied() -> Callable[[], None] | None:
    """For `Popen(preexec_fn=...)`: SIGTERM for the child when this process dies.

    The kernel means the thread that forked, so a thread that may end earlier ties nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return None
    return _tie


def _tie() -> None:
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
