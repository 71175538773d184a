"""Request bodies read as they stream, and answers that show life while a thread works.

Raw ASGI on purpose: a client that goes away in mid-check must end the container, and a framework's
streaming response would compete with us for the one `http.disconnect` message.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import IO, Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from app.domain.errors import Fault, Refused, Unavailable
from worker.sandbox.wire import ALIVE, HEADER_CAP, Head, fault_head, framed

SIGN_OF_LIFE = 1.0  # seconds
NO_ROOM_AGAIN = 60.0  # seconds
IN_MEMORY = 4 << 20  # of each tree that waits; the rest is on disk

Work = Callable[[Callable[[], bool]], Head]


class Body:
    """A request body of frames, read piece by piece."""

    def __init__(self, request: Request) -> None:
        self._pieces = request.stream()
        self._rest = bytearray()
        self._ended = False

    async def _more(self) -> bool:
        while not self._ended:
            piece = await anext(self._pieces, None)
            if piece is None:
                self._ended = True
            elif piece:
                self._rest += piece
                return True
        return False

    async def exact(self, count: int) -> bytes:
        while len(self._rest) < count:
            if not await self._more():
                raise Refused("the body ended early", 400)
        return self._take(count)

    def _take(self, count: int) -> bytes:
        taken = bytes(memoryview(self._rest)[:count])
        del self._rest[:count]
        return taken

    async def header(self) -> bytes:
        length = struct.unpack(">I", await self.exact(4))[0]
        if length > HEADER_CAP:
            raise Refused(f"a header of {length} bytes is over {HEADER_CAP}", 413)
        return await self.exact(length)

    async def spool(self, cap: int) -> tuple[IO[bytes], int]:
        """A u64 length and as many bytes, kept in memory while small; the caller closes the file.

        Raises `Refused` 413 over `cap`, `Unavailable` where the disk is full."""
        size = struct.unpack(">Q", await self.exact(8))[0]
        if size > cap:
            raise Refused(f"a tree of {size} bytes is over the limit of {cap}", 413)
        kept = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - handed over
        left = size
        while left:
            if not self._rest and not await self._more():
                kept.close()
                raise Refused("the tree ended early", 400)
            taken = self._take(left)
            try:
                kept.write(taken)
            except OSError as error:
                with contextlib.suppress(OSError):  # it writes again when it is closed
                    kept.close()
                why = (
                    f"the sandbox has no room for a tree of {size} bytes in {tempfile.gettempdir()}"
                )
                raise Unavailable(f"{why}: {error.strerror}", NO_ROOM_AGAIN) from error
            left -= len(taken)
        return kept, size

    async def drain(self, most: int) -> None:
        """Read on before refusing, so that the client sees the refusal and no broken pipe."""
        self._rest.clear()
        while most > 0 and await self._more():
            most -= len(self._rest)
            self._rest.clear()


class Answer:
    """Runs `work` in a thread; the client going away turns its `cancelled` true."""

    def __init__(self, pool: Executor, work: Work) -> None:
        self._pool = pool
        self._work = work
        self._cancelled = threading.Event()

    def _run(self) -> Head:
        try:
            return self._work(self._cancelled.is_set)
        except Fault as fault:
            return fault_head(fault)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        working = asyncio.get_running_loop().run_in_executor(self._pool, self._run)
        leaving = asyncio.create_task(_gone(receive))
        both: set[asyncio.Future[Any]] = {working, leaving}
        headers = [(b"content-type", b"application/octet-stream")]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            while True:
                await asyncio.wait(both, timeout=SIGN_OF_LIFE, return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    break
                if leaving.done():
                    self._cancelled.set()
                    await working
                    return
                await send({"type": "http.response.body", "body": ALIVE, "more_body": True})
            await send({"type": "http.response.body", "body": framed(working.result())})
        finally:
            self._cancelled.set()
            leaving.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
