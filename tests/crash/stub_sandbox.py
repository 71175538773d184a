"""A stub of the sandbox's service, as a process: its wire and its boxes, without any container.

It speaks `worker.sandbox.wire` on a unix socket to the runner's real client; checks are pretended
(`tests.crash.pretend`). Faults on demand: a connection that is cut before or after the work, an
answer 503 in its place, a delay. Boxes live until they are closed, as containers do.

    with StubSandbox() as boxes: ...   # boxes.socket goes into PATCHWARRANT_SANDBOX
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import secrets
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.domain.check import Outcome, command_digest
from tests.crash import pretend
from tests.fakes.sandbox import IMAGE, PROFILE
from tests.standins.github.faults import hang_up
from tests.tied import tied
from worker.sandbox.wire import Head, framed, outcome_head

ROOT = Path(__file__).resolve().parents[2]
IDLE = 1_800.0  # seconds after which a box that nobody uses ends itself, as the real ones do


@dataclass
class Box:
    """One kept box: whose it is and what lies in it."""

    run: str
    files: dict[str, bytes]


@dataclass
class Fault:
    """Hits the `nth` request whose path matches, `times` in a row."""

    kind: str  # drop, status, do_then_drop, do_then_status, delay
    path: str
    nth: int = 1
    times: int = 1
    seconds: float = 0.0
    seen: int = 0
    fired: int = 0

    def hits(self, path: str) -> bool:
        if not re.search(self.path, path):
            return False
        self.seen += 1
        if self.seen < self.nth or self.fired >= self.times:
            return False
        self.fired += 1
        return True


@dataclass
class State:
    """All that the stub knows. `seconds` is how long every check takes."""

    seconds: float = 0.0
    boxes: dict[str, Box] = field(default_factory=dict)
    checks: dict[str, int] = field(default_factory=dict)  # by run, certifying ones
    live: dict[str, int] = field(default_factory=dict)  # certifying checks that run now
    faults: list[Fault] = field(default_factory=list)


class Stub:
    """The service's routes."""

    def __init__(self, state: State) -> None:
        self.state = state

    def application(self) -> Starlette:
        routes = [
            Route("/images", self.images, methods=["POST"]),
            Route("/certify", self.certify, methods=["POST"]),
            Route("/boxes", self.open, methods=["POST"]),
            Route("/boxes/{box}/run", self.run, methods=["POST"]),
            Route("/boxes/{box}", self.close, methods=["DELETE"]),
            Route("/runs/{run}", self.stop, methods=["DELETE"]),
            Route("/healthz", lambda _request: JSONResponse({"ok": True})),
            Route("/_/state", self.look),
            Route("/_/faults", self.put, methods=["POST"]),
            Route("/_/reset", self.reset, methods=["POST"]),
        ]
        return Starlette(routes=routes)

    async def images(self, request: Request) -> Response:
        await request.body()
        head = {"image": IMAGE, "profile": PROFILE, "sizes": []}
        return await self._answered(request, lambda: (head, []))

    async def certify(self, request: Request) -> Response:
        header, rest = _split(await request.body())
        run = str(header["run"])
        self.state.live[run] = self.state.live.get(run, 0) + 1
        try:
            await asyncio.sleep(self.state.seconds)
            return await self._answered(request, lambda: self._certified(run, header, rest))
        finally:
            self.state.live[run] -= 1

    def _certified(self, run: str, header: dict[str, Any], rest: bytes) -> Head:
        self.state.checks[run] = self.state.checks.get(run, 0) + 1
        return _outcome(header["job"], _files(rest[8:]))

    async def open(self, request: Request) -> Response:
        header, rest = _split(await request.body())
        return await self._answered(request, lambda: self._opened(header, rest))

    def _opened(self, header: dict[str, Any], rest: bytes) -> Head:
        name = secrets.token_hex(16)
        self.state.boxes[name] = Box(str(header["run"]), _files(rest[8:]))
        return {"box": name, "sizes": []}, []

    async def run(self, request: Request) -> Response:
        header, rest = _split(await request.body())
        box = self.state.boxes.get(request.path_params["box"])
        if box is None or box.run != header["run"]:
            return JSONResponse({"error": "this box is gone; open a new one"}, 404)
        at = 0
        for laid in header["files"]:
            box.files[laid["path"]] = rest[at : at + laid["size"]]
            at += laid["size"]
        return await self._answered(request, lambda: _outcome(header["job"], box.files))

    async def close(self, request: Request) -> Response:
        self.state.boxes.pop(request.path_params["box"], None)
        return JSONResponse({})

    async def stop(self, request: Request) -> Response:
        run = request.path_params["run"]
        mine = [name for name, box in self.state.boxes.items() if box.run == run]
        for name in mine:
            del self.state.boxes[name]
        return JSONResponse({"stopped": len(mine)})

    async def _answered(self, request: Request, act: Callable[[], Head]) -> Response:
        path = request.url.path
        fault = next((one for one in self.state.faults if one.hits(path)), None)
        kind = fault.kind if fault else ""
        if kind == "delay" and fault:
            await asyncio.sleep(fault.seconds)
        if kind not in ("drop", "status"):
            data = framed(act())
        if kind.endswith("drop"):
            hang_up(request._send)
        if kind.endswith("status"):
            return JSONResponse({"error": "on demand"}, 503, {"retry-after": "1"})
        return Response(b"" if kind.endswith("drop") else data)

    async def look(self, _request: Request) -> Response:
        boxes: dict[str, int] = {}
        for box in self.state.boxes.values():
            boxes[box.run] = boxes.get(box.run, 0) + 1
        live = {run: count for run, count in self.state.live.items() if count}
        fired = [fault.fired for fault in self.state.faults]
        told = {"boxes": boxes, "live": live, "checks": self.state.checks, "fired": fired}
        return JSONResponse(told)

    async def put(self, request: Request) -> Response:
        told = json.loads(await request.body())
        self.state.faults = [Fault(**one) for one in told["faults"]]
        return JSONResponse({})

    async def reset(self, _request: Request) -> Response:
        self.state.boxes.clear()
        self.state.checks.clear()
        self.state.faults.clear()
        return JSONResponse({})


