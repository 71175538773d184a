"""A Docker engine of the tests' own, which may be killed and started again, with two runtimes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

START_SECONDS = 120.0
OTHER_RUNTIME = "runc-again"


@dataclass
class OwnEngine:
    """`host` is its address. It has no network at all: sandboxes need none."""

    folder: Path
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def host(self) -> str:
        return f"unix://{self.folder}/docker.sock"

    def start(self) -> None:
        """Returns when it answers. Raises `RuntimeError` with its last words."""
        runc = shutil.which("runc") or "runc"
        # In a network of its own: an engine without a bridge removes the one of its neighbours.
        words = ["unshare", "--net", "dockerd", "-H", self.host]
        words += ["--bridge=none", "--iptables=false"]
        words += ["--data-root", f"{self.folder}/data", "--exec-root", f"{self.folder}/exec"]
        words += ["--pidfile", f"{self.folder}/pid", "--add-runtime", f"{OTHER_RUNTIME}={runc}"]
        for stale in ("pid", "exec/containerd/containerd.pid"):  # of an engine that was killed
            (self.folder / stale).unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + START_SECONDS
        while self.docker("info", check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.2)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(120)
            self.process = None

    def docker(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["docker", "-H", self.host, *words], capture_output=True, check=check, timeout=250
        )

    def load(self, image: str) -> None:
        """An image of the usual engine, with its name."""
        with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as saved:
            words = ["docker", "-H", self.host, "load", "-q"]
            subprocess.run(words, stdin=saved.stdout, check=True, timeout=250)


def _end_all(place: str) -> None:
    """What a killed engine left running, told by the folder in its command line."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                if place.encode() in (folder / "cmdline").read_bytes():
                    os.kill(int(folder.name), signal.SIGKILL)


@contextlib.contextmanager
def own_engine() -> Iterator[OwnEngine]:
    """Skips, with the reason, where an engine cannot be started. Everything of it is removed."""
    if os.geteuid() != 0 or not (shutil.which("dockerd") and shutil.which("unshare")):
        pytest.skip("an engine of our own needs root, dockerd and unshare")
    with tempfile.TemporaryDirectory(prefix="pw-engine-", ignore_cleanup_errors=True) as place:
        made = OwnEngine(Path(place))
        try:
            made.start()
        except RuntimeError as error:
            pytest.skip(f"an engine of our own does not start here: {error}")
        try:
            yield made
        finally:
            made.stop()
            _end_all(place)
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
            points = [line.split()[4] for line in mounts if f" {place}/" in line]
            for point in sorted(points, reverse=True):
                subprocess.run(["umount", "-l", point], check=False)
