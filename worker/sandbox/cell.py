"""One container's use: a certified check in a fresh one, or in-between checks in a kept one."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import IO

from app.domain.check import Outcome
from app.domain.errors import Missing, Refused, Unavailable
from app.domain.ports.sandbox import Job
from worker.sandbox.container import Container
from worker.sandbox.disk import Disk
from worker.sandbox.engine import Broken, Engine
from worker.sandbox.pool import LIFE_SECONDS, Pool
from worker.sandbox.profile import (
    LABEL_DEADLINE,
    LABEL_OWNER,
    LABEL_PROFILE,
    LABEL_RUN,
    NO_NETWORK,
    RUNTIME,
    Limits,
    digest,
)
from worker.sandbox.protocol import (
    Bounds,
    Cut,
    Inbox,
    Reply,
    bounds_of,
    command,
    exit_code,
    limit_of,
    outcome,
    request,
)

SETUP_SECONDS = 120.0  # to start and to unpack the tree
# PID 1's own limit comes first; ours is the one that holds. Ending 256 busy processes takes it
# seconds on a machine that has much else to do, and only its answer tells which limit was met.
GRACE_SECONDS = 15.0
NOBODY = "nobody-yet"  # the run of a container that was started ahead
AHEAD_SECONDS = 7200.0  # that a container may live on after it was taken
PIECE = 1 << 20
SLACK = 1 << 16
FELL = 1  # how PID 1 ends when it meets what it did not expect

Cancelled = Callable[[], bool]


@dataclass
class Maker:
    """Makes containers of one service instance. `clock` gives epoch seconds for the labels, `disk`
    says when there is no room for one more, `pool` holds those that were started ahead."""

    engine: Engine
    owner: str
    clock: Callable[[], float]
    argv: tuple[str, ...]
    runtime: str = RUNTIME
    disk: Disk = field(default_factory=lambda: Disk("", 0))
    pool: Pool = field(init=False)
    stores: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of services, by image

    def __post_init__(self) -> None:
        self.pool = Pool(self._ahead, 0)
        self._waste = ThreadPoolExecutor(2, thread_name_prefix="waste")

    @staticmethod
    def of(
        engine: Engine,
        owner: str,
        clock: Callable[[], float],
        runtime: str = RUNTIME,
        disk: Disk | None = None,
        ahead: int = 0,
    ) -> Maker:
        """`ahead` containers of each wanted image are started before they are asked for."""
        made = Maker(engine, owner, clock, tuple(command()), runtime, disk or Disk("", 0))
        made.pool = Pool(made._ahead, ahead)
        return made

    @property
    def profile(self) -> str:
        return digest(list(self.argv), self.runtime)

    def make(
        self, run: str, image: str, memory: int, seconds: float, network: str = NO_NETWORK
    ) -> Container:
        """A new container of a run, to be gone after `seconds`. Raises `Unavailable` where the
        disk has no room."""
        self.disk.check()
        labels = {
            LABEL_RUN: run,
            LABEL_DEADLINE: str(int(self.clock() + seconds)),
            LABEL_PROFILE: self.profile,
            LABEL_OWNER: self.owner,
        }
        limits = Limits(memory, self.runtime, network)
        return self.engine.create(image, list(self.argv), limits, labels)

    def still(self, image: str) -> str:
        """The id of a container that never runs, to look at an image's files."""
        labels = {LABEL_OWNER: self.owner, LABEL_DEADLINE: str(int(self.clock() + SETUP_SECONDS))}
        return self.engine.still(image, labels)

    def take(
        self, run: str, image: str, memory: int, seconds: float, network: str = NO_NETWORK
    ) -> Container:
        """One that was started ahead and never used, else a new one."""
        ready = self.pool.take(image, memory) if network == NO_NETWORK else None
        if ready is None:
            return self.make(run, image, memory, seconds, network)
        self._waste.submit(self.engine.name, ready.id, run)
        return ready

    def drop(self, container: Container) -> None:
        """Remove a container, without waiting for it."""
        self._waste.submit(container.remove)

    def close(self) -> None:
        """Remove what waits; returns when all that was dropped is gone."""
        self.pool.close()
        self._waste.shutdown(wait=True)

    def _ahead(self, image: str, memory: int) -> Container:
        return self.make(NOBODY, image, memory, LIFE_SECONDS + AHEAD_SECONDS)


