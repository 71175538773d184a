"""The ledger on a real Redis: openings, leases, fences, wake times, crashes."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from redis import Redis

from app.domain.budget import Limits
from app.domain.contract import Contract, Request
from app.domain.errors import Fenced, HaltRecord, IntegrityError, Missing, Reason, Waiting
from app.domain.evidence import Finding, Holds, Result, Verdict
from app.domain.record import SCHEMA, Kept
from app.domain.repo_config import RepoConfig
from app.domain.run import Publication, Run, Wait
from app.domain.state import Role, Signal, State
from tests.redis_server import Server
from tests.worker.store.samples import REPOSITORY, a_run, an_event, opened
from worker.store.codec import NewerSchema
from worker.store.ledger import Ledger
from worker.store.rows import Lease, Opened, Opening, Wake

MINUTE = 60_000


@pytest.fixture
def ledger(redis: Redis) -> Ledger:
    return Ledger(redis)


def claimed(ledger: Ledger, run_id: str, owner: str = "w1", lease_ms: int = MINUTE) -> Lease:
    lease = ledger.claim(run_id, owner, lease_ms)
    assert lease is not None
    return lease


def expire(redis: Redis, run_id: str) -> None:
    """As if the lease's time were over."""
    redis.hset(f"pw:run:{run_id}", "lease", 1)


def ended(run: Run) -> Run:
    halt = HaltRecord(Reason.NO_CHANGE, "nothing", "")
    return replace(run, state=State.HALTED, halt=halt, explained=True)


def open_again(ledger: Ledger, run_id: str) -> Opened:
    event = an_event(f"issue:1:7:again-{run_id}")
    ledger.add_event(event)
    return ledger.open_run(event.key, a_run(run_id))


# -- events


def test_an_event_is_read_back_as_it_was_written(ledger: Ledger) -> None:
    event = an_event()
    assert ledger.add_event(event)
    assert not ledger.add_event(event)
    assert ledger.event(event.key) == event
    assert ledger.event("issue:0") is None


def test_events_without_outcome_wait_for_the_keeper(ledger: Ledger) -> None:
    for key in ("a", "b", "c"):
        ledger.add_event(an_event(key))
    assert ledger.unhandled_events(2) == ["a", "b"]
    assert ledger.unhandled_events(9, older_ms=MINUTE) == []
    ledger.event_done("a", "refused-role")
    ledger.event_done("a", "something else")
    ledger.event_done("gone", "nothing")
    assert ledger.unhandled_events(9) == ["b", "c"]
    assert ledger.redis.hget("pw:event:a", "outcome") == b"refused-role"
    assert ledger.redis.exists("pw:event:gone") == 0


def test_a_row_of_a_newer_schema_is_left_as_it_is(ledger: Ledger, redis: Redis) -> None:
    event, run_id = an_event(), opened(ledger)
    ledger.add_event(event)
    redis.hset(f"pw:event:{event.key}", "v", SCHEMA + 1)
    redis.hset(f"pw:run:{run_id}", "v", SCHEMA + 1)
    before = redis.hgetall(f"pw:run:{run_id}")
    with pytest.raises(NewerSchema):
        ledger.event(event.key)
    with pytest.raises(NewerSchema, match="waits for a newer worker"):
        ledger.claim(run_id, "w1", MINUTE)
    assert redis.hgetall(f"pw:run:{run_id}") == before
    assert ledger.runs(9) == []


def test_a_row_that_cannot_be_read_says_so(ledger: Ledger, redis: Redis) -> None:
    run_id = opened(ledger)
    redis.hset(f"pw:run:{run_id}", "data", b'{"id": 1}')
    with pytest.raises(IntegrityError, match="cannot be read"):
        ledger.run(run_id)


# -- openings


def test_the_first_event_of_an_issue_opens_change_and_run(ledger: Ledger) -> None:
    event = an_event()
    ledger.add_event(event)
    got = ledger.open_run(event.key, a_run("r1"))
    assert got == Opened(Opening.NEW, "r1", "r1")
    run, change = ledger.run("r1"), ledger.change("r1")
    assert run is not None and run.change == "r1"
    assert change is not None
    assert (change.active, change.runs, change.pull, change.open) == ("r1", ("r1",), 0, True)
    assert (change.repository, change.issue) == (REPOSITORY.id, 7)
    assert change.branch == "agent/issue-7-r1"
    assert ledger.unhandled_events(9) == []
    assert [due.run_id for due in ledger.due(ledger.now(), 9)] == ["r1"]


