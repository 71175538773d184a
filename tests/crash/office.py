"""Desk and runner in one process and one thread, so that a run is the same sequence every time.

All of it is the product's own code on a real Redis, wired as its composition roots do; only the
sleeps are shortened, and jobs are taken from RQ's queues by this loop instead of by RQ's worker.
Waiting time passes by moving the ledger's due times, leases and open events into the past.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Self

from redis import Redis
from rq.exceptions import NoSuchJobError
from rq.job import Job
from rq.serializers import JSONSerializer

from app.domain import record
from app.domain.record import QUEUES
from app.domain.state import Role
from app.feeder import Feeder
from worker import jobs
from worker.desk import role as desk_role
from worker.desk import wiring as desk_wiring
from worker.desk.approval import RETRY_MS
from worker.desk.github.auth import load_key
from worker.keeping import rewake
from worker.queue import Bell
from worker.runner.boxes import SandboxClient
from worker.runner.model.client import AnthropicModel
from worker.runner.repository import mirror
from worker.runner.wiring import Runner
from worker.settings.desk import DeskSettings
from worker.settings.door import Secret
from worker.settings.runner import RunnerSettings
from worker.store import connect as connecting
from worker.store.connect import connect
from worker.store.ledger import Ledger

LEASE_MS = 20_000  # long: in here time passes only when the office lets it
PASSES = 20  # times that waiting time may pass until the office gives up
DAILY = 10_000_000
UNHEARD_MS = 30_000  # more than a slow machine takes, less than `let_time_pass` moves


@dataclass(frozen=True)
class Place:
    """Addresses and secrets of one world; `hub`, `redis`, `model` may lead through a proxy."""

    redis: str
    hub: str
    app_id: str
    app_key: str
    seal: str
    signing_key: Path
    model: str
    model_key: str
    sandbox: str
    stores: Path


@dataclass
class Clock:
    """Seconds that only grow; a sleep only moves them on."""

    ahead: float = 0.0

    def now(self) -> float:
        return time.monotonic() + self.ahead

    def sleep(self, seconds: float) -> None:
        self.ahead += max(0.0, seconds)
        time.sleep(0.001)


class AskingRunner(Runner):
    """The runner; while it waits for a token, the desk's part of this process answers."""

    answer: Callable[[], bool] = staticmethod(lambda: False)

    def _ring_desk(self, request: str) -> None:
        super()._ring_desk(request)
        while self.answer():
            continue


