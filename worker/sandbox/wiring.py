"""Starts the sandbox's process: engine, image, self-test, keeper, socket; or says what fails."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from app.domain.errors import Refused, Unavailable
from worker import settings
from worker.sandbox import keeper, selftest
from worker.sandbox.cell import Maker
from worker.sandbox.engine import Engine
from worker.sandbox.image import RECIPE, Images
from worker.sandbox.service import Ceilings, Rooms

REAP_SECONDS = 30.0
GRACE_SECONDS = 1  # running checks are stopped, not waited for: their runs come back

Say = Callable[[str], None]
log = logging.getLogger(__name__)


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """SIGTERM and SIGINT end the block as if it had returned, its clean-up included.

    uvicorn raises the signal that ended it once more, and the default action would skip ours."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    except _Leave:
        pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Leave(BaseException):
    """Not an error, and nothing that a handler of errors should catch."""


def _leave(_number: int, _frame: object) -> None:
    raise _Leave


@contextlib.contextmanager
def place(path: Path) -> Iterator[None]:
    """The socket's folder, closed to others and held by this process alone.

    Raises `Refused` where it is open to others or another sandbox holds it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = path.parent.stat()
    if folder.st_uid != os.geteuid() or folder.st_mode & 0o077:
        raise Refused(
            f"the folder {path.parent} of the sandbox's socket must belong to this user and be "
            f"closed to others; type: chmod 700 {path.parent}"
        )
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"a sandbox already runs on {path}; stop that one first") from None
        yield


@contextlib.contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """The listening socket, 0600; who holds the place may replace what lies there."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX)
    try:
        before = os.umask(0o177)
        try:
            made.bind(str(path))
        finally:
            os.umask(before)
        made.listen(128)
        made.setblocking(False)
        yield made
    finally:
        made.close()
        path.unlink(missing_ok=True)


def application(rooms: Rooms, me: keeper.Owner, clock: Callable[[], float], say: Say) -> Starlette:
    """The routes, with the keeper as a task beside them."""

    async def keep() -> None:
        while True:
            await asyncio.sleep(REAP_SECONDS)
            try:
                gone = await asyncio.to_thread(rooms.expire, time.monotonic())
                gone += await asyncio.to_thread(keeper.reap, rooms.maker.engine, me, clock())
            except (Unavailable, Refused) as error:
                say(f"keeper: {error}")
            else:
                if gone:
                    say(f"keeper: removed {gone} containers that nobody needs any more")

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(keep())
        yield
        task.cancel()
        await asyncio.to_thread(rooms.stop_all)

    return Starlette(
        routes=[
            Route("/healthz", rooms.healthz, methods=["GET"]),
            Route("/images", rooms.image, methods=["POST"]),
            Route("/certify", rooms.certify, methods=["POST"]),
            Route("/boxes", rooms.open, methods=["POST"]),
            Route("/boxes/{box}/run", rooms.run, methods=["POST"]),
            Route("/boxes/{box}", rooms.close, methods=["DELETE"]),
            Route("/runs/{run}", rooms.stop, methods=["DELETE"]),
        ],
        lifespan=lifespan,
    )


def serve(
    socket_path: str,
    *,
    docker_host: str = "",
    images: tuple[str, ...] = (),
    ceilings: Ceilings | None = None,
    recipe: Path = RECIPE,
    folder: Path | None = None,
    say: Say = lambda _: None,
) -> None:
    """Serve until SIGTERM or SIGINT; every container is removed before it returns.

    Raises `Refused` or `Unavailable` with a sentence when engine, image, self-test or socket fail.
    """
    path = Path(socket_path)
    clock = time.time  # noqa: TID251 - deadlines in labels outlive this process: wall time
    with leaving(), Engine(docker_host) as engine, place(path):
        say(f"Docker engine {engine.facts.version}, API {engine.facts.api}")
        for warning in engine.facts.warnings:
            say(f"engine: {warning}")
        me = keeper.owner(path, os.getpid())
        if gone := keeper.reap(engine, me, clock()):
            say(f"removed {gone} containers of an earlier sandbox")
        maker = Maker.of(engine, str(me), clock)
        kept = Images(
            engine, images, say, lambda image: selftest.probe(maker, image), recipe, folder
        )
        say(f"self-test passed in {kept.ensure('')}")
        rooms = Rooms(maker, kept, ceilings or Ceilings())
        config = uvicorn.Config(
            application(rooms, me, clock, say),
            log_config=None,
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        with listening(path) as sock:
            say(f"the sandbox listens on {path}")
            asyncio.run(uvicorn.Server(config).serve(sockets=[sock]))


def main(door: settings.Door, _arguments: list[str]) -> int:
    """The role's entry. Exit code 0 after a wanted end, 1 when it could not start."""
    read = settings.sandbox(door)
    ceilings = Ceilings(concurrency=read.concurrency, memory=read.memory, seconds=read.seconds)
    try:
        serve(
            read.socket,
            docker_host=read.docker_host,
            images=read.images,
            ceilings=ceilings,
            say=log.info,
        )
    except (Refused, Unavailable) as error:
        log.error("the sandbox cannot start: %s", error)
        return 1
    return 0
