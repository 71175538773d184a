"""The check `patchwarrant/gate` beside the one of approval: looked at when CI says something."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace

import pytest
from redis import Redis

from app.domain.errors import Refused
from app.domain.merge_gate import CHECK
from app.domain.permissions import Phase
from app.domain.ports.ci import CiReader, Report
from app.domain.run import Run
from tests.fakes.github import FakeCheck
from tests.worker.desk.made import office
from tests.worker.desk.test_approval import WAITS, Town
from tests.worker.desk.test_events import Front
from worker.desk.gate_look import GateLook
from worker.store.approvals import Approvals
from worker.store.ledger import Ledger


@pytest.fixture
def town(redis: Redis) -> Town:
    made = office()
    ledger = Ledger(redis)
    return Town(Front(ledger, made.hub), made, Approvals(ledger.calls))


def gates(town: Town, head: str = "") -> list[FakeCheck]:
    head = head or town.hub.pulls[2].head_sha
    return [one for one in town.hub.checks if (one.name, one.head) == (CHECK, head)]


def says(town: Town, head: str = "") -> tuple[str, str]:
    (check,) = gates(town, head)
    return check.conclusion, check.title


def reported(town: Town, *reports: Report, told: str = "check_suite.completed") -> None:
    town.hub.reported[town.hub.pulls[2].head_sha] = reports
    town.tell(told, issue=0, pull=False)


READY = ("success", "Ready for review")


def test_it_follows_ci_and_says_each_thing_once(town: Town) -> None:
    assert says(town) == READY and town.says() == WAITS
    reported(town, Report("build", ""), told="status")
    assert says(town) == ("action_required", "Waits for the repository's own CI")
    reported(town, Report("build", "failure"), told="check_run.completed")
    assert says(town) == ("action_required", "The repository's own CI failed")
    reported(town, Report("build", "success"))
    assert says(town) == READY
    assert "Not reviewed by a critic" in gates(town)[0].summary
    phases = town.hub.phases.count(Phase.EVIDENCE)
    reported(town, Report("build", "success"))
    assert town.hub.phases.count(Phase.EVIDENCE) == phases, "nothing new is not written"


def test_a_head_that_nobody_checked_does_not_pass_and_its_ci_is_not_asked(town: Town) -> None:
    town.hub.phases.clear()
    head = town.push("carol")
    assert says(town, head) == ("action_required", "The evidence does not let it pass")
    assert Phase.REPORTS not in town.hub.phases


def test_a_held_head_does_not_pass(town: Town) -> None:
    head = town.hub.pulls[2].head_sha
    town.hub.commits[head] = replace(town.hub.commits[head], message="x\n\n\nskip-checks: true\n")
    reported(town)
    assert says(town) == ("action_required", "The repository's own workflows are held back")
    assert "/agent ci" in gates(town)[0].summary


def test_without_the_permission_it_says_so_and_the_approval_is_looked_at(town: Town) -> None:
    def refused(_run: Run) -> AbstractContextManager[CiReader]:
        raise Refused("statuses: read was not granted", 422)

    looker = replace(town.approvals, gates=GateLook(refused, town.hub.write))
    town.front.desk = replace(town.front.desk, approvals=looker)
    town.hub.roles.update(dave="write")
    town.review("carol")
    assert says(town) == ("action_required", "The repository's own CI cannot be read")
    assert town.says() == ("success", "Approved by carol")