@dataclass
class Office:
    """One worker process's whole work. `taken` is told of every job before it is done. With `looks`
    the desk's look at open pull requests is part of it."""

    place: Place
    looks: bool = False
    taken: Callable[[str], None] = lambda _role: None
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        mirror.LOCK_SECONDS = 0.2
        self.redis = connect(self.place.redis)
        self.ledger = Ledger(self.redis)
        self.bell = Bell(self.redis)
        self.feeder = Feeder(self.place.redis)
        self.desk = self._desk()
        self.approvals = self.desk.approvals()
        self.runner = self._runner()
        run = self.runner
        object.__setattr__(run, "answer", lambda: self._serve(Role.DESK))
        self.answers = {
            Role.DESK: {
                "event": self.desk.event,
                "run": lambda run_id: self.desk.carrier().carry(run_id),
                "token": self.desk.token,
            },
            Role.RUNNER: {"run": lambda run_id: self.runner.carrier().carry(run_id)},
        }

    def _desk(self) -> desk_wiring.Desk:
        place = self.place
        held = DeskSettings(
            redis_url=place.redis,
            app_id=place.app_id,
            app_key=Secret(place.app_key),
            seal=Secret(place.seal),
            signing_key=place.signing_key,
            api_url=place.hub,
            owners=("acme",),
            daily=DAILY,
            workers=1,
            lease_ms=LEASE_MS,
            write_pause=0.0,
            writes_an_hour=0,
            caps={"issue": 99, "user": 9_999, "repository": 9_999, "installation": 9_999},
        )
        desk = desk_wiring.desk_of(held, load_key(place.app_key))
        clock = self.clock
        minter = replace(desk.tokens.minter, clock=clock.now, sleep=clock.sleep)  # type: ignore[type-var]
        tokens = replace(desk.tokens, minter=minter)
        access = replace(desk.access, tokens=tokens, clock=clock.now, sleep=clock.sleep)
        return replace(desk, tokens=tokens, access=access)

    def _runner(self) -> AskingRunner:
        place, clock = self.place, self.clock
        held = RunnerSettings(
            redis_url=place.redis,
            model="claude-sonnet-5-5",
            model_url=place.model,
            model_key=Secret(place.model_key),
            server_url=place.hub,
            sandbox=place.sandbox,
            sandbox_tls="",
            stores=place.stores,
            daily=DAILY,
            workers=1,
            lease_ms=LEASE_MS,
        )
        model = AnthropicModel(
            place.model_key, place.model, monotonic=clock.now, sleep=clock.sleep, whole=1e9
        )
        return AskingRunner(held, self.ledger, self.bell, model, SandboxClient(place.sandbox))

    def close(self) -> None:
        """Give every connection back, where the office ends before its process."""
        self.runner.model.close()
        self.runner.sandbox.close()
        self.feeder.redis.close()
        self.redis.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the loop

    def work(self, patient: bool = True) -> str:
        """Work until nothing is left: "settled"; "stuck" when waiting does not help; "idle" when
        not `patient` and what is left needs time to pass."""
        passes = 0
        while True:
            if self._serve(Role.DESK) or self._serve(Role.RUNNER) or self._keep():
                continue
            if self.settled():
                return "settled"
            if not patient:
                return "idle"
            if passes == PASSES:
                return "stuck"
            passes += 1
            let_time_pass(self.redis)

    def settled(self) -> bool:
        """Every run has ended and said so, each event has its outcome, no token is left."""
        ledger = self.ledger
        if self.looks and self.redis.zcount(record.APPROVALS, 0, ledger.now() + RETRY_MS):
            return False  # a look was begun and not finished
        return not (ledger.runs_without_end() or ledger.unhandled_events(1) or ledger.tokens())

    def _serve(self, role: Role) -> bool:
        """Do one job of a role's queue; False when there is none."""
        name = self.redis.lpop(record.waiting_jobs(QUEUES[role]))
        if name is None:
            return False
        try:
            job = Job.fetch(name.decode(), connection=self.redis, serializer=JSONSerializer)  # type: ignore[union-attr]
        except NoSuchJobError:
            return True
        word, argument = str(job.func_name).rpartition(".")[2], str(job.args[0])
        job.delete()
        self.taken(f"{role}.{word}")
        before, jobs.ANSWERS.by_job = jobs.ANSWERS.by_job, self.answers[role]
        try:
            jobs._answer(word, argument)
        finally:
            jobs.ANSWERS.by_job = before
        return True

    def _keep(self) -> bool:
        """The receiver's feeder and the keepers' chores; True when they gave something to do."""
        self.feeder.give_back()
        fed = self.feeder.feed(0.001)
        ledger = self.ledger
        for role in (Role.DESK, Role.RUNNER):
            rewake(role, ledger, self.bell)
        for event in ledger.unhandled_events(100, UNHEARD_MS):
            desk_role.ring_again(ledger, self.bell, event)
        looked = self.looks and self._looked()
        waits = sum(self.redis.llen(record.waiting_jobs(name)) for name in QUEUES.values())  # type: ignore[misc]
        if not waits and ledger.tokens():
            self.desk.tokens.revoke_leftovers(ledger.now(), partial(desk_role.fetches, ledger))
        return fed or looked or waits > 0

    def _looked(self) -> bool:
        """The approvals' process: look at what is due; True when something could be looked at."""
        rows, ledger = self.approvals.rows, self.ledger
        self.approvals.enrol(9)
        due = rows.due(ledger.now(), 9)
        self.approvals.pass_over()
        return due != rows.due(ledger.now(), 9)  # what another holds is due as before


def let_time_pass(redis: Redis) -> None:
    """What waits for a time is due now: parked and handed-over runs, leases, events, tokens, turns.

    The same as waiting long enough; Redis's clock itself cannot be moved.
    """
    for run, _due in redis.zrange(record.DUE, 0, -1, withscores=True):  # type: ignore[misc,union-attr]
        redis.zadd(record.DUE, {run: 1})
        key = record.run_key(run.decode())
        if redis.hget(key, "lease") not in (None, b"0"):
            redis.hset(key, "lease", "1")
    for event, at in redis.zrange(record.EVENTS_OPEN, 0, -1, withscores=True):  # type: ignore[misc,union-attr]
        redis.zadd(record.EVENTS_OPEN, {event: at - 60_000})
        redis.hdel(record.event_key(event.decode()), "rung")
    for pattern in ("pw:turn:*", "pw:approval-lock:*"):
        for key in redis.scan_iter(pattern):
            redis.delete(key)
    for change in redis.zrange(record.APPROVALS, 0, -1):  # type: ignore[misc,union-attr]
        redis.zadd(record.APPROVALS, {change: 1})
    for key in redis.scan_iter("pw:pace:*"):
        redis.hdel(key, "until")
    for name, data in redis.hgetall(record.tokens_key()).items():  # type: ignore[union-attr]
        redis.hset(record.tokens_key(), name, json.dumps({**json.loads(data), "until": 0}))


def hurried(seconds: float) -> None:
    """Shorter time-outs of the connection to Redis, for cases that lose it on purpose."""
    connecting.SECONDS = seconds  # type: ignore[assignment]
