"""Faults on demand: which request fails, and how."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.standins.anthropic.answers import KINDS, ApiError, Play
from tests.standins.anthropic.conversation import FAULT_ID, FAULT_TEXT

STREAM_KINDS = frozenset({"error-mid-stream", "cut", "drop", "stall"})
REPLY_KINDS = frozenset({"max-tokens", "refusal", "empty", "pause", "context", "unknown-stop"})
KNOWN = {"status", "html", *STREAM_KINDS, *REPLY_KINDS}


@dataclass(frozen=True)
class Fault:
    """`request` counts POSTs of /v1/messages from 1 since the last reset; `times` in a row.

    `status` and `retry_after` (seconds, None without the header) belong to kind `status`;
    `seconds` and `pings` to `stall`; `after` is how many events a broken stream still sends.
    """

    kind: str
    request: int
    times: int = 1
    status: int = 500
    message: str = ""
    retry_after: float | None = None
    seconds: float = 3_600
    pings: bool = False
    after: int = 4

    def hits(self, number: int) -> bool:
        return self.request <= number < self.request + self.times


def read(data: Mapping[str, Any], sent: int) -> Fault:
    """A fault from JSON; `request` defaults to the next one, a kind may be a status' number."""
    values = dict(data)
    kind = str(values.pop("kind"))
    if kind.isdigit():
        values["status"], kind = int(kind), "status"
    if kind not in KNOWN:
        raise ValueError(f"unknown kind of fault {kind!r}; known are {', '.join(sorted(KNOWN))}")
    values.setdefault("request", sent + 1)
    return Fault(kind=kind, **values)


def refuse(fault: Fault) -> None:
    """Raise the API error of a `status` fault."""
    if fault.kind == "status":
        name = KINDS.get(fault.status, "api_error")
        raise ApiError(fault.status, fault.message or f"{name} on demand", fault.retry_after)


def spoiled(fault: Fault, play: Play, number: int) -> tuple[Play, str]:
    """(the reply of a reply-level fault, tool input as raw JSON text or "")."""
    text = {"type": "text", "text": f"{FAULT_TEXT} {fault.kind}"}
    if fault.kind == "max-tokens":
        used = [block for block in play.content if block["type"] == "tool_use"]
        if not used:
            return Play([text], "max_tokens"), ""
        raw = json.dumps(used[0]["input"])
        cut = {**used[0], "id": f"{FAULT_ID}{number:04d}", "input": {}}
        return Play([cut], "max_tokens"), raw[: max(2, len(raw) // 2)]
    if fault.kind == "refusal":
        return Play([], "refusal"), ""
    if fault.kind == "empty":
        return Play([], "end_turn"), ""
    if fault.kind == "pause":
        return Play([text], "pause_turn"), ""
    if fault.kind == "context":
        return Play([text], "model_context_window_exceeded"), ""
    if fault.kind == "unknown-stop":
        return Play([text], "something_new"), ""
    return play, ""
