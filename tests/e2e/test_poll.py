"""`intake: poll` as processes: no receiver, no address; killed in the middle, one run each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.doctor import noted
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
        120,
    )
    assert run.repository == other.repository
    assert sorted(one.issue for one in up.ledger.runs(20)) == [first, second]
    assert up.hub.issue(name, first)["number"] == first
    reads = [one for one in up.hub.log() if one["path"].startswith("/app/hook/deliveries")]
    assert reads and all(one["app"] == "patchwarrant" and one["token"] is None for one in reads)
    assert not [one for one in reads if one["method"] != "GET"]


def test_what_the_doctor_says_is_kept_for_the_evidence_once_an_hour(desk: Town) -> None:
    name, up = desk.repository(), desk.up
    runs = []
    for _ in range(2):
        run = up.run_of(desk.ask(name))
        up.await_true(lambda run=run: noted(up.ledger.journal(run.id)) is not None, 120)
        runs.append(noted(up.ledger.journal(run.id)))
    assert runs[0] == runs[1] and runs[0] is not None
    assert {"fence-branches", "required-check"} <= set(runs[0]["fails"])
    assert "installation" not in runs[0]["fails"] and "actions-token" in runs[0]["unseen"]
    looks = [one for one in up.hub.log() if one["path"].endswith("/rulesets")]
    assert len(looks) == 1
    assert looks[0]["permissions"] == {"contents": "read", "metadata": "read"}


def test_a_look_at_the_settings_that_fails_stops_no_run(desk: Town) -> None:
    name, up = desk.repository(), desk.up
    up.hub.fault("status", "/rulesets", status=403, times=0, body={"message": "no"})
    up.hub.fault("status", "/app/hook/config", status=403, times=0, body={"message": "no"})
    run = up.run_of(desk.ask(name))
    up.await_run(lambda one: one.id == run.id and one.contract is not None, 120)
    up.await_true(lambda: noted(up.ledger.journal(run.id)) is not None, 120)
    told = noted(up.ledger.journal(run.id))
    assert told is not None and {"fence-branches", "webhook"} <= set(told["unseen"])
