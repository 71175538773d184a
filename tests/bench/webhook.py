"""The receiver against a bare ASGI callable doing the same HMAC, decode and Redis script.

Each server, the load client and Redis are processes of their own; rounds alternate between the two
servers, so that a busy machine slows both. The receiver runs whole, its feeder included.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from redis.asyncio import Redis

from app.domain import record
from app.domain.scripts.events import RECEIVE
from app.main import PATH, build
from app.settings import Secret, Settings
from tests.redis_server import Server, redis_server

SECRET = b"a secret of the benchmark, nothing else"
CONNECTIONS = 32
REQUESTS = 1_000
ROUNDS = 5  # at least, of each kind
TICKS = os.sysconf("SC_CLK_TCK")


def run(seconds_budget: float = 40) -> dict[str, float]:
    """Medians over interleaved rounds. `vs_bare_asgi` compares requests a second,
    `vs_bare_asgi_cpu` the server's own processor time a request; `durable_req_s` is with AOF
    always."""
    ends = time.monotonic() + seconds_budget
    rounds: dict[str, list[Round]] = {"ours": [], "bare": []}
    durable: list[Round] = []
    with ExitStack() as stack:
        load = stack.enter_context(_loading())
        quick = stack.enter_context(redis_server(durable=False))
        servers = {name: stack.enter_context(_serving(name, quick, "0")) for name in rounds}
        for server in servers.values():
            _round(load, quick, server)  # warm
        while len(rounds["bare"]) < ROUNDS or time.monotonic() < ends - seconds_budget * 0.3:
            for name in sorted(rounds, reverse=len(rounds["bare"]) % 2 == 0):
                rounds[name].append(_round(load, quick, servers[name]))
        strict = stack.enter_context(redis_server())
        serving = stack.enter_context(_serving("ours", strict, "1"))
        _round(load, strict, serving)
        while len(durable) < ROUNDS or time.monotonic() < ends - 2:
            durable.append(_round(load, strict, serving))
    pairs = list(zip(rounds["ours"], rounds["bare"], strict=True))
    # Means: the clock of processor time ticks too coarsely for one round.
    cpu = {name: statistics.mean(one.cpu for one in those) for name, those in rounds.items()}
    return {
        "vs_bare_asgi": statistics.median(ours.rate / bare.rate for ours, bare in pairs),
        "vs_bare_asgi_cpu": cpu["bare"] / cpu["ours"],
        "req_s": statistics.median(one.rate for one in rounds["ours"]),
        "bare_req_s": statistics.median(one.rate for one in rounds["bare"]),
        "cpu_us": cpu["ours"],
        "bare_cpu_us": cpu["bare"],
        "p99_ms": statistics.median(one.p99 for one in rounds["ours"]),
        "durable_req_s": statistics.median(one.rate for one in durable),
        "durable_p99_ms": statistics.median(one.p99 for one in durable),
    }


@dataclass(frozen=True)
class Round:
    """Requests a second; the server's processor time in microseconds a request; latency in ms."""

    rate: float
    cpu: float
    p99: float


