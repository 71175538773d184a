"""The server's protocol with a deadline, a size and a crowd limit for requests' heads.

uvicorn waits for a head for ever, and a connection that sent half of one counts against the limit
of connections: a few hundred of them would shut everybody else out.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SECONDS = 10.0  # for a whole head, from the connection's start or the head's first byte
CAP = 32 << 10  # bytes that may come before a head is whole
CROWD = 256  # connections without a whole head; beyond it the oldest of them goes


def patient(
    seconds: float = SECONDS, cap: int = CAP, crowd: int = CROWD
) -> type[HttpToolsProtocol]:
    """The class for one server; its connections share one crowd."""
    waiting: dict[HttpToolsProtocol, asyncio.TimerHandle] = {}

    class Patient(HttpToolsProtocol):
        seen = 0  # bytes of the head so far

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            if self not in waiting and (self.cycle is None or self.cycle.response_complete):
                self._wait()
            self.seen += len(data)
            super().data_received(data)
            if self in waiting and self.seen > cap:
                self._give_up()

        def on_headers_complete(self) -> None:
            self._arrived()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._arrived()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self.seen = 0
            waiting[self] = self.loop.call_later(seconds, self._give_up)
            if len(waiting) > crowd:
                oldest = next(iter(waiting))
                oldest._give_up()  # type: ignore[attr-defined]

        def _arrived(self) -> None:
            if (timer := waiting.pop(self, None)) is not None:
                timer.cancel()

        def _give_up(self) -> None:
            self._arrived()
            self.transport.abort()

    return Patient
