"""Temporary folders and children of this process that do not outlive it, not even after kill -9."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from worker.sandbox.keeper import birth, space

KINDS = ("pw-setup-", "pw-ssh-")
OLD = 2 * 86_400.0  # seconds after which a folder of another boot or container goes
TIED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, int(sys.argv[1]), 0, 0, 0)
if os.getppid() != int(sys.argv[2]):
    sys.exit(1)  # it died before we asked to be told
os.execvp(sys.argv[3], sys.argv[3:])
"""


def tied(words: Sequence[str], number: int = signal.SIGKILL) -> list[str]:
    """A command that gets a signal when the thread that starts it ends, this process's death
    included. The program's name is looked up as usual; where it is missing the exit code is 1."""
    us = [sys.executable, "-I", "-S", "-c", TIED, str(int(number)), str(os.getpid())]
    return [*us, *words]


@contextlib.contextmanager
def temporary(kind: str) -> Iterator[Path]:
    """A closed folder whose name says whose it is; `kind` is one of KINDS."""
    whose = f"{space()}-{os.getpid()}-{birth(os.getpid())}-"
    made = Path(tempfile.mkdtemp(prefix=f"{kind}{whose}"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def sweep(now: float, place: Path | None = None) -> int:
    """Remove folders of processes that are gone; how many. `now` in epoch seconds."""
    gone = 0
    for kind in KINDS:
        for folder in (place or Path(tempfile.gettempdir())).glob(f"{kind}*"):
            with contextlib.suppress(OSError):
                if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                    continue
                if _left(folder.name.removeprefix(kind), now - folder.stat().st_mtime):
                    shutil.rmtree(folder, ignore_errors=True)
                    gone += 1
    return gone


def _left(whose: str, age: float) -> bool:
    """Whether the process that a name tells of is gone; one of another namespace has two days."""
    words = whose.split("-")
    if len(words) != 5 or "-".join(words[:2]) != space() or not words[2].isdecimal():
        return age > OLD
    return birth(int(words[2])) != words[3]
