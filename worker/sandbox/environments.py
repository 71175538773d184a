"""The environments that checks run in: made by set-ups, found again by an image's labels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from app.domain.errors import Missing, Unavailable
from app.domain.setup import HOME
from worker.sandbox.answer import Answer, Body, Work
from worker.sandbox.cell import Beside
from worker.sandbox.service import Rooms, decoded
from worker.sandbox.services import Wanted, beside, weight
from worker.sandbox.setup import Setups, environment_of
from worker.sandbox.setup_wire import SetupHeader, plan_of, setup_head
from worker.sandbox.wire import Head

FULL_AGAIN = 15.0  # seconds
TREE_CAP = 64 << 20  # bytes of the tar that a set-up is handed


@dataclass
class SetupRoom:
    """The endpoint of set-ups, beside the rooms of checks; its threads are its own, so that no
    check waits for one."""

    rooms: Rooms
    setups: Setups
    laid: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    services: dict[str, list[Wanted]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.most = self.setups.rules.at_once + self.setups.rules.waiting
        self.places = threading.BoundedSemaphore(self.most)
        self.pool = ThreadPoolExecutor(self.most, thread_name_prefix="setup")

    def close(self) -> None:
        """Returns when all set-ups have ended; they are to be told before."""
        self.pool.shutdown(wait=True)

    async def make(self, request: Request) -> Response | Answer:
        """POST /setups."""
        return await self.rooms.with_body(request, self._make, self.pool)

    async def _make(self, body: Body) -> Work:
        header = decoded(await body.header(), SetupHeader)
        if not self.places.acquire(blocking=False):
            raise Unavailable(f"{self.most} set-ups are at work or wait already", FULL_AGAIN)
        with ExitStack() as held:
            held.callback(self.places.release)
            source, _ = await body.spool(TREE_CAP)
            left = held.pop_all()

        def work(cancelled: Callable[[], bool]) -> Head:
            with left:
                return at_work(cancelled)

        def at_work(cancelled: Callable[[], bool]) -> Head:
            with source, self.rooms.live.check(header.run, header.tenant) as stop:

                def over() -> bool:
                    return cancelled() or stop.is_set()

                self.rooms.images.check(header.image, header.tenant)
                plan = plan_of(header.plan, source)
                made = self.setups.make(header.run, header.image, header.tenant, plan, over)
                if made.image:
                    self.rooms.images.check(made.image, header.tenant)
                    self.rooms.maker.pool.want(made.image, self.rooms.ceilings.box_largest)
                return setup_head(made, self.rooms.maker.profile)

        return work

    def beside(
        self, run: str, image: str, seconds: float, cancelled: Callable[[], bool]
    ) -> AbstractContextManager[Beside]:
        """The services of an environment, around one check or box, and what that joins."""
        wanted = self._services(image)
        if wanted:
            self.rooms.maker.disk.check()
        return beside(self.rooms.maker, run, image, wanted, seconds, cancelled)

    def weight(self, image: str) -> int:
        """Bytes of memory that the services of an environment take, 0 for an image that is gone:
        that is said where it is used."""
        with suppress(Missing):
            return weight(self._services(image))
        return 0

    def _services(self, image: str) -> list[Wanted]:
        if image not in self.services:
            told = environment_of(self.rooms.maker, image)["services"]
            self.services[image] = [Wanted.read(one) for one in told]
        return self.services[image]

    def links(self, image: str) -> tuple[tuple[str, str], ...]:
        """(path, target) of what set-up made for each tree in `image`, outer folders first."""
        if image not in self.laid:
            links = environment_of(self.rooms.maker, image)["links"]
            self.laid[image] = tuple((str(one), f"{HOME}/deps/{one}") for one in sorted(links))
        return self.laid[image]
