"""Carrying: the loop over stages on a real ledger, with stages of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest
from redis import Redis

from app.domain.budget import Limits
from app.domain.contract import Contract, Request
from app.domain.edit import Candidate, Change
from app.domain.errors import (
    Fault,
    Fenced,
    Halt,
    IllegalMove,
    Limited,
    Park,
    Reason,
    Unavailable,
    Waiting,
)
from app.domain.record import Kept
from app.domain.repo_config import OnStop, RepoConfig
from app.domain.run import Publication, Run
from app.domain.state import Role, Signal, State
from tests.worker.store.samples import opened
from worker.carry import CRASHES, PATIENCE_MS, Carrier, Crew, Stage
from worker.handover import DRAIN, Ending
from worker.store.hold import LedgerHold
from worker.store.ledger import Ledger

CANDIDATE = Candidate("t" * 40, (Change("a.py", 0o100644, "b" * 64),))


@dataclass
class Role1:
    """One role under test: its stages, what it woke, a clock that jumps a second a look."""

    ledger: Ledger
    role: Role
    stages: Mapping[State, Stage]
    explain: Stage | None = None
    salvage: Stage | None = None
    aside: Stage | None = None
    woken: list[tuple[str, Role]] = field(default_factory=list)
    seconds: float = 0.0
    crews: Callable[[], None] = lambda: None
    ending: Ending = field(default_factory=Ending)
    hold: LedgerHold | None = None

    def carry(self, run_id: str) -> Run:
        def clock() -> float:
            self.seconds += 1.0
            return self.seconds

        def crew(_run: Run, hold: LedgerHold) -> Crew:
            self.crews()
            self.hold = hold
            return Crew(self.stages, self.explain, self.salvage, self.aside)

        Carrier(
            role=self.role,
            ledger=self.ledger,
            crew=crew,
            wake=lambda run, role: self.woken.append((run, role)),
            clock=clock,
            owner="test",
            lease_ms=2_000,
            daily=1_000_000,
            large_daily=400_000,
            ending=self.ending,
        ).carry(run_id)
        found = self.ledger.run(run_id)
        assert found is not None
        return found


def done(run: Run) -> Run:
    return run.moved(Signal.DONE)


def raising(stop: Exception) -> Stage:
    def stage(_run: Run) -> Run:
        raise stop

    return stage


def halt(reason: Reason = Reason.NO_PROGRESS) -> Halt:
    return Halt(reason, "it went nowhere", "do better")


def contract(on_stop: OnStop) -> Contract:
    request = Request("t", "b", "d", 0, "a", "a", "")
    return Contract(request, (), "main", "c" * 40, RepoConfig(on_stop=on_stop), "", Limits())


@pytest.fixture
def ledger(redis: Redis) -> Ledger:
    return Ledger(redis)


def at(ledger: Ledger, state: State, **fields: object) -> str:
    """A run that is in `state`, released."""
    run_id = opened(ledger)
    lease = ledger.claim(run_id, "before", 2_000)
    assert lease is not None
    ledger.save(lease, replace(lease.run, state=state, **fields), release=True)  # type: ignore[arg-type]
    return run_id


def test_a_run_goes_through_the_stages_of_its_role_and_wakes_the_next_role(ledger: Ledger) -> None:
    desk = Role1(ledger, Role.DESK, {State.ADMIT: done})
    run = desk.carry(opened(ledger))
    assert run.state is State.PREPARE
    assert desk.woken == [(run.id, Role.RUNNER)]
    moves = [e.data for e in ledger.journal(run.id) if e.kind is Kept.MOVE]
    assert moves == [{"from": "admit", "to": "prepare"}]
    assert run.spend.active_ms == 1000


@pytest.mark.parametrize(("large", "cap"), [(False, 1_000_000), (True, 400_000)])
def test_a_large_run_sees_its_own_share_of_the_day(ledger: Ledger, large: bool, cap: int) -> None:
    run_id = at(ledger, State.LOCATE, contract=replace(contract(OnStop.DRAFT), large=large))
    role = Role1(ledger, Role.RUNNER, {State.LOCATE: raising(halt())})
    role.carry(run_id)
    assert role.hold is not None and role.hold.daily == cap


def test_a_held_run_is_left_alone(ledger: Ledger) -> None:
    run_id = opened(ledger)
    assert ledger.claim(run_id, "somebody", 60_000)
    run = Role1(ledger, Role.DESK, {State.ADMIT: raising(AssertionError())}).carry(run_id)
    assert run.state is State.ADMIT


def test_a_halt_without_work_is_told_at_once_by_the_desk(ledger: Ledger) -> None:
    told: list[State] = []

    def explain(run: Run) -> Run:
        told.append(run.state)
        return replace(run, explained=True)

    desk = Role1(ledger, Role.DESK, {State.ADMIT: raising(halt(Reason.NEEDS_INFO))}, explain)
    run = desk.carry(opened(ledger))
    assert (run.state, run.explained, told) == (State.HALTED, True, [State.HALTED])
    assert run.halt is not None
    assert run.halt.reason is Reason.NEEDS_INFO
    assert desk.woken == []


@pytest.mark.parametrize(
    ("on_stop", "reason", "state"),
    [
        (OnStop.DRAFT, Reason.NO_PROGRESS, State.PUBLISH),
        (OnStop.PATCH, Reason.BUDGET_TURNS, State.PUBLISH),
        (OnStop.NOTHING, Reason.NO_PROGRESS, State.HALTED),
        (OnStop.DRAFT, Reason.SCOPE, State.HALTED),
        (OnStop.DRAFT, Reason.SECRET_FOUND, State.HALTED),
        (OnStop.DRAFT, Reason.CANCELLED, State.HALTED),
    ],
)
def test_partial_work_goes_to_the_gate_where_it_may_be_shown(
    ledger: Ledger, on_stop: OnStop, reason: Reason, state: State
) -> None:
    run_id = at(ledger, State.EDIT, contract=contract(on_stop))
    runner = Role1(
        ledger,
        Role.RUNNER,
        {State.EDIT: raising(halt(reason)), State.GATE: done},
        salvage=lambda run: replace(run, candidate=CANDIDATE),
    )
    run = runner.carry(run_id)
    assert run.state is state
    assert run.halt is not None
    assert run.halt.reason is reason
    assert runner.woken == [(run_id, Role.DESK)]


def test_a_halt_without_a_candidate_keeps_nothing(ledger: Ledger) -> None:
    run_id = at(ledger, State.LOCATE, contract=contract(OnStop.DRAFT))
    stages = {State.LOCATE: raising(halt()), State.GATE: raising(AssertionError())}
    run = Role1(ledger, Role.RUNNER, stages, salvage=lambda run: run).carry(run_id)
    assert run.state is State.HALTED


def test_the_first_reason_stays_and_the_second_is_told(ledger: Ledger) -> None:
    run_id = at(ledger, State.VERIFY, contract=contract(OnStop.DRAFT), candidate=CANDIDATE)
    second = Halt(Reason.SECRET_FOUND, "a key", "revoke it")
    stages = {State.VERIFY: raising(halt()), State.GATE: raising(second)}
    run = Role1(ledger, Role.RUNNER, stages).carry(run_id)
    assert run.state is State.HALTED
    assert run.halt is not None
    assert run.halt.reason is Reason.NO_PROGRESS
    assert run.halt.details == ("Then: a key",)


def test_a_parked_run_holds_no_worker_and_waits_longer_each_time(ledger: Ledger) -> None:
    run_id = at(ledger, State.PREPARE)
    stages = {State.PREPARE: raising(Park(Waiting.SANDBOX, 10, "no engine"))}
    runner = Role1(ledger, Role.RUNNER, stages)
    waits = []
    for _ in range(3):
        before = ledger.now()
        run = runner.carry(run_id)
        assert run.wait is not None
        assert run.state is State.PREPARE
        waits.append(round((run.wait.until - before) / 1000))
    assert waits == [10, 20, 40]
    assert run.wait.times == 3
    assert run.spend.active_ms == 0
    assert runner.woken == []
    row = ledger.row(run_id)
    assert row is not None
    assert row.lease <= ledger.now()
    assert row.due == run.wait.until


def test_a_limit_with_a_known_end_is_waited_for_exactly_and_costs_nothing(ledger: Ledger) -> None:
    run_id = at(ledger, State.PUBLISH)
    desk = Role1(ledger, Role.DESK, {State.PUBLISH: raising(Limited("until then", 90))})
    for _ in range(3):
        before = ledger.now()
        run = desk.carry(run_id)
        assert run.wait is not None and run.wait.waiting is Waiting.GITHUB
        assert 89_000 <= run.wait.until - before <= 95_000
        assert (run.wait.times, run.spend.active_ms, run.state) == (1, 0, State.PUBLISH)


def test_a_wait_for_an_answer_keeps_its_deadline(ledger: Ledger) -> None:
    run_id = at(ledger, State.LOCATE)
    stages = {State.LOCATE: raising(Park(Waiting.ANSWER, 86_400, "asked"))}
    runner = Role1(ledger, Role.RUNNER, stages)
    runner.carry(run_id)
    run = runner.carry(run_id)
    assert run.wait is not None
    assert run.wait.until - ledger.now() == pytest.approx(86_400_000, abs=5_000)


@pytest.mark.parametrize(
    ("state", "role", "waiting"),
    [
        (State.ADMIT, Role.DESK, Waiting.GITHUB),
        (State.PREPARE, Role.RUNNER, Waiting.GITHUB),
        (State.VERIFY, Role.RUNNER, Waiting.SANDBOX),
    ],
)
def test_an_absent_other_side_parks(
    ledger: Ledger, state: State, role: Role, waiting: Waiting
) -> None:
    stages = {state: raising(Unavailable("away", retry_after=7))}
    run = Role1(ledger, role, stages).carry(at(ledger, state))
    assert run.wait is not None
    assert run.wait.waiting is waiting


def test_any_other_fault_ends_the_run_as_infrastructure(ledger: Ledger) -> None:
    stages = {State.ADMIT: raising(Fault("the answer made no sense"))}
    desk = Role1(ledger, Role.DESK, stages, lambda run: replace(run, explained=True))
    run = desk.carry(opened(ledger))
    assert run.halt is not None
    assert run.halt.reason is Reason.INFRASTRUCTURE
    assert "the answer made no sense" in run.halt.message


def test_a_worker_that_lost_its_lease_writes_nothing_more(ledger: Ledger) -> None:
    run_id = opened(ledger)
    desk = Role1(ledger, Role.DESK, {State.ADMIT: raising(Fenced("over"))})
    run = desk.carry(run_id)
    assert run.state is State.ADMIT
    assert run.halt is None
    assert desk.woken == []


def test_a_bug_goes_through_and_a_poison_run_is_set_aside(ledger: Ledger) -> None:
    run_id = at(ledger, State.PREPARE)
    runner = Role1(ledger, Role.RUNNER, {State.PREPARE: raising(ZeroDivisionError())})
    for _ in range(CRASHES):
        with pytest.raises(ZeroDivisionError):
            runner.carry(run_id)
        expire(ledger, run_id)
    run = runner.carry(run_id)
    assert run.state is State.HALTED
    assert run.halt is not None
    assert run.halt.reason is Reason.QUARANTINED
    assert runner.woken == [(run_id, Role.DESK)]


def test_a_wake_up_that_comes_late_takes_no_run_from_another_role(ledger: Ledger) -> None:
    """Its lease would keep the other role out, and count as a crash when it runs out."""
    run_id = at(ledger, State.PUBLISH)
    for _ in range(CRASHES + 1):
        Role1(ledger, Role.RUNNER, {}).carry(run_id)
    row = ledger.row(run_id)
    assert row is not None and (row.lease, row.crashes, row.owner) == (0, 0, "")
    desk = Role1(ledger, Role.DESK, {State.PUBLISH: done}, lambda run: replace(run, explained=True))
    assert desk.carry(run_id).state is State.COMPLETE


def test_an_ending_that_ends_its_worker_is_set_aside_and_said_to_be(ledger: Ledger) -> None:
    run_id = at(ledger, State.HALTED)
    told: list[str] = []

    def aside(run: Run) -> Run:
        told.append(run.id)
        return replace(run, status_comment=7)

    desk = Role1(ledger, Role.DESK, {}, raising(ZeroDivisionError()), aside=aside)
    for _ in range(CRASHES):
        with pytest.raises(ZeroDivisionError):
            desk.carry(run_id)
        expire(ledger, run_id)
    run = desk.carry(run_id)
    assert (run.state, run.explained, run.status_comment) == (State.HALTED, True, 7)
    assert "3 times" in run.untold and told == [run_id]
    assert ledger.runs_without_end() == [] and desk.woken == []
    row = ledger.row(run_id)
    assert row is not None and (row.lease, row.due) == (0, 0)


def test_where_even_the_least_ends_the_worker_nothing_is_said(ledger: Ledger) -> None:
    run_id = at(ledger, State.COMPLETE)
    bug = raising(ZeroDivisionError())
    desk = Role1(ledger, Role.DESK, {}, bug, aside=bug)
    for _ in range(CRASHES + 1):
        with pytest.raises(ZeroDivisionError):
            desk.carry(run_id)
        expire(ledger, run_id)
    run = desk.carry(run_id)
    assert run.state is State.COMPLETE and run.explained and "4 times" in run.untold
    assert ledger.runs_without_end() == []


def test_an_ending_is_set_aside_when_github_is_back(ledger: Ledger) -> None:
    run_id = at(ledger, State.HALTED)
    away = raising(Unavailable("GitHub is away"))
    desk = Role1(ledger, Role.DESK, {}, raising(ZeroDivisionError()), aside=away)
    for _ in range(CRASHES):
        with pytest.raises(ZeroDivisionError):
            desk.carry(run_id)
        expire(ledger, run_id)
    run = desk.carry(run_id)
    assert run.wait is not None and run.wait.waiting is Waiting.GITHUB and not run.explained
    run = replace(desk, aside=lambda one: one).carry(run_id)
    assert run.explained and run.wait is None and "3 times" in run.untold


def test_where_nobody_may_be_told_the_ending_is_set_aside_all_the_same(ledger: Ledger) -> None:
    run_id = at(ledger, State.HALTED)
    refused = raising(halt(Reason.INTEGRITY))
    desk = Role1(ledger, Role.DESK, {}, raising(ZeroDivisionError()), aside=refused)
    for _ in range(CRASHES):
        with pytest.raises(ZeroDivisionError):
            desk.carry(run_id)
        expire(ledger, run_id)
    assert desk.carry(run_id).explained


def test_a_run_that_gets_no_crew_ends_with_that_reason(ledger: Ledger) -> None:
    def none() -> None:
        raise Halt(Reason.NEEDS_OPERATOR, "no rate card", "add one")

    runner = Role1(ledger, Role.RUNNER, {}, crews=none)
    run = runner.carry(at(ledger, State.LOCATE))
    assert run.halt is not None
    assert run.halt.reason is Reason.NEEDS_OPERATOR
    assert runner.woken == [(run.id, Role.DESK)]


def test_a_crew_that_cannot_be_made_for_now_is_waited_for_and_no_crash(ledger: Ledger) -> None:
    away = True

    def full() -> None:
        if away:
            raise Unavailable("The runner's disk is full.")

    runner = Role1(ledger, Role.RUNNER, {State.LOCATE: raising(halt(Reason.SCOPE))}, crews=full)
    run_id = at(ledger, State.LOCATE)
    for times in range(1, CRASHES + 2):
        run = runner.carry(run_id)
        assert run.wait is not None
        assert (run.wait.note, run.wait.times) == ("The runner's disk is full.", times)
        assert (run.state, run.halt, run.spend.active_ms) == (State.LOCATE, None, 0)
    away = False
    assert (run := runner.carry(run_id)).halt is not None
    assert run.halt.reason is Reason.SCOPE


def test_an_ending_that_cannot_be_told_stays_an_ending(ledger: Ledger) -> None:
    run_id = at(ledger, State.HALTED)
    run = Role1(ledger, Role.DESK, {}, raising(halt(Reason.INTEGRITY))).carry(run_id)
    assert (run.state, run.explained) == (State.HALTED, True)


@pytest.mark.parametrize("reason", [Reason.INSTALLATION, Reason.NEEDS_OPERATOR])
def test_an_ending_that_may_be_told_later_is_tried_again_for_a_day(
    ledger: Ledger, reason: Reason
) -> None:
    run_id = at(ledger, State.HALTED)
    mute = Role1(ledger, Role.DESK, {}, raising(halt(reason)))
    run = mute.carry(run_id)
    assert not run.explained and run.wait is not None and run.wait.waiting is Waiting.GITHUB
    assert run_id in ledger.runs_without_end()
    waited(ledger, run_id, PATIENCE_MS)
    assert mute.carry(run_id).explained


def test_an_ending_that_can_be_told_again_is_told(ledger: Ledger) -> None:
    run_id = at(ledger, State.HALTED)
    Role1(ledger, Role.DESK, {}, raising(halt(Reason.INSTALLATION))).carry(run_id)
    heard = Role1(ledger, Role.DESK, {}, lambda run: replace(run, explained=True))
    assert heard.carry(run_id).explained


def waited(ledger: Ledger, run_id: str, ms: int) -> None:
    """As if the run's wait had begun so long ago."""
    lease = ledger.claim(run_id, "time", 2_000)
    assert lease is not None and lease.run.wait is not None
    early = replace(lease.run.wait, since=ledger.now() - ms)
    ledger.save(lease, replace(lease.run, wait=early), release=True)


