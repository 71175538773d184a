"""Real payloads and a fuzz of them, signed, through receiver and desk: no crash, no false start."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis

from app.domain.commands import command_of
from app.domain.event import Event, EventKind
from app.inbox import Written
from app.webhook import Webhook
from tests.app.receiver import SECRET, headers
from tests.fakes.github import FakeGitHub
from tests.shared_data import shared_dir
from worker.config_file import config_of
from worker.desk.approval import ApprovalDesk
from worker.desk.events import EventDesk, handle_event
from worker.store.approvals import Approvals
from worker.store.ledger import Ledger

VARIANTS = 20_000
SEED = 20_261_130
ODD: tuple[Any, ...] = (None, True, 0, -1, 2**63, 1.5, "", "x" * 300, "\u202e", [], {}, [None])


class Kept:
    """An inbox that only remembers."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def put(self, event: Event) -> Written:
        self.events.append(event)
        return Written.NEW


def real() -> list[tuple[str, dict[str, Any]]]:
    folder = shared_dir() / "data/webhooks"
    index = json.loads((folder / "index.json").read_text())
    return [(one["event"], json.loads((folder / one["file"]).read_text())) for one in index]


def places(value: Any, path: tuple[Any, ...] = (), depth: int = 0) -> Iterator[tuple[Any, ...]]:
    """Where a change can be made, not too deep."""
    if isinstance(value, dict) and depth < 4:
        for key, inner in value.items():
            yield (*path, key)
            yield from places(inner, (*path, key), depth + 1)


def variant(body: dict[str, Any], where: tuple[Any, ...], chance: random.Random) -> dict[str, Any]:
    made = copy.deepcopy(body)
    place = made
    for key in where[:-1]:
        place = place[key]
    if chance.random() < 0.4:
        place.pop(where[-1])
    else:
        place[where[-1]] = chance.choice(ODD)
    return made


async def delivered(app: Webhook, name: str, body: bytes) -> int:
    status: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])

    raw = [(key.lower(), value) for key, value in headers(body, name)]
    await app({"type": "http", "headers": raw}, receive, send)
    return status[0]


def ours(name: str, body: dict[str, Any]) -> dict[str, Any]:
    """The payload as if it were for us: installed, by a person, with our label or a command."""
    sender = {"id": 1, "login": "alice", "type": "User"}
    made = {**body, "installation": {"id": 5}, "sender": sender}
    for part in ("comment", "review"):
        if part in made and isinstance(made[part], dict) and name != "commit_comment":
            said = {"body": "/agent fix", "user": sender, "performed_via_github_app": None}
            made[part] = {**made[part], **said}
    if name == "issues":
        made |= {"action": "labeled", "label": {"id": 9, "name": "agent:fix"}}
    return made


def test_real_payloads_and_twenty_thousand_variants(redis: Redis) -> None:
    chance, kept = random.Random(SEED), Kept()
    app = Webhook(SECRET, kept)  # type: ignore[arg-type]
    given = [(name, body, list(places(body))) for name, body in real()]
    read = ("issues", "issue_comment", "pull_request", "pull_request_review", "installation",
            "pull_request_review_comment", "installation_repositories", "repository",
            "push", "member")  # fmt: skip
    adapted = [(name, ours(name, body)) for name, body, _ in given if name in read]
    mine = [(name, body, list(places(body))) for name, body in adapted]

    async def all_of_them() -> set[int]:
        seen = {await delivered(app, name, dumped(body)) for name, body, _ in (*given, *mine)}
        for number in range(VARIANTS):
            name, body, wheres = chance.choice(mine if number % 2 else given)
            made = variant(body, chance.choice(wheres), chance)
            seen.add(await delivered(app, name, dumped(made)))
        return seen

    assert asyncio.run(all_of_them()) <= {202, 400, 413}
    kinds = {event.kind for event in kept.events}
    assert kinds == set(EventKind)
    for event in kept.events:
        starts = event.label.lower() == "agent:fix" or command_of(event.text) is not None
        assert starts or event.kind is EventKind.NUDGE
    run_through_the_desk(redis, kept.events)


def run_through_the_desk(redis: Redis, events: list[Event]) -> None:
    """Nobody here has a role and no issue exists: whatever comes, only labels may open a run."""
    hub, numbers, ledger = FakeGitHub(), itertools.count(1), Ledger(redis)
    desk = EventDesk(
        ledger=ledger,
        write=hub.write,
        new_run_id=lambda: f"run{next(numbers)}",
        now=ledger.now,
        owners=frozenset({event.repository.owner.casefold() for event in events}),
        read=hub.read,
    )
    looks = ApprovalDesk(
        ledger, Approvals(ledger.calls), hub.weigh, hub.write, config_of, "fuzz", desk.owners
    )
    desk = replace(desk, approvals=looks)
    fresh = {event.key: event for event in events}
    for event in fresh.values():
        ledger.add_event(event)
        woken = handle_event(event.key, desk)
        assert woken is None or event.kind is EventKind.ISSUE_LABELED
    assert ledger.unhandled_events(10) == []
    assert hub.checks == []


def dumped(body: Any) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("name", ["issues", "issue_comment", "pull_request_review"])
def test_a_payload_for_us_starts_something(name: str) -> None:
    kept = Kept()
    app = Webhook(SECRET, kept)  # type: ignore[arg-type]
    for event, body in real():
        if event == name and "pull_request" not in body.get("issue", {}):
            asyncio.run(delivered(app, event, dumped(ours(name, body))))
    assert any(event.kind is not EventKind.NUDGE for event in kept.events)
