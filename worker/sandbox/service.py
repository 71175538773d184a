"""The sandbox's narrow HTTP API on a unix socket: trees, commands and limits in, testimony out.

The only process with the engine. A caller names a run, an image id, a command and limits; it can
never name a mount, a device, an option of a container or another run's box.

POST /images              {"name"}                      answers {"image", "profile"}
POST /setups              header, u64 length, tar       answers an environment and its log
POST /certify             header, u64 length, tar       answers an outcome
POST /boxes               header, u64 length, tar       answers {"box"}
POST /boxes/{box}/run     header, bytes of the files    answers an outcome
DELETE /boxes/{box}       ?run= &tenant=                DELETE /runs/{run} ?tenant=   GET /healthz
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from app.domain.errors import Fault, Missing, Refused, Unavailable
from app.domain.ports.sandbox import Job
from worker.sandbox.admission import Admission, Kind, Room
from worker.sandbox.admission import Ask as Wish
from worker.sandbox.answer import Answer, Body, Work
from worker.sandbox.cell import Beside, KeptBox, Maker, Tree, certify
from worker.sandbox.image import Images
from worker.sandbox.wire import (
    FILES_CAP,
    Ask,
    CertifyHeader,
    Head,
    ImageAsk,
    OpenHeader,
    RunHeader,
    described,
    laid,
    outcome_head,
)

BUSY_AGAIN = 2.0  # seconds
UNBOUNDED = 1 << 62
LEAST_BUILDER = 512 << 20  # bytes
LEAST_BESIDE = 256 << 20  # bytes that services must leave for a check
Shape = TypeVar("Shape")
Whose = tuple[str, str]  # run, tenant
Services = Callable[[str, str, float, Callable[[], bool]], AbstractContextManager[Beside]]


@dataclass(frozen=True)
class Ceilings:
    """The operator's: checks at once, kept boxes, seconds a check, bytes of memory and of tree.

    A box lives for `box_seconds` at most and goes after `box_idle` seconds without a check.
    `total` bytes of memory are for all containers together, 0 without such a limit; one run and one
    installation hold at most `per_run` and `per_tenant` of each kind, 0 without a limit; a request
    waits `wait` seconds for its turn. `ahead` containers of an image are started beforehand."""

    concurrency: int = 2
    boxes: int = 8
    seconds: int = 1800
    memory: int = 4 << 30
    box_memory: int = 2 << 30
    box_seconds: int = 7200
    box_idle: int = 1800
    tree: int = 1 << 30
    total: int = 0
    per_run: int = 0
    per_tenant: int = 0
    wait: int = 20
    ahead: int = 0

    def room(self) -> Room:
        return Room(
            checks=self.concurrency,
            boxes=self.boxes,
            memory=self.total or UNBOUNDED,
            per_run=self.per_run or UNBOUNDED,
            per_tenant=self.per_tenant or UNBOUNDED,
        )

    @property
    def largest(self) -> int:
        """Bytes of memory that one container may have: never more than there is for all."""
        return min(self.memory, self.total or self.memory)

    @property
    def box_largest(self) -> int:
        return min(self.box_memory, self.largest)

    def beside(self, wanted: int, services: int) -> int:
        """Bytes of a check's or box's own when its services take `services`.

        Raises `Refused` where all containers together may not have as much."""
        left = (self.total or UNBOUNDED) - services
        if services and left < LEAST_BESIDE:
            raise Refused(
                f"the services of this environment take {services >> 20} MiB of memory, and all "
                f"containers of the sandbox together may have {self.total >> 20}: configure fewer "
                "services, or raise PATCHWARRANT_SANDBOX_TOTAL_MIB",
                422,
            )
        return min(wanted, left)

    def builder(self, wanted: int) -> int:
        """Bytes of memory of a set-up: what fits beside kept boxes, since a run that keeps one may
        need a set-up before it lets go of it."""
        beside = (self.total or UNBOUNDED) - max(self.box_largest, self.total // 2)
        return min(wanted, max(beside, LEAST_BUILDER))


def decoded(raw: bytes, shape: type[Shape]) -> Shape:
    """A strict reading. Raises `Refused` 400 that names the field."""
    try:
        return msgspec.json.decode(raw, type=shape)
    except msgspec.DecodeError as error:
        raise Refused(f"the request is not valid: {error}", 400) from None


def refusal(fault: Fault) -> Response:
    said = described(fault)
    headers = {"retry-after": str(said["retry_after"])} if said["retry_after"] else {}
    return JSONResponse({"error": said["message"]}, int(said["status"]), headers)


@dataclass
class Live:
    """What runs now, by run; safe from any thread."""

    checks: dict[Whose, set[threading.Event]] = field(default_factory=dict)
    boxes: dict[str, KeptBox] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def check(self, run: str, tenant: str) -> Iterator[threading.Event]:
        """An event that is set when the run is to be stopped."""
        stop, whose = threading.Event(), (run, tenant)
        with self.lock:
            self.checks.setdefault(whose, set()).add(stop)
        try:
            yield stop
        finally:
            with self.lock:
                self.checks[whose].discard(stop)
                if not self.checks[whose]:
                    del self.checks[whose]

    def add(self, name: str, box: KeptBox) -> None:
        """From here on anybody may close it."""
        with self.lock:
            self.boxes[name] = box

    def box(self, name: str, run: str, tenant: str) -> KeptBox:
        """Raises `Missing` for a box that is gone, and alike for one of another run or tenant."""
        with self.lock:
            box = self.boxes.get(name)
        if box is None or (box.run_id, box.tenant) != (run, tenant):
            raise Missing("this box is gone; open a new one", 404)
        return box

    def stop(self, whose: Whose | None) -> tuple[int, list[str]]:
        """Tell the checks of one tenant's run (None: all) to stop; (how many, its boxes' names)."""
        with self.lock:
            events = [e for one, kept in self.checks.items() if whose in (None, one) for e in kept]
            names = [
                name
                for name, box in self.boxes.items()
                if whose in (None, (box.run_id, box.tenant))
            ]
        for event in events:
            event.set()
        return len(events), names

    def stale(self, now: float, idle: float, life: float) -> list[str]:
        """Boxes that nobody used for `idle` seconds or that are older than `life`."""
        with self.lock:
            kept = list(self.boxes.items())
        return [
            name
            for name, box in kept
            if not box.busy.locked() and (now - box.used > idle or now - box.born > life)
        ]

    def drop(self, name: str) -> bool:
        """Close and forget a box; whether there was one."""
        with self.lock:
            box = self.boxes.pop(name, None)
        if box is not None:
            box.close()
        return box is not None


class Rooms:
    """The endpoints. `admission` decides who may start a container, and when."""

    def __init__(self, maker: Maker, images: Images, ceilings: Ceilings) -> None:
        self.maker = maker
        self.images = images
        self.ceilings = ceilings
        self.live = Live()
        self.admission = Admission(ceilings.room())
        self.links: Callable[[str], tuple[tuple[str, str], ...]] = lambda _: ()  # of an image
        self.weight: Callable[[str], int] = lambda _: 0  # bytes of an image's services
        self.beside: Services = lambda _run, _image, _seconds, _over: nullcontext(Beside())
        self.held: dict[str, Wish] = {}  # what each kept box was admitted with
        workers = ceilings.concurrency + 2 * ceilings.boxes + self.admission.room.waiting + 4
        self.pool = ThreadPoolExecutor(workers, thread_name_prefix="sandbox")

    def stop_all(self) -> None:
        """End everything that runs; returns when its containers are removed."""
        _, names = self.live.stop(None)
        for name in names:
            self._close(name)
        self.pool.shutdown(wait=True)
        self.maker.close()

    def expire(self, now: float) -> int:
        """Close the boxes that were forgotten, by monotonic seconds; how many."""
        names = self.live.stale(now, self.ceilings.box_idle, self.ceilings.box_seconds)
        for name in names:
            self._close(name)
        return len(names)

    # -- endpoints --------------------------------------------------------------------------------

    async def healthz(self, _: Request) -> Response:
        counts = self.admission.counts()
        ready = self.maker.pool.count()
        version = self.maker.engine.facts.version
        return JSONResponse({"engine": version, "ok": True, "ready": ready, **counts})

    async def image(self, request: Request) -> Response | Answer:
        try:
            name = decoded(await request.body(), ImageAsk).name
        except Refused as error:
            return refusal(error)

        def work(cancelled: Callable[[], bool]) -> Head:
            image = self.images.ensure(name)
            self.maker.pool.want(image, self.ceilings.box_largest)
            return {"image": image, "profile": self.maker.profile, "sizes": []}, []

        return Answer(self.pool, work)

    async def certify(self, request: Request) -> Response | Answer:
        return await self.with_body(request, self._certify)

    async def open(self, request: Request) -> Response | Answer:
        return await self.with_body(request, self._open)

    async def run(self, request: Request) -> Response | Answer:
        async def prepare(body: Body) -> Work:
            return await self._run(body, request.path_params["box"])

        return await self.with_body(request, prepare)

    async def close(self, request: Request) -> Response:
        name = request.path_params["box"]
        try:
            asked = request.query_params
            self.live.box(name, asked.get("run", ""), asked.get("tenant", ""))
        except Missing as error:
            return refusal(error)
        self.pool.submit(self._close, name)
        return Response(status_code=204)

    async def stop(self, request: Request) -> Response:
        tenant = request.query_params.get("tenant", "")
        count, names = self.live.stop((request.path_params["run"], tenant))
        for name in names:
            self.pool.submit(self._close, name)
        return JSONResponse({"stopped": count + len(names)})

    # -- their work -------------------------------------------------------------------------------

    async def with_body(
        self,
        request: Request,
        prepare: Callable[[Body], Awaitable[Work]],
        pool: ThreadPoolExecutor | None = None,
    ) -> Response | Answer:
        body = Body(request)
        try:
            work = await prepare(body)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Fault as error:
            await body.drain(self.ceilings.tree + FILES_CAP)
            return refusal(error)
        return Answer(pool or self.pool, work)

    def _keep(self, box: KeptBox, wish: Wish) -> str:
        """The name of an open box. Its place is noted before it can be found: a run that is stopped
        this very moment gives it back."""
        name = secrets.token_hex(16)
        self.held[name] = wish
        self.live.add(name, box)
        return name

    def _close(self, name: str) -> None:
        if self.live.drop(name):
            self.admission.leave(self.held.pop(name))

    def _job(self, ask: Ask) -> Job:
        return ask.job(self.ceilings.seconds, self.ceilings.largest)

    async def _certify(self, body: Body) -> Work:
        header = decoded(await body.header(), CertifyHeader)
        asked, memory = self._job(header.job), self.ceilings.box_largest
        self.admission.crowded()
        source, size = await body.spool(self.ceilings.tree)

        def work(cancelled: Callable[[], bool]) -> Head:
            with source, self.live.check(header.run, header.tenant) as stop:

                def over() -> bool:
                    return cancelled() or stop.is_set()

                services = self.weight(header.image)
                job = replace(asked, memory=self.ceilings.beside(asked.memory, services))
                wish = Wish(Kind.CHECK, header.run, header.tenant, job.memory + services)
                with self.admission.entered(wish, self.ceilings.wait, over):
                    self.images.check(header.image, header.tenant)
                    tree = Tree(source, size, self.links(header.image))
                    with self.beside(header.run, header.image, job.seconds, over) as joined:
                        found = certify(
                            self.maker, header.run, header.image, job, tree, over, joined.network
                        )
                        found = joined.told(found)
                    self.maker.pool.want(header.image, memory)
                    return outcome_head(found, header.job.digest())

        return work

    async def _open(self, body: Body) -> Work:
        header = decoded(await body.header(), OpenHeader)
        self.admission.crowded()
        source, size = await body.spool(self.ceilings.tree)

        def work(cancelled: Callable[[], bool]) -> Head:
            with source, self.live.check(header.run, header.tenant) as stop:

                def over() -> bool:
                    return cancelled() or stop.is_set()

                services = self.weight(header.image)
                memory = self.ceilings.beside(self.ceilings.box_largest, services)
                wish = Wish(Kind.BOX, header.run, header.tenant, memory + services)
                with (
                    self.admission.entered(wish, self.ceilings.wait, over) as keep,
                    ExitStack() as gone,
                ):
                    self.images.check(header.image, header.tenant)
                    life = self.ceilings.box_seconds
                    joined = gone.enter_context(self.beside(header.run, header.image, life, over))
                    box = KeptBox.open(
                        self.maker,
                        header.run,
                        header.image,
                        memory,
                        self.ceilings.box_seconds,
                        Tree(source, size, self.links(header.image)),
                        over,
                        joined.network,
                    )
                    box.beside, box.joined, box.tenant = gone.pop_all(), joined, header.tenant
                    keep()
                self.maker.pool.want(header.image, self.ceilings.box_largest)
                name = self._keep(box, wish)
                if over():
                    self._close(name)
                    raise Missing("the box was stopped together with its run", 410)
                return {"box": name, "sizes": []}, []

        return work

    async def _run(self, body: Body, name: str) -> Work:
        header = decoded(await body.header(), RunHeader)
        box = self.live.box(name, header.run, header.tenant)
        job = self._job(header.job)
        files = {path: await body.exact(size) for path, size in laid(header.files)}

        def work(cancelled: Callable[[], bool]) -> Head:
            if not box.busy.acquire(blocking=False):
                raise Unavailable("the box is busy with another check", BUSY_AGAIN)
            try:
                if box.stopped.is_set():
                    raise Missing("this box is gone; open a new one", 404)
                found = box.joined.told(box.run(job, files, cancelled))
                if box.joined.ended():  # the next check is to find its services
                    box.stopped.set()
                return outcome_head(found, header.job.digest())
            finally:
                box.used = time.monotonic()
                box.busy.release()
                if box.gone:
                    self._close(name)

        return work
