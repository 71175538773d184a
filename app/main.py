"""The receiver: routes, what is started and stopped with it, and the server around it."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.feeder import Feeder
from app.heads import patient
from app.inbox import Away, Inbox, client
from app.settings import Settings
from app.webhook import Webhook

PATH = "/webhooks/github"
CONNECTIONS = 512  # at once; head and body have ten seconds each, half of them may lack a head
log = logging.getLogger(__name__)


class Receiver(Starlette):
    """Starlette with the one hot path beside its middleware: a delivery costs half as much, and
    `Webhook` answers every error by itself."""

    def __init__(self, webhook: Webhook, inbox: Inbox, feeder: Feeder | None) -> None:
        self.webhook = webhook
        self.inbox = inbox
        self.feeder = feeder
        routes = [
            Route(PATH, webhook, methods=["POST"]),
            Route("/healthz", self._alive),
            Route("/readyz", self._ready),
        ]
        super().__init__(routes=routes, lifespan=_lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "POST":
            await self.webhook(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def _alive(self, _request: Request) -> JSONResponse:
        return JSONResponse({"alive": True})

    async def _ready(self, _request: Request) -> JSONResponse:
        try:
            await self.inbox.check()
        except Away as error:
            return JSONResponse({"ready": False, "why": str(error)}, 503)
        return JSONResponse({"ready": True})


@asynccontextmanager
async def _lifespan(app: Receiver) -> AsyncIterator[None]:
    # Each delivery makes many small objects and no cycles: look for cycles more rarely, and never
    # among what was there at the start.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)
    if app.feeder is not None:
        app.feeder.start()
    yield
    if app.feeder is not None:
        app.feeder.stop()
    await app.inbox.redis.aclose()


def build(settings: Settings) -> Receiver:
    """The application; it opens no connection before its first request or start."""
    inbox = Inbox(client(settings.redis_url), durable=settings.durable)
    webhook = Webhook(settings.secret.value, inbox, bots=settings.bots)
    return Receiver(webhook, inbox, Feeder(settings.redis_url))


def serve(settings: Settings) -> None:
    """Answer until SIGTERM or SIGINT; requests at work are finished first."""
    for warning in settings.warnings:
        log.warning(warning)
    uvicorn.run(
        build(settings),
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http=patient(),
        lifespan="on",
        log_level="info",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
    )