@pytest.mark.parametrize("waiting", [Waiting.GITHUB, Waiting.SANDBOX, Waiting.MODEL])
def test_nothing_is_waited_for_without_end(ledger: Ledger, waiting: Waiting) -> None:
    run_id = at(ledger, State.PREPARE)
    runner = Role1(ledger, Role.RUNNER, {State.PREPARE: raising(Park(waiting, 10, "it is away"))})
    runner.carry(run_id)
    waited(ledger, run_id, PATIENCE_MS - 60_000)
    assert runner.carry(run_id).state is State.PREPARE
    waited(ledger, run_id, PATIENCE_MS)
    run = runner.carry(run_id)
    assert run.state is State.HALTED and run.halt is not None
    assert run.halt.reason is Reason.INFRASTRUCTURE and "it is away" in run.halt.message


def test_a_long_wait_for_a_person_is_no_wait_for_what_is_away(ledger: Ledger) -> None:
    run_id = at(ledger, State.LOCATE)
    asking = {State.LOCATE: raising(Park(Waiting.ANSWER, 259_200, "asked"))}
    Role1(ledger, Role.RUNNER, asking).carry(run_id)
    waited(ledger, run_id, 2 * PATIENCE_MS)
    assert Role1(ledger, Role.RUNNER, asking).carry(run_id).state is State.LOCATE
    away = {State.LOCATE: raising(Park(Waiting.MODEL, 10, "away"))}
    assert Role1(ledger, Role.RUNNER, away).carry(run_id).state is State.LOCATE