def test_the_same_event_opens_nothing_twice(ledger: Ledger) -> None:
    event = an_event()
    ledger.add_event(event)
    ledger.open_run(event.key, a_run("r1"))
    assert ledger.open_run(event.key, a_run("r2")) == Opened(Opening.KNOWN, "r1", "r1")
    assert ledger.run("r2") is None


def test_a_second_trigger_meets_the_active_run(ledger: Ledger) -> None:
    opened(ledger, "r1")
    assert open_again(ledger, "r2") == Opened(Opening.ACTIVE, "r1", "r1")
    assert ledger.run("r2") is None
    lease = claimed(ledger, "r1")
    wait = Wait(Waiting.ANSWER, ledger.now() + MINUTE, "which file?")
    ledger.save(lease, replace(lease.run, wait=wait), due_ms=wait.until, release=True)
    assert open_again(ledger, "r3").waiting == "waiting-answer"


def test_after_an_end_without_a_pull_request_the_change_goes_on(ledger: Ledger) -> None:
    opened(ledger, "r1")
    lease = claimed(ledger, "r1")
    ledger.save(lease, ended(lease.run), release=True)
    assert open_again(ledger, "r2") == Opened(Opening.NEW, "r2", "r1")
    run, change = ledger.run("r2"), ledger.change("r1")
    assert run is not None and run.change == "r1"
    assert change is not None
    assert (change.active, change.runs, change.branch) == ("r2", ("r1", "r2"), "agent/issue-7-r1")


def contract(tail: str) -> Contract:
    request = Request("t", "b", "d", 0, "hubot", "octocat", "")
    return Contract(request, (), "main", "b" * 40, RepoConfig(), "", Limits(), tail=tail)


def test_the_branch_is_called_as_the_contract_says_until_there_is_a_pull_request(
    ledger: Ledger,
) -> None:
    def branch() -> str:
        change = ledger.change("r1")
        assert change is not None
        return change.branch

    opened(ledger, "r1")
    lease = claimed(ledger, "r1")
    run = replace(lease.run, contract=contract("add-is-wrong"))
    lease = ledger.save(lease, run)
    assert branch() == run.branch == "agent/issue-7-r1-add-is-wrong"
    published = replace(run, publication=Publication(run.branch, "c" * 40, 12))
    lease = ledger.save(lease, published)
    late = replace(published, contract=contract("other"))
    ledger.save(lease, late)
    assert branch() == "agent/issue-7-r1-add-is-wrong"


def test_an_open_pull_request_stops_new_runs_until_it_is_closed(ledger: Ledger) -> None:
    opened(ledger, "r1")
    lease = claimed(ledger, "r1")
    published = replace(lease.run, publication=Publication(pull=12))
    lease = ledger.save(lease, published)
    assert open_again(ledger, "r2").outcome is Opening.ACTIVE
    ledger.save(lease, replace(ended(published), halt=None, state=State.COMPLETE), release=True)
    assert open_again(ledger, "r3") == Opened(Opening.PULL, "", "r1", 12)
    change = ledger.open_change(REPOSITORY.id, 7)
    assert change is not None and change.pull == 12
    assert ledger.close_change(change)
    assert not ledger.close_change(change)
    assert ledger.open_change(REPOSITORY.id, 7) is None
    assert open_again(ledger, "r4") == Opened(Opening.NEW, "r4", "r4")


def test_issues_do_not_meet(ledger: Ledger) -> None:
    opened(ledger, "r1", issue=1)
    opened(ledger, "r2", issue=2)
    assert [run.id for run in ledger.runs(9)] == ["r2", "r1"]
    assert [run.id for run in ledger.runs(1)] == ["r2"]
    assert sorted(ledger.runs_without_end()) == ["r1", "r2"]


def test_a_run_needs_an_event(ledger: Ledger) -> None:
    with pytest.raises(Missing):
        ledger.open_run("issue:none", a_run())


