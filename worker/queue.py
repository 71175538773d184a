"""RQ as a bell: wake-ups with an id in them, on one queue a role, and one for class large."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from redis import Redis
from redis.exceptions import BusyLoadingError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeout
from rq import Queue, Worker
from rq.exceptions import DuplicateJobError
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.worker import WorkerStatus

from app.domain.errors import Unavailable
from app.domain.record import JOB_EVENT, JOB_RUN, QUEUE_LARGE, QUEUES, queue_of, run_job
from app.domain.redis_faults import told
from app.domain.state import Role
from worker.handover import ENDING, listen_for
from worker.lapse import HOLDER, PAUSE, excuse, owner_of
from worker.processes import die_with_parent
from worker.store.calls import unavailable
from worker.store.ledger import Ledger
from worker.store.rows import Wake

JOB_SECONDS = 6 * 3600  # our own limits are far shorter; this only ends what they cannot
FAILURE_SECONDS = 300


class Bell:
    """Rings wake-ups; ringing twice for the same thing is one wake-up."""

    def __init__(self, redis: Redis) -> None:
        self.queues = {
            name: Queue(name, connection=redis, serializer=JSONSerializer)
            for name in (*QUEUES.values(), QUEUE_LARGE)
        }

    def ring(
        self,
        role: Role,
        job: str,
        argument: str,
        job_id: str,
        *,
        first: bool = False,
        large: bool = False,
    ) -> None:
        """Enqueue `job(argument)` for `role` under an id made of letters, digits, `-` and `_`;
        `first` before everything that waits already, for what keeps another worker waiting."""
        try:
            self.queues[queue_of(role, large=large)].enqueue(
                job,
                argument,
                job_id=job_name(job_id),
                unique=True,
                at_front=first,
                result_ttl=0,
                failure_ttl=FAILURE_SECONDS,
                job_timeout=JOB_SECONDS,
                description=job,
            )
        except DuplicateJobError:
            return

    def run(self, role: Role, run_id: str, wake: Wake) -> None:
        """Ring for a run as `Ledger.wake` counted it; the number 0 is no ring."""
        if wake.number:
            self.ring(role, JOB_RUN, run_id, run_job(run_id, wake.number), large=wake.large)


def job_name(wanted: str) -> str:
    """`wanted` if RQ takes it as a job id, else its SHA-256."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,120}", wanted):
        return wanted
    return hashlib.sha256(wanted.encode()).hexdigest()


class Listener(Worker):
    """An RQ worker on one queue whose work-horse dies with it, and which dies with its parent.

    Told to end, it takes no more jobs and tells its work-horse to hand over what it carries."""

    parent = 0
    role = Role.DESK

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run the job in a work-horse. Where Redis is lost meanwhile, RQ gives up and this worker
        ends, as RQ wants it; once Redis is back, the run learns that it was no crash."""
        HOLDER.renew()
        try:
            super().execute_job(job, queue)
        except (RedisConnectionError, RedisTimeout, BusyLoadingError):
            if self.horse_pid:
                self.kill_horse()
                self.wait_for_horse()
            name, argument = job.func_name, str(job.args[0])
            ledger = Ledger(self.connection)
            run_id = argument if name == JOB_RUN else ""
            if name == JOB_EVENT:
                run_id = opened_for(ledger, argument)
            if run_id:
                excuse(ledger, run_id, owner_of(self.role), ENDING)
            raise

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        if self.horse_pid and self.get_state() == WorkerStatus.BUSY:
            with suppress(ProcessLookupError):
                os.kill(self.horse_pid, signal.SIGUSR1)
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]

    def setup_work_horse_signals(self) -> None:
        super().setup_work_horse_signals()  # type: ignore[no-untyped-call]
        listen_for(signal.SIGTERM)  # where the whole group is told

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        die_with_parent(signal.SIGKILL, self.parent)
        super().main_work_horse(job, queue)


def opened_for(ledger: Ledger, event: str) -> str:
    """The run that an event opened, "" for none; waits for Redis."""
    while True:
        try:
            return ledger.opened_by(event)
        except Unavailable:
            if ENDING.soon():
                return ""
            time.sleep(PAUSE)


def listen(role: Role, connect: Callable[[], Redis], *, large: bool = False) -> None:
    """Work off this role's queue, or that of its large runs, until told to stop."""
    redis = connect()
    worker = Listener(
        [Queue(queue_of(role, large=large), connection=redis, serializer=JSONSerializer)],
        connection=redis,
        serializer=JSONSerializer,
        worker_ttl=60,
        job_monitoring_interval=10,
        maintenance_interval=30,
    )
    worker.parent, worker.role = os.getpid(), role
    listen_for(signal.SIGUSR1)  # before any work-horse, which inherits it
    try:
        worker.work(with_scheduler=False, logging_level="WARNING")
    except RedisError as error:
        raise (unavailable(error) or Unavailable(told(error))) from error
