"""kill -9 of a whole role at many points: one pull request, one branch, no container left.

With PATCHWARRANT_CRASH=all (`scripts/test --crash`) also: the role stopped past its lease while
another finishes, then continued; and Redis killed and started again under all roles.

A point is reached by waiting for what the ledger or GitHub's stand-in shows, with delays that hold
the door open; then every process of the role is killed at once and the role is started again.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from app.domain import record
from app.domain.evidence import Result
from app.domain.run import Run
from app.domain.state import State
from tests.e2e.conftest import FIX, WRONG, Town
from tests.stack import descendants

pytestmark = pytest.mark.docker


@dataclass(frozen=True)
class Point:
    """Which role dies, once `reached(town, run)` holds; `slow(town, repository)` opens the window
    beforehand."""

    role: str
    reached: Callable[[Town, Run], bool]
    slow: Callable[[Town, str], None] = lambda _town, _repository: None


def state(wanted: State) -> Callable[[Town, Run], bool]:
    return lambda _town, run: run.state is wanted


def in_a_container(town: Town, run: Run) -> bool:
    """The engine itself shows a container of this run."""
    return bool(town.up.containers(run.id))


def journalled(kind: record.Kept, count: int) -> Callable[[Town, Run], bool]:
    def reached(town: Town, run: Run) -> bool:
        return sum(e.kind is kind for e in town.up.ledger.journal(run.id)) >= count

    return reached


def intended(key: str) -> Callable[[Town, Run], bool]:
    """The write was recorded as about to be sent, and its answer has not come."""

    def reached(town: Town, run: Run) -> bool:
        with town.up.redis.client() as client:
            rows = client.hgetall(record.intents_key(run.id))
        assert isinstance(rows, dict)
        return any(name.decode().startswith(key) for name in rows)

    return reached


def thinking(town: Town, _repository: str) -> None:
    """A state lasts longer than a look at it; once the point is reached nobody waits any more."""
    assert town.up.model is not None
    town.up.model.latency(seconds=3.0)


def slow_post(path: str) -> Callable[[Town, str], None]:
    """GitHub does the work and answers late: the worker dies while it waits."""
    return lambda town, repository: town.slow(repository, path)


POINTS = {
    "desk admits": Point("desk", state(State.ADMIT), slow_post("/comments$")),
    "runner takes the baseline": Point("runner", state(State.PREPARE)),
    "runner looks around": Point("runner", state(State.LOCATE), thinking),
    "runner plans": Point("runner", state(State.PLAN), thinking),
    "runner edits": Point("runner", state(State.EDIT), thinking),
    "runner between two replies": Point("runner", journalled(record.Kept.MODEL, 3), thinking),
    "runner verifies": Point("runner", journalled(record.Kept.CHECK, 2)),
    "sandbox in a check": Point("sandbox", in_a_container),
    "desk makes the commit": Point("desk", state(State.PUBLISH), slow_post("/git/commits$")),
    "desk makes the branch": Point("desk", intended("branch"), slow_post("/git/refs$")),
    "desk opens the pull request": Point("desk", intended("pull"), slow_post("/pulls$")),
    "desk writes the check run": Point("desk", intended("check"), slow_post("/check-runs$")),
}


MANNERS = ("kill", "stop", "redis") if os.environ.get("PATCHWARRANT_CRASH") == "all" else ("kill",)
CASES = [
    (how, name)
    for how in MANNERS
    for name, point in POINTS.items()
    if not (how == "stop" and point.role == "sandbox")  # it has one door, which stays shut
]


@dataclass(frozen=True)
class Stopped:
    """A role that stands still: its main process, and all of its family."""

    parent: subprocess.Popen[bytes]
    family: tuple[int, ...]


def struck(town: Town, role: str, how: str) -> Stopped | None:
    """Do it to the role; the processes that are stopped now."""
    if how == "redis":
        town.up.redis.kill()
        town.up.redis.start()
        return None
    if how == "kill":
        town.up.kill(role)
        town.up.start(role)
        return None
    parent = town.up.processes.pop(role)
    family = (parent.pid, *descendants(parent.pid))
    for pid in family:
        os.kill(pid, signal.SIGSTOP)
    town.up.start(role)
    return Stopped(parent, family)


def continued(town: Town, stopped: Stopped, role: str) -> None:
    """Let the outdated worker go on, until it has seen that its lease is over."""
    said = town.up.log(role).count("lease")
    for pid in stopped.family:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    with suppress(TimeoutError):  # a worker that held nothing just now says nothing
        town.up.await_true(lambda: town.up.log(role).count("lease") > said, 6)
    for pid in reversed(stopped.family):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    stopped.parent.wait()


@pytest.mark.parametrize(("how", "name"), CASES)
def test_kill_9_leaves_one_pull_request_and_no_container(town: Town, how: str, name: str) -> None:
    point = POINTS[name]
    repository = town.repository()
    town.patches(repository, WRONG, FIX)
    point.slow(town, repository)
    number = town.ask(repository)
    run = town.up.await_run(lambda run: run.repository.full_name == repository, 120)

    def reached() -> bool:
        now = town.up.ledger.run(run.id)
        assert now is not None
        assert not now.explained, "the run ended before the point was reached"
        return point.reached(town, now)

    town.up.await_true(reached, 240)
    stopped = struck(town, point.role, how)
    assert town.up.model is not None
    town.up.model.latency(0)

    try:
        ended = town.end(repository, number, seconds=240)
    finally:
        if stopped is not None:
            continued(town, stopped, point.role)
    assert ended.state is State.COMPLETE
    assert ended.verdict is not None
    assert ended.verdict.result is Result.PASSED
    assert len(town.up.hub.pulls(repository)) == 1
    branches = [ref for ref in town.up.hub.refs(repository) if "agent/" in ref]
    assert len(branches) == 1
    marked = [c["body"] for c in town.up.hub.comments(repository, number)]
    assert len([body for body in marked if "patchwarrant:status" in body]) == 1
    checks = town.up.hub.check_runs(repository, ended.publication.commit)
    assert len([c for c in checks if c["name"] == "patchwarrant/evidence"]) == 1
    town.up.await_true(lambda: town.up.containers(ended.id) == [], 120)
    no_reply_was_paid_twice(town, ended)


def no_reply_was_paid_twice(town: Town, run: Run) -> None:
    """A reply that was recorded is never asked for again: at most one request was repeated."""
    assert town.up.model is not None
    asked = len(town.up.model.requests())
    assert asked <= run.spend.calls + 1
    kept = [e for e in town.up.ledger.journal(run.id) if e.kind is record.Kept.MODEL]
    assert len(kept) == run.spend.calls
