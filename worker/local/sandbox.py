"""A sandbox for a while: the one that runs already, else a process of our own."""

from __future__ import annotations

import os
import signal
import subprocess  # noqa: TID251 - starting the sandbox's process is this file's one job
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from app.domain.errors import Unavailable
from worker.processes import die_with_parent
from worker.runner.boxes import SandboxClient
from worker.settings.person import LocalSettings

START = 900.0  # seconds: the first start on a machine makes the image
PASSED = ("PATH", "LANG", "PYTHONPATH", "DOCKER_HOST", "VIRTUAL_ENV")
# How set-ups reach their registries here (mirrors, authorities), and what images may be used: who
# asks is the operator of this machine.
SETTINGS = ("PATCHWARRANT_SETUP", "PATCHWARRANT_IMAGES")
Say = Callable[[str], None]


@contextmanager
def sandbox(
    held: LocalSettings, environment: Mapping[str, str], say: Say
) -> Iterator[SandboxClient]:
    """A client of the sandbox that runs, or of one that is started for the length of the block.

    Our own gets a bare environment: no token and no key. Raises `Unavailable` with its last words,
    and for a socket that a person named and that nobody answers at: another sandbox than the one
    that was meant may have other rules.
    """
    running = SandboxClient(held.sandbox)
    try:
        if Path(held.sandbox).exists() and running.healthy():
            yield running
            return
    finally:
        running.close()
    if held.named:
        raise Unavailable(
            f"PATCHWARRANT_SANDBOX={held.sandbox}: no sandbox answers there. Start it "
            "(`patchwarrant sandbox`), or unset that setting, and one is started for as long as "
            "it takes."
        )
    with (
        tempfile.TemporaryDirectory(prefix="pw-") as place,
        _own(Path(place), environment, say) as own,
    ):
        yield own


def handed(environment: Mapping[str, str]) -> dict[str, str]:
    """What a sandbox of our own gets of an environment: no token and no key."""
    return {
        name: value
        for name, value in environment.items()
        if value and (name in PASSED or name.startswith(SETTINGS))
    }


@contextmanager
def _own(place: Path, environment: Mapping[str, str], say: Say) -> Iterator[SandboxClient]:
    socket, log = place / "closed" / "sandbox.sock", place / "sandbox.log"
    known = handed(environment)
    known |= {"HOME": str(place), "PATCHWARRANT_SANDBOX": str(socket)}
    say("starting a sandbox (the first start on a machine makes its image)")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "worker", "sandbox"],
            env=known,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            preexec_fn=_tied(),
        )
    client = SandboxClient(str(socket))
    try:
        _ready(process, client, socket, log)
        yield client
    finally:
        client.close()
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        if process.poll() is None:
            process.kill()
            process.wait()


def _tied() -> Callable[[], None] | None:
    """Has the kernel end our own sandbox, and with it its containers, however this process ends.
    Only Linux can, and it means the thread that forks."""
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return None
    return partial(die_with_parent, signal.SIGTERM, os.getpid())


def _ready(
    process: subprocess.Popen[bytes], client: SandboxClient, socket: Path, log: Path
) -> None:
    ends = time.monotonic() + START
    while not (socket.exists() and client.healthy()):
        if process.poll() is not None or time.monotonic() > ends:
            words = log.read_text(encoding="utf-8", errors="replace").strip()
            raise Unavailable(
                f"The sandbox did not start: {words[-600:] or 'it said nothing'}\n"
                "It needs a Docker engine that this user may use."
            )
        time.sleep(0.1)
