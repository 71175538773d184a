"""The sandbox's role as an operator starts it, with set-ups as this machine needs them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.shared_data import REPOSITORY
from worker.runner.boxes import SandboxClient

BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
START = 600.0  # seconds: the first start on a machine makes the image


def settings() -> dict[str, str]:
    """A machine whose registries are behind its own authority hands its bundle to set-ups."""
    return {"PATCHWARRANT_SETUP_CERTIFICATES": str(BUNDLE)} if BUNDLE.exists() else {}


@contextlib.contextmanager
def role(place: Path, extra: Mapping[str, str] | None = None) -> Iterator[SandboxClient]:
    """Start it and wait until it answers. Raises `RuntimeError` with its words if it ends."""
    sock = place / "closed" / "sandbox.sock"
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(REPOSITORY),
        "LANG": "C.UTF-8",
        "DOCKER_HOST": os.environ.get("DOCKER_HOST", ""),
        "PATCHWARRANT_SANDBOX": str(sock),
        **settings(),
        **(extra or {}),
    }
    log = place / "sandbox.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "worker", "sandbox"], env=env, stdout=out, stderr=out
        )
    client = SandboxClient(str(sock))
    try:
        end = time.monotonic() + START
        while "listens on" not in log.read_text() or not client.healthy():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the sandbox did not start: {log.read_text()[-2000:]}")
            time.sleep(0.05)
        yield client.of("1")
    finally:
        client.close()
        process.terminate()
        process.wait(60)
