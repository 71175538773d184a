"""`intake: poll` as processes: no receiver, no address; killed in the middle, one run each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import OWNER, Town
from tests.stack import stack

LABEL = "agent:fix"
NOBODY = "https://patchwarrant.invalid/webhooks/github"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Town]:
    """The desk alone; the App's webhook leads nowhere."""
    told = {"desk": {"PATCHWARRANT_INTAKE": "poll", "PATCHWARRANT_POLL_SECONDS": "1"}}
    with stack(OWNER, extra=told, roles=("desk",)) as up:
        up.hub.set_webhook("patchwarrant", NOBODY)
        up.hub.create_organisation(OWNER)
        up.installation = up.hub.install("patchwarrant", OWNER, [])
        yield Town(up, tmp_path)


def test_a_label_is_seen_without_a_receiver_and_once_through_a_kill(desk: Town) -> None:
    name, up = desk.repository(), desk.up
    first = desk.ask(name)
    run = up.run_of(first)
    up.kill("desk")
    second = desk.ask(name)
    up.start("desk")
    other = up.run_of(second)
    up.await_true(
        lambda: any(
            "patchwarrant" in one["user"]["login"] for one in up.hub.comments(name, second)
        ),
        60,
    )
    assert run.repository == other.repository
    assert sorted(one.issue for one in up.ledger.runs(20)) == [first, second]
    assert up.hub.issue(name, first)["number"] == first
    reads = [one for one in up.hub.log() if one["path"].startswith("/app/hook/deliveries")]
    assert reads and all(one["app"] == "patchwarrant" and one["token"] is None for one in reads)
    assert not [one for one in reads if one["method"] != "GET"]
