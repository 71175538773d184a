"""What the engine's side says to PID 1 and how its answers become an `Outcome`.

The program of PID 1 is `pid1.py`, given as argument text, so that nothing has to be in the image.
Its frames are described there. The engine wraps stdout and stderr of a container without terminal
into frames of its own (`>BxxxL`: stream, length), which `Inbox` takes apart.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import resources
from typing import Any

from app.domain.check import Outcome
from app.domain.ports.sandbox import Job
from app.domain.unread import known
from worker.sandbox.profile import FILE_SIZE, FLOOD, PIDS

ERRORS_KEPT = 4096
HEAD_CAP = 1 << 20
FLOODED = 512  # times the kept output
LEAST_FLOOD = 32 << 20
DISK_SIGNAL = 25  # SIGXFSZ: a file larger than the profile's limit


class Cut(StrEnum):
    """Why we ended a container ourselves; empty when we did not."""

    NONE = ""
    TIME = "time"
    OUTPUT = "output"
    CANCELLED = "cancelled"


class Broken(Exception):
    """The container's answer breaks the protocol."""


def command() -> list[str]:
    """The argv of every container: isolated, no site packages, the program as text."""
    program = resources.files("worker.sandbox").joinpath("pid1.py").read_text(encoding="utf-8")
    return ["python3", "-I", "-S", "-c", program]


def request(job: Job, files: Mapping[str, bytes], *, last: bool) -> bytes:
    """The frame of one request with the bytes of its files."""
    ask = {
        "argv": list(job.argv),
        "env": dict(job.env),
        "workdir": job.workdir,
        "timeout": job.seconds,
        "cap": job.output_cap,
        "flood": flood_of(job),
        "report": job.report,
        "report_cap": job.report_cap,
        "files": [[path, len(data)] for path, data in files.items()],
        "last": last,
    }
    text = json.dumps(ask).encode()
    return struct.pack(">I", len(text)) + text + b"".join(files.values())


@dataclass(frozen=True)
class Reply:
    """One complete frame of PID 1."""

    head: Mapping[str, Any]
    bodies: tuple[bytes, ...]


@dataclass
class Inbox:
    """Bytes of the attach stream in, replies out; `most` bounds one reply's bodies."""

    most: int
    raw: bytearray = field(default_factory=bytearray)
    out: bytearray = field(default_factory=bytearray)
    said: bytearray = field(default_factory=bytearray)

    def feed(self, piece: bytes) -> None:
        self.raw += piece
        while len(self.raw) >= 8:
            stream, length = struct.unpack(">BxxxL", self.raw[:8])
            if len(self.raw) < 8 + length:
                return
            body = self.raw[8 : 8 + length]
            del self.raw[: 8 + length]
            if stream == 1:
                self.out += body
            else:
                self.said = (self.said + body)[-ERRORS_KEPT:]

    def take(self) -> Reply | None:
        """The next complete reply. Raises `Broken` for what PID 1 would never send."""
        if len(self.out) < 4:
            return None
        length = struct.unpack(">I", self.out[:4])[0]
        if length > HEAD_CAP:
            raise Broken("a head that is too long")
        if len(self.out) < 4 + length:
            return None
        try:
            head = json.loads(bytes(self.out[4 : 4 + length]))
            sizes = [int(size) for size in head["sizes"]]
        except (ValueError, KeyError, TypeError) as error:
            raise Broken(f"a head that cannot be read: {error}") from error
        if min(sizes, default=0) < 0 or sum(sizes) > self.most:
            raise Broken("bodies that are too long")
        end = 4 + length
        if len(self.out) < end + sum(sizes):
            return None
        bodies = []
        for size in sizes:
            bodies.append(bytes(self.out[end : end + size]))
            end += size
        del self.out[:end]
        return Reply(head, tuple(bodies))


def exit_code(code: int) -> int:
    """A wait status as shells show it: 128 + n for signal n."""
    return code if code >= 0 else 128 - code


@dataclass(frozen=True)
class Bounds:
    """The numbers that a check ran under: seconds, bytes, processes."""

    seconds: int
    memory: int
    flood: int = FLOOD
    pids: int = PIDS
    file_size: int = FILE_SIZE


def flood_of(job: Job) -> int:
    """Bytes of output at which a check is ended: far above what is kept of it."""
    return min(FLOOD, max(LEAST_FLOOD, FLOODED * job.output_cap))


def bounds_of(job: Job, memory: int) -> Bounds:
    return Bounds(job.seconds, memory, flood_of(job))


def limit_of(
    head: Mapping[str, Any], bounds: Bounds, *, killed_for_memory: bool, cut: Cut
) -> tuple[str, int]:
    """(the limit that ended or spoiled a check, its number), ("", 0) for none; the daemon's word
    first, the container's last.

    memory: the daemon's OOMKilled or the cgroup's kill counter, whatever the exit code: a killed
    child taints a pass. pids: the cgroup counted a refused fork, which is why a bomb runs out of
    time. time, output: our own kill or PID 1's. disk, inodes: the exit code is not 0 and a mount
    was seen without room. file-size: the kernel's SIGXFSZ ended the check's own process, or a
    failed check left a file of exactly that size; a number that a program ended with says nothing.
    """
    code, full = head.get("code"), head.get("full")
    if killed_for_memory or head.get("oom", 0) > 0:
        return "memory", bounds.memory
    if head.get("forks", 0) > 0:
        return "pids", bounds.pids
    if cut is Cut.TIME or head.get("timed"):
        return "time", bounds.seconds
    if cut is Cut.OUTPUT or head.get("flooded"):
        return "output", bounds.flood
    if code == -DISK_SIGNAL:
        return "file-size", bounds.file_size
    if full and code != 0:
        return str(full[0]), int(full[1])
    if head.get("oversized") and code != 0:
        return "file-size", bounds.file_size
    return "", 0


def outcome(reply: Reply, code: int | None, limit: tuple[str, int]) -> Outcome:
    """A reply as testimony; `code` is the exit code that counts, `limit` with its number."""
    head = reply.head
    stdout, stderr, report = reply.bodies if len(reply.bodies) == 3 else (b"", b"", b"")
    seen = head.get("seen") or (0, 0)
    return Outcome(
        exit_code=None if head["code"] is None else code,
        limit=limit[0],
        ceiling=limit[1],
        ms=int(head.get("ms", 0)),
        stdout=stdout,
        stderr=stderr,
        seen=(int(seen[0]), int(seen[1])),
        report=report if head.get("report") else None,
        error=str(head.get("error", "")),
        unread=known(head.get("unread")),
        report_size=int(head.get("report_size", 0)),
    )
