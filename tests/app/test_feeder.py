"""Inbox entries become RQ jobs; nothing is lost between the two."""

from __future__ import annotations

import json
import re

import pytest
from redis import Redis
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from app.domain.record import INBOX, INBOX_BUSY, event_job
from app.feeder import Feeder
from app.inbox import Inbox, client
from app.main import Receiver
from app.webhook import Webhook
from tests.app.receiver import SECRET, post, serving
from tests.app.test_webhook import GOOD, KEY
from tests.patience import until
from tests.redis_server import Server
from tests.worker.store.samples import an_event
from worker.store.ledger import Ledger


def jobs(redis: Redis) -> list[Job]:
    return Queue("desk", connection=redis, serializer=JSONSerializer).jobs


def test_a_delivery_wakes_the_desk(redis: Redis, redis_process: Server) -> None:
    inbox, feeder = Inbox(client(redis_process.url)), Feeder(redis_process.url)
    with serving(Receiver(Webhook(SECRET, inbox), inbox, feeder)) as port:
        assert post(port, GOOD)[0] == 202
        until(lambda: len(jobs(redis)) == 1)
    job = jobs(redis)[0]
    assert (job.func_name, job.args, job.kwargs) == ("worker.jobs.event", [KEY], {})
    assert job.id == event_job(KEY, 1)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", job.id)
    assert (job.result_ttl, job.failure_ttl, job.origin) == (0, 300, "desk")
    assert job.description == "worker.jobs.event"
    raw = redis.hget(f"rq:job:{job.id}", "data")
    assert isinstance(raw, bytes)
    stored = b"".join(redis.hgetall(f"rq:job:{job.id}").values())
    assert b"Sum is wrong" not in stored
    assert redis.llen(INBOX) == redis.llen(INBOX_BUSY) == 0


def test_what_a_dead_receiver_had_in_hand_goes_back_first(
    redis: Redis, redis_process: Server
) -> None:
    ledger = Ledger(redis)
    for key in ("a", "b", "c"):
        ledger.add_event(an_event(key))
    for _ in range(2):
        redis.lmove(INBOX, INBOX_BUSY, "LEFT", "RIGHT")
    feeder = Feeder(redis_process.url)
    feeder.give_back()
    assert redis.lrange(INBOX, 0, -1) == [b"a", b"b", b"c"]
    while feeder.feed(0.01):
        pass
    assert [job.args for job in jobs(redis)] == [["a"], ["b"], ["c"]]
    assert redis.llen(INBOX_BUSY) == 0
    feeder.redis.close()


def test_a_second_wake_up_has_another_id(redis: Redis, redis_process: Server) -> None:
    ledger, feeder = Ledger(redis), Feeder(redis_process.url)
    ledger.add_event(an_event("a"))
    assert feeder.feed(0.01)
    redis.rpush(INBOX, "a")
    assert feeder.feed(0.01)
    assert [job.id for job in jobs(redis)] == [event_job("a", 1), event_job("a", 2)]
    feeder.redis.close()


def test_an_entry_without_a_row_wakes_nobody(redis: Redis, redis_process: Server) -> None:
    feeder = Feeder(redis_process.url)
    redis.rpush(INBOX, "gone")
    assert feeder.feed(0.01)
    assert jobs(redis) == []
    assert redis.keys("*") == []
    assert not feeder.feed(0.01)
    feeder.redis.close()


def test_it_goes_on_after_redis_was_away_and_says_so_once(
    redis: Redis,
    redis_process: Server,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("app.feeder.AWAY", 0.01)
    feeder = Feeder(redis_process.url)
    failed: list[int] = []
    give_back = feeder.give_back

    def counted() -> None:
        failed.append(1)
        give_back()

    monkeypatch.setattr(feeder, "give_back", counted)
    feeder.start()
    try:
        redis_process.kill()
        until(lambda: len(failed) > 5)
        said = [record.message for record in caplog.records if record.name == "app.feeder"]
        assert len(said) == 1
        redis_process.start()
        Ledger(redis).add_event(an_event("a"))
        until(lambda: len(jobs(redis)) == 1)
        assert json.loads(json.dumps(jobs(redis)[0].args)) == ["a"]
        until(lambda: redis.llen(INBOX_BUSY) == 0)
    finally:
        feeder.stop()
    assert not feeder.thread.is_alive()
