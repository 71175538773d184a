"""The same issue again: labelled while a run is admitted, while it waits, after it stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.domain.errors import Reason
from app.domain.evidence import Result
from app.domain.run import Run
from app.domain.state import State
from tests.e2e.conftest import FIX, OWNER, Town
from tests.e2e.test_commands import quiet
from tests.stack import stack
from tests.standins.github.client import StandinRefused

LABEL = "agent:fix"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Town]:
    """Receiver and desk alone, with the pause between writes that operators get."""
    pause = {"desk": {"PATCHWARRANT_WRITE_PAUSE_SECONDS": "1"}}
    with stack(OWNER, extra=pause, roles=("receiver", "desk")) as up:
        up.await_receiver()
        up.hub.create_organisation(OWNER)
        up.installation = up.hub.install("patchwarrant", OWNER, [])
        yield Town(up, tmp_path)


def labels(town: Town, name: str, number: int) -> set[str]:
    return {label["name"] for label in town.up.hub.issue(name, number)["labels"]}


def of(town: Town, name: str) -> list[Run]:
    return [run for run in town.up.ledger.runs(50) if run.repository.full_name == name]


def test_no_token_is_taken_from_whoever_uses_it(desk: Town) -> None:
    """Runs that nobody holds are shown, and second labels are answered, while the keeper looks for
    leftovers every second and GitHub is slow."""
    name, hub = desk.repository(), desk.up.hub
    numbers = [desk.ask(name) for _ in range(3)]
    hub.fault("delay", "/repos/", seconds=0.4, times=0)
    desk.up.await_true(lambda: len(admitted(desk, name)) == 3, 120)
    for number in numbers:
        hub.add_label(name, number, "mona", LABEL)

    def answered() -> bool:
        shown = [[c["body"] for c in hub.comments(name, number)] for number in numbers]
        notes = all(any("patchwarrant:active:" in body for body in bodies) for bodies in shown)
        return notes and all(any("At work: prepare" in body for body in b) for b in shown)

    desk.up.await_true(answered, 240)
    desk.up.await_true(lambda: desk.up.ledger.tokens() == [], 120)
    refused = [one for one in hub.log() if one["status"] == 401 and "token" not in one["path"]]
    assert refused == []
    assert "Traceback" not in desk.up.log("desk")
    desk.up.await_true(lambda: all(token["revoked"] for token in hub.tokens()), 120)


def admitted(town: Town, name: str) -> list[Run]:
    return [run for run in of(town, name) if run.state is State.PREPARE]


def test_a_label_that_is_put_on_again_during_admission_harms_no_run(desk: Town) -> None:
    name, hub = desk.repository(), desk.up.hub
    hub.fault("delay", r"/issues/\d+$", method="GET", seconds=5.0)
    number = desk.ask(name)
    run = desk.up.await_run(lambda run: run.repository.full_name == name, 120)
    hub.remove_label(name, number, "mona", LABEL)
    hub.add_label(name, number, "mona", LABEL)
    desk.up.await_true(lambda: bool(admitted(desk, name)), 120)
    hub.wait_delivered()
    desk.up.await_true(lambda: not desk.up.ledger.unhandled_events(10), 120)
    assert [one.id for one in of(desk, name)] == [run.id]
    assert "agent:running" in labels(desk, name, number)


def test_a_label_flapped_and_left_on_ends_in_one_run_at_work(desk: Town) -> None:
    name, hub = desk.repository(), desk.up.hub
    number = desk.ask(name)
    for _ in range(10):
        with suppress(StandinRefused):  # we took it off ourselves
            hub.remove_label(name, number, "mona", LABEL)
        hub.add_label(name, number, "mona", LABEL)
        time.sleep(0.3)  # a person's pace, which is what is tried here
    desk.up.await_true(lambda: bool(admitted(desk, name)), 240)
    hub.wait_delivered()
    desk.up.await_true(lambda: not desk.up.ledger.unhandled_events(10), 120)
    assert len(admitted(desk, name)) == 1
    assert len(hub.comments(name, number)) <= 6


@pytest.mark.docker
def test_a_stop_after_the_pull_request_is_told_and_a_new_start_is_possible(town: Town) -> None:
    name, hub = town.repository(), town.up.hub
    town.patches(name, FIX, FIX)
    hub.fault("status", f"/repos/{name}/check-runs$", method="POST", status=403, times=0)
    number = town.ask(name)
    first = town.end(name, number)
    hub.clear_faults()
    assert first.state is State.HALTED and first.halt is not None
    assert first.halt.reason is Reason.INFRASTRUCTURE
    (pull,) = hub.pulls(name)
    (told,) = [c["body"] for c in hub.comments(name, number) if "ending:" in c["body"]]
    assert f"#{pull['number']}" in told and "Nothing was published" not in told
    hub.add_label(name, number, "mona", LABEL)
    mark = "patchwarrant:pull:"
    town.up.await_true(lambda: any(mark in c["body"] for c in hub.comments(name, number)), 120)
    hub.close_issue(name, pull["number"], "mona")
    quiet(town)  # two events are two jobs, which nobody puts into an order
    town.patches(name, FIX)
    hub.add_label(name, number, "mona", LABEL)
    second = town.end(name, number, after=first.id)
    assert second.verdict is not None and second.verdict.result is Result.PASSED
    assert second.change == second.id and second.publication.pull != pull["number"]
