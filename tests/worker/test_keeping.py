"""Keepers: what is due is rung for its own role, once a wake-up."""

from __future__ import annotations

import pytest
from redis import Redis

from app.domain import record
from app.domain.errors import Stop, Unavailable
from app.domain.state import Role
from tests.worker.store.samples import an_event, opened
from worker import keeping, settings
from worker.desk.wiring import ring_again
from worker.queue import Bell
from worker.runner.boxes import SandboxClient
from worker.runner.model.client import AnthropicModel
from worker.runner.wiring import Runner
from worker.store.ledger import Ledger


def queued(redis: Redis, name: str) -> list[str]:
    return [job.decode() for job in redis.lrange(f"rq:queue:{name}", 0, -1)]


def test_a_run_that_nobody_holds_is_rung_for_its_role_alone(redis: Redis) -> None:
    ledger, bell = Ledger(redis), Bell(redis)
    run_id = opened(ledger)
    keeping.rewake(Role.RUNNER, ledger, bell)
    assert queued(redis, "runs") == []
    keeping.rewake(Role.DESK, ledger, bell)
    assert queued(redis, "desk") == [f"{run_id}-1"]
    keeping.rewake(Role.DESK, ledger, bell)  # not due again yet
    assert queued(redis, "desk") == [f"{run_id}-1"]


def test_a_run_whose_wake_up_waits_in_the_queue_is_not_rung_for_again(redis: Redis) -> None:
    """A backlog is no reason to fork a worker for the same run once more."""
    ledger, bell = Ledger(redis), Bell(redis)
    run_id = opened(ledger)

    def due_again() -> None:
        redis.zadd(record.DUE, {run_id: 1})
        keeping.rewake(Role.DESK, ledger, bell)

    for _ in range(3):
        due_again()
    assert queued(redis, "desk") == [f"{run_id}-1"]
    assert ledger.due(ledger.now(), 9) == [], "and it makes room for others that are due"
    assert redis.lpop("rq:queue:desk")  # its worker died before it began
    due_again()
    assert queued(redis, "desk") == [f"{run_id}-2"]
    keeping.rewake(Role.RUNNER, ledger, bell)
    bell.run(Role.RUNNER, run_id, ledger.wake(run_id, Role.RUNNER))
    assert queued(redis, "runs") == [f"{run_id}-3"], "another role's queue is another matter"


def test_an_event_whose_wake_up_waits_in_the_queue_is_not_rung_for_again(redis: Redis) -> None:
    ledger, bell = Ledger(redis), Bell(redis)
    key = an_event().key
    ledger.add_event(an_event())
    for _ in range(3):
        ring_again(ledger, bell, key)
    assert queued(redis, "desk") == [record.event_job(key, 1)]
    assert redis.lpop("rq:queue:desk")
    ring_again(ledger, bell, key)
    assert queued(redis, "desk") == [], "it was rung for just now, and may be at work"
    redis.hset(record.event_key(key), "rung", "1")
    ring_again(ledger, bell, key)
    assert queued(redis, "desk") == [record.event_job(key, 2)]
    ring_again(ledger, bell, "nothing")
    assert len(queued(redis, "desk")) == 1


def test_ringing_twice_for_one_thing_is_one_wake_up(redis: Redis) -> None:
    bell = Bell(redis)
    bell.ring(Role.DESK, "worker.jobs.event", "key", "event-1")
    bell.ring(Role.DESK, "worker.jobs.event", "key", "event-1")
    assert queued(redis, "desk") == ["event-1"]


def test_what_a_worker_waits_for_goes_before_a_backlog(redis: Redis) -> None:
    bell = Bell(redis)
    for count in range(3):
        bell.ring(Role.DESK, "worker.jobs.event", "key", f"event-{count}")
    held = settings.runner(settings.Door({"ANTHROPIC_API_KEY": "k"}))
    model, sandbox = AnthropicModel("k", "http://127.0.0.1:9"), SandboxClient("/nowhere.sock")
    Runner(held, Ledger(redis), bell, model, sandbox)._ring_desk("a-request")
    assert queued(redis, "desk") == ["token-a-request", "event-0", "event-1", "event-2"]


class _Enough(Exception):
    """Ends a loop that has no end."""


def test_a_chore_that_stops_is_tried_again_and_only_the_leader_works(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []

    def sleep(_seconds: float) -> None:
        passes.append(1)
        if len(passes) == 3:
            raise _Enough

    worked: list[int] = []

    def chore(_ledger: Ledger, _bell: Bell) -> None:
        worked.append(1)
        if len(worked) == 1:
            stop: Stop = Unavailable("away")
            raise stop

    monkeypatch.setattr(keeping.time, "sleep", sleep)
    with pytest.raises(_Enough):
        keeping.lead("tests", lambda: redis, chore)
    assert len(worked) == 3
    passes.clear()
    with pytest.raises(_Enough):  # the first leader's time is not over
        keeping.lead("tests", lambda: redis, chore)
    assert len(worked) == 3
