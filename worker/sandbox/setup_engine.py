"""What a set-up asks of the engine: one builder container, its output, and an image made of it.

The builder is no check's container: root inside, a writable root, but no interface, no device, no
new privileges, and the one mount is a folder of the service's own with the proxy's socket. It is
compared with what was asked for before it starts, and runs under the operator's runtime.
"""

from __future__ import annotations

import hashlib
import json
import select
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from app.domain.errors import Missing, Refused, Unavailable
from worker.sandbox.container import NOT_NOW
from worker.sandbox.engine import Engine, faults
from worker.sandbox.profile import CPU_PERIOD, CPU_QUOTA, EMPTY_HOST, GIB, LABEL, differs

SEEN = "/run/patchwarrant"
PIDS = 2048
CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETGID", "SETUID"]
TICK = 0.25  # seconds between looks at a cancellation
OUTPUT = 64 << 20  # bytes that a builder may print
PIECE = 1 << 18
FRAME = 8  # bytes before each piece, the engine's: stream and length
LINGER = 600  # seconds after its bound in which a builder ends by itself, whoever looks
LISTS = ("Binds", "CapAdd")  # empty for every other container
SIZE_EVERY = 10.0  # seconds between looks at the builder's size on disk


def host_options(memory: int, folder: str, runtime: str) -> dict[str, Any]:
    """The builder's `HostConfig`, all of it; `folder` is on the engine's machine."""
    return {
        "Runtime": runtime,
        "NetworkMode": "none",
        "Binds": [f"{folder}:{SEEN}:ro"],
        "CapDrop": ["ALL"],
        "CapAdd": CAPABILITIES,
        "SecurityOpt": ["no-new-privileges:true"],
        "ReadonlyRootfs": False,
        "Privileged": False,
        "PidsLimit": PIDS,
        "Memory": memory,
        "MemorySwap": memory,
        "OomScoreAdj": 500,
        "CpuPeriod": CPU_PERIOD,
        "CpuQuota": CPU_QUOTA,
        "CpuShares": 256,
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "Tmpfs": {
            "/tmp": f"rw,exec,nosuid,nodev,size={memory // 2},mode=1777",  # noqa: S108
            "/run": "rw,noexec,nosuid,nodev,size=16777216,mode=0755",
        },
        "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
        "LogConfig": {"Type": "none", "Config": {}},
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        "AutoRemove": False,
        "PublishAllPorts": False,
    }


def container_options(program: str, seconds: int = 0) -> dict[str, Any]:
    """The rest of the builder's create call; no variable, so that none gets into the image.

    It ends by itself some time after `seconds`, also when no sandbox runs any more."""
    limited = ["/usr/bin/env", "-u", "PYTHONPATH", "timeout", "-s", "KILL", str(seconds + LINGER)]
    return {
        "Hostname": "setup",
        "User": "0:0",
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        # -B: bytecode of the system's modules, written as root, would be a change below PID 1.
        "Entrypoint": [*limited, "python3", "-I", "-B", "-u", "-c", program],
        "Cmd": [],
        "WorkingDir": "/",
        "NetworkDisabled": True,
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
    }


