"""Keepers: what is due is rung for its own role, once a wake-up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from redis import Redis

from app.domain import record
from app.domain.errors import Stop, Unavailable
from app.domain.state import Role, Signal
from tests.worker.desk.made import contract
from tests.worker.store.samples import an_event, opened
from worker import keeping
from worker.desk.role import ring_again
from worker.queue import Bell
from worker.runner.boxes import SandboxClient
from worker.runner.model.client import AnthropicModel
from worker.runner.wiring import Runner
from worker.settings.door import Door
from worker.settings.runner import runner_settings
from worker.store.ledger import Ledger
from worker.store.rows import Wake


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


def test_a_large_run_is_rung_where_large_ones_wait_and_a_workers_of_others_hands_it_on(
    redis: Redis,
) -> None:
    ledger, bell = Ledger(redis), Bell(redis)
    run_id = opened(ledger)
    lease = ledger.claim(run_id, "desk", 60_000)
    assert lease is not None
    held = replace(contract("b" * 40), large=True)
    moved = replace(lease.run, contract=held).moved(Signal.DONE)
    ledger.save(lease, moved, due_ms=ledger.now(), release=True)
    keeping.rewake(Role.RUNNER, ledger, bell)
    assert (queued(redis, "runs"), queued(redis, "large")) == ([], [f"{run_id}-1"])

    settled = runner_settings(Door({"ANTHROPIC_API_KEY": "k"}))
    model, sandbox = AnthropicModel("k", "http://127.0.0.1:9"), SandboxClient("/nowhere.sock")
    runner = Runner(settled, ledger, bell, model, sandbox)
    runner.carry(run_id, large=False)
    assert queued(redis, "large") == [f"{run_id}-1"]  # it waits there already
    redis.delete("rq:queue:large")
    runner.carry(run_id, large=False)
    assert queued(redis, "large") == [f"{run_id}-2"]
    row = ledger.row(run_id)
    assert row is not None and row.fence == 1  # the worker of small runs took nothing


def test_a_large_run_at_the_desk_waits_with_all_others(redis: Redis) -> None:
    bell = Bell(redis)
    bell.run(Role.DESK, "r1", Wake(3, large=True))
    bell.run(Role.RUNNER, "r2", Wake(1))
    assert (queued(redis, "desk"), queued(redis, "runs")) == (["r1-3"], ["r2-1"])
    assert queued(redis, "large") == []


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
    held = runner_settings(Door({"ANTHROPIC_API_KEY": "k"}))
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
