"""Put the parts together: one ASGI application over one World, served on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from tests.standins.github import control, graphql, manifest, pages, webhooks
from tests.standins.github.faults import Asgi, FaultGate, Receive, Scope, Send
from tests.standins.github.git_http import GitHttp
from tests.standins.github.rest import endpoint
from tests.standins.github.world import World


def application(world: World) -> Asgi:
    """Everything that listens: control, API, git, pages; faults around it."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        courier = asyncio.create_task(webhooks.carry(world))
        yield
        courier.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await courier

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok")

    git = GitHttp(world)
    listed: list[BaseRoute] = [
        Route("/_/health", health),
        control.route(world),
        Route("/graphql", graphql.endpoint(world), methods=["POST"]),
        *endpoint.routes(world),
        *manifest.routes(world),
        Route("/{owner}/{repo}.git/{rest:path}", git),
        *pages.routes(world),
    ]
    app = Starlette(routes=listed, lifespan=lifespan, exception_handlers=unknown(world))
    return other_spellings(FaultGate(app, world), world)


def unknown(world: World) -> dict[Any, Any]:
    """404 and 405 of the router, both as GitHub's 404."""
    nowhere = endpoint.nowhere(world)

    async def handle(request: Request, _: Exception) -> Response:
        return await nowhere(request)

    return {404: handle, 405: handle}


def other_spellings(inner: Asgi, world: World) -> Asgi:
    """GitHub Enterprise's paths (/api/v3/…, /api/graphql) and repositories by their id."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        for prefix, kept in (("/api/v3/", "/"), ("/api/graphql", "/graphql")):
            if path.startswith(prefix):
                path = kept + path.removeprefix(prefix)
        by_id = re.match(r"/repositories/(\d+)(/.*)?$", path)
        repo = world.repos.get(int(by_id.group(1))) if by_id else None
        if by_id and repo:
            path = f"/repos/{repo.full_name}{by_id.group(2) or ''}"
        if path != scope.get("path", ""):
            scope = dict(scope) | {"path": path}
        await inner(scope, receive, send)

    return handle


def listening(port: int) -> socket.socket:
    """A bound loopback socket, so that the address is known before anything is built."""
    # With the protocol named, asyncio turns Nagle's delay off; without it each answer costs 40 ms.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    sock.listen(128)
    return sock


def configured(root: Path, sock: socket.socket) -> tuple[World, uvicorn.Server]:
    root.mkdir(parents=True, exist_ok=True)
    world = World(f"http://127.0.0.1:{sock.getsockname()[1]}", root.resolve())
    config = uvicorn.Config(
        application(world),
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        lifespan="on",
    )
    return world, uvicorn.Server(config)