@pytest.mark.parametrize("poison", [False, True])
def test_a_run_that_stops_in_publish_says_what_is_there(ledger: Ledger, poison: bool) -> None:
    there = Publication("b", "c", 7, "u")
    run_id = at(ledger, State.PUBLISH)
    stages = {
        State.PUBLISH: raising(ZeroDivisionError() if poison else halt(Reason.INFRASTRUCTURE))
    }
    said: list[Publication] = []

    def explain(run: Run) -> Run:
        said.append(run.publication)
        return replace(run, explained=True)

    desk = Role1(
        ledger, Role.DESK, stages, explain, salvage=lambda run: replace(run, publication=there)
    )
    for _ in range(CRASHES if poison else 0):
        with pytest.raises(ZeroDivisionError):
            desk.carry(run_id)
        expire(ledger, run_id)
    desk.carry(run_id)
    run = desk.carry(run_id)  # what was set aside tells its end in a turn of its own
    assert run.publication == there and said == [there]
    change = ledger.change(run.change)
    assert change is not None and change.pull == 7


def test_a_role_without_the_stage_that_it_owns_is_a_bug(ledger: Ledger) -> None:
    with pytest.raises(LookupError):
        Role1(ledger, Role.DESK, {}).carry(opened(ledger))


def test_an_illegal_move_raises(ledger: Ledger) -> None:
    stages: dict[State, Stage] = {State.ADMIT: lambda run: run.moved(Signal.REPAIR)}
    with pytest.raises(IllegalMove):
        Role1(ledger, Role.DESK, stages).carry(opened(ledger))


