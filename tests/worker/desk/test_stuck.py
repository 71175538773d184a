"""What says "at work" on GitHub although no run is: put right by looking; what is at work stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from redis import Redis

from app.domain.errors import HaltRecord, Reason
from app.domain.event import Repository
from app.domain.overdue import Labelled
from app.domain.permissions import Phase
from app.domain.run import Run
from app.domain.state import State
from tests.standins.github_world import REPO, Acme
from tests.worker.desk.ways import access_to
from tests.worker.store.samples import a_run, an_event
from worker.desk.connect import Access
from worker.desk.github.survey import labelled
from worker.desk.notices import status_marker
from worker.desk.stuck import Stuck
from worker.store.ledger import Ledger


@dataclass
class Left:
    """An issue that says `agent:running`, with a sticky comment, and a run in the ledger."""

    world: Acme
    ledger: Ledger
    access: Access
    number: int
    stuck: Stuck

    @property
    def repository(self) -> Repository:
        return Repository(self.world.repo_id, "acme", "widgets")

    def run(self, *, over: bool) -> Run:
        event = replace(an_event("e", self.number), installation=self.world.installation)
        run = replace(
            a_run("r1", self.number, "e"),
            installation=self.world.installation,
            repository=self.repository,
        )
        self.ledger.add_event(event)
        self.ledger.open_run("e", run)
        lease = self.ledger.claim("r1", "w", 60_000)
        assert lease is not None
        with self.access.write(lease.run, Phase.STATUS) as writer:
            mark = status_marker("r1")
            comment = writer.comment(self.number, f"{mark}\n**At work: edit**", mark)
        now = replace(lease.run, status_comment=comment)
        if over:
            halt = HaltRecord(Reason.NO_CHANGE, "nothing came of it", "")
            now = replace(now, state=State.HALTED, halt=halt, explained=True)
        self.ledger.save(lease, now, release=True)
        return now

    def labels(self) -> set[str]:
        shown = self.world.standin.issue(REPO, self.number)
        return {label["name"] for label in shown["labels"]}

    def look(self) -> int:
        return self.stuck(self.world.installation, self.repository)


@pytest.fixture
def left(world: Acme, redis: Redis) -> Left:
    ledger, access = Ledger(redis), access_to(world)

    @contextmanager
    def running(asking: Run) -> Iterator[Iterator[Labelled]]:
        with access.client(asking, Phase.SURVEY) as client:
            yield labelled(client, asking.installation, "agent:running")

    number = world.standin.open_issue(REPO, "alice", "T")
    world.standin.add_label(REPO, number, "alice", "agent:running")
    return Left(world, ledger, access, number, Stuck(ledger, running, access.write))


def test_an_ended_run_gets_its_ending_shown(left: Left) -> None:
    left.run(over=True)
    assert left.look() == 1
    assert left.labels() == {"agent:failed"}
    (comment,) = left.world.standin.comments(REPO, left.number)
    assert "At work" not in comment["body"]
    assert left.look() == 0


def test_a_run_at_work_is_left_alone(left: Left) -> None:
    left.run(over=False)
    assert left.look() == 0
    assert left.labels() == {"agent:running"}


def test_a_run_that_nobody_knows_loses_its_label(left: Left) -> None:
    assert left.look() == 1
    assert left.labels() == set()
    assert left.world.standin.comments(REPO, left.number) == []
