"""`POST /webhooks/github`: raw bytes in, a durable row and a small JSON answer out.

A bare ASGI application, since it is the one hot path. 202 only after the row is durable; 401 not
genuine; 413 too long; 415 not plain JSON; 408 too slow; 400 not what it says it is; 503 Redis away
(GitHub keeps the delivery and it can be sent again). For no bytes a 500.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, NotRequired, TypedDict

import msgspec
from starlette.types import Receive, Scope, Send

from app import signature
from app.domain.event import Event, Ignored
from app.domain.triggers import READ, Misfit, digest_of, event_of
from app.inbox import Away, Inbox

# GitHub's own limits make an `issues` body at most about 1.7 MB: 65,536 characters of text, each up
# to 12 bytes when escaped, twice in an edit, and a hundred labels; a comment comes with the text of
# its issue, a review comment with the code around it.
CAPS = {"issues": 2 << 20} | dict.fromkeys(READ - {"issues"}, 3 << 20)
CAP = 1 << 20
SECONDS = 10.0  # for the whole body
ROOM = 64 << 20  # bytes of bodies that are not whole, over all connections

Answer = tuple[int, bytes]
log = logging.getLogger(__name__)


class _Anything(TypedDict):
    """An object of which nothing is read."""


class _Account(TypedDict):
    id: NotRequired[int | None]
    login: NotRequired[str | None]
    type: NotRequired[str | None]


class _Label(TypedDict):
    id: NotRequired[int | None]
    name: NotRequired[str | None]


class _Issue(TypedDict):
    number: NotRequired[int | None]
    title: NotRequired[str | None]
    body: NotRequired[str | None]
    updated_at: NotRequired[str | None]
    user: NotRequired[_Account | None]
    labels: NotRequired[list[_Label | None] | None]
    pull_request: NotRequired[_Anything | None]


class _Branch(TypedDict):
    ref: NotRequired[str | None]
    sha: NotRequired[str | None]


class _Pull(TypedDict):
    number: NotRequired[int | None]
    title: NotRequired[str | None]
    body: NotRequired[str | None]
    updated_at: NotRequired[str | None]
    user: NotRequired[_Account | None]
    head: NotRequired[_Branch | None]


class _Comment(TypedDict):
    """A comment or a review."""

    id: NotRequired[int | None]
    body: NotRequired[str | None]
    user: NotRequired[_Account | None]
    path: NotRequired[str | None]
    line: NotRequired[int | None]
    pull_request_review_id: NotRequired[int | None]
    performed_via_github_app: NotRequired[_Anything | None]


class _Repository(TypedDict):
    id: NotRequired[int | None]
    name: NotRequired[str | None]
    owner: NotRequired[_Account | None]


class _Installation(TypedDict):
    id: NotRequired[int | None]


class _CheckSuite(TypedDict):
    head_branch: NotRequired[str | None]


class _CheckRun(TypedDict):
    external_id: NotRequired[str | None]
    check_suite: NotRequired[_CheckSuite | None]


class _Shown(TypedDict):
    """A branch that shows a commit."""

    name: NotRequired[str | None]


class _Changes(TypedDict):
    """What an edit changed: only whether it was the base matters."""

    base: NotRequired[_Anything | None]


class _Told(TypedDict):
    """The parts of a body that we read; all else is skipped unread."""

    action: NotRequired[str | None]
    issue: NotRequired[_Issue | None]
    label: NotRequired[_Label | None]
    repository: NotRequired[_Repository | None]
    installation: NotRequired[_Installation | None]
    sender: NotRequired[_Account | None]
    comment: NotRequired[_Comment | None]
    pull_request: NotRequired[_Pull | None]
    discussion: NotRequired[_Anything | None]
    review: NotRequired[_Comment | None]
    check_run: NotRequired[_CheckRun | None]
    check_suite: NotRequired[_CheckSuite | None]
    branches: NotRequired[list[_Shown | None] | None]
    changes: NotRequired[_Changes | None]
    ref: NotRequired[str | None]
    repositories_removed: NotRequired[list[_Installation | None] | None]


_read_all = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode
_told = msgspec.json.Decoder(_Told).decode
_anything = msgspec.json.Decoder(_Anything).decode


class Disconnected(Exception):
    """The sender hung up: nobody to answer."""


class Full(Exception):
    """Too much is held of bodies whose sender nobody knows yet."""


class Webhook:
    """The ASGI application for one secret and one inbox.

    `room` bounds the bytes of bodies that are not whole, so not known to be genuine, together;
    `bots` are ids of bots that the operator lets trigger.
    """

    def __init__(
        self, secret: bytes, inbox: Inbox, room: int = ROOM, bots: frozenset[int] = frozenset()
    ) -> None:
        if not secret:
            raise ValueError("a receiver without a webhook secret would take anything: refused")
        self.secret = secret
        self.inbox = inbox
        self.room = room
        self.bots = bots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            status, text = await self._answer(scope, receive)
        except Disconnected:
            return
        except Exception:  # the receiver's last line
            log.exception("a delivery broke the receiver; it is answered with 503")
            status, text = _refusal(503, "the receiver failed; deliver this again")
        length = b"%d" % len(text)
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        head = _Head(scope["headers"])
        if head.refusal is not None:
            return head.refusal
        try:
            async with asyncio.timeout(SECONDS):
                body = await self._read(receive, head.cap)
        except Full:
            return _refusal(503, "too many long bodies arrive at once; deliver this again later")
        except TimeoutError:
            return _refusal(408, f"the body took longer than {SECONDS:.0f} s")
        if body is None:
            return _refusal(413, f"the body has more than {head.cap} bytes")
        if not signature.genuine(self.secret, body, head.signature):
            return UNSIGNED
        try:
            found = read_event(head.event, body, self.bots)
        except (ValueError, RecursionError) as error:  # msgspec's and Misfit are ValueErrors
            return _refusal(400, short(error))
        if isinstance(found, Ignored):
            return 202, _json({"ignored": found.why})
        try:
            written = await self.inbox.put(found)
        except Away as error:
            return _refusal(503, f"{error}; deliver this again later")
        return 202, _json({written.value: found.key})

    async def _read(self, receive: Receive, cap: int) -> bytes | bytearray | None:
        """The raw body; None as soon as it has more than `cap` bytes. Raises `Full`."""
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        first: bytes = message.get("body", b"")
        if not message.get("more_body", False):
            return first if len(first) <= cap else None
        body = bytearray()
        try:
            while True:
                piece: bytes = message.get("body", b"")
                self.room -= len(piece)
                body += piece
                if self.room < 0:
                    raise Full
                if len(body) > cap:
                    return None
                if not message.get("more_body", False):
                    return body
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
        finally:
            self.room += len(body)


class _Head:
    """What the headers say, and the refusal that follows from them alone."""

    __slots__ = ("cap", "event", "refusal", "signature")

    def __init__(self, headers: list[tuple[bytes, bytes]]) -> None:
        found: dict[bytes, bytes] = {}
        twice = b""
        for name, value in headers:
            if name in found:
                twice = name if name in _ONCE else twice
            found[name] = value
        self.signature = found.get(signature.HEADER, b"")
        self.event = found.get(b"x-github-event", b"").decode("latin-1")
        self.cap = CAPS.get(self.event, CAP)
        self.refusal = self._refused(found, twice)

    def _refused(self, found: dict[bytes, bytes], twice: bytes) -> Answer | None:
        if twice == signature.HEADER or not signature.well_formed(self.signature):
            return UNSIGNED
        length = found.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > self.cap:
            return _refusal(413, f"the body has more than {self.cap} bytes")
        kind = found.get(b"content-type", b"")
        if kind != b"application/json" and not _plain_json(kind):
            return _refusal(415, "choose the content type application/json on the App's page")
        if found.get(b"content-encoding", b"identity") != b"identity":
            return _refusal(415, "an encoded body is not read; send it plain")
        if not self.event or twice:
            return _refusal(400, "exactly one X-GitHub-Event header is wanted")
        return None


def _plain_json(kind: bytes) -> bool:
    media, _, parameters = kind.lower().partition(b";")
    return media.strip() == b"application/json" and parameters.strip() in (b"", b"charset=utf-8")


def read_event(
    name: str, body: bytes | bytearray, bots: frozenset[int] = frozenset()
) -> Event | Ignored:
    """The event in a genuine body. Raises `ValueError` or `RecursionError` for what is no JSON
    object in UTF-8, or not what it was sent as."""
    body.decode()  # the decoder skips what we do not read, unread
    if name not in READ:
        _anything(body)
        return event_of(name, {})
    event = event_of(name, _told(body), lambda: digest_of(json.loads(body)), bots)
    if isinstance(event, Event):
        _strict(body)
    return event


def _strict(body: bytes | bytearray) -> None:
    """Refuse a body that two readers could read in two ways: a key that is there twice.

    What is read and written again to the same bytes lost nothing on the way, so it has none; only
    other bodies take the slow way.
    """
    if _write(_read_all(body)) != body:
        json.loads(body, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) != len(pairs):
        raise Misfit("a key is there twice in one object")


def short(error: Exception) -> str:
    """Why a body is no event, in a few words."""
    if isinstance(error, RecursionError):
        return "the body is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "the body is not UTF-8"
    return str(error)[:200]


def _json(answer: dict[str, str]) -> bytes:
    return msgspec.json.encode(answer)


def _refusal(status: int, why: str) -> Answer:
    return status, _json({"error": why})


_ONCE = frozenset({signature.HEADER, b"x-github-event", b"content-type", b"content-length"})
UNSIGNED = _refusal(
    401, "no genuine X-Hub-Signature-256: the webhook secret here and on the App's page differ"
)
