"""A scripted `ports.Model`: it plays replies by their place in the conversation, as a server would.

Its place follows from the request alone, so that a repeated request gets the same answer; what was
asked is remembered, and faults are raised by the number of the call.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.budget import Usage
from app.domain.ports.model import Reply, Request

Block = dict[str, Any]
Made = Reply | Callable[[Request], Reply]
_REPAIR = re.compile(r"\ARepair attempt (\d+)$", re.MULTILINE)
_HEAD = re.compile(r"^path: (.+?)  sha256: ([0-9a-f]{64})", re.MULTILINE)

USAGE = Usage(input=1_000, output=100)


def reply(
    *parts: str | tuple[str, Any] | Block,
    stop: str = "",
    usage: Usage = USAGE,
    ident: str = "msg",
) -> Reply:
    """A reply of texts, (tool, input) pairs and ready blocks; the stop reason fits unless given."""
    content: list[Block] = []
    for number, part in enumerate(parts):
        if isinstance(part, str):
            content.append({"type": "text", "text": part})
        elif isinstance(part, tuple):
            call = {"type": "tool_use", "id": f"toolu_{ident}_{number}"}
            content.append({**call, "name": part[0], "input": part[1]})
        else:
            content.append(part)
    calls = any(block["type"] == "tool_use" for block in content)
    return Reply(content, stop or ("tool_use" if calls else "end_turn"), usage, ident)


def hashes(request: Request) -> dict[str, str]:
    """The latest SHA-256 of each path that the conversation has told."""
    found: dict[str, str] = {}
    for message in request.messages:
        for block in message["content"]:
            text = block.get("content") or block.get("text") or ""
            found.update(dict(_HEAD.findall(text if isinstance(text, str) else "")))
    return found


@dataclass
class ScriptedModel:
    """`scripts[n]` is the nth conversation (repair n). `faults` maps a call's number, from 1, to
    what it raises instead; `requests` are deep copies of what came."""

    scripts: Sequence[Sequence[Made]]
    faults: dict[int, Exception] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    looked: int = 0

    def reply(self, request: Request, look: Callable[[], None]) -> Reply:
        self.requests.append(copy.deepcopy(request))
        look()
        self.looked += 1
        fault = self.faults.get(len(self.requests))
        if fault is not None:
            raise fault
        found = _REPAIR.search(request.messages[0]["content"][0]["text"])
        script = self.scripts[int(found[1]) if found else 0]
        place = sum(message["role"] == "assistant" for message in request.messages)
        if place >= len(script):
            raise AssertionError(f"the script has no reply {place}: {self.tail(request)}")
        made = script[place]
        made = made(request) if callable(made) else made
        return Reply(copy.deepcopy(made.content), made.stop_reason, made.usage, made.id)

    @staticmethod
    def tail(request: Request) -> str:
        return json.dumps(request.messages[-1], ensure_ascii=False)[:2_000]
