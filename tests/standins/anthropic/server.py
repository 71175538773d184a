"""The HTTP side: the Messages API under /v1 and the control API under /_."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.standins.anthropic import faults, refusals, stream
from tests.standins.anthropic.answers import MODELS, ApiError
from tests.standins.anthropic.conversation import understand
from tests.standins.anthropic.diffs import BadDiff
from tests.standins.anthropic.hunks import NotText
from tests.standins.anthropic.player import Player
from tests.standins.anthropic.script import BadScript, Script, recorded
from tests.standins.anthropic.state import State, fingerprint
from tests.standins.anthropic.usage import input_tokens, output_tokens

Handler = Callable[[Request], Awaitable[Response]]


class Dropped(Exception):
    """Ends a response without its last chunk, as a lost connection does."""


def application(state: State) -> Starlette:
    """The app over one state."""
    return Starlette(
        routes=[
            Route("/v1/messages", _answering(state, _messages), methods=["POST"]),
            Route("/v1/messages/count_tokens", _answering(state, _count), methods=["POST"]),
            Route("/v1/models", _answering(state, _models), methods=["GET"]),
            Route("/v1/models/{id}", _answering(state, _model), methods=["GET"]),
            *_control(state),
        ]
    )


def _answering(
    state: State, act: Callable[[State, Request, dict[str, Any]], Awaitable[Response]]
) -> Handler:
    """Count, record and authorise the request; errors in the API's shape."""

    async def handle(request: Request) -> Response:
        raw = await request.body()
        number = len(state.requests) + 1
        row: dict[str, Any] = {
            "number": number,
            "method": request.method,
            "path": request.url.path,
            "key_sha256": fingerprint(request.headers),
            "version": request.headers.get("anthropic-version", ""),
            "body": None,
            "status": 200,
            "fault": "",
        }
        state.requests.append(row)
        try:
            if raw:
                row["body"] = refusals.parse(raw)
            state.authorize(request.headers)
            answer = await act(state, request, row)
        except ApiError as error:
            row["status"] = error.status
            headers = {"request-id": f"req_{number:06d}"}
            if error.retry_after is not None:
                headers["retry-after"] = f"{error.retry_after:g}"
            return JSONResponse(
                error.body(headers["request-id"]), status_code=error.status, headers=headers
            )
        answer.headers["request-id"] = f"req_{number:06d}"
        return answer

    return handle


async def _messages(state: State, request: Request, row: dict[str, Any]) -> Response:
    state.sent += 1
    number = state.sent
    fault = state.fault(number)
    if fault is not None:
        row["fault"] = fault.kind
        if fault.kind == "html":
            return HTMLResponse("<html><body>Bad gateway, but 200</body></html>")
        faults.refuse(fault)
    body = row["body"]
    if body is None:
        raise ApiError(400, "The request body is empty")
    model = refusals.check(body)
    play, raw_input = state.play(understand(body["messages"])), ""
    if fault is not None:
        play, raw_input = faults.spoiled(fault, play, number)
    usage = {
        **state.cache.usage(body),
        "output_tokens": output_tokens(play.content),
        **play.usage,
    }
    whole = stream.message(play, model.id, f"msg_{number:06d}", usage)
    if fault is None:
        reply = {"content": play.content, "stop_reason": play.stop_reason}
        state.exchanges.append({"request": body, "reply": reply})
    if state.latency:
        await asyncio.sleep(state.latency)
    broken = fault if fault is not None and fault.kind in faults.STREAM_KINDS else None
    if body.get("stream"):
        made = _stream(state, whole, raw_input, broken)
        return StreamingResponse(made, media_type="text/event-stream")
    if broken is not None:
        if broken.kind == "stall":
            await asyncio.sleep(broken.seconds)
        raise ApiError(529, "overloaded_error on demand")
    return JSONResponse(whole)


async def _stream(
    state: State, whole: Mapping[str, Any], raw_input: str, fault: faults.Fault | None
) -> AsyncIterator[bytes]:
    for at, event in enumerate(stream.events(whole, raw_input, state.piece)):
        last = event[0] == "message_delta"
        if fault is not None and (at >= fault.after or last):
            async for chunk in _break(fault):
                yield chunk
            return
        yield stream.encode(event)
        if state.pause:
            await asyncio.sleep(state.pause)


async def _break(fault: faults.Fault) -> AsyncIterator[bytes]:
    if fault.kind == "error-mid-stream":
        error = ApiError(529, fault.message or "Overloaded").body("")
        yield stream.encode(("error", error))
    elif fault.kind == "drop":
        raise Dropped
    elif fault.kind == "stall":
        waited = 0.0
        while waited < fault.seconds:
            step = min(1.0, fault.seconds - waited)
            await asyncio.sleep(step)
            waited += step
            if fault.pings:
                yield stream.encode(("ping", {"type": "ping"}))


async def _count(state: State, request: Request, row: dict[str, Any]) -> Response:
    refusals.check(row["body"] or {}, counting=True)
    return JSONResponse({"input_tokens": input_tokens(row["body"])})


async def _models(state: State, request: Request, row: dict[str, Any]) -> Response:
    rows = [model.row() for model in MODELS.values()]
    ends = {"first_id": rows[0]["id"], "last_id": rows[-1]["id"]}
    return JSONResponse({"data": rows, "has_more": False, **ends})


async def _model(state: State, request: Request, row: dict[str, Any]) -> Response:
    model = MODELS.get(request.path_params["id"])
    if model is None:
        raise ApiError(404, f"model: {request.path_params['id']}")
    return JSONResponse(model.row())


def _control(state: State) -> list[Route]:
    async def requests(request: Request) -> Response:
        return JSONResponse(state.requests)

    async def recording(request: Request) -> Response:
        return JSONResponse({"exchanges": state.exchanges})

    async def act(request: Request) -> Response:
        data = json.loads(await request.body() or b"{}")
        try:
            _act(state, request.path_params["act"], data)
        except (BadDiff, BadScript, NotText, KeyError, TypeError, ValueError) as error:
            return JSONResponse({"error": f"{type(error).__name__}: {error}"}, status_code=400)
        return JSONResponse({})

    return [
        Route("/_/requests", requests, methods=["GET"]),
        Route("/_/recording", recording, methods=["GET"]),
        Route("/_/{act}", act, methods=["POST"]),
    ]


def _act(state: State, act: str, data: Mapping[str, Any]) -> None:
    if act == "reset":
        state.reset()
    elif act == "script":
        state.source = Script(data)
    elif act == "patch":
        patches = [patch.encode() for patch in data["patches"]]
        state.source = Player(patches, Path(data["repository"]), data.get("threads", ()))
    elif act == "recording":
        state.source = recorded(data)
    elif act == "faults":
        state.faults = [faults.read(fault, state.sent) for fault in data["faults"]]
    elif act == "latency":
        state.latency = float(data.get("seconds", 0.0))
        state.pause = float(data.get("pause", 0.0))
        state.piece = int(data.get("piece", 400))
    else:
        raise ValueError(f"there is no /_/{act}")
