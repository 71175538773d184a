"""Bytes in both directions at once, on a socket whose other end behaves badly in every way."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from app.domain.errors import Unavailable
from worker.sandbox import container as container_module
from worker.sandbox.container import Container, Ending
from worker.sandbox.protocol import Cut, Inbox


class Wires:
    """What the client library hands over: an object around the socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def close(self) -> None:
        self._sock.close()


class Killer:
    """An engine that only kills; killing hangs up as a real end does, unless it is `deaf`."""

    def __init__(self, far: socket.socket, deaf: bool = False) -> None:
        self.killed: list[str] = []
        self._far = far
        self._deaf = deaf

    def kill(self, container: str) -> None:
        self.killed.append(container)
        if not self._deaf:
            self._far.shutdown(socket.SHUT_RDWR)

    def ending(self, container: str) -> Ending:
        raise NotImplementedError(container)

    def remove(self, container: str) -> None:
        self.killed.append(f"removed {container}")


@pytest.fixture
def far() -> Iterator[socket.socket]:
    """The container's end; `near_of` holds ours."""
    near, end = socket.socketpair()
    pairs[end] = near
    yield end
    end.close()
    near.close()
    del pairs[end]


pairs: dict[socket.socket, socket.socket] = {}


def container(far: socket.socket, deaf: bool = False) -> tuple[Container, Killer]:
    killer = Killer(far, deaf)
    return Container(killer, "c", Wires(pairs[far])), killer


def frame(head: dict[str, Any], *bodies: bytes) -> bytes:
    text = json.dumps({**head, "sizes": [len(body) for body in bodies]}).encode()
    data = struct.pack(">I", len(text)) + text + b"".join(bodies)
    return struct.pack(">BxxxL", 1, len(data)) + data


def never() -> bool:
    return False


def test_an_answer_before_the_last_byte_was_written_is_not_lost(far: socket.socket) -> None:
    made, _ = container(far)
    inbox = Inbox(100)
    far.sendall(frame({"n": 1}) + frame({"n": 2}, b"body"))
    first = made.exchange(inbox, iter([b"a", b"b", b"c"]), 60, never)
    far.shutdown(socket.SHUT_WR)
    second = made.exchange(inbox, iter(()), 60, never)
    third = made.exchange(inbox, iter(()), 60, never)
    assert first is not None
    assert second is not None
    assert (first.head["n"], second.head["n"], second.bodies, third) == (1, 2, (b"body",), None)
    assert far.recv(10) == b"abc"


def test_much_is_written_while_much_is_read(far: socket.socket) -> None:
    made, _ = container(far)
    sent, got = bytes(range(256)) * 8192, bytearray()

    def other() -> None:
        far.sendall(frame({"n": 1}, sent))
        while len(got) < len(sent):
            got.extend(far.recv(65536))

    thread = threading.Thread(target=other)
    thread.start()
    pieces = (sent[start : start + 50_000] for start in range(0, len(sent), 50_000))
    reply = made.exchange(Inbox(len(sent)), pieces, 120, never)
    thread.join(120)
    assert reply is not None
    assert reply.bodies == (sent,)
    assert bytes(got) == sent


def test_who_does_not_read_is_killed_in_time(far: socket.socket) -> None:
    made, killer = container(far)
    reply = made.exchange(Inbox(10), iter([bytes(50 << 20)]), 0.3, never)
    assert (reply, made.cut, killer.killed) == (None, Cut.TIME, ["c"])


def test_a_cancellation_kills(far: socket.socket) -> None:
    made, killer = container(far)
    asked = iter([False, True])
    reply = made.exchange(Inbox(10), iter(()), 120, lambda: next(asked))
    assert (reply, made.cut, killer.killed) == (None, Cut.CANCELLED, ["c"])


def test_an_end_without_an_answer_is_none(far: socket.socket) -> None:
    made, killer = container(far)
    far.sendall(frame({"n": 1}, b"whole")[:-1])
    far.shutdown(socket.SHUT_WR)
    assert made.exchange(Inbox(10), iter([b"x"]), 60, never) is None
    assert (made.gone, made.cut, killer.killed) == (True, Cut.NONE, [])


def test_a_container_that_cannot_be_killed_is_the_engines_trouble(
    far: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container_module, "KILL_WAIT", 0.2)
    made, killer = container(far, deaf=True)
    with pytest.raises(Unavailable, match="does not end"):
        made.exchange(Inbox(10), iter(()), 0.1, never)
    assert killer.killed == ["c"]
    made.remove()
    assert killer.killed == ["c", "removed c"]