@dataclass(frozen=True)
class Beside:
    """What a check joins: a `network`, and `ended`, a sentence for each service that is over."""

    network: str = NO_NETWORK
    ended: Callable[[], list[str]] = list

    def told(self, outcome: Outcome) -> Outcome:
        """The outcome of a check that did not end well, with what its services have to do with it
        at the end of stderr; any other as it is."""
        if outcome.exit_code == 0 and not outcome.limit:
            return outcome
        said = "".join(f"\nsandbox: while the check ran, {one}" for one in self.ended()).encode()
        stdout, stderr = outcome.seen
        return replace(outcome, stderr=outcome.stderr + said, seen=(stdout, stderr + len(said)))


@dataclass(frozen=True)
class Tree:
    """An uncompressed tar of `size` bytes, and (path, target) of links that are laid after it."""

    source: IO[bytes]
    size: int
    links: tuple[tuple[str, str], ...] = ()

    def frames(self) -> Iterator[bytes]:
        yield struct.pack(">Q", self.size)
        self.source.seek(0)
        while piece := self.source.read(PIECE):
            yield piece
        links = json.dumps(self.links).encode()
        yield struct.pack(">I", len(links)) + links


def _gone(container: Container, inbox: Inbox) -> Unavailable:
    ending = container.ending()
    words = bytes(inbox.said).decode("utf-8", "replace").strip()
    return Unavailable(
        f"the sandbox's container ended early with {ending.code}"
        f"{' (out of memory)' if ending.killed_for_memory else ''}: {words or 'it said nothing'}"
    )


def _nothing(limit: tuple[str, int], error: str) -> Outcome:
    return Outcome(None, limit[0], 0, b"", b"", (0, 0), None, error, limit[1])


def _stopped() -> Refused:
    return Missing("the check was stopped together with its run", 410)


def certify(
    maker: Maker,
    run: str,
    image: str,
    job: Job,
    tree: Tree,
    cancelled: Cancelled,
    network: str = NO_NETWORK,
) -> Outcome:
    """One fresh container, one check; the daemon's exit code counts.

    Raises `Missing` (410) when cancelled, `Unavailable` when the engine or PID 1 failed.
    """
    longest = SETUP_SECONDS + job.seconds + 2 * GRACE_SECONDS
    container = maker.take(run, image, job.memory, longest, network)
    bounds = bounds_of(job, job.memory)
    try:
        inbox = Inbox(2 * job.output_cap + job.report_cap + SLACK)

        def feed() -> Iterator[bytes]:
            yield from tree.frames()
            yield request(job, {}, last=True)

        ready = _exchange(container, inbox, feed(), SETUP_SECONDS, cancelled)
        if ready is None or not ready.head.get("ready"):
            return _unready(container, inbox, ready, bounds)
        maker.disk.tell(int(ready.head.get("free", 0)))
        reply = _exchange(container, inbox, iter(()), job.seconds + GRACE_SECONDS, cancelled)
        if reply is None:
            return _unanswered(container, inbox, bounds)
        ending = container.ending()
        told = reply.head["code"]
        agreed = told is None or ending.code == exit_code(int(told))
        if not agreed and not ending.killed_for_memory:
            raise Unavailable(f"the daemon saw exit {ending.code} where PID 1 reported {told}")
        limit = limit_of(
            reply.head, bounds, killed_for_memory=ending.killed_for_memory, cut=container.cut
        )
        return outcome(reply, ending.code, limit)
    finally:
        maker.drop(container)


def _exchange(
    container: Container,
    inbox: Inbox,
    feed: Iterator[bytes],
    seconds: float,
    cancelled: Cancelled,
) -> Reply | None:
    try:
        reply = container.exchange(inbox, feed, seconds, cancelled)
    except Broken as error:
        container.kill()
        raise Unavailable(f"the sandbox's container broke its protocol: {error}") from error
    if container.cut is Cut.CANCELLED:
        raise _stopped()
    return reply


