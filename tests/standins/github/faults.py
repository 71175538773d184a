"""Faults on demand: which request is hit, and what happens to it instead."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.standins.github.world import World

Json = dict[str, Any]
Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

KINDS = (
    "status",
    "drop",
    "do_then_drop",
    "do_then_status",
    "delay",
    "late",
    "flip",
    "rate_primary",
    "rate_secondary",
    "read_lag",
)
SHA = re.compile(rb'("sha"\s*:\s*")([0-9a-f])([0-9a-f]{39}")')


@dataclass(slots=True)
class Fault:
    """One rule. It lets `skip` matching requests pass, then acts `times` times (0 = for ever)."""

    id: int
    kind: str
    method: str
    path: re.Pattern[str]
    skip: int = 0
    times: int = 1
    status: int = 500
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    retry_after: int | None = None
    reads: int = 1
    seen: int = 0
    fired: int = 0

    def hits(self, method: str, path: str) -> bool:
        """Whether this request is the one; counts it."""
        if self.method not in ("*", method) or not self.path.search(path):
            return False
        self.seen += 1
        if self.seen <= self.skip or (self.times and self.fired >= self.times):
            return False
        self.fired += 1
        return True


def hang_up(send: Send) -> None:
    """Close the connection without an answer. uvicorn's `send` is bound to the request's cycle."""
    cycle = getattr(send, "__self__", None)
    transport = getattr(cycle, "transport", None)
    if transport is not None:
        transport.abort()


async def answer(send: Send, status: int, body: Any, headers: dict[str, str]) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    named = {"content-type": "application/json; charset=utf-8"} | {
        key.lower(): value for key, value in headers.items()
    }
    data = text.encode()
    pairs = [(k.encode(), v.encode()) for k, v in named.items()]
    pairs.append((b"content-length", str(len(data)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": data})


@dataclass(slots=True)
class Held:
    """An answer caught before it leaves."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = list(message.get("headers", []))
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    async def release(self, send: Send) -> None:
        kept = [(k, v) for k, v in self.headers if k.lower() != b"content-length"]
        kept.append((b"content-length", str(len(self.body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": kept})
        await send({"type": "http.response.body", "body": self.body})


def limited(fault: Fault) -> tuple[int, Json, dict[str, str]]:
    """GitHub's two ways to say "slow down"."""
    if fault.kind == "rate_primary":
        reset = int(time.time()) + int(fault.seconds or 60)
        headers = {
            "x-ratelimit-limit": "5000",
            "x-ratelimit-remaining": "0",
            "x-ratelimit-used": "5000",
            "x-ratelimit-reset": str(reset),
            "x-ratelimit-resource": "core",
        }
        said = "API rate limit exceeded for installation ID 1."
    else:
        headers = {} if fault.retry_after is None else {"retry-after": str(fault.retry_after)}
        said = "You have exceeded a secondary rate limit. Please wait a few minutes."
    docs = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api"
    return fault.status, {"message": said, "documentation_url": docs}, headers


class FaultGate:
    """ASGI around everything but the control API: looks for a rule, else passes through."""

    def __init__(self, inner: Asgi, world: World) -> None:
        self.inner = inner
        self.world = world

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        if scope["type"] != "http" or path.startswith("/_/"):
            await self.inner(scope, receive, send)
            return
        method = str(scope["method"])
        if method == "GET" and await self._lags(path, send):
            return
        fault = next((f for f in self.world.faults if f.hits(method, path)), None)
        if fault is None:
            await self._list_lag(scope, receive, send)
            return
        self.world.log.append(
            {"method": method, "path": path, "status": None, "fault": fault.kind, "token": None}
        )
        await self._strike(fault, scope, receive, send)

    async def _strike(self, fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
        if fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
            await self.inner(scope, receive, send)
        elif fault.kind == "drop":
            hang_up(send)
        elif fault.kind == "status":
            body = {"message": "Server Error"} if fault.body is None else fault.body
            await answer(send, fault.status, body, fault.headers)
        elif fault.kind in ("rate_primary", "rate_secondary"):
            await answer(send, *limited(fault))
        else:
            await self._after_effect(fault, scope, receive, send)

    async def _after_effect(self, fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
        """The request really happens; only what the caller hears of it is spoilt."""
        held = Held()
        await self.inner(scope, receive, held.send)
        if fault.kind == "do_then_drop":
            hang_up(send)
        elif fault.kind == "do_then_status":
            body = {"message": "Server Error"} if fault.body is None else fault.body
            await answer(send, fault.status, body, fault.headers)
        elif fault.kind == "flip":
            held.body = SHA.sub(_flipped, held.body, count=1)
            await held.release(send)
        elif fault.kind == "late":
            await asyncio.sleep(fault.seconds)
            await held.release(send)
        else:
            self._remember(fault, str(scope["path"]), held)
            await held.release(send)

    def _remember(self, fault: Fault, path: str, held: Held) -> None:
        """Read lag: what was just created cannot be read, nor seen in its list, for a while."""
        if held.status != 201:
            return
        made = json.loads(held.body)
        if not isinstance(made, dict):
            return
        url = str(made.get("url", "")).removeprefix(self.world.url)
        self.world.lag[url.replace("/git/refs/", "/git/ref/")] = fault.reads
        if "id" in made:
            self.world.lag[f"{path}#{made['id']}"] = fault.reads

    async def _lags(self, path: str, send: Send) -> bool:
        left = self.world.lag.get(path, 0)
        if left <= 0:
            return False
        self.world.lag[path] = left - 1
        self.world.log.append(
            {"method": "GET", "path": path, "status": 404, "fault": "read_lag", "token": None}
        )
        await answer(send, 404, {"message": "Not Found", "status": "404"}, {})
        return True

    async def _list_lag(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A list that leaves out what still lags."""
        prefix = f"{scope['path']}#"
        late = [key for key, n in self.world.lag.items() if key.startswith(prefix) and n > 0]
        if scope["method"] != "GET" or not late:
            await self.inner(scope, receive, send)
            return
        held = Held()
        await self.inner(scope, receive, held.send)
        hidden = {int(key.rpartition("#")[2]) for key in late}
        for key in late:
            self.world.lag[key] -= 1
        listed = json.loads(held.body)
        if isinstance(listed, list):
            held.body = json.dumps([x for x in listed if x.get("id") not in hidden]).encode()
        await held.release(send)


def _flipped(found: re.Match[bytes]) -> bytes:
    other = b"0" if found.group(2) != b"0" else b"1"
    return found.group(1) + other + found.group(3)
