"""Inbox entries into wake-ups for the desk, outside of every request.

Hand over hand: an entry is in the inbox or in hand (`pw:inbox:busy`) until its job is in the queue;
at the start and after an outage what was in hand goes back. An event that was rung for twice is no
harm: the desk's ledger opens one run.
"""

from __future__ import annotations

import logging
import threading

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq import Queue
from rq.serializers import JSONSerializer

from app.domain import record
from app.domain.redis_faults import told
from app.domain.scripts.events import GIVE_BACK, RING

BLOCK = 0.5  # seconds of one blocking read; a stop waits for it
PAUSE = 0.05  # after a job, so that a flood of deliveries leaves time to answer them
AWAY = 1.0
JOB_SECONDS = 3600
FAILURE_SECONDS = 300
log = logging.getLogger(__name__)


class Feeder:
    """A thread of the receiver, started and stopped with it."""

    def __init__(self, url: str) -> None:
        self.redis = Redis.from_url(
            url, socket_timeout=5, socket_connect_timeout=5, retry=Retry(NoBackoff(), 0)
        )
        self.queue = Queue(record.QUEUE_DESK, connection=self.redis, serializer=JSONSerializer)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, name="feeder", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.ended.set()
        self.thread.join(timeout=10)
        self.redis.close()

    def _run(self) -> None:
        away = False  # said once an outage, not once a second
        while not self.ended.is_set():
            try:
                self.give_back()
                if away:
                    log.warning("Redis is back, wake-ups go on")
                    away = False
                while not self.ended.is_set():
                    if self.feed(BLOCK):
                        self.ended.wait(PAUSE)
            except RedisError as error:
                if not away:
                    log.warning("wake-ups wait until Redis is back: %s", told(error))
                    away = True
                self.ended.wait(AWAY)

    def give_back(self) -> None:
        """What a receiver that died had in hand goes back to the head of the inbox."""
        self.redis.eval(GIVE_BACK, 2, record.INBOX, record.INBOX_BUSY)

    def feed(self, seconds: float) -> bool:
        """Ring for the oldest entry; False when none came within `seconds`."""
        words = ("BLMOVE", record.INBOX, record.INBOX_BUSY, "LEFT", "RIGHT", seconds)
        found = self.redis.execute_command(*words)  # type: ignore[no-untyped-call]
        if found is None:
            return False
        key = found.decode()
        count = int(str(self.redis.eval(RING, 1, record.event_key(key))))
        if count:
            self.ring(key, count)
        self.redis.lrem(record.INBOX_BUSY, 1, key)
        return True

    def ring(self, key: str, count: int) -> None:
        self.queue.enqueue(
            record.JOB_EVENT,
            args=[key],
            job_id=record.event_job(key, count),
            job_timeout=JOB_SECONDS,
            result_ttl=0,
            failure_ttl=FAILURE_SECONDS,
            description=record.JOB_EVENT,
        )
