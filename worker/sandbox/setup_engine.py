"""What a set-up asks of the engine: one builder container, its output, and an image made of it.

The builder is no check's container: root inside, a writable root, but no interface, no device, no
new privileges, and the one mount is a folder of the service's own with the proxy's socket.
"""

from __future__ import annotations

import hashlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from app.domain.errors import Missing, Refused, Unavailable
from worker.sandbox.engine import Engine, faults
from worker.sandbox.profile import CPU_PERIOD, CPU_QUOTA, GIB, LABEL

SEEN = "/run/patchwarrant"
PIDS = 2048
CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETGID", "SETUID"]
TICK = 0.25  # seconds between looks at a cancellation
SIZE_EVERY = 10.0  # seconds between looks at the builder's size on disk


def host_options(memory: int, folder: str) -> dict[str, Any]:
    """The builder's `HostConfig`, all of it; `folder` is on the engine's machine."""
    return {
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
    }


def container_options(program: str) -> dict[str, Any]:
    """The rest of the builder's create call; no variable, so that none gets into the image."""
    return {
        "Hostname": "setup",
        "User": "0:0",
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "Entrypoint": ["/usr/bin/env", "-u", "PYTHONPATH", "python3", "-I", "-u", "-c", program],
        "Cmd": [],
        "WorkingDir": "/",
        "NetworkDisabled": True,
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
    }


def profile(program: str) -> str:
    """SHA-256 of the builder's profile and program: another one makes other images."""
    asked = {"host": host_options(2 * GIB, "seen"), "container": container_options(program)}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Bounds:
    """Of one builder: `seconds` of wall time, bytes of `memory` and of `disk`."""

    seconds: int
    memory: int
    disk: int


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
        pieces: queue.Queue[bytes | BaseException | None] = queue.Queue(64)
        attached = threading.Event()
        reader = threading.Thread(target=self._read, args=(pieces, attached), daemon=True)
        reader.start()
        attached.wait(self.engine._timeout)
        with faults("starting the set-up"):
            self.engine._api().start(self.id)
        end, looked = time.monotonic() + self.bounds.seconds, time.monotonic()
        try:
            while True:
                with suppress(queue.Empty):
                    piece = pieces.get(timeout=TICK)
                    if isinstance(piece, BaseException):
                        raise piece
                    if piece is None:
                        break
                    heard(piece)
                now = time.monotonic()
                if cancelled():
                    raise Missing("the set-up was stopped together with its run", 410)
                if now > end:
                    raise Ended(f"it was ended after {self.bounds.seconds} s")
                if now - looked > SIZE_EVERY:
                    looked = now
                    self._fits()
        except BaseException:
            self.engine.kill(self.id)
            raise
        ending = self.engine.ending(self.id)
        if ending.killed_for_memory and ending.code != 0:
            raise Ended(f"it ran out of memory (limit {self.bounds.memory >> 20} MiB)")
        return ending.code

    def _read(self, pieces: queue.Queue[Any], attached: threading.Event) -> None:
        try:
            with faults("reading the set-up's output"), self.engine._slow() as api:
                stream = api.attach(self.id, stdout=True, stderr=True, stream=True, logs=False)
                attached.set()
                for piece in stream:
                    pieces.put(piece)
        except (Refused, Unavailable) as error:
            attached.set()
            pieces.put(error)
        else:
            pieces.put(None)

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
) -> Iterator[Builder]:
    """A builder that is removed afterwards. Raises `Refused`, `Unavailable`."""
    config = {
        **container_options(program),
        "Image": image,
        "Labels": {LABEL: "1", **labels},
        "HostConfig": host_options(bounds.memory, folder),
    }
    with faults("creating the set-up's container"):
        made = str(engine._api().create_container_from_config(config)["Id"])
    try:
        yield Builder(engine, made, bounds)
    finally:
        engine.remove(made)


def image_labels(engine: Engine, image: str) -> Mapping[str, str]:
    """An image's labels. Raises `Missing`."""
    with faults("looking at an image"):
        config = engine._api().inspect_image(image).get("Config") or {}
    return config.get("Labels") or {}
