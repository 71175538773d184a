"""Starts the sandbox's process: engine, image, self-test, keeper, socket; or says what fails."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import stat
import time
from collections.abc import AsyncIterator, Callable
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
GRACE_SECONDS = 5

Say = Callable[[str], None]
log = logging.getLogger(__name__)


def bound(path: Path) -> socket.socket:
    """The listening socket, 0600 in a folder 0700. Raises `Refused` where another one listens."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = path.parent.stat()
    if folder.st_uid != os.geteuid() or folder.st_mode & 0o077:
        raise Refused(
            f"the folder {path.parent} of the sandbox's socket must belong to this user and be "
            f"closed to others; type: chmod 700 {path.parent}"
        )
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise Refused(f"{path} is in the way: it is not a socket")
        with socket.socket(socket.AF_UNIX) as asking:
            try:
                asking.connect(str(path))
            except OSError:
                path.unlink()
            else:
                raise Refused(f"a sandbox already listens on {path}; stop that one first")
    listening = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listening.bind(str(path))
    finally:
        os.umask(before)
    listening.listen(128)
    listening.setblocking(False)
    return listening


def application(rooms: Rooms, me: keeper.Owner, clock: Callable[[], float], say: Say) -> Starlette:
    """The routes, with the keeper as a task beside them."""

    async def keep() -> None:
        while True:
            await asyncio.sleep(REAP_SECONDS)
            try:
                gone = await asyncio.to_thread(keeper.reap, rooms.maker.engine, me, clock())
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
    engine = Engine(docker_host)
    say(f"Docker engine {engine.facts.version}, API {engine.facts.api}")
    for warning in engine.facts.warnings:
        say(f"engine: {warning}")
    listening = bound(path)
    try:
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
        say(f"the sandbox listens on {path}")
        asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))
    finally:
        listening.close()
        path.unlink(missing_ok=True)


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