def profile(program: str, runtime: str) -> str:
    """SHA-256 of the builder's profile and program: another one makes other images."""
    asked = {
        "host": host_options(2 * GIB, "seen", runtime),
        "container": container_options(program),
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Bounds:
    """Of one builder: `seconds` of wall time, bytes of `memory`, `disk` and printed `output`."""

    seconds: int
    memory: int
    disk: int
    output: int = OUTPUT


class Stream:
    """The output of a container that is attached to, without the engine's own frames."""

    def __init__(self, wires: Any) -> None:
        self._wires = wires
        self._sock: Any = wires if isinstance(wires, socket.socket) else wires._sock
        self._sock.setblocking(False)
        self._left = 0  # bytes of the engine's frame that are still to come
        self._head = b""
        self.seen = 0
        self.over = False

    def next(self, seconds: float) -> bytes:
        """What was printed, b"" where nothing was. Raises `Unavailable`."""
        held = isinstance(self._sock, ssl.SSLSocket) and self._sock.pending()
        try:
            if not held and not select.select([self._sock], [], [], seconds)[0]:
                return b""
            piece = self._sock.recv(PIECE)
        except NOT_NOW:
            return b""
        except OSError as error:
            raise Unavailable(f"the engine's stream failed: {error}") from error
        self.over = not piece
        self.seen += len(piece)
        return self._unframed(piece)

    def _unframed(self, piece: bytes) -> bytes:
        said, at = [], 0
        while at < len(piece):
            if not self._left:
                wanted = FRAME - len(self._head)
                self._head += piece[at : at + wanted]
                at += wanted
                if len(self._head) < FRAME:
                    break
                self._left = struct.unpack(">BxxxL", self._head)[1]
                self._head = b""
            said.append(piece[at : at + self._left])
            at += len(said[-1])
            self._left -= len(said[-1])
        return b"".join(said)

    def close(self) -> None:
        with suppress(OSError):
            self._sock.close()
        self._wires.close()


class Ended(Exception):
    """The builder was ended by us; the text says why, for people."""


@dataclass
class Builder:
    """One builder container, created and not started."""

    engine: Engine
    id: str
    bounds: Bounds

    def put(self, tar: bytes) -> None:
        """Unpack a tar at the container's root."""
        with faults("handing the set-up its files"):
            self.engine._api().put_archive(self.id, "/", tar)

    def follow(self, heard: Callable[[bytes], None], cancelled: Callable[[], bool]) -> int:
        """Start it, hand on its output piece by piece, and its exit code.

        Raises `Ended` at a bound, `Missing` (410) when cancelled, `Unavailable`."""
        with faults("reading the set-up's output"):
            wires = self.engine._api().attach_socket(
                self.id, params={"stdout": 1, "stderr": 1, "stream": 1}
            )
        stream = Stream(wires)
        try:
            with faults("starting the set-up"):
                self.engine._api().start(self.id)
            self._heard(stream, heard, cancelled)
        except BaseException:
            # Closed first: an engine whose stream nobody reads answers no kill.
            stream.close()
            self.engine.kill(self.id)
            raise
        stream.close()
        ending = self.engine.ending(self.id)
        if ending.killed_for_memory and ending.code != 0:
            raise Ended(f"it ran out of memory (limit {self.bounds.memory >> 20} MiB)")
        return ending.code

    def _heard(
        self, stream: Stream, heard: Callable[[bytes], None], cancelled: Callable[[], bool]
    ) -> None:
        """Hand on what it prints until it ends. Raises like `follow`."""
        end, looked = time.monotonic() + self.bounds.seconds, time.monotonic()
        while not stream.over:
            piece = stream.next(TICK)
            if piece:
                heard(piece)
            now = time.monotonic()
            if cancelled():
                raise Missing("the set-up was stopped together with its run", 410)
            if now > end:
                raise Ended(f"it was ended after {self.bounds.seconds} s")
            if stream.seen > self.bounds.output:
                raise Ended(f"it printed more than {self.bounds.output >> 20} MiB")
            if now - looked > SIZE_EVERY:
                looked = now
                self._fits()

    def _fits(self) -> None:
        with faults("measuring the set-up"):
            listed = self.engine._api().containers(all=True, size=True, filters={"id": self.id})
        size = int(listed[0].get("SizeRw") or 0) if listed else 0
        if size > self.bounds.disk:
            raise Ended(f"it wrote more than {self.bounds.disk >> 20} MiB")

    def commit(self, repository: str, tag: str, changes: list[str]) -> str:
        """An image of the ended container; its id."""
        with faults("keeping the set-up as an image"), self.engine._slow() as api:
            made = api.commit(self.id, repository=repository, tag=tag, changes=changes, pause=False)
        return str(made["Id"])


@contextmanager
def builder(
    engine: Engine,
    image: str,
    program: str,
    bounds: Bounds,
    folder: str,
    labels: Mapping[str, str],
    runtime: str,
) -> Iterator[Builder]:
    """A builder that is removed afterwards. Raises `Refused` where the engine made it otherwise,
    `Unavailable`."""
    config = {
        **container_options(program, bounds.seconds),
        "Image": image,
        "Labels": {LABEL: "1", **labels},
        "HostConfig": host_options(bounds.memory, folder, runtime),
    }
    with faults("creating the set-up's container"):
        made = str(engine._api().create_container_from_config(config)["Id"])
    try:
        with faults("inspecting the set-up's container"):
            inspected = engine._api().inspect_container(made)
        if wrong := weaker(inspected, config, swap_limit=engine.facts.swap_limit):
            raise Refused("the engine weakens the builder's profile: " + "; ".join(wrong), 500)
        yield Builder(engine, made, bounds)
    finally:
        engine.remove(made)


def weaker(
    inspected: Mapping[str, Any], asked: Mapping[str, Any], *, swap_limit: bool
) -> list[str]:
    """What the engine made differently from what was asked for, a sentence each."""
    host, config = inspected.get("HostConfig") or {}, inspected.get("Config") or {}
    plain = {key: asked["HostConfig"][key] for key in asked["HostConfig"] if key not in LISTS}
    wrong = differs(plain, host, swap_limit=swap_limit)
    wrong += [
        f"{key} should be {asked['HostConfig'][key]!r} and is {host.get(key)!r}"
        for key in LISTS
        if _words(host.get(key)) != _words(asked["HostConfig"][key])
    ]
    wrong += [
        f"{key} should be empty and is {host[key]!r}"
        for key in EMPTY_HOST
        if host.get(key) and key not in LISTS
    ]
    if config.get("User") != asked["User"]:
        wrong.append(f"User should be {asked['User']} and is {config.get('User')!r}")
    mounts = [(m.get("Source"), m.get("Destination"), m.get("RW")) for m in inspected["Mounts"]]
    source, place, _ = asked["HostConfig"]["Binds"][0].rsplit(":", 2)
    if mounts != [(source, place, False)]:
        wrong.append(f"Mounts should be the proxy's folder alone and is {mounts!r}")
    return wrong


def _words(found: Iterable[str] | None) -> list[str]:
    """Newer engines put CAP_ before a capability's name."""
    return sorted(one.removeprefix("CAP_") for one in found or ())


def image_labels(engine: Engine, image: str) -> Mapping[str, str]:
    """An image's labels. Raises `Missing`."""
    with faults("looking at an image"):
        config = engine._api().inspect_image(image).get("Config") or {}
    return config.get("Labels") or {}
