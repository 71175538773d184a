"""How the sandbox's process starts, dies and cleans up after a dead one; strangers stay."""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from app.domain.errors import Unavailable
from tests.patience import PATIENCE, until
from tests.worker.runner.test_boxes import containers, slowly
from tests.worker.sandbox.running import EMPTY, engine_or_skip, look, ours, service, sh
from worker.sandbox.engine import Engine

pytestmark = pytest.mark.docker


@pytest.fixture
def foreign() -> Iterator[str]:
    """A container that is not ours: made of our image, without our label."""
    engine_or_skip()
    with service() as started:
        image = started.image
    api = docker.APIClient(version="auto")
    made = api.create_container(image, ["sleep", "300"], network_disabled=True)["Id"]
    api.start(made)
    yield str(made)
    api.remove_container(made, force=True)
    api.close()


def alive(container: str) -> bool:
    api = docker.APIClient(version="auto")
    try:
        return bool(api.inspect_container(container)["State"]["Running"])
    finally:
        api.close()


def test_after_kill_9_the_next_start_removes_ours_and_only_ours(
    tmp_path: Path, foreign: str
) -> None:
    with service(tmp_path) as first:
        aside = slowly(first, "orphan")
        box = first.client.open("orphan", first.image, EMPTY)
        assert box.run(sh("exit 0"), {}, look).exit_code == 0
        assert first.stop(signal.SIGKILL) == -signal.SIGKILL
        assert isinstance(aside.join(), Unavailable)
        with pytest.raises(Unavailable):
            box.run(sh("exit 0"), {}, look)
    # Stdin closed with the process that fed it: what ran has ended by itself, not removed yet.
    until(lambda: not any(found.running for found in ours("orphan")))
    assert containers("orphan") == 2
    with service(tmp_path) as second:
        assert containers("orphan") == 0
        assert second.client.healthy()
    assert alive(foreign)


def test_another_place_on_this_machine_removes_what_a_dead_process_left(tmp_path: Path) -> None:
    engine_or_skip()
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with service(tmp_path / "a") as first:
        aside = slowly(first, "left")
        first.stop(signal.SIGKILL)
        aside.join()
    with service(tmp_path / "b"):
        assert containers("left") == 0


def test_a_living_neighbour_keeps_its_containers(tmp_path: Path) -> None:
    engine_or_skip()
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with service(tmp_path / "a") as first:
        box = first.client.open("neighbour", first.image, EMPTY)
        with service(tmp_path / "b"):
            assert box.run(sh("exit 0"), {}, look).exit_code == 0
        box.close()


def test_a_clean_end_leaves_nothing(tmp_path: Path) -> None:
    engine_or_skip()
    with service(tmp_path) as started:
        aside = slowly(started, "warm")
        started.client.open("warm", started.image, EMPTY)
        began = time.monotonic()
        assert started.stop() == 0
        assert time.monotonic() - began < 55  # the check was not waited for: it takes a minute
        assert isinstance(aside.join(), Unavailable)
        assert containers("warm") == 0
        assert not Path(started.socket).exists()


def test_the_socket_is_closed_to_others_and_held_by_one(tmp_path: Path) -> None:
    engine_or_skip()
    with service(tmp_path) as started:
        path = Path(started.socket)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        with pytest.raises(RuntimeError, match="already runs"), service(tmp_path):
            pass
        assert started.client.healthy()


def test_a_folder_that_is_open_to_others_is_refused(tmp_path: Path) -> None:
    engine_or_skip()
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed").chmod(0o755)
    with pytest.raises(RuntimeError, match="Use a folder of its own"), service(tmp_path):
        pass


def test_an_engine_that_is_away_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="is it running"):
        Engine(f"unix://{tmp_path}/none.sock")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # docker-py's refused socket
        gc.collect()


def test_the_role_starts_from_the_command_line(tmp_path: Path) -> None:
    engine_or_skip()
    path = tmp_path / "s" / "sandbox.sock"
    environment = {**os.environ, "PATCHWARRANT_SANDBOX": str(path)}
    log = tmp_path / "log"
    with (
        log.open("w") as told,
        subprocess.Popen(
            [sys.executable, "-m", "worker", "sandbox"], env=environment, stderr=told
        ) as process,
    ):
        until(lambda: path.exists() or process.poll() is not None, 600)
        process.terminate()
        assert process.wait(PATIENCE) == 0, log.read_text()
