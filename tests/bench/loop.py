"""What our loop adds to a turn: the edit stage against a minimal loop, same client, same replies.

Both talk through the real SDK to the provider's stand-in, which answers at once, and play the same
ten turns: one edit and one read of the file each. Ours keeps everything in a durable Redis, builds
each candidate in a real object store and passes every gate; the minimal loop edits a string.
"""

from __future__ import annotations

import hashlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic

from app.domain.budget import Limits
from app.domain.event import Event, EventKind
from app.domain.ports.hold import Hold
from app.domain.run import Run
from app.domain.state import State
from tests.redis_server import redis_server
from tests.standins.anthropic import AnthropicStandin
from tests.worker.runner.agent.world import CALC, FILES, World, plan_of, world
from worker.runner.model.client import AnthropicModel
from worker.runner.model.wire import tools
from worker.runner.stages.edit import edit
from worker.runner.stages.locate import locate
from worker.runner.stages.plan import plan
from worker.store.ledger import Ledger

KEY = "sk-ant-standin-0000"
TURNS = 10
ROUNDS = 8
LEASE_MS = 60_000
READ = ("read", {"path": "calc.py"})


def run() -> dict[str, float]:
    """Milliseconds per turn over interleaved rounds, the first of which only warms up. The figure
    is the median of the rounds' differences, since what else the machine does hits both sides of a
    round; the fastest rounds are beside it."""
    ours: list[float] = []
    minimal: list[float] = []
    with redis_server() as redis, AnthropicStandin(key=KEY) as standin:
        standin.script([_script(standin)])
        for number in range(ROUNDS + 1):
            with tempfile.TemporaryDirectory() as folder, redis.client() as client:
                made = world(Path(folder), _files())
                with _hold(Ledger(client), made, f"bench{number}") as hold:
                    ours.append(_ours(made, hold, standin.url))
            minimal.append(_minimal(standin.url))
    pairs = list(zip(ours[1:], minimal[1:], strict=True))
    return {
        "own_ms_per_turn": statistics.median(a - b for a, b in pairs),
        "own_ms_per_turn_best": min(ours[1:]) - min(minimal[1:]),
        "ours_ms_per_turn": statistics.median(ours[1:]),
        "minimal_ms_per_turn": statistics.median(minimal[1:]),
    }


def _files() -> dict[str, Any]:
    """A repository of some 500 files around the one that changes."""
    more = {f"src/p{n % 20}/m{n}.py": b"X = %d\n" % n * 50 for n in range(500)}
    return {**FILES, **more}


def _script(standin: AnthropicStandin) -> list[dict[str, Any]]:
    def turn(number: int) -> dict[str, Any]:
        old, new = _step(number)
        one = {"path": "calc.py", "sha256": "{{sha256:calc.py}}", "old": old, "new": new}
        return standin.say(("edit", {"edits": [one]}), READ)

    done = standin.say(("finish", {"summary": "done"}))
    planned = standin.say(("submit_plan", plan_of(("calc.py", "edit", 40))))
    return [standin.say(READ), done, planned, *map(turn, range(TURNS)), done]


def _step(number: int) -> tuple[str, str]:
    """The text that a turn replaces, and by what."""
    if number == 0:
        return "def add(a, b):\n    return a - b", "def add(a, b):\n    return a - 1"
    return f"return a - {number}\n", f"return a - {number + 1}\n"


@contextmanager
def _hold(ledger: Ledger, made: World, ident: str) -> Iterator[Hold]:
    begun = replace(made.run(), id=ident, event=f"issue:7:3:{ident}", change="", issue=len(ident))
    repository, person = begun.repository, begun.requester
    ledger.add_event(
        Event(
            key=begun.event,
            kind=EventKind.ISSUE_LABELED,
            installation=5,
            repository=repository,
            issue=begun.issue,
            sender=person,
            label="agent:fix",
            title="t",
            body="b",
            author=person,
            updated_at="2026-11-30T10:00:00Z",
        )
    )
    opened = ledger.open_run(begun.event, begun)
    lease = ledger.claim(opened.run_id or begun.id, "bench", LEASE_MS)
    assert lease is not None, opened
    with ledger.hold(lease, lease_ms=LEASE_MS, daily=10**9) as hold:
        yield hold
    ended = replace(lease.run, state=State.HALTED, explained=True)
    ledger.save(lease, ended)


def _ours(made: World, hold: Hold, url: str) -> float:
    model = AnthropicModel(KEY, url)
    kit = made.kit(model, hold=hold)
    begun: Run = plan(kit)(locate(kit)(made.run(Limits(turns=20))))
    started = time.perf_counter()
    ended = edit(kit)(begun)
    took = time.perf_counter() - started
    model.close()
    assert ended.spend.turns == TURNS, ended.spend
    return took * 1000 / (TURNS + 1)  # the closing reply is a call like the others


def _minimal(url: str) -> float:
    """The least that a loop with tools can do, from the same conversation's beginning."""
    client = anthropic.Anthropic(api_key=KEY, base_url=url, max_retries=0)
    text, offered = CALC.decode(), tools()
    messages: list[Any] = [{"role": "user", "content": "Mend it."}]
    started = 0.0
    for call in range(TURNS + 4):
        if call == 3:
            started = time.perf_counter()
        with client.messages.stream(
            model="claude-sonnet-5-5",
            max_tokens=16_000,
            system="You mend.",
            messages=messages,
            tools=offered,
            cache_control={"type": "ephemeral"},
            thinking={"type": "adaptive"},
        ) as stream:
            said = stream.get_final_message()
        content = said.model_dump(mode="json", exclude_unset=True)["content"]
        messages.append({"role": "assistant", "content": content})
        results = []
        for block in content:
            if block["type"] != "tool_use":
                continue
            for one in block["input"].get("edits", ()):
                text = text.replace(one["old"], one["new"], 1)
            sha = hashlib.sha256(text.encode()).hexdigest()
            answer = f"path: calc.py  sha256: {sha}\n{text}"
            results.append({"type": "tool_result", "tool_use_id": block["id"], "content": answer})
        messages.append({"role": "user", "content": results})
    took = time.perf_counter() - started
    client.close()
    assert f"a - {TURNS}" in text
    return took * 1000 / (TURNS + 1)
