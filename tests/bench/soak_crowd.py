"""The processes of a soak: forked from one warm parent, killed by chance, started again at once."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.stack import descendants
from worker import logs
from worker.processes import die_with_parent

PR_SET_CHILD_SUBREAPER = 36
GRACE = 30.0  # seconds for an ordinary end
Body = Callable[[], None]


@dataclass
class Crowd:
    """`bodies` by name, one process each. Whoever outlives its parent becomes a child of this
    process, so that in the end nobody is left."""

    bodies: Mapping[str, Body]
    log: Path
    rng: random.Random
    pids: dict[int, str] = field(default_factory=dict)
    kills: int = 0
    before: frozenset[int] = frozenset()

    def start(self) -> None:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.before = frozenset(descendants(os.getpid()))
        for name in self.bodies:
            self._start(name)

    def _start(self, name: str) -> None:
        self.pids[forked(self.bodies[name], self.log)] = name

    def tend(self) -> None:
        """Start again whoever ended."""
        with suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                name = self.pids.pop(pid, None)
                if name is not None:
                    self._start(name)

    def strike(self) -> str:
        """kill -9 of one of them; who it was. Of a role with children it is the whole of it, its
        first process, or one child."""
        pid = self.rng.choice(sorted(self.pids, key=self.pids.__getitem__))
        below = sorted(descendants(pid))
        how = self.rng.choice(("whole", "first", "child")) if below else "first"
        doomed = {"whole": [pid, *below], "first": [pid]}.get(how) or [self.rng.choice(below)]
        for one in doomed:
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        self.kills += 1
        return f"{self.pids[pid]} ({how})" if below else self.pids[pid]

    def end(self) -> None:
        """Ask everybody to end; who does not is killed."""
        for pid in self.pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        ends = time.monotonic() + GRACE
        while left := frozenset(descendants(os.getpid())) - self.before:
            if time.monotonic() > ends:
                for pid in left:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            time.sleep(0.02)
        self.pids.clear()


def forked(body: Body, log: Path) -> int:
    """A child that does `body`, says what it says into `log`, and dies with us."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        die_with_parent(signal.SIGTERM, parent)
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        logs.configure()
        body()
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)