def test_many_desks_open_one_run(ledger: Ledger) -> None:
    for number in range(16):
        ledger.add_event(an_event(f"e{number}"))
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda n: ledger.open_run(f"e{n}", a_run(f"r{n}")), range(16)))
    assert sorted(answer.outcome for answer in got) == ["active"] * 15 + ["new"]
    assert len(ledger.runs(99)) == 1


# -- leases and fences


def test_one_of_two_claimers_gets_the_run(ledger: Ledger) -> None:
    opened(ledger)
    barrier = threading.Barrier(8)

    def race(number: int) -> Lease | None:
        barrier.wait()
        return ledger.claim("r1", f"w{number}", MINUTE)

    with ThreadPoolExecutor(8) as pool:
        got = [lease for lease in pool.map(race, range(8)) if lease]
    assert len(got) == 1
    assert (got[0].fence, got[0].rev, got[0].crashes, got[0].run_id) == (1, 1, 0, "r1")


def test_a_run_that_is_not_there_cannot_be_claimed(ledger: Ledger) -> None:
    assert ledger.claim("r9", "w1", MINUTE) is None
    with pytest.raises(Missing):
        ledger.wake("r9", Role.DESK)
    assert not ledger.cancel("r9")


def test_an_outdated_worker_cannot_write(ledger: Ledger, redis: Redis) -> None:
    opened(ledger)
    old = claimed(ledger, "r1", "old")
    expire(redis, "r1")
    new = claimed(ledger, "r1", "new")
    assert new.fence == old.fence + 1
    for act in (
        lambda: ledger.save(old, old.run.moved(Signal.DONE)),
        lambda: ledger.beat(old, MINUTE),
        lambda: ledger.hold(old, daily=9).note(Kept.NOTE, {"late": True}),
    ):
        with pytest.raises(Fenced):
            act()
    assert ledger.journal("r1") == []
    saved = ledger.save(new, new.run.moved(Signal.DONE))
    assert saved.rev == new.rev + 1
    run = ledger.run("r1")
    assert run is not None and run.state is State.PREPARE


def test_a_save_on_an_old_revision_is_refused(ledger: Ledger) -> None:
    opened(ledger)
    lease = claimed(ledger, "r1")
    ledger.save(lease, lease.run.moved(Signal.DONE))
    with pytest.raises(Fenced, match="stale"):
        ledger.save(lease, lease.run)


def test_a_lease_saves_only_its_own_run(ledger: Ledger) -> None:
    opened(ledger)
    with pytest.raises(IntegrityError):
        ledger.save(claimed(ledger, "r1"), a_run("r2"))


def test_a_released_lease_writes_no_more(ledger: Ledger) -> None:
    opened(ledger)
    lease = ledger.save(claimed(ledger, "r1"), a_run("r1"), release=True)
    with pytest.raises(Fenced, match="released"):
        ledger.hold(lease, daily=9).note(Kept.NOTE, {})
    with pytest.raises(Fenced):
        ledger.beat(lease, MINUTE)
    assert claimed(ledger, "r1", "w2").crashes == 0


def test_crashes_are_counted_until_the_state_changes(ledger: Ledger, redis: Redis) -> None:
    opened(ledger)
    for crashes in range(3):
        lease = claimed(ledger, "r1", f"w{crashes}")
        assert lease.crashes == crashes
        expire(redis, "r1")
    lease = claimed(ledger, "r1")
    assert lease.crashes == 3
    ledger.save(lease, lease.run)
    expire(redis, "r1")
    lease = claimed(ledger, "r1")
    assert lease.crashes == 4
    ledger.save(lease, lease.run.moved(Signal.DONE))
    expire(redis, "r1")
    assert claimed(ledger, "r1").crashes == 1


def test_a_beat_keeps_the_lease_and_tells_of_a_cancel(ledger: Ledger, redis: Redis) -> None:
    opened(ledger)
    lease = claimed(ledger, "r1")
    expire(redis, "r1")  # late, but nobody took over
    assert not ledger.beat(lease, MINUTE)
    row = ledger.row("r1")
    assert row is not None and row.lease > ledger.now() + MINUTE / 2 and row.due > row.lease
    assert ledger.claim("r1", "w2", MINUTE) is None
    assert ledger.cancel("r1")
    assert ledger.beat(lease, MINUTE)
    ledger.save(lease, lease.run, release=True)
    assert claimed(ledger, "r1").cancelled


