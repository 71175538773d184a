"""What GitHub can do in the meantime: issues that go away, repositories that change."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from app.domain.errors import Reason
from app.domain.state import State
from tests.e2e.conftest import FILES, FIX, ISSUE, Town, git, tree
from tests.e2e.test_commands import at_work, slow_model
from tests.pace import in_time

pytestmark = pytest.mark.docker


def deleted(town: Town, name: str, number: int) -> None:
    town.up.hub.take_away(name, number, "mona", "deleted")


def transferred(town: Town, name: str, number: int) -> None:
    town.up.hub.take_away(name, number, "mona", "transferred")


def archived(town: Town, name: str, _number: int) -> None:
    town.up.hub.configure_repo(name, archived=True)


def suspended(town: Town, _name: str, _number: int) -> None:
    town.up.hub.suspend(town.up.installation)


@pytest.mark.parametrize("act", [deleted, transferred, archived, suspended])
def test_what_goes_away_ends_its_run_within_ten_seconds(
    town: Town, act: Callable[[Town, str, int], None]
) -> None:
    name = town.repository()
    slow_model(town)
    number = town.ask(name)
    at_work(town, name, number, State.LOCATE)
    began = time.monotonic()
    act(town, name, number)
    try:
        run = town.up.await_run(
            lambda one: one.repository.full_name == name and one.state is State.HALTED, 120
        )
        assert in_time(time.monotonic() - began, 10)
    finally:
        town.up.hub.suspend(town.up.installation, suspended=False)
    assert run.halt is not None
    assert run.halt.reason in (Reason.CANCELLED, Reason.INSTALLATION)
    assert town.up.hub.pulls(name) == []


def test_a_repository_renamed_and_made_private_meanwhile_is_published_to(town: Town) -> None:
    name = town.repository()
    town.patches(name, FIX)
    assert town.up.model is not None
    town.up.model.latency(0.5)
    number = town.ask(name)
    at_work(town, name, number, State.LOCATE)
    town.up.hub.configure_repo(name, private=True, rename=f"{name.partition('/')[2]}-new")
    run = town.end(name, number)  # the run keeps the name that it was told
    assert run.state is State.COMPLETE, run.halt
    assert [one["number"] for one in town.up.hub.pulls(f"{name}-new")] == [run.publication.pull]


def test_a_default_branch_of_another_name_is_the_base(town: Town) -> None:
    name = f"{town.up.owner}/trunk-{time.monotonic_ns()}"
    place = tree(town.source(name), {**FILES, "NAME": name})
    git(place, "branch", "-m", "main", "trunk")
    town.up.hub.create_repo(name, source=place, default_branch="trunk")
    town.up.hub.set_role(name, "mona", "write")
    town.up.hub.change_installation(town.up.installation, add=[name])
    town.patches(name, FIX)
    number = town.ask(name)
    run = town.end(name, number)
    assert run.state is State.COMPLETE, run.halt
    assert town.up.hub.pull(name, run.publication.pull)["base"]["ref"] == "trunk"


def test_an_empty_repository_is_one_clear_sentence(town: Town) -> None:
    name = f"{town.up.owner}/empty-{time.monotonic_ns()}"
    town.up.hub.create_repo(name)
    town.up.hub.set_role(name, "mona", "write")
    town.up.hub.change_installation(town.up.installation, add=[name])
    number = town.ask(name, ISSUE)
    run = town.end(name, number)
    assert run.halt is not None and run.halt.reason is Reason.EMPTY_REPOSITORY