def _unready(container: Container, inbox: Inbox, ready: Reply | None, bounds: Bounds) -> Outcome:
    """The tree could not be unpacked: a limit where it was one, else the engine's trouble."""
    if ready is not None:
        head = {**ready.head, "code": 1}
        limit = limit_of(head, bounds, killed_for_memory=False, cut=container.cut)
        return _nothing(limit, f"the tree could not be unpacked: {ready.head.get('error')}")
    if container.cut is Cut.TIME:
        raise Unavailable("the tree was not unpacked in time")
    ending = container.ending()
    if ending.killed_for_memory:
        return _nothing(
            ("memory", bounds.memory), "the memory limit is too small to unpack the tree"
        )
    raise _gone(container, inbox)


def _unanswered(container: Container, inbox: Inbox, bounds: Bounds) -> Outcome:
    """PID 1 ended without a frame: killed by us or for memory, or it fell over what a check left
    behind, which is the check's failure. Anything else is not a result."""
    ending = container.ending()
    limit, ceiling = limit_of(
        {}, bounds, killed_for_memory=ending.killed_for_memory, cut=container.cut
    )
    ms = bounds.seconds * 1000
    if not limit and ending.code == FELL:
        words = bytes(inbox.said).decode("utf-8", "replace").strip()
        error = f"the check left the sandbox's runner unable to answer: {words[-300:]}"
        return Outcome(ending.code, "", ms, b"", error.encode(), (0, 0), None, error)
    if not limit:
        raise _gone(container, inbox)
    return Outcome(ending.code, limit, ms, b"", b"", (0, 0), None, ceiling=ceiling)


class KeptBox:
    """A container kept for one run; one request at a time."""

    def __init__(self, container: Container, run: str, image: str, memory: int) -> None:
        self.run_id = run
        self.tenant = ""
        self.image = image
        self.memory = memory
        self.born = self.used = time.monotonic()
        self.stopped = threading.Event()
        self.busy = threading.Lock()
        self._container = container
        self._inbox = Inbox(0)
        self.beside = ExitStack()  # the services that go with it
        self.joined = Beside()

    @staticmethod
    def open(
        maker: Maker,
        run: str,
        image: str,
        memory: int,
        seconds: float,
        tree: Tree,
        cancelled: Cancelled,
        network: str = NO_NETWORK,
    ) -> KeptBox:
        """Raises `Refused` when the tree cannot be unpacked."""
        container = maker.take(run, image, memory, seconds, network)
        bounds = Bounds(int(SETUP_SECONDS), memory)
        try:
            box = KeptBox(container, run, image, memory)
            box._inbox.most = SLACK
            ready = _exchange(container, box._inbox, tree.frames(), SETUP_SECONDS, cancelled)
            if ready is None or not ready.head.get("ready"):
                failed = _unready(container, box._inbox, ready, bounds)
                met = f"{failed.limit_words}: " if failed.limit else ""
                raise Refused(f"{met}{failed.error}", 422)
            maker.disk.tell(int(ready.head.get("free", 0)))
        except BaseException:
            container.remove()
            raise
        return box

    def run(self, job: Job, files: Mapping[str, bytes], cancelled: Cancelled) -> Outcome:
        """One in-between check. Raises `Missing` when the container is gone afterwards without an
        outcome; a check that ended the container (time, memory) still has one."""
        self._inbox.most = 2 * job.output_cap + job.report_cap + SLACK
        bounds = bounds_of(job, self.memory)
        feed = iter((request(job, files, last=False),))
        reply = _exchange(
            self._container,
            self._inbox,
            feed,
            job.seconds + GRACE_SECONDS,
            lambda: cancelled() or self.stopped.is_set(),
        )
        if reply is None:
            self.stopped.set()
            return _unanswered(self._container, self._inbox, bounds)
        code = reply.head["code"]
        limit = limit_of(reply.head, bounds, killed_for_memory=False, cut=Cut.NONE)
        return outcome(reply, None if code is None else exit_code(int(code)), limit)

    @property
    def gone(self) -> bool:
        return self.stopped.is_set() or self._container.gone or self._container.cut is not Cut.NONE

    def close(self) -> None:
        self.stopped.set()
        self._container.kill()
        with self.busy:
            self._container.remove()
        self.beside.close()
