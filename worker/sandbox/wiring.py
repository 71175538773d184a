"""Starts the sandbox's process: engine, image, self-test, keeper, socket; or says what fails."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import uvloop
from starlette.applications import Starlette
from starlette.routing import Route

from app.domain.errors import Refused, Unavailable
from worker.sandbox import folders, keeper, leftover, selftest
from worker.sandbox.cell import Maker
from worker.sandbox.disk import Disk
from worker.sandbox.doors import Remote, answer, far, listening, place
from worker.sandbox.engine import Engine, Facts
from worker.sandbox.environments import SetupRoom
from worker.sandbox.image import RECIPE, Images, ensure_default, missing
from worker.sandbox.leftover import DAY, Keep, Uses
from worker.sandbox.profile import MIB, RUNTIME
from worker.sandbox.service import Ceilings, Rooms
from worker.sandbox.setup import Setups, scope_of, setup_made
from worker.sandbox.setup_rules import SetupRules
from worker.sandbox.tunnel import reached
from worker.sandbox.validity import valid
from worker.sandbox.versions import judge
from worker.settings.door import Door
from worker.settings.sandbox import SandboxSettings, sandbox_settings
from worker.settings.setup import SetupSettings

REAP_SECONDS = 30.0
COLLECT_EVERY = 120  # rounds of the keeper between two looks at old images: an hour
LEAST_TOTAL = 256 * MIB
SHARE = 0.8  # of the machine's memory that containers may have

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


@dataclass(frozen=True)
class Choices:
    """What the operator chose about engine and machine.

    `certs` is a folder with the engine's client certificates, `strict` refuses an engine with known
    holes, `floor` are bytes that stay free on the engine's disk, `remote` a second door."""

    docker_host: str = ""
    certs: str = ""
    runtime: str = RUNTIME
    strict: bool = False
    floor: int = 0
    keep: Keep = field(default_factory=Keep)
    remote: Remote | None = None
    setup: SetupRules = field(default_factory=SetupRules)


@dataclass(frozen=True)
class Chores:
    """What is done every half a minute beside the checks."""

    rooms: Rooms
    me: keeper.Owner
    clock: Callable[[], float]
    uses: Uses
    keep: Keep
    say: Say
    forget: Callable[[float, float], int]  # logs of set-ups, by now and age

    async def go(self) -> None:
        round_ = 0
        while True:
            await asyncio.sleep(REAP_SECONDS)
            round_ += 1
            try:
                await asyncio.to_thread(self.once, collecting=round_ % COLLECT_EVERY == 0)
            except (Unavailable, Refused) as error:
                self.say(f"keeper: {error}")

    def once(self, *, collecting: bool) -> None:
        """Forgotten boxes, orphans, stale containers of the pool; images when it is time."""
        engine = self.rooms.maker.engine
        gone = self.rooms.expire(time.monotonic())
        gone += keeper.reap(engine, self.me, self.clock())
        if gone:
            self.say(f"keeper: removed {gone} containers that nobody needs any more")
        self.rooms.maker.pool.tend()
        if collecting:
            self.forget(self.clock(), self.keep.age)
            known = self.rooms.images.known
            wanted = frozenset(one for one in known if not setup_made(engine, one))
            if gone := leftover.collect(engine, self.uses, self.clock(), self.keep, wanted):
                self.say(f"keeper: removed {gone} images that nobody used for long")