def expire(ledger: Ledger, run_id: str) -> None:
    """As if the lease's time were over: its worker never gave it back."""
    ledger.redis.hset(f"pw:run:{run_id}", "lease", 1)


def test_a_worker_that_ends_hands_its_run_over_between_two_stages(ledger: Ledger) -> None:
    run_id = opened(ledger)
    ending = Ending(lambda: 5.0)

    def admitted(run: Run) -> Run:
        ending.ask()
        return done(run)

    told = Role1(ledger, Role.DESK, {State.ADMIT: admitted}, ending=ending)
    assert told.carry(run_id).state is State.PREPARE  # the desk was done with it: nothing to hand
    at_once = Role1(ledger, Role.RUNNER, {State.PREPARE: raising(AssertionError())}, ending=ending)
    run = at_once.carry(run_id)
    row = ledger.row(run_id)
    assert row is not None and run.state is State.PREPARE
    assert (row.lease, row.crashes, run.spend.active_ms) == (0, 0, 1000)
    assert row.due <= ledger.now() + 30_000 and at_once.woken == [(run_id, Role.RUNNER)]
    assert ledger.journal(run_id)[-1].data == {"handover": "prepare"}
    lease = ledger.claim(run_id, "another", 2_000)
    assert lease is not None and lease.crashes == 0


def test_what_goes_on_has_a_while_to_come_to_its_end_and_is_then_given_up(ledger: Ledger) -> None:
    run_id = at(ledger, State.VERIFY)
    clock = [100.0]
    ending = Ending(lambda: clock[0])
    looks: list[float] = []
    role = Role1(ledger, Role.RUNNER, {}, ending=ending)

    def check(_run: Run) -> Run:
        assert role.hold is not None
        ending.ask()
        while True:  # a check that takes long
            looks.append(clock[0])
            clock[0] += 1.0
            role.hold.look()

    role.stages = {State.VERIFY: check}
    run = role.carry(run_id)
    assert run.state is State.VERIFY and looks[-1] - looks[0] == DRAIN - 1
    row = ledger.row(run_id)
    assert row is not None and (row.lease, row.crashes) == (0, 0)