@dataclass(frozen=True)
class Serving:
    pid: int
    port: int

    def cpu(self) -> float:
        """Seconds of processor time, all threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def _serving(name: str, redis: Server, durable: str) -> Iterator[Serving]:
    words = [sys.executable, "-m", __spec__.name, "serve", name, redis.url, durable]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Serving(process.pid, int(process.stdout.readline()))
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def _loading() -> Iterator[subprocess.Popen[str]]:
    """The load client: a port a line in, figures a line out."""
    words = [sys.executable, "-m", __spec__.name, "load"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(20)


def _round(load: subprocess.Popen[str], redis: Server, serving: Serving) -> Round:
    assert load.stdin is not None and load.stdout is not None
    with redis.client() as client:
        client.flushall()
        before = serving.cpu()
        load.stdin.write(f"{serving.port}\n")
        load.stdin.flush()
        figures = json.loads(load.stdout.readline())
        spent = serving.cpu() - before
        kept = client.zcard(record.EVENTS_OPEN)
    if kept != REQUESTS:
        raise RuntimeError(f"{kept} rows for {REQUESTS} requests")
    return Round(REQUESTS / figures["seconds"], spent / REQUESTS * 1e6, figures["p99"])


# -- the servers


class _Issue(msgspec.Struct):
    number: int
    title: str
    body: str | None
    updated_at: str


class _Numbered(msgspec.Struct):
    id: int


class _Body(msgspec.Struct):
    action: str
    issue: _Issue
    label: _Numbered
    repository: _Numbered
    installation: _Numbered


class Bare:
    """The floor: nothing but the work that cannot be left out."""

    def __init__(self, url: str) -> None:
        self.redis = Redis.from_url(url)
        self.decode = msgspec.json.Decoder(_Body).decode
        self.encode = msgspec.json.Encoder().encode
        self.waiting: list[tuple[asyncio.Future[None], str, bytes]] = []
        self.busy = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        given = dict(scope["headers"])[b"x-hub-signature-256"]
        made = b"sha256=" + hmac.digest(SECRET, body, "sha256").hex().encode()
        if not hmac.compare_digest(made, given):
            raise PermissionError
        event = self.decode(body)
        key = (
            f"issue:{event.repository.id}:{event.issue.number}:{event.label.id}:"
            f"{event.issue.updated_at}"
        )
        done = asyncio.get_running_loop().create_future()
        self.waiting.append((done, key, self.encode(event)))
        if not self.busy:
            self.busy = True
            asyncio.get_running_loop().create_task(self.flush())
        await done
        headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 202, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})

    async def flush(self) -> None:
        while self.waiting:
            batch, self.waiting = self.waiting, []
            words: list[Any] = [2, record.INBOX, record.EVENTS_OPEN, 1, record.event_key("")]
            for _, key, data in batch:
                words += (key, data)
            await self.redis.eval(RECEIVE, *words)
            for done, _, _ in batch:
                done.set_result(None)
        self.busy = False


def serve(name: str, url: str, durable: str) -> None:
    settings = Settings(Secret(SECRET), url, durable=durable == "1")
    app = Bare(url) if name == "bare" else build(settings)
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="error",
        lifespan="off" if name == "bare" else "on",
        server_header=False,
    )
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[listening])


# -- the load


def a_body(number: int) -> bytes:
    """An `issues.labeled` body of about 12 kB in GitHub's shape."""

    def links(root: str, count: int) -> dict[str, str]:
        return {f"link_{n}_url": f"https://api.github.example/{root}/{n}" for n in range(count)}

    def account(login: str, of: int) -> dict[str, Any]:
        named = {"login": login, "id": of, "node_id": "MDQ6VXNlcg==", "type": "User"}
        return {**named, **links(f"users/{login}", 14), "site_admin": False}

    label = {"id": 208045946, "node_id": "MDU6TGFiZWw=", "name": "agent:fix", "color": "d73a4a"}
    issue = {
        **links("repos/octocat/hello-world/issues", 10),
        "id": 73464126,
        "number": number,
        "title": "The sum of an empty list is wrong",
        "user": account("hubot", 2),
        "labels": [{**label, "url": "https://api.github.example/labels/x", "default": False}] * 3,
        "state": "open",
        "locked": False,
        "milestone": {"number": 1, "title": "v1", "creator": account("octocat", 1)},
        "comments": 0,
        "created_at": "2026-11-30T09:00:00Z",
        "updated_at": "2026-11-30T10:00:00Z",
        "body": 'Steps:\r\n\r\n```python\r\nprint(total([]))  # "0" expected\r\n```\r\n' * 12,
        "reactions": {"+1": 0, "-1": 0, "total_count": 0},
    }
    repository = {
        "id": 1296269,
        "name": "hello-world",
        "full_name": "octocat/hello-world",
        "owner": account("octocat", 1),
        **links("repos/octocat/hello-world", 85),
        "private": False,
        "default_branch": "main",
    }
    parts = {
        "action": "labeled",
        "issue": issue,
        "label": label,
        "repository": repository,
        "sender": account("octocat", 1),
        "installation": {"id": 5, "node_id": "MDIzOk"},
    }
    return json.dumps(parts, separators=(",", ":")).encode()


def a_request(number: int) -> bytes:
    body = a_body(number)
    signature = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n"
        f"User-Agent: GitHub-Hookshot/bench\r\nContent-Type: application/json\r\n"
        f"X-GitHub-Delivery: 00000000-0000-0000-0000-{number:012d}\r\nX-GitHub-Event: issues\r\n"
        f"X-GitHub-Hook-ID: 1\r\nX-Hub-Signature-256: sha256={signature}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _load(port: int, requests: list[bytes]) -> dict[str, float]:
    waiting = list(requests)
    times: list[float] = []

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while waiting:
            request = waiting.pop()
            began = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r", 1)[0])
            await reader.readexactly(length)
            times.append(time.perf_counter() - began)
            if not head.startswith(b"HTTP/1.1 202"):
                raise RuntimeError(head.decode())
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "p99": statistics.quantiles(times, n=100)[98] * 1000}


def load() -> None:
    requests = [a_request(number + 1) for number in range(REQUESTS)]
    for line in sys.stdin:
        print(json.dumps(asyncio.run(_load(int(line), requests))), flush=True)


def main(words: list[str]) -> None:
    if words[0] == "serve":
        serve(*words[1:])
    else:
        load()


if __name__ == "__main__":
    main(sys.argv[1:])
