"""What fails around a run is waited for: one line says for what, nothing is charged, it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from app.domain import record
from app.domain.errors import Waiting
from app.domain.evidence import Result
from app.domain.record import Kept
from app.domain.run import Run
from app.domain.state import State
from tests.e2e.conftest import FIX, Town

pytestmark = pytest.mark.docker


def no_sandbox(town: Town, _name: str) -> None:
    town.up.stop("sandbox")


def sandbox_again(town: Town) -> None:
    town.up.start("sandbox")


def no_model(town: Town, _name: str) -> None:
    assert town.up.model is not None
    town.up.model.fault("529", times=1_000, retry_after=600)


def model_again(town: Town) -> None:
    assert town.up.model is not None
    town.up.model.faults()


def limited(town: Town, name: str) -> None:
    """GitHub's secondary limit for whoever writes a git object."""
    where = f"/repos/{name}/git/trees$"
    town.up.hub.fault("rate_secondary", where, method="POST", retry_after=600)


def not_limited(town: Town) -> None:
    with town.up.redis.client() as redis:
        redis.delete(record.pace_key(town.up.installation))


def no_github(town: Town, name: str) -> None:
    where = f"/repos/{name}/git/"
    town.up.hub.fault("status", f"{where}trees$", method="POST", status=502, times=0)
    town.up.hub.fault("status", f"{where}commits", method="GET", status=502, times=0)


def github_again(town: Town) -> None:
    town.up.hub.clear_faults()


@dataclass(frozen=True)
class Trouble:
    """What fails, how it comes back, and what the run waits for meanwhile."""

    fails: Callable[[Town, str], None]
    back: Callable[[Town], None]
    waiting: Waiting
    state: State
    shown: bool = True  # whether the sticky comment can say so


TROUBLES = {
    "the sandbox is away": Trouble(no_sandbox, sandbox_again, Waiting.SANDBOX, State.PREPARE),
    "the model is overloaded": Trouble(no_model, model_again, Waiting.MODEL, State.LOCATE),
    "GitHub limits us": Trouble(limited, not_limited, Waiting.GITHUB, State.PUBLISH, shown=False),
    "GitHub fails": Trouble(no_github, github_again, Waiting.GITHUB, State.PUBLISH),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_trouble_is_waited_for_and_costs_the_user_nothing(town: Town, name: str) -> None:
    trouble = TROUBLES[name]
    repository = town.repository()
    town.patches(repository, FIX)
    trouble.fails(town, repository)
    number = town.ask(repository)

    def waits(run: Run) -> bool:
        here = run.repository.full_name == repository
        return here and run.wait is not None and run.wait.waiting is trouble.waiting

    run = town.up.await_run(waits, 240)
    assert run.state is trouble.state and run.wait is not None and run.wait.note
    if trouble.shown:
        town.up.await_true(lambda: said(town, repository, number, trouble.waiting), 120)
    trouble.back(town)
    if "sandbox" in name:
        town.up.await_ready()

    def ends() -> bool:
        now = town.up.ledger.run(run.id)
        assert now is not None
        if now.wait is not None:  # as if its time had come, also where it just came back too early
            with town.up.redis.client() as redis:
                redis.zadd(record.DUE, {run.id: 1}, xx=True)
        return now.explained

    town.up.await_true(ends, 240)
    ended = town.end(repository, number)
    assert ended.verdict is not None and ended.verdict.result is Result.PASSED
    replies = [e for e in town.up.ledger.journal(run.id) if e.kind is Kept.MODEL]
    assert (len(ended.attempts), ended.spend.repairs) == (1, 0)
    assert ended.spend.calls == len(replies) and not any("failed" in e.data for e in replies)
    assert len(town.up.hub.pulls(repository)) == 1


def said(town: Town, repository: str, number: int, words: str) -> bool:
    """Whether the one sticky comment says it, in one line."""
    texts = [str(one["body"]) for one in town.up.hub.comments(repository, number)]
    status = "\n".join(text for text in texts if "patchwarrant:status" in text)
    return sum(words in line for line in status.splitlines()) == 1


def test_redis_that_goes_and_comes_back_loses_nothing(town: Town) -> None:
    repository = town.repository()
    town.patches(repository, FIX)
    assert town.up.model is not None
    town.up.model.latency(seconds=3.0)
    number = town.ask(repository)
    run = town.up.await_run(
        lambda run: run.repository.full_name == repository and run.state is State.LOCATE, 120
    )
    town.up.redis.kill()
    town.up.redis.start()
    town.up.model.latency(0)
    ended = town.end(repository, number, seconds=240)
    assert ended.id == run.id
    assert ended.verdict is not None and ended.verdict.result is Result.PASSED
    assert len(town.up.model.requests()) <= ended.spend.calls + 1
    assert len(town.up.hub.pulls(repository)) == 1
