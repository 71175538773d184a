"""The real receiver in a thread, and a client that can send anything."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.heads import patient
from app.main import PATH, Receiver

SECRET = b"It's a Secret to Everybody"


@contextmanager
def serving(app: Receiver, http: type[HttpToolsProtocol] | None = None) -> Iterator[int]:
    """Its port, while it serves."""
    config = uvicorn.Config(
        app, loop="uvloop", http=http or patient(), log_level="error", lifespan="on"
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(120)


def sign(body: bytes, secret: bytes = SECRET) -> bytes:
    return b"sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest().encode()


def headers(body: bytes, event: str = "issues") -> list[tuple[bytes, bytes]]:
    """What GitHub sends with `body`."""
    return [
        (b"Content-Type", b"application/json"),
        (b"X-GitHub-Event", event.encode()),
        (b"X-GitHub-Delivery", b"72d3162e-cc78-11e3-81ab-4c9367dc0958"),
        (b"X-Hub-Signature-256", sign(body)),
    ]


def post(
    port: int,
    body: bytes,
    given: Sequence[tuple[bytes, bytes]] | None = None,
    event: str = "issues",
) -> tuple[int, dict[str, Any]]:
    """Status and JSON answer of one delivery, genuine unless headers are `given`."""
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.putrequest("POST", PATH, skip_accept_encoding=True)
        for name, value in headers(body, event) if given is None else given:
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        with suppress(BrokenPipeError, ConnectionResetError):  # answered before it was read
            connection.send(body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()
