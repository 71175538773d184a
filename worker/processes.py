"""Children of a role: forked with everything imported, restarted when they end, dead with us."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.domain.errors import Stop

PR_SET_PDEATHSIG = 1
GRACE = 20.0
log = logging.getLogger(__name__)


def die_with_parent(sent: signal.Signals, parent: int) -> None:
    """Have the kernel send us `sent` when `parent` dies; exit at once if it is dead already.

    The signal follows the thread that forked, so fork only from a main thread.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, sent, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        os._exit(1)


@dataclass
class Child:
    """A running child: what it does, and when it began (monotonic seconds)."""

    name: str
    body: Callable[[], None]
    began: float


def supervise(bodies: Mapping[str, Callable[[], None]]) -> None:
    """Keep one child for each body alive until SIGTERM or SIGINT; then end them and return.

    A child that ends is started again, after a pause when it lived for less than five seconds.
    """
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _frame: stopping.append(got))
    children = {
        _start(name, body): Child(name, body, time.monotonic()) for name, body in bodies.items()
    }
    while not stopping:
        pid, _status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            time.sleep(0.1)
            continue
        child = children.pop(pid, None)
        if child is None:
            continue
        lived = time.monotonic() - child.began
        log.warning("%s (pid %d) ended after %.1f s; it is started again", child.name, pid, lived)
        if lived < 5:
            time.sleep(1)
        children[_start(child.name, child.body)] = Child(child.name, child.body, time.monotonic())
    _end(children)


def _start(name: str, body: Callable[[], None]) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        die_with_parent(signal.SIGTERM, parent)
        body()
        os._exit(0)
    except Stop as stop:
        log.error("%s stopped: %s", name, stop)
        os._exit(1)
    except BaseException:
        log.exception("%s stopped on an error", name)
        os._exit(1)


def _end(children: Mapping[int, Child]) -> None:
    for pid in children:
        _signal(pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    waiting = set(children)
    while waiting and time.monotonic() < deadline:
        for pid in list(waiting):
            try:
                done, _status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                done = pid
            if done:
                waiting.discard(pid)
        time.sleep(0.05)
    for pid in waiting:
        _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
