"""One running container: bytes in and out in both directions at once, and its end."""

from __future__ import annotations

import contextlib
import select
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from app.domain.errors import Unavailable
from worker.sandbox.protocol import Cut, Inbox, Reply

PIECE = 1 << 18
TICK = 0.25  # seconds between looks at a cancellation
KILL_WAIT = 30.0  # seconds in which a killed container has to be gone
NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


@dataclass(frozen=True)
class Ending:
    """How a container ended, by the daemon."""

    code: int
    killed_for_memory: bool


class Ender(Protocol):
    """What a container needs of its engine."""

    def kill(self, container: str) -> None: ...

    def remove(self, container: str) -> None: ...

    def ending(self, container: str) -> Ending: ...


class Container:
    """A started container at the other end of its attach stream."""

    def __init__(self, engine: Ender, container: str, wires: Any) -> None:
        self.id = container
        self.after: Callable[[], None] = lambda: None  # called once, after the removal
        self._engine = engine
        self._wires = wires  # keeps the HTTP response, and with it the socket, alive
        self._sock: socket.socket = wires if isinstance(wires, socket.socket) else wires._sock
        self._sock.setblocking(False)
        self.gone = False
        self.cut = Cut.NONE

    def exchange(
        self,
        inbox: Inbox,
        feed: Iterator[bytes],
        seconds: float,
        cancelled: Callable[[], bool],
    ) -> Reply | None:
        """Write all of `feed` and read one reply; None when the container ended without one.

        Writing never blocks: a container that does not read cannot hold us. After `seconds` the
        container is killed and `cut` says TIME; when `cancelled()` turns true, CANCELLED. Raises
        `Broken`, and `Unavailable` when the engine's stream fails.
        """
        end = time.monotonic() + seconds
        pending = memoryview(b"")
        feeding = True
        reply: Reply | None = None
        with selectors.DefaultSelector() as watch:
            watch.register(self._sock, selectors.EVENT_READ | selectors.EVENT_WRITE)
            while True:
                # An answer may come before the last byte is written: kept until it is.
                reply = reply or inbox.take()
                if self.gone or (reply is not None and not feeding):
                    return reply
                if not pending and feeding:
                    pending = memoryview(next(feed, b""))
                    feeding = bool(pending)
                    if not feeding:
                        watch.modify(self._sock, selectors.EVENT_READ)
                end = self._interrupt(end, cancelled)
                for _, ready in watch.select(max(0.0, min(TICK, end - time.monotonic()))):
                    if ready & selectors.EVENT_READ:
                        self._read(inbox)
                    if ready & selectors.EVENT_WRITE and pending and not self.gone:
                        pending = self._write(pending)

    def _interrupt(self, end: float, cancelled: Callable[[], bool]) -> float:
        """Kill when it is time to; the moment until which to wait."""
        late = time.monotonic() >= end
        if self.cut is not Cut.NONE:
            if late:
                raise Unavailable("a killed container does not end; is the Docker engine well?")
            return end
        if cancelled():
            self.cut = Cut.CANCELLED
        elif late:
            self.cut = Cut.TIME
        else:
            return end
        # Beside the reading: an engine whose stream is not read answers no kill either.
        threading.Thread(target=self._killed, name="kill", daemon=True).start()
        return time.monotonic() + KILL_WAIT

    def _killed(self) -> None:
        with contextlib.suppress(Unavailable):  # what did not work shows as KILL_WAIT being over
            self.kill()

    def _read(self, inbox: Inbox) -> None:
        try:
            piece = self._sock.recv(PIECE)
        except NOT_NOW:
            return
        except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            piece = b""
        except OSError as error:
            raise Unavailable(f"the engine's stream failed: {error}") from error
        if not piece:
            self.gone = True
            return
        inbox.feed(piece)
        if isinstance(self._sock, ssl.SSLSocket) and self._sock.pending():
            self._read(inbox)  # what TLS holds already never wakes a selector

    def _write(self, pending: memoryview) -> memoryview:
        try:
            return pending[self._sock.send(pending[:PIECE]) :]
        except NOT_NOW:
            return pending
        except OSError:  # it stopped reading; whether it ended is what reading tells
            return memoryview(b"")

    def waiting(self) -> bool:
        """Whether a container that was started ahead still waits, silent, for its tree."""
        try:
            heard = select.select([self._sock], [], [], 0)[0]
        except (OSError, ValueError):
            return False
        return not heard and not self.gone

    def kill(self) -> None:
        self._engine.kill(self.id)

    def ending(self) -> Ending:
        return self._engine.ending(self.id)

    def remove(self) -> None:
        """Close the stream and remove the container; never raises."""
        with contextlib.suppress(OSError):
            self._sock.close()
        self._wires.close()
        self._engine.remove(self.id)
        after, self.after = self.after, lambda: None
        after()
