"""The desk's whole part on the real ledger and the stand-in: event, admit, publish, explain."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import pytest
from redis import Redis

from app.domain.errors import Halt, Park
from app.domain.event import Event, Person, Repository
from app.domain.evidence import Result
from app.domain.run import Run
from app.domain.state import Role, State
from tests.fakes.hold import FakeHold
from tests.standins.github import GitHubStandin
from tests.standins.github_world import FILES as WORLD_FILES
from tests.standins.github_world import REPO, Acme
from tests.worker.desk.made import BODY, event, new_run, office, ready
from tests.worker.desk.mortal import Killed, Mortal
from tests.worker.desk.ways import access_to
from worker.carry import Carrier, Crew
from worker.config_file import config_of
from worker.desk.connect import Access
from worker.desk.events import EventDesk, handle_event
from worker.desk.stages.admit import admit
from worker.desk.stages.explain import explain
from worker.desk.stages.publish import publish
from worker.store.ledger import Ledger

KEY = "issue:1:1:1:now"
BASE = {path: (0o100644, text.encode()) for path, text in WORLD_FILES.items()}


@dataclass
class Whole:
    """One issue on the stand-in, and the desk that serves it."""

    world: Acme
    access: Access
    trigger: Event

    @property
    def hub(self) -> GitHubStandin:
        return self.world.standin

    def labels(self) -> set[str]:
        return {one["name"] for one in self.hub.issue(REPO, 1)["labels"]}

    def bodies(self, part: str) -> list[str]:
        return [c["body"] for c in self.hub.comments(REPO, 1) if part in c["body"]]


@pytest.fixture
def whole(world: Acme) -> Whole:
    hub = world.standin
    assert hub.open_issue(REPO, "bob", "add is wrong", BODY, ["agent:fix", "bug"]) == 1
    alice = hub.create_user("alice")
    trigger = replace(
        event(Repository(world.repo_id, "acme", "widgets"), sender=Person(alice, "alice"), key=KEY),
        installation=world.installation,
    )
    hub.clear_log()
    return Whole(world, access_to(world), trigger)


def test_from_the_event_to_the_draft(whole: Whole, redis: Redis) -> None:
    ledger, numbers = Ledger(redis), itertools.count(1)
    ledger.add_event(whole.trigger)
    whole.access.tokens = replace(whole.access.tokens, shelf=ledger)
    desk = EventDesk(
        ledger=ledger,
        write=whole.access.write,
        new_run_id=lambda: f"run{next(numbers)}",
        now=ledger.now,
        owners=frozenset({"acme"}),
        read=whole.access.look,
    )
    run_id = handle_event(KEY, desk)
    assert run_id == "run1"
    woken: list[str] = []
    carrier = carrying(whole, ledger, woken)
    carrier.carry(run_id)
    run = ledger.run(run_id)
    assert run is not None and run.state is State.PREPARE and woken == ["run1"]
    assert whole.labels() == {"agent:running", "bug"}

    lease = ledger.claim(run_id, "runner", 60_000)
    assert lease is not None and run.contract is not None
    with ledger.hold(lease, daily=1_000_000) as hold:
        done = ready(run, run.contract.base_commit, BASE, hold)  # type: ignore[arg-type]
        ledger.save(lease, replace(done, contract=run.contract), release=True)
    carrier.carry(run_id)
    run = ledger.run(run_id)
    assert run is not None and run.state is State.COMPLETE and run.explained
    assert whole.labels() == {"agent:done", "bug"}
    (pull,) = whole.hub.pulls(REPO)
    assert pull["number"] == run.publication.pull and pull["draft"]
    assert len(whole.hub.comments(REPO, 1)) == 1
    assert ledger.tokens() == []

    assert handle_event(KEY, desk) == "run1"
    ledger.add_event(replace(whole.trigger, key="again"))
    assert handle_event("again", desk) is None
    (note,) = whole.bodies("patchwarrant:pull:")
    assert f"#{run.publication.pull}" in note


def carrying(whole: Whole, ledger: Ledger, woken: list[str]) -> Carrier:
    base = office()

    def crew(_run: Run, hold: Any) -> Crew:
        base.hold, base.read, base.write = hold, whole.access.read, whole.access.write
        kit = replace(base.kit(), event=ledger.event, now=ledger.now, config_of=config_of)
        stages = {State.ADMIT: admit(kit), State.PUBLISH: publish(kit)}
        return Crew(stages=stages, explain=explain(kit))

    return Carrier(
        role=Role.DESK,
        ledger=ledger,
        crew=crew,
        wake=lambda run, _role: woken.append(run),
        clock=lambda: 0.0,
        owner="desk",
        lease_ms=10_000,
        daily=1_000_000,
    )


def admitted(whole: Whole, hold: FakeHold) -> Run:
    made = office()
    made.hold, made.read, made.write = hold, whole.access.read, whole.access.write
    made.events[KEY] = whole.trigger
    repository = Repository(whole.world.repo_id, "acme", "widgets")
    run = replace(new_run(repository, whole.world.installation), event=KEY)
    return admit(made.kit())(run)


def once_acknowledged(whole: Whole, run: Run) -> None:
    assert run.state is State.PREPARE
    assert whole.labels() == {"agent:running", "bug"}
    (comment,) = whole.hub.comments(REPO, 1)
    assert comment["id"] == run.status_comment
    assert whole.hub.issue(REPO, 1)["reactions"]["eyes"] == 1


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("point", [1, 2, 3])
def test_killed_anywhere_in_admit_there_is_one_acknowledgement(
    whole: Whole, point: int, after: bool
) -> None:
    hold = Mortal(left=point, after=after)
    with pytest.raises(Killed):
        admitted(whole, hold)
    once_acknowledged(whole, admitted(whole, hold))


@pytest.mark.parametrize("where", ["comments$", "labels$", "reactions$", "labels/"])
def test_a_lost_answer_in_admit_leads_to_no_second_sign(whole: Whole, where: str) -> None:
    whole.hub.fault("do_then_drop", f"/issues/1/{where}")
    hold = FakeHold()
    for _ in range(3):
        try:
            run = admitted(whole, hold)
            break
        except Park:
            continue
    once_acknowledged(whole, run)


def ended(whole: Whole, hold: FakeHold) -> Run:
    made = office()
    made.hold, made.read, made.write = hold, whole.access.read, whole.access.write
    repository = Repository(whole.world.repo_id, "acme", "widgets")
    run = new_run(repository, whole.world.installation)
    run = ready(run, whole.world.head, BASE, hold, Result.FAILED)
    return explain(made.kit())(replace(run, state=State.HALTED))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("point", [1, 2, 3])
def test_killed_anywhere_in_explain_there_is_one_ending(
    whole: Whole, point: int, after: bool
) -> None:
    hold = Mortal(left=point, after=after)
    with pytest.raises(Killed):
        ended(whole, hold)
    assert ended(whole, hold).explained
    assert len(whole.bodies("patchwarrant:ending:")) == 1
    assert len(whole.bodies("patchwarrant:status:")) == 1
    assert whole.labels() == {"agent:failed", "bug"}


def test_a_marker_on_a_later_page_is_found(whole: Whole) -> None:
    hold = FakeHold()
    ended(whole, hold)
    for number in range(101):
        whole.hub.comment(REPO, 1, "bob", f"comment {number}")
    ended(whole, FakeHold())
    assert len(whole.bodies("patchwarrant:ending:")) == 1


def test_a_triage_person_s_label_is_refused_with_the_reason(whole: Whole) -> None:
    bob = whole.hub.create_user("bob")
    whole.trigger = replace(whole.trigger, sender=Person(bob, "bob"))
    made = office()
    made.hold, made.read, made.write = FakeHold(), whole.access.read, whole.access.write
    made.events[KEY] = whole.trigger
    repository = Repository(whole.world.repo_id, "acme", "widgets")
    run = replace(
        new_run(repository, whole.world.installation),
        event=KEY,
        requester=whole.trigger.sender,
    )
    with pytest.raises(Halt) as stop:
        admit(made.kit())(run)
    halted = replace(run, state=State.HALTED, halt=stop.value.record)
    explain(made.kit())(halted)
    (body,) = whole.bodies("patchwarrant:ending:")
    assert "@bob" in body and "triage" in body and "refused-role" in body
    assert whole.labels() == {"bug"}
