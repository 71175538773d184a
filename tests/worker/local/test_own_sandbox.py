"""A sandbox that `check` started ends with it, also when nobody can clean up any more."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.shared_data import REPOSITORY
from tests.stack import descendants

# Who was started with nohup hands it on that hang-ups are ignored.
CALLER = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from worker.local.sandbox import sandbox
from worker.settings.door import Secret
from worker.settings.person import LocalSettings
held = LocalSettings(sys.argv[1], False, "", Secret(""))
with sandbox(held, dict(os.environ), print):
    pass
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_sandbox_of_our_own_ends_with_its_caller(tmp_path: Path, number: signal.Signals) -> None:
    """The engine accepts and never answers: the sandbox is up and would wait 30 s for it."""
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(tmp_path / "engine"))
        engine.listen()
        engine.settimeout(60)
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(REPOSITORY),
            "DOCKER_HOST": f"unix://{tmp_path}/engine",
        }
        words = [sys.executable, "-c", CALLER, str(tmp_path / "none")]
        with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL) as caller:
            asked, _ = engine.accept()
            with asked:
                (child,) = descendants(caller.pid)
                assert running(child)
                caller.send_signal(number)
                caller.wait(PATIENCE)
                end = time.monotonic() + 25
                while running(child) and time.monotonic() < end:
                    time.sleep(0.05)
                assert not running(child)


def running(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
