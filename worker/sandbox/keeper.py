"""Finds containers that nobody needs any more; containers without our label do not exist for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from worker.sandbox.engine import Engine, Found
from worker.sandbox.profile import LABEL_DEADLINE, LABEL_OWNER

LINGER = 60.0  # seconds that an ended container may wait for its owner


@dataclass(frozen=True)
class Owner:
    """Who made a container: the place (a socket), the pid namespace, the process and its birth."""

    place: str
    space: str
    pid: int
    born: str

    def __str__(self) -> str:
        return f"{self.place}:{self.space}:{self.pid}:{self.born}"

    @staticmethod
    def read(text: str) -> Owner | None:
        place, _, rest = text.partition(":")
        space, _, rest = rest.partition(":")
        pid, _, born = rest.partition(":")
        if not (place and space and pid.isdecimal() and born):
            return None
        return Owner(place, space, int(pid), born)


def birth(pid: int) -> str:
    """The start time of a process in ticks since boot, "" when it is not there."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]


def space() -> str:
    """Names this boot and pid namespace: pids mean something only there."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        inode = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return "unknown"
    return f"{boot[:8]}-{inode}"


def owner(socket: Path, pid: int) -> Owner:
    """Who a process is that serves `socket`, whose folder exists.

    The folder's inode is part of the place: two stacks in containers have equal paths."""
    folder = socket.parent.stat()
    named = f"{socket.absolute()} {folder.st_dev} {folder.st_ino}"
    place = hashlib.sha256(named.encode()).hexdigest()[:16]
    return Owner(place, space(), pid, birth(pid) or "unknown")


def alive(who: Owner) -> bool:
    """Whether an owner of this very pid namespace still runs."""
    return birth(who.pid) == who.born


def _ended(text: str) -> float | None:
    """Epoch seconds of an engine's time stamp; None for one that never ended."""
    if not text or text.startswith("0001"):
        return None
    try:
        return datetime.fromisoformat(text[:19] + "+00:00").timestamp()
    except ValueError:
        return None


def needless(
    found: Iterable[Found], me: Owner, now: float, lives: Callable[[Owner], bool]
) -> list[str]:
    """Ids of our containers that are past their deadline, whose maker is dead, or that ended and
    were forgotten. `me` keeps its own; a maker in another pid namespace has until the deadline."""
    gone = []
    for container in found:
        maker = Owner.read(container.labels.get(LABEL_OWNER, ""))
        deadline = container.labels.get(LABEL_DEADLINE, "")
        ended = _ended(container.finished)
        dead = (
            maker is not None
            and maker != me
            and (maker.place == me.place or (maker.space == me.space and not lives(maker)))
        )
        late = not deadline.isdecimal() or now > int(deadline)
        forgotten = ended is not None and now > ended + LINGER
        if dead or late or forgotten:
            gone.append(container.id)
    return gone


def reap(engine: Engine, me: Owner, now: float) -> int:
    """Remove what is needless; how many. Raises `Unavailable`."""
    gone = needless(engine.ours(), me, now, alive)
    for container in gone:
        engine.remove(container)
    return len(gone)
