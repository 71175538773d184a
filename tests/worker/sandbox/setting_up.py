"""The sandbox's role as an operator starts it, with set-ups as this machine needs them."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.patience import PATIENCE
from tests.shared_data import REPOSITORY
from tests.worker.sandbox.running import Apart
from worker.runner.boxes import SandboxClient
from worker.sandbox.allow_list import shut
from worker.sandbox.setup_hosts import listed

BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
START = 600.0  # seconds: the first start on a machine makes the image


def settings() -> dict[str, str]:
    """A machine whose registries are behind its own authority hands its bundle to set-ups, and
    one whose registries are no public addresses names their network."""
    found = {"PATCHWARRANT_SETUP_CERTIFICATES": str(BUNDLE)} if BUNDLE.exists() else {}
    if near := networks():
        found["PATCHWARRANT_SETUP_NETWORKS"] = " ".join(near)
    return found


def _mirrors() -> set[str]:
    """Where this machine itself gets its distribution's packages from."""
    files = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    texts = [one.read_text(encoding="utf-8", errors="replace") for one in files if one.is_file()]
    return {host for text in texts for host in re.findall(r"https?://([\w.-]+)", text)}


def networks() -> list[str]:
    """Where usual registries are for this machine, as far as that is not the public net."""
    found = set()
    for host in {*listed(("cargo", "maven", "gradle", "composer")), *_mirrors()}:
        with contextlib.suppress(OSError):
            for *_, address in socket.getaddrinfo(host, 443, socket.AF_INET, socket.SOCK_STREAM):
                found.add(str(address[0]))
    return sorted(one for one in found if shut(one))


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
    client = Apart(str(sock))
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
        process.wait(PATIENCE)
