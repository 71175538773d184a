"""The App's deliveries as the stand-in keeps them: listed page by page, read, sent once more."""

from __future__ import annotations

import pytest

from app.domain.errors import Missing
from tests.standins.github_world import REPO, Acme
from tests.worker.desk.ways import app_of
from worker.desk.github import deliveries
from worker.desk.github.deliveries import Deliveries

NOBODY = "http://127.0.0.1:9/nobody"


def told(world: Acme, count: int) -> None:
    """So many labelled issues that no receiver took."""
    world.standin.set_webhook("patchwarrant", NOBODY, "s")
    for _ in range(count):
        world.standin.open_issue(REPO, "alice", "T")
    world.standin.wait_delivered()


def test_all_are_listed_newest_first_over_all_pages(
    world: Acme, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "PAGE", 2)
    told(world, 5)
    found = list(Deliveries(app_of(world)).since(0))
    assert [one.id for one in found] == sorted((one.id for one in found), reverse=True)
    assert len({one.guid for one in found}) == 5
    first = found[0]
    assert (first.taken, first.code, first.event, first.action) == (False, 502, "issues", "opened")
    assert (first.installation, first.repository) == (world.installation, world.repo_id)
    assert list(Deliveries(app_of(world)).since(first.at + 1000)) == []


def test_one_is_read_and_sent_once_more(world: Acme) -> None:
    told(world, 1)
    mine = Deliveries(app_of(world))
    first = next(mine.since(0))
    assert mine.body(first.id)["issue"]["number"] == 1
    mine.again(first.id)
    world.standin.wait_delivered()
    again = next(mine.since(0))
    assert again.guid == first.guid and again.id > first.id
    with pytest.raises(Missing):
        mine.again(10**9)
    with pytest.raises(Missing):
        mine.body(10**9)
