"""Writes of one installation over processes: in order, spaced, limits shared, others free."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator

import pytest
from redis import Redis

from app.domain.errors import Limited
from app.domain.permissions import Phase
from tests.patience import PATIENCE
from tests.redis_server import Server
from tests.standins.github_world import REPO, Acme
from tests.worker.desk.made import new_run
from tests.worker.desk.ways import access_to
from worker.desk.connect import Access
from worker.desk.pace import SharedPace
from worker.store.calls import Calls
from worker.store.pacing import Pacing, Turn

GAP = 40  # ms


def turns(redis: Redis, gap: int = GAP, longest: int = 5_000, hourly: int = 0) -> Pacing:
    return Pacing(Calls(redis, 5), gap, longest, hourly)


def _write(url: str, times: int, told: multiprocessing.Queue[tuple[float, float]]) -> None:
    """Tells when each turn was, at the earliest, and when the write was let go (epoch ms)."""
    taken: list[int] = []

    class Told(Pacing):
        def take(self, installation: int) -> Turn:
            asked = self._now()
            turn = super().take(installation)
            taken.append(asked + turn.wait)
            return turn

    pacing = Told(Calls(Redis.from_url(url), 60), GAP, 600_000)
    pace = SharedPace(7, pacing, time.monotonic, time.sleep)
    for _ in range(times):
        pace.wait()
        told.put((taken.pop(), time.time() * 1000))


def test_processes_take_turns_that_lie_apart(redis_process: Server, redis: Redis) -> None:
    context = multiprocessing.get_context("spawn")
    told: multiprocessing.Queue[tuple[float, float]] = context.Queue()
    began = Pacing(Calls(redis, 5), GAP, 0)._now()
    writers = [context.Process(target=_write, args=(redis_process.url, 5, told)) for _ in range(3)]
    for writer in writers:
        writer.start()
    written = [told.get(timeout=PATIENCE) for _ in range(15)]
    for writer in writers:
        writer.join()
    # A busy machine lets a write go late, never before its turn; and no turn lies in another's gap.
    assert all(at >= turn - 2 for turn, at in written)
    assert int(redis.hget("pw:pace:7", "next") or 0) >= began + 15 * GAP


def test_a_turn_that_is_far_off_is_not_waited_for_and_not_taken(redis: Redis) -> None:
    mine = turns(redis, gap=60_000, longest=1_000)
    assert mine.take(7).wait == 0
    for _ in range(3):
        later = mine.take(7)
        assert later.no == "queue" and 50_000 < later.wait <= 60_000
    assert mine.take(8) == ("", 0, "")  # another installation does not wait
    slept: list[float] = []
    with pytest.raises(Limited) as far:
        SharedPace(7, mine, time.monotonic, slept.append).wait()
    assert 50 < far.value.seconds <= 60 and slept == []


def test_an_hour_has_so_many_writes(redis: Redis) -> None:
    mine = turns(redis, gap=1, hourly=3)
    assert [mine.take(7).no for _ in range(4)] == ["", "", "", "full"]
    assert 0 < mine.take(7).wait <= 3_600_000
    assert mine.take(8).no == ""
    assert turns(redis, gap=0, hourly=3).take(7).no == ""  # no gap: no pace at all


def test_a_limit_holds_everybody_of_that_installation_until_its_end(redis: Redis) -> None:
    mine, other = turns(redis), turns(redis)
    mine.limit(7, 90_000, True, "secondary")
    assert other.take(7).no == "limited" and other.limited(7).why == "secondary"
    assert 80_000 < other.limited(7).wait <= 90_000
    mine.limit(7, 1_000, True, "less")  # the longer one holds
    assert other.limited(7).wait > 80_000
    assert other.limited(8).no == ""


def test_what_github_does_not_say_is_doubled_each_time(redis: Redis) -> None:
    mine, waits = turns(redis), []
    for _ in range(6):
        mine.limit(7, 60_000, False, "secondary")
        waits.append(round(mine.limited(7).wait / 60_000))
        redis.hset("pw:pace:7", "until", 1)
    assert waits == [1, 2, 4, 8, 15, 15]


@pytest.fixture
def access(world: Acme, redis: Redis) -> Iterator[Access]:
    made = access_to(world)
    made.pacing = turns(redis, gap=0)
    yield made


@pytest.mark.parametrize("kind", ["rate_primary", "rate_secondary"])
def test_githubs_own_limits_stop_this_installation_before_a_token_is_minted(
    world: Acme, access: Access, redis: Redis, kind: str
) -> None:
    run = new_run(installation=world.installation)
    repository = run.repository.__class__(world.repo_id, "acme", "widgets")
    run = new_run(repository, world.installation, world.standin.open_issue(REPO, "alice", "T"))
    more = {"retry_after": 77} if kind == "rate_secondary" else {}
    world.standin.fault(kind, "/comments", method="POST", **more)
    with pytest.raises(Limited) as limit, access.write(run, Phase.STATUS) as writer:
        writer.comment(run.issue, "<!-- m -->\nx", "<!-- m -->")
    if kind == "rate_secondary":
        assert limit.value.seconds == 77
    seen = len(world.standin.log())
    for _ in range(2):
        with pytest.raises(Limited), access.write(run, Phase.STATUS):
            raise AssertionError("a client was made")
    assert len(world.standin.log()) == seen  # not even a token was asked for
    redis.delete(f"pw:pace:{world.installation}")
    with access.write(run, Phase.STATUS) as writer:
        assert writer.comment(run.issue, "<!-- m -->\nx", "<!-- m -->") > 0
