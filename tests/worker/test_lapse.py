"""A Redis that is away is no crash of a run; three real kills set it aside. All on a real Redis."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from app.domain.errors import Reason
from app.domain.run import Run
from app.domain.state import Role, State
from tests.patience import PATIENCE, until
from tests.redis_server import Server, redis_server
from tests.shared_data import REPOSITORY
from tests.worker.store.samples import opened
from tests.worker.test_carry import Role1, at, expire
from worker.carry import CRASHES
from worker.queue import Bell
from worker.store.ledger import Ledger
from worker.store.rows import Wake

# A runner's listener whose stage never looks at its lease: what is lost is noticed by its parent.
PROGRAM = """
import sys, time
from pathlib import Path
from functools import partial
from app.domain.state import Role, State
from worker import jobs, logs
from worker.carry import Carrier, Crew
from worker.lapse import owner_of
from worker.queue import listen
from worker.store.connect import connect
from worker.store.ledger import Ledger

url, folder = sys.argv[1], Path(sys.argv[2])

def stage(run):
    (folder / "began").write_text(str(__import__("os").getpid()))
    time.sleep(600)

def carry(run_id):
    Carrier(
        role=Role.RUNNER, ledger=Ledger(connect(url)), wake=lambda run, role: None,
        crew=lambda run, hold: Crew({State.PREPARE: stage}), clock=time.monotonic,
        owner=owner_of(Role.RUNNER), lease_ms=2_000, daily=1,
    ).carry(run_id)

jobs.install(run=carry)
listen(Role.RUNNER, partial(connect, url))
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with redis_server() as running:
        yield running


def crashes(ledger: Ledger, run_id: str) -> int:
    row = ledger.row(run_id)
    assert row is not None
    return row.crashes


def test_a_redis_that_does_not_answer_is_no_crash_however_often(server: Server) -> None:
    # Calls beside the frozen moments are asked again: only the heart has no patience.
    ledger = Ledger(Redis.from_url(server.url, socket_timeout=1), patience=PATIENCE)
    run_id = at(ledger, State.PREPARE)
    runner = Role1(ledger, Role.RUNNER, {})

    def stage(_run: Run) -> Run:
        assert runner.hold is not None
        server.freeze()
        try:
            while True:
                runner.hold.look()
        finally:
            server.thaw()

    runner.stages = {State.PREPARE: stage}
    for _ in range(CRASHES + 1):
        run = runner.carry(run_id)  # each time the lease is lost, and given back as soon as can be
        assert run.state is State.PREPARE
        row = ledger.row(run_id)
        assert row is not None and (row.crashes, row.lease) == (0, 0)


def test_a_redis_that_was_started_again_is_no_crash_and_three_kills_are(server: Server) -> None:
    ledger = Ledger(server.client())
    run_id = opened(ledger)
    for number in range(CRASHES + 1):
        assert ledger.claim(run_id, f"w{number}", 60_000) is not None
        server.kill()
        server.start()
        expire(ledger, run_id)  # nobody was left to give it back
    for number in range(CRASHES):
        assert ledger.claim(run_id, f"k{number}", 60_000) is not None
        assert crashes(ledger, run_id) == number
        expire(ledger, run_id)
    desk = Role1(ledger, Role.DESK, {})
    run = desk.carry(run_id)
    assert run.halt is not None and run.halt.reason is Reason.QUARANTINED


def test_a_lapse_that_was_counted_already_is_taken_back(redis: Redis) -> None:
    ledger = Ledger(redis)
    run_id = opened(ledger)
    for owner in ("cut off", "killed", "at work"):
        assert ledger.claim(run_id, owner, 60_000) is not None
        if owner != "at work":
            expire(ledger, run_id)
    assert crashes(ledger, run_id) == 2
    assert ledger.excuse(run_id, "cut off")
    assert not ledger.excuse(run_id, "cut off")  # said twice, taken back once
    assert not ledger.excuse(run_id, "nobody")
    row = ledger.row(run_id)
    assert row is not None and (row.crashes, row.owner) == (1, "at work") and row.lease > 0


def test_a_parent_that_ends_its_work_horse_for_want_of_redis_says_so(
    server: Server, tmp_path: Path
) -> None:
    with server.client() as client:
        ledger = Ledger(client)
        run_id = at(ledger, State.PREPARE)
        Bell(client).run(Role.RUNNER, run_id, Wake(1))
        began = tmp_path / "began"
        words = [sys.executable, "-c", PROGRAM, server.url, str(tmp_path)]
        listener = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
        try:
            until(began.exists)
            until(lambda: bool(began.read_text()))
            horse = int(began.read_text())
            # A cut line: the server lives on, and nobody finds it.
            away = Path(server.socket).rename(tmp_path / "away.sock")
            client.client_kill_filter(_type="normal", skipme=True)
            until(lambda: not _alive(horse))
            assert ledger.row(run_id) and _held(ledger, run_id)
            away.rename(server.socket)
            until(lambda: not _held(ledger, run_id))
            assert listener.wait(PATIENCE) is not None  # RQ's way; the supervisor starts it again
        finally:
            listener.kill()
            listener.wait()
        lease = ledger.claim(run_id, "next", 2_000)
        assert lease is not None and lease.crashes == 0


def test_a_killed_work_horse_is_a_crash(server: Server, tmp_path: Path) -> None:
    with server.client() as client:
        ledger = Ledger(client)
        run_id = at(ledger, State.PREPARE)
        Bell(client).run(Role.RUNNER, run_id, Wake(1))
        began = tmp_path / "began"
        words = [sys.executable, "-c", PROGRAM, server.url, str(tmp_path)]
        listener = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
        try:
            until(began.exists)
            until(lambda: bool(began.read_text()))
            os.kill(int(began.read_text()), signal.SIGKILL)
            until(lambda: ledger.claim(run_id, "next", 60_000) is not None)
            assert crashes(ledger, run_id) == 1
        finally:
            listener.kill()
            listener.wait()


def _held(ledger: Ledger, run_id: str) -> bool:
    row = ledger.row(run_id)
    return row is None or row.lease > 0


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