def application(rooms: Rooms, setups: SetupRoom, chores: Chores) -> Starlette:
    """The routes, with the keeper as a task beside them."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(chores.go())
        yield
        task.cancel()
        rooms.live.stop(None)
        await asyncio.to_thread(setups.close)
        await asyncio.to_thread(rooms.stop_all)

    return Starlette(
        routes=[
            Route("/healthz", rooms.healthz, methods=["GET"]),
            Route("/images", rooms.image, methods=["POST"]),
            Route("/setups", setups.make, methods=["POST"]),
            Route("/certify", rooms.certify, methods=["POST"]),
            Route("/boxes", rooms.open, methods=["POST"]),
            Route("/boxes/{box}/run", rooms.run, methods=["POST"]),
            Route("/boxes/{box}", rooms.close, methods=["DELETE"]),
            Route("/runs/{run}", rooms.stop, methods=["DELETE"]),
        ],
        lifespan=lifespan,
    )


def sized(ceilings: Ceilings, facts: Facts) -> Ceilings:
    """The ceilings with what was left open (0) taken from the engine's machine: two checks a core,
    four fifths of the memory. Raises `Refused` where no check would fit."""
    total = ceilings.total or int(facts.memory * SHARE)
    if 0 < total < LEAST_TOTAL:
        raise Refused(
            f"the sandbox's containers may have {total // MIB} MiB of memory together, and "
            f"{LEAST_TOTAL // MIB} are the least that a check can run in: raise "
            "PATCHWARRANT_SANDBOX_TOTAL_MIB, or give the engine's machine more "
            f"(it has {facts.memory // MIB})"
        )
    return replace(
        ceilings, concurrency=ceilings.concurrency or max(2, 2 * facts.cpus), total=total
    )


def judged(facts: Facts, choices: Choices, say: Say) -> None:
    """Say what is known against engine, runtime and user. Raises `Refused` for a runtime that the
    engine does not have, and for everything that is known where that is asked for."""
    runtimes = dict.fromkeys((choices.runtime, choices.setup.runtime or choices.runtime))
    for runtime in runtimes:
        if runtime not in facts.runtimes and not runtime.startswith("io.containerd."):
            raise Refused(
                f"the engine has no runtime {runtime!r}, only "
                f"{', '.join(facts.runtimes) or 'none'}; install it and name it in the engine's "
                "daemon.json"
            )
    told = [one for name in runtimes for one in judge(facts.version, facts.runc, name)]
    known = list(dict.fromkeys(told))
    for warning in (*facts.warnings, *known):
        say(f"engine: {warning}")
    if os.geteuid() == 0:
        say("this process runs as root; a user of its own, in the engine's group, is enough")
    if choices.strict and known:
        raise Refused("--strict refuses this engine: " + "; ".join(known))


@contextlib.contextmanager
def opened(choices: Choices, say: Say, now: float) -> Iterator[Engine]:
    """The engine, reached and judged; `now` in epoch seconds. Raises `Refused`, `Unavailable`."""
    if choices.docker_host.startswith("tcp://") and choices.certs:
        valid(choices.certs, "DOCKER_CERT_PATH", now)
    if choices.remote is not None:
        valid(choices.remote.certs, "PATCHWARRANT_SANDBOX_TLS", now)
    with reached(choices.docker_host) as host, Engine(host, certs=choices.certs) as engine:
        say(f"Docker engine {engine.facts.version}, API {engine.facts.api}")
        judged(engine.facts, choices, say)
        yield engine


def disk_of(engine: Engine, floor: int) -> Disk:
    root = engine.facts.root
    return Disk(root if engine.local and Path(root).is_dir() else "", floor)


def serve(
    socket_path: str,
    *,
    docker_host: str = "",
    images: tuple[str, ...] = (),
    ceilings: Ceilings | None = None,
    recipe: Path = RECIPE,
    folder: Path | None = None,
    say: Say = lambda _: None,
    choices: Choices | None = None,
    prove: Callable[[Maker, str], object] = selftest.prove,
) -> None:
    """Serve until SIGTERM or SIGINT; every container is removed before it returns.

    `prove` is the self-test of the default image. Raises `Refused` or `Unavailable` with a sentence
    when engine, image, self-test or socket fail.
    """
    path = Path(socket_path)
    chosen = choices or Choices(docker_host=docker_host)
    clock = time.time  # noqa: TID251 - deadlines in labels outlive this process: wall time
    with (
        leaving(),
        opened(chosen, say, clock()) as engine,
        place(path),
        far(chosen.remote) as beyond,
    ):
        me = keeper.owner(path, os.getpid())
        folders.sweep(clock())
        if gone := keeper.reap(engine, me, clock()):
            say(f"removed {gone} containers of an earlier sandbox")
        limits = sized(ceilings or Ceilings(), engine.facts)
        disk = disk_of(engine, chosen.floor)
        maker = Maker.of(engine, str(me), clock, chosen.runtime, disk, limits.ahead)
        uses = Uses.read(path.with_name("images.json"))
        kept = Images(
            engine,
            images,
            say,
            lambda image: selftest.probe(maker, image),
            recipe,
            folder,
            used=lambda image: uses.note(image, clock()),
            scope=lambda image: scope_of(engine, image),
        )
        for amiss in missing(engine, images):
            log.warning(amiss)
        image = ensure_default(engine, say, recipe, folder)
        prove(maker, image)
        kept.known.add(image)
        say(f"self-test passed in {kept.ensure('')}")
        rooms = Rooms(maker, kept, limits)
        rooms.admission.room = replace(rooms.admission.room, setups=chosen.setup.at_once)
        rules = replace(chosen.setup, memory=limits.builder(chosen.setup.memory))
        setups = Setups(
            maker,
            rules,
            path.with_name("setups"),
            kept.prove,
            kept.service_image,
            rooms.admission,
            limits.wait,
        )
        setup_room = SetupRoom(rooms, setups)
        rooms.links, rooms.beside = setup_room.links, setup_room.beside
        rooms.weight = setup_room.weight
        chores = Chores(rooms, me, clock, uses, chosen.keep, say, setups.forget)
        with listening(path) as sock:
            say(f"the sandbox listens on {path}")
            if beyond is not None:
                say(f"and, with TLS, on {beyond[0].getsockname()[:2]}")
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(answer(application(rooms, setup_room, chores), sock, beyond))


def ceilings_of(read: SandboxSettings) -> Ceilings:
    return Ceilings(
        concurrency=read.concurrency,
        memory=read.memory,
        seconds=read.seconds,
        total=read.total,
        per_run=read.per_run,
        per_tenant=read.per_tenant,
        ahead=read.ahead,
    )


def rules_of(read: SetupSettings) -> SetupRules:
    """Raises `Refused` for a credential, and for what cannot be a host or a network."""
    return SetupRules(
        on=read.on,
        hosts=read.hosts,
        certificates=read.certificates,
        environment=read.environment,
        shared=read.shared,
        seconds=read.seconds,
        memory=read.memory,
        disk=read.disk,
        networks=read.networks,
        runtime=read.runtime,
    )


def choices_of(read: SandboxSettings, arguments: list[str]) -> Choices:
    """Raises `Refused` for a word that is not known."""
    if unknown := [word for word in arguments if word != "--strict"]:
        raise Refused(f"{unknown[0]!r} is not known here; only --strict is")
    return Choices(
        docker_host=read.docker_host,
        certs=read.certs,
        runtime=read.runtime,
        strict=read.strict or "--strict" in arguments,
        floor=read.floor,
        keep=Keep(read.image_days * DAY, read.image_bytes),
        remote=Remote(read.listen, read.tls) if read.listen else None,
        setup=rules_of(read.setup),
    )


def main(door: Door, arguments: list[str]) -> int:
    """The role's entry. Exit code 0 after a wanted end, 1 when it could not start."""
    read = sandbox_settings(door)
    try:
        serve(
            read.socket,
            images=read.images,
            ceilings=ceilings_of(read),
            choices=choices_of(read, arguments),
            say=log.info,
        )
    except (Refused, Unavailable) as error:
        log.error("the sandbox cannot start: %s", error)
        return 1
    return 0