def _split(body: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack(">I", body[:4])
    header: dict[str, Any] = json.loads(body[4 : 4 + length])
    return header, body[4 + length :]


def _files(tar: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
        members = [(one.name, opened.extractfile(one)) for one in opened]
    return {name: source.read() for name, source in members if source is not None}


def _outcome(job: dict[str, Any], files: dict[str, bytes]) -> Head:
    outcome: Outcome = pretend.check(job["argv"], job["report"], files)
    digest = command_digest(
        job["name"], job["argv"], job["env"], job["workdir"], job["report"], job["seconds"]
    )
    return outcome_head(outcome, digest)


class StubSandbox:
    """The stub as a process of its own; `socket` is where it listens."""

    def __init__(self, path: Path | None = None, seconds: float = 0.0) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="pw-stub-", dir="/tmp")
        self.socket = str(path or Path(self._folder.name) / "sandbox.sock")
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        transport = httpx.HTTPTransport(uds=self.socket)
        self._http = httpx.Client(transport=transport, base_url="http://stub", timeout=60)

    def __enter__(self) -> Self:
        words = [sys.executable, "-m", "tests.crash.stub_sandbox", self.socket, str(self.seconds)]
        self._process = subprocess.Popen(words, cwd=ROOT, preexec_fn=tied())
        ends = time.monotonic() + 120
        while not _listens(self.socket):
            if self._process.poll() is not None or time.monotonic() > ends:
                self.close()
                raise RuntimeError("the stub of the sandbox did not start")
            time.sleep(0.02)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def state(self) -> dict[str, Any]:
        """{"boxes": by run, "live": by run, "checks": by run, "fired": a fault}."""
        found: dict[str, Any] = self._http.get("/_/state").json()
        return found

    def faults(self, *faults: dict[str, Any]) -> None:
        """Faults instead of those before, as the fields of `Fault`."""
        self._http.post("/_/faults", json={"faults": list(faults)})

    def reset(self) -> None:
        self._http.post("/_/reset")


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def main(path: str, seconds: str) -> None:
    config = uvicorn.Config(
        Stub(State(seconds=float(seconds))).application(),
        uds=path,
        log_level="critical",
        access_log=False,
        timeout_keep_alive=60,
    )
    uvicorn.Server(config).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
