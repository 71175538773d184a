"""Real payloads and a fuzz of them, signed, through receiver and desk: no crash, no false start."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from typing import Any

import pytest
from redis import Redis

from app.domain.commands import command_of
from app.domain.errors import Halt, Missing
from app.domain.event import Event, EventKind
from app.domain.run import Run
from app.domain.state import Kind, State
from app.domain.triggers import READ
from app.inbox import Written
from app.webhook import Webhook
from tests.app.payloads import ALICE, BODY, ISSUES, for_us, fresh, places, real, variant
from tests.app.receiver import SECRET, headers
from tests.worker.desk.made import office
from tests.worker.desk.test_approval import Town
from tests.worker.desk.test_events import Front
from worker.desk.again import PRESSED
from worker.desk.events import handle_event
from worker.desk.stages.admit import admit
from worker.store.approvals import Approvals
from worker.store.ledger import Ledger

VARIANTS = 20_000
SEED = 20_261_130
# What is told about and never read: it starts nothing, whatever stands in it.
UNREAD = {"workflow_run", "workflow_job", "workflow_dispatch", "pull_request_review_thread",
          "commit_comment", "discussion", "discussion_comment", "create", "delete"}  # fmt: skip


class Kept:
    """An inbox that only remembers, in order, each key once."""

    def __init__(self) -> None:
        self.events: dict[str, Event] = {}
        self.names: Counter[str] = Counter()

    async def put(self, event: Event) -> Written:
        self.events.setdefault(event.key, event)
        return Written.NEW


async def delivered(app: Webhook, name: str, body: bytes) -> tuple[int, dict[str, Any]]:
    status: list[int] = []
    said: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])
        said.append(message.get("body", b""))

    raw = [(key.lower(), value) for key, value in headers(body, name)]
    await app({"type": "http", "headers": raw}, receive, send)
    return status[0], json.loads(b"".join(said))


def dumped(body: Any) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.fixture
def town(redis: Redis) -> Town:
    """A desk with a Change of ours at its gate, and open issues; alice writes, eve has no role."""
    made = office()
    made.hub.accounts["alice"] = int(ALICE["id"])
    for number in ISSUES:
        made.hub.open_issue(number, "add is wrong", BODY, "agent:fix")
    ledger = Ledger(redis)
    return Town(Front(ledger, made.hub), made, Approvals(ledger.calls))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_real_payloads_and_twenty_thousand_variants(town: Town) -> None:
    chance, kept = random.Random(SEED), Kept()
    app = Webhook(SECRET, kept)  # type: ignore[arg-type]
    given = [(name, body, list(places(body))) for name, body in real()]
    mine = [
        (name, body, list(places(body)))
        for name, body in for_us(real(), town.run.publication.branch)
    ]

    by_name = {event: [one for one in mine if one[0] == event] for event in READ}

    async def one(name: str, body: Any) -> int:
        before = len(kept.events)
        status, said = await delivered(app, name, dumped(body))
        assert status == 202 or set(said) == {"error"}
        if len(kept.events) > before:
            kept.names[name] += 1
            assert name not in UNREAD
        return status

    async def all_of_them() -> Counter[int]:
        seen = Counter([await one(name, body) for name, body, _ in given])
        for number, (name, body, _) in enumerate(mine):
            seen[await one(name, fresh(body, number))] += 1
        for number in range(len(mine), len(mine) + VARIANTS):
            # As often as not what is read, each event as often as any other.
            read = by_name[chance.choice(sorted(READ))]
            name, body, wheres = chance.choice((read, mine, read, given)[number % 4])
            seen[await one(name, variant(fresh(body, number), wheres, chance))] += 1
        return seen

    seen = asyncio.run(all_of_them())
    assert seen.total() == len(given) + len(mine) + VARIANTS and set(seen) <= {202, 400, 413}
    assert {event.kind for event in kept.events.values()} == set(EventKind)
    assert all(kept.names[name] > VARIANTS // 400 for name in READ), kept.names
    started = through_the_desk(town, list(kept.events.values()))
    print(f"answers {dict(seen)}, events {len(kept.events)} {dict(kept.names)}, {dict(started)}")


def through_the_desk(town: Town, events: list[Event]) -> Counter[str]:
    """Only what alice asked for starts anything, and nothing here moves a branch or opens a pull
    request; how many runs there are of each kind, and how many were admitted."""
    hub, ledger, desk = town.hub, town.front.ledger, town.front.desk
    before = (dict(hub.branches), dict(hub.pulls), len(hub.commits))
    found: Counter[str] = Counter()
    known = {run.id for run in ledger.runs(10)}
    town.made.events |= {event.key: event for event in events}
    for event in events:
        ledger.add_event(event)
        woken = handle_event(event.key, desk)
        run = ledger.run(woken or "")
        if run is None or run.id in known:
            continue
        known.add(run.id)
        found[run.kind] += 1
        # A label opens a run, whose admission asks who put it on.
        labelled = event.kind is EventKind.ISSUE_LABELED and event.label.lower() == "agent:fix"
        assert (asked(event) or labelled) and run.event == event.key, event
        assert run.repository.full_name == "acme/widgets"
        found["admitted"] += admitted(town, run, asked(event))
    assert ledger.unhandled_events(10) == []
    assert (dict(hub.branches), dict(hub.pulls), len(hub.commits)) == before
    assert {check.name.partition("/")[0] for check in hub.checks} == {"patchwarrant"}
    assert found["admitted"] > 20 and found[Kind.FIX] > found["admitted"], found
    return found


def admitted(town: Town, run: Run, was_asked: bool) -> bool:
    """Whether the run's first stage lets it begin; a run about a pull request only was_asked."""
    if run.kind not in (Kind.FIX, Kind.EXPLAIN):
        assert was_asked, run
        return False
    try:
        begun = admit(town.made.kit())(run)
    except (Halt, Missing):
        return False
    assert was_asked and begun.state is State.PREPARE, run
    return True


def asked(event: Event) -> bool:
    """Alice put our label on, pressed *Re-run*, or her words are a command."""
    alice = (event.sender.id, event.sender.login, event.sender.kind) == (1, "alice", "User")
    acted = event.label.lower() == "agent:fix" or event.told == PRESSED
    return alice and (acted or command_of(event.text) is not None)


@pytest.mark.parametrize("name", ["issues", "issue_comment", "pull_request_review"])
def test_a_payload_for_us_starts_something(name: str) -> None:
    kept = Kept()
    app = Webhook(SECRET, kept)  # type: ignore[arg-type]
    for event, body in for_us(real(), "agent/issue-1-abc"):
        if event == name:
            asyncio.run(delivered(app, event, dumped(body)))
    assert any(event.kind is not EventKind.NUDGE for event in kept.events.values())