def test_an_ended_run_is_over_for_good(ledger: Ledger) -> None:
    opened(ledger)
    lease = claimed(ledger, "r1")
    lease = ledger.save(lease, replace(ended(lease.run), explained=False), release=True)
    assert ledger.runs_without_end() == ["r1"]  # its ending is still to be told
    lease = claimed(ledger, "r1")
    ledger.save(lease, ended(lease.run))  # even without release: nothing to hold any more
    assert ledger.runs_without_end() == []
    assert ledger.claim("r1", "w2", MINUTE) is None
    assert not ledger.cancel("r1")
    with pytest.raises(Fenced):
        ledger.beat(lease, MINUTE)
    assert ledger.runs_without_end() == []
    change = ledger.change("r1")
    assert change is not None and change.active == "" and change.open


# -- wake times


def test_a_dead_workers_run_comes_back(ledger: Ledger, redis: Redis) -> None:
    opened(ledger)
    lease = claimed(ledger, "r1")
    assert ledger.due(ledger.now(), 9) == []
    later = lease.until + 10_000
    assert ledger.due(later, 9) == []  # the lease lives
    expire(redis, "r1")
    assert ledger.due(later, 9) == [("r1", Role.DESK, State.ADMIT)]


def test_a_parked_run_sleeps_until_its_time(ledger: Ledger) -> None:
    opened(ledger)
    lease = claimed(ledger, "r1")
    until = ledger.now() + MINUTE
    parked = replace(lease.run, wait=Wait(Waiting.GITHUB, until, "away"))
    ledger.save(lease, parked, due_ms=until, release=True)
    assert ledger.due(until - 1, 9) == []
    assert [due.run_id for due in ledger.due(until, 9)] == ["r1"]


def test_a_handed_over_run_names_its_next_role(ledger: Ledger) -> None:
    opened(ledger)
    lease = claimed(ledger, "r1")
    ledger.save(lease, lease.run.moved(Signal.DONE), release=True)
    assert ledger.due(ledger.now(), 9) == []  # the wake-up is on its way
    assert ledger.due(ledger.now() + MINUTE, 9) == [("r1", Role.RUNNER, State.PREPARE)]


def test_wake_ups_that_nobody_answers_grow_rarer(ledger: Ledger) -> None:
    opened(ledger)
    for count, pause in enumerate((1, 2, 4, 8, 16, 32, 32, 32), 1):
        before = ledger.now()
        assert ledger.wake("r1", Role.DESK, again_ms=1000) == Wake(count)
        row = ledger.row("r1")
        assert row is not None
        assert before <= row.due - pause * 1000 <= ledger.now()
    ledger.save(claimed(ledger, "r1"), a_run("r1"), release=True)
    ledger.wake("r1", Role.DESK, again_ms=1000)
    row = ledger.row("r1")
    assert row is not None and row.due - ledger.now() <= 1000 and row.wakes == 9


def test_a_wake_up_leaves_a_held_or_ended_run_alone(ledger: Ledger) -> None:
    opened(ledger)
    lease = claimed(ledger, "r1")
    before = ledger.row("r1")
    ledger.wake("r1", Role.DESK, again_ms=1)
    after = ledger.row("r1")
    assert before is not None and after is not None and before.due == after.due
    ledger.save(lease, ended(lease.run), release=True)
    ledger.wake("r1", Role.DESK)
    assert ledger.runs_without_end() == []


def test_an_answer_wakes_only_a_run_that_asked(ledger: Ledger) -> None:
    opened(ledger)
    assert not ledger.answer("r1", "e2", "yes")
    assert not ledger.answer("r9", "e2", "yes")
    lease = claimed(ledger, "r1")
    until = ledger.now() + 7 * 86_400_000
    asked = replace(lease.run, wait=Wait(Waiting.ANSWER, until, "which?"))
    ledger.save(lease, asked, due_ms=until, release=True)
    assert ledger.answer("r1", "e2", "the second")
    assert ledger.answer("r1", "e2", "the second")  # said twice, kept once
    assert not ledger.answer("r1", "e3", "another one")
    assert [due.run_id for due in ledger.due(ledger.now(), 9)] == ["r1"]
    lease = claimed(ledger, "r1")
    assert lease.answer == "e2"
    assert [e.data for e in ledger.journal("r1")] == [{"answer": "the second", "event": "e2"}]
    ledger.save(lease, replace(lease.run, wait=None), release=True)
    assert claimed(ledger, "r1").answer == ""


