"""Half-sent heads, endless heads and crowds of them keep no genuine delivery out."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from redis import Redis

from app.heads import patient
from app.inbox import Inbox, client
from app.main import Receiver
from app.webhook import Webhook
from tests.app.receiver import SECRET, headers, post, serving
from tests.app.test_webhook import GOOD, KEY
from tests.patience import PATIENCE, until
from tests.redis_server import Server

HALF = b"POST /webhooks/github HTTP/1.1\r\nHost: x\r\nX-A: "


@contextmanager
def besieged(server: Server, seconds: float) -> Iterator[int]:
    """The port of a receiver that gives a head so many seconds."""
    inbox = Inbox(client(server.url))
    app = Receiver(Webhook(SECRET, inbox), inbox, None)
    with serving(app, patient(seconds=seconds, cap=4096, crowd=8)) as port:
        yield port


@pytest.fixture(scope="module")
def hasty(redis_process: Server) -> Iterator[int]:
    """For heads that never come: whoever means well may be too slow for it."""
    with besieged(redis_process, 1.0) as port:
        yield port


@pytest.fixture(scope="module")
def port(redis_process: Server) -> Iterator[int]:
    with besieged(redis_process, 10 * PATIENCE) as port:
        yield port


def opened(port: int, data: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    made.sendall(data)
    return made


def ended(one: socket.socket) -> bytes:
    """What comes until the server hangs up; a test that waits in vain fails by its time-out."""
    got = b""
    try:
        while piece := one.recv(4096):
            got += piece
    except ConnectionResetError:
        pass
    return got


@pytest.mark.parametrize("sent", [b"", HALF, b"\r\n", b"POST"])
def test_a_head_that_never_comes_is_given_up(hasty: int, sent: bytes) -> None:
    with opened(hasty, sent) as one:
        assert ended(one) == b""


def test_a_half_head_after_a_whole_request_is_given_up(redis_process: Server) -> None:
    with (
        besieged(redis_process, 5.0) as port,
        opened(port, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") as one,
    ):
        assert one.recv(4096).startswith(b"HTTP/1.1 200")
        one.sendall(HALF)
        assert b"HTTP" not in ended(one)


def test_an_endless_head_is_cut(port: int) -> None:
    with opened(port, HALF) as one, pytest.raises(OSError):
        for _ in range(10_000):
            one.sendall(b"x" * 1024)


def test_a_crowd_of_half_heads_keeps_nobody_out(port: int, redis: Redis) -> None:
    with ExitStack() as crowd:
        first = crowd.enter_context(opened(port, HALF))
        for _ in range(40):
            crowd.enter_context(opened(port, HALF))
        assert ended(first) == b""  # the oldest went, long before its time
        assert post(port, GOOD) == (202, {"accepted": KEY})


def test_long_bodies_of_strangers_are_bounded_together(redis_process: Server, redis: Redis) -> None:
    inbox = Inbox(client(redis_process.url))
    webhook = Webhook(SECRET, inbox, room=1 << 20)
    with serving(Receiver(webhook, inbox, None)) as port, ExitStack() as strangers:
        lines = b"".join(b"%b: %b\r\n" % pair for pair in headers(b"other"))
        head = b"POST /webhooks/github HTTP/1.1\r\nHost: x\r\n%bContent-Length: 2000000\r\n\r\n"
        held = [
            strangers.enter_context(opened(port, head % lines + b" " * 400_000)) for _ in range(4)
        ]
        held[-1].sendall(b" " * 100_000)
        answers: list[bytes] = []

        def answered() -> bool:
            ready, _, _ = select.select(held, [], [], 0)
            answers.extend(answer for one in ready if (answer := first_of(one)))
            return bool(answers)

        until(answered)
        assert all(answer.startswith(b"HTTP/1.1 503") for answer in answers)
        for one in held:
            one.close()
        assert post(port, GOOD)[0] == 202
    assert webhook.room == 1 << 20


def first_of(one: socket.socket) -> bytes:
    try:
        return one.recv(4096)
    except ConnectionResetError:
        return b""
