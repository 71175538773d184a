"""Writes of one installation over processes: in order, spaced, limits shared, others free."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from app.domain.errors import Limited
from app.domain.permissions import Phase
from tests.patience import PATIENCE, until
from tests.redis_server import Server
from tests.standins.github_world import REPO, Acme
from tests.worker.desk.made import new_run
from tests.worker.desk.ways import access_to
from worker.desk.connect import Access
from worker.desk.pace import SharedPace
from worker.store.calls import Calls
from worker.store.pacing import Pacing

GAP = 40  # ms
MINUTE = 60_000  # a gap that no stall of a busy machine outlasts


def turns(redis: Redis, gap: int = GAP, longest: int = 5_000, hourly: int = 0) -> Pacing:
    return Pacing(Calls(redis, 5), gap, longest, hourly)


def _write(url: str, times: int, told: multiprocessing.Queue[float]) -> None:
    """Tells when each write was let go (epoch ms)."""
    pacing = Pacing(Calls(Redis.from_url(url), 60), GAP, 600_000)
    pace = SharedPace(7, pacing, time.monotonic, time.sleep)
    for _ in range(times):
        pace.wait()
        told.put(time.time() * 1000)


def test_processes_take_turns_that_lie_apart(redis_process: Server, redis: Redis) -> None:
    context = multiprocessing.get_context("spawn")
    told: multiprocessing.Queue[float] = context.Queue()
    began = Pacing(Calls(redis, 5), GAP, 0)._now()
    writers = [context.Process(target=_write, args=(redis_process.url, 5, told)) for _ in range(3)]
    for writer in writers:
        writer.start()
    written = [told.get(timeout=PATIENCE) for _ in range(15)]
    for writer in writers:
        writer.join()
    # A busy machine lets a write go late, never in the gap of the one before.
    late = [at - (began + place * GAP) for place, at in enumerate(sorted(written))]
    assert min(late) >= -2, late
    assert int(redis.hget("pw:pace:7", "next") or 0) >= began + 15 * GAP


def waits(redis: Redis, mine: Pacing, place: str = "", *, first: bool = False) -> str:
    """Ask for the turn as though it was time already; the place in the line, "" with the turn."""
    redis.hset("pw:pace:7", "next", 1)
    turn = mine.take(7, place, first=first)
    assert turn.no in ("", "wait")
    return turn.place


def standing(redis: Redis, mine: Pacing, *, first: bool = False) -> str:
    """A place in the line behind a write that was sent just now."""
    redis.hset("pw:pace:7", "next", (int(mine.calls.command("TIME")[0]) + 60) * 1_000)
    turn = mine.take(7, first=first)
    assert turn.no == "wait" and turn.place
    return turn.place


def test_a_first_sign_goes_before_what_waits_and_they_keep_their_order(redis: Redis) -> None:
    mine = turns(redis, gap=MINUTE, longest=60 * MINUTE)
    one, two = standing(redis, mine), standing(redis, mine)
    sign = standing(redis, mine, first=True)
    assert waits(redis, mine, two) == two and waits(redis, mine, one) == one
    assert waits(redis, mine, sign, first=True) == ""
    assert waits(redis, mine, two) == two
    assert waits(redis, mine, one) == "" and waits(redis, mine, two) == ""
    assert not [name for name in redis.hkeys("pw:pace:7") if name.startswith(b"w:")]  # type: ignore[union-attr]


def test_signs_among_themselves_follow_each_other(redis: Redis) -> None:
    mine = turns(redis, gap=MINUTE, longest=60 * MINUTE)
    first, second = (standing(redis, mine, first=True) for _ in range(2))
    assert waits(redis, mine, second, first=True) == second
    assert waits(redis, mine, first, first=True) == ""
    assert waits(redis, mine, second, first=True) == ""


def aged(redis: Redis, place: str, ms: int) -> None:
    """As though the place was asked for so much earlier."""
    raw = redis.hget("pw:pace:7", f"w:{place}")
    assert isinstance(raw, bytes)
    order, asked, till = map(int, raw.split())
    redis.hset("pw:pace:7", f"w:{place}", f"{order - ms} {asked - ms} {till}")


def test_who_has_waited_long_is_not_overtaken_any_more(redis: Redis) -> None:
    mine = turns(redis, gap=MINUTE, longest=60 * MINUTE)
    old = standing(redis, mine)
    aged(redis, old, 4 * MINUTE)
    sign = standing(redis, mine, first=True)
    assert waits(redis, mine, sign, first=True) == sign
    assert waits(redis, mine, old) == ""
    assert waits(redis, mine, sign, first=True) == ""


def test_who_is_overtaken_for_too_long_gives_up_its_place(redis: Redis) -> None:
    hurried = turns(redis, gap=MINUTE, longest=150_000)
    place = standing(redis, hurried)
    for _ in range(2):
        standing(redis, turns(redis, gap=MINUTE, longest=60 * MINUTE), first=True)
    assert hurried.take(7, place).no == "queue"
    assert not redis.hexists("pw:pace:7", f"w:{place}")


def test_a_place_whose_holder_died_holds_nobody_up_for_ever(redis: Redis) -> None:
    mine = turns(redis, gap=MINUTE, longest=60 * MINUTE)
    dead, next_one = standing(redis, mine), standing(redis, mine)
    assert waits(redis, mine, next_one) == next_one
    redis.hset("pw:pace:7", f"w:{dead}", "1 1 1")
    assert waits(redis, mine, next_one) == ""
    assert mine.take(7).no == "wait"  # and the gap holds after it


def test_a_sign_overtakes_a_writer_that_sleeps(redis_process: Server, redis: Redis) -> None:
    """Both with the real clock: one gap after the last write, and the other one gap later."""
    url, said, overtaken = redis_process.url, list[str](), threading.Event()
    mine = SharedPace(7, turns(redis, gap=1_000), time.monotonic, time.sleep)
    mine.wait()

    def asleep(seconds: float) -> None:
        time.sleep(seconds)
        overtaken.wait(PATIENCE)  # a busy machine may wake it before the sign is there

    def write(name: str, sleep: Callable[[float], None], *, first: bool) -> None:
        pace = SharedPace(7, turns(Redis.from_url(url), gap=1_000), time.monotonic, sleep)
        pace.wait(first=first)
        said.append(name)

    slow = threading.Thread(target=write, args=("reply", asleep), kwargs={"first": False})
    slow.start()
    until(lambda: any(name.startswith(b"w:") for name in redis.hkeys("pw:pace:7")))  # type: ignore[union-attr]
    write("sign", time.sleep, first=True)
    overtaken.set()
    slow.join(PATIENCE)
    assert said == ["sign", "reply"]


def test_a_turn_that_is_far_off_is_not_waited_for_and_not_taken(redis: Redis) -> None:
    mine = turns(redis, gap=60_000, longest=1_000)
    assert mine.take(7).wait == 0
    for _ in range(3):
        later = mine.take(7)
        assert later.no == "queue" and 50_000 < later.wait <= 60_000
    assert mine.take(8) == ("", 0, "", "")  # another installation does not wait
    slept: list[float] = []
    with pytest.raises(Limited) as far:
        SharedPace(7, mine, time.monotonic, slept.append).wait()
    assert 50 < far.value.seconds <= 60 and slept == []


def test_an_hour_has_so_many_writes(redis: Redis) -> None:
    mine = turns(redis, gap=1, hourly=3)
    pace = SharedPace(7, mine, time.monotonic, time.sleep)
    for _ in range(3):
        pace.wait()
    assert mine.take(7).no == "full"
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
