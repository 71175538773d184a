"""kill -9 of the receiver at every effect of a delivery: nothing acknowledged is lost, one run."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from app import settings
from app.feeder import Feeder
from app.inbox import Inbox
from app.main import serve
from app.settings import Settings
from tests.crash.office import Office
from tests.crash.town import Town, town
from tests.stack import free_port

SECRET = b"a secret of the webhook"


@pytest.fixture(scope="module")
def up() -> Iterator[Town]:
    with town() as made:
        yield made


def dies(owner: type, name: str, after: bool) -> Callable[[], None]:
    """Kill the process at this method, before or after it did its work."""

    def arm() -> None:
        inner = getattr(owner, name)

        async def in_loop(self: object, *given: object) -> object:
            if after:
                await inner(self, *given)
            os.kill(os.getpid(), signal.SIGKILL)

        def in_thread(self: object, *given: object) -> object:
            if after:
                inner(self, *given)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(owner, name, in_loop if owner is Inbox else in_thread)

    return arm


def unharmed() -> None:
    """No fault."""


POINTS = {
    "before the row is written": dies(Inbox, "_script", after=False),
    "after the row, before the answer": dies(Inbox, "_script", after=True),
    "before the wake-up": dies(Feeder, "ring", after=False),
    "after the wake-up, before it is off the inbox": dies(Feeder, "ring", after=True),
}


@contextmanager
def receiver(up: Town, arm: Callable[[], None]) -> Iterator[tuple[int, int]]:
    """A forked receiver: (its pid, its port). It is killed at the end if it still lives."""
    port = free_port()
    pid = os.fork()
    if not pid:
        try:
            os.dup2(os.open(up.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
            arm()
            serve(Settings(settings.Secret(SECRET), redis_url=up.redis.url, port=port))
        finally:
            os._exit(0)
    try:
        ends = time.monotonic() + 120
        while True:
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            assert time.monotonic() < ends, (up.folder / "log").read_text()[-3_000:]
            time.sleep(0.02)
        yield pid, port
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def delivered(up: Town, port: int) -> int:
    """Send the label's delivery as GitHub signed it; the status, 0 where no answer came."""
    told = next(
        one
        for one in reversed(up.hub.deliveries())
        if one["event"] == "issues" and one["action"] == "labeled"
    )
    body = told["payload"].encode()
    headers = {
        "content-type": "application/json",
        "x-github-event": "issues",
        "x-github-delivery": told["guid"],
        "x-hub-signature-256": "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest(),
    }
    try:
        return httpx.post(
            f"http://127.0.0.1:{port}/webhooks/github", content=body, headers=headers, timeout=60
        ).status_code
    except httpx.HTTPError:
        return 0


@pytest.mark.parametrize("point", POINTS)
def test_kill_9_of_the_receiver_loses_nothing_and_doubles_nothing(up: Town, point: str) -> None:
    up.quiet()
    name, repository = up.repository()
    up.labelled(name, repository)
    assert json.loads(up.hub.deliveries()[-1]["payload"])["repository"]["full_name"] == name
    with receiver(up, POINTS[point]) as (pid, port):
        status = delivered(up, port)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it died at its point
    if "row" in point:
        assert status == 0  # no promise was made: GitHub counts it as failed, and may send it again
    else:
        assert status in (0, 202)  # the feeder's thread may be faster than the answer
    with receiver(up, unharmed) as (_pid, port):
        assert delivered(up, port) in (200, 202)
    with Office(up.place) as office:
        assert office.work() == "settled"
    (run,) = up.ledger.runs(9)
    assert run.explained and run.publication.pull
    assert len(up.hub.pulls(name)) == 1


def test_a_row_that_is_there_is_worked_on_though_its_receiver_died(up: Town) -> None:
    """Nobody sends it again: the next feeder finds it."""
    up.quiet()
    name, repository = up.repository()
    up.labelled(name, repository)
    with receiver(up, POINTS["before the wake-up"]) as (pid, port):
        assert delivered(up, port) in (0, 202)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with Office(up.place) as office:
        assert office.work() == "settled"
    (run,) = up.ledger.runs(9)
    assert run.publication.pull and len(up.hub.pulls(name)) == 1