def test_a_cancelled_sleeper_is_due_at_once(ledger: Ledger) -> None:
    opened(ledger)
    lease = claimed(ledger, "r1")
    later = ledger.now() + 86_400_000
    wait = Wait(Waiting.SANDBOX, later, "")
    ledger.save(lease, replace(lease.run, wait=wait), due_ms=later, release=True)
    assert ledger.due(ledger.now(), 9) == []
    assert ledger.cancel("r1")
    assert [due.run_id for due in ledger.due(ledger.now(), 9)] == ["r1"]


# -- when Redis forgets, or answers are lost


def test_scripts_come_back_after_the_server_forgot_them(ledger: Ledger, redis: Redis) -> None:
    opened(ledger, "r1", 1)
    redis.script_flush()
    opened(ledger, "r2", 2)
    assert len(ledger.runs(9)) == 2


def test_acknowledged_rows_survive_kill_9(redis_process: Server, ledger: Ledger) -> None:
    kept: list[str] = []
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            opened(ledger, f"k{number}", number)
            kept.append(f"k{number}")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for goal in (40, 80, 120):
            while len(kept) < goal:
                assert thread.is_alive()
                time.sleep(0.005)
            redis_process.kill()  # the writer is in the middle of something
            redis_process.start()
    finally:
        stop.set()
        thread.join()
    found = {run.id for run in ledger.runs(100_000)}
    assert set(kept) <= found
    for run_id in kept:
        run, change = ledger.run(run_id), ledger.change(run_id)
        assert run is not None and change is not None and change.active == run_id


class Lossy(Redis):
    """Sends a command, then loses the answer of the next call, as a broken connection does."""

    lose = 0

    def execute_command(self, *words: object, **options: object) -> object:
        answer = super().execute_command(*words, **options)
        if self.lose and words[0] in ("EVALSHA", "EVAL"):
            Lossy.lose -= 1
            from redis.exceptions import ConnectionError

            raise ConnectionError("the answer was lost")
        return answer


def test_a_call_whose_answer_was_lost_is_done_once(redis_process: Server, redis: Redis) -> None:
    lossy = Lossy(unix_socket_path=redis_process.socket)
    ledger = Ledger(lossy)
    opened(ledger)
    Lossy.lose = 1
    lease = claimed(ledger, "r1")
    assert lease.fence == 1
    hold = ledger.hold(lease, daily=1000)
    Lossy.lose = 1
    entry = hold.note(Kept.MODEL, {"paid": 1})
    assert hold.entries() == [entry]
    for act, spent in ((lambda: hold.reserve(100), 100), (lambda: hold.settle(40), 40)):
        Lossy.lose = 1
        act()
        assert ledger.spent_today() == spent
    Lossy.lose = 1
    saved = ledger.save(lease, lease.run.moved(Signal.DONE))
    assert saved.rev == 2
    assert Lossy.lose == 0
    lossy.close()


def test_verdict_findings_and_state_are_kept_by_one_write_or_not_at_all(redis: Redis) -> None:
    """D5: nobody can see a run at publishing without the findings on its very tree."""
    ledger = Ledger(redis)
    opened(ledger)
    lease = ledger.claim("r1", "w1", 60_000)
    assert lease is not None
    finding = Finding("Every required check passed", Holds.HOLDS, ("tests",))
    verdict = Verdict("a" * 40, "b" * 40, Result.PASSED, "", (finding,))
    judged = replace(lease.run, state=State.PUBLISH, verdict=verdict)
    before = redis.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0)
    ledger.save(lease, judged)
    after = redis.info("commandstats")["cmdstat_evalsha"]["calls"]
    assert after - before == 1
    kept = ledger.run("r1")
    assert kept is not None and kept.verdict == verdict and kept.state is State.PUBLISH
    with pytest.raises(Fenced):  # the older lease can change neither of them
        ledger.save(lease, replace(judged, verdict=None))
    assert ledger.run("r1") == kept
