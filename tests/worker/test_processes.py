"""Children of a role: restarted when they end, ended with their parent, whatever kills it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import PATIENCE, until
from tests.shared_data import REPOSITORY
from tests.stack import descendants
from worker.processes import die_with_parent

PROGRAM = """
import sys, time
from pathlib import Path
from worker.processes import supervise
folder = Path(sys.argv[1])

def body():
    with (folder / "starts").open("a") as file:
        file.write("x")
    time.sleep(600)

supervise({"child": body})
(folder / "ended").write_text("yes")
"""


@contextmanager
def supervisor(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder)], env=environment)
    try:
        until(lambda: starts(folder) == 1)
        yield process
    finally:
        process.kill()
        process.wait()


def starts(folder: Path) -> int:
    path = folder / "starts"
    return len(path.read_text()) if path.exists() else 0


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_child_that_ends_is_started_again(tmp_path: Path) -> None:
    with supervisor(tmp_path) as process:
        (child,) = descendants(process.pid)
        os.kill(child, signal.SIGKILL)
        until(lambda: starts(tmp_path) == 2)


def test_sigterm_ends_children_and_parent(tmp_path: Path) -> None:
    with supervisor(tmp_path) as process:
        (child,) = descendants(process.pid)
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert not alive(child)
        assert (tmp_path / "ended").exists()


def test_a_child_dies_with_a_killed_parent(tmp_path: Path) -> None:
    with supervisor(tmp_path) as process:
        (child,) = descendants(process.pid)
        process.kill()
        until(lambda: not alive(child))


def test_a_child_whose_parent_is_gone_already_exits() -> None:
    pid = os.fork()
    if pid == 0:
        die_with_parent(signal.SIGKILL, 1 if os.getppid() != 1 else 2)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


@pytest.mark.parametrize("wanted", ["run-1", "a b", "x" * 300])
def test_job_names_are_taken_by_rq(wanted: str) -> None:
    from worker.queue import job_name

    assert 1 <= len(job_name(wanted)) <= 120
    assert job_name(wanted) == job_name(wanted)
