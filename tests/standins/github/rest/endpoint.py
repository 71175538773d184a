"""From an HTTP request to an Operation and back: body, credentials, permission, headers, log."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.standins.github import auth
from tests.standins.github.refusals import Refusal, not_accessible, not_found
from tests.standins.github.rest.apps import LIMIT
from tests.standins.github.rest.call import Answer, Call, Operation
from tests.standins.github.rest.operations import ALL
from tests.standins.github.world import World

Json = dict[str, Any]
Endpoint = Callable[[Request], Awaitable[Response]]
NUMBERS = re.compile(r"_(id|number)$")
VERSION = "2026-03-10"


def routes(world: World) -> list[Route]:
    return [Route(starlette_path(one), endpoint(world, one), methods=[one.method]) for one in ALL]


def starlette_path(operation: Operation) -> str:
    """GitHub's path with Starlette's converters: numbers, and parameters with slashes."""

    def convert(found: re.Match[str]) -> str:
        name = found.group(1)
        if name in operation.deep:
            return f"{{{name}:path}}"
        return f"{{{name}:int}}" if NUMBERS.search(name) else f"{{{name}}}"

    return re.sub(r"\{(\w+)\}", convert, operation.path)


def endpoint(world: World, operation: Operation) -> Endpoint:
    async def handle(request: Request) -> Response:
        return respond(world, request, operation, await request.body())

    return handle


def respond(world: World, request: Request, operation: Operation, raw: bytes) -> Response:
    """Run one call; every refusal becomes GitHub's JSON."""
    call = Call(
        world,
        operation,
        request.url.path,
        request.path_params,
        request.query_params,
        request.headers,
        {},
    )
    try:
        identify(call)
        call.body = parsed(raw)
        permit(call)
        answer = operation.run(call)
    except Refusal as refusal:
        answer = Answer(refusal.status, refusal.body(), refusal.headers)
        if refusal.status == 301:
            answer = moved(call, refusal)
    note(call, request, answer)
    return packed(call, answer)


def identify(call: Call) -> None:
    header = call.headers.get("authorization", "")
    if call.operation.actor == "app":
        call.app = auth.app_of(call.world, header)
    elif call.operation.actor == "token":
        call.token = auth.token_of(call.world, header)


def permit(call: Call) -> None:
    """First whether the repository is reached (404), then the permission (403)."""
    if call.token is None:
        return
    repo = call.repo if "repo" in call.params else None
    if call.operation.needs and not auth.allows(call.token, call.operation.needs):
        raise not_accessible(call.operation.needs)
    if repo is not None and repo.archived and call.operation.method != "GET":
        raise Refusal(403, "Repository was archived so is read-only.")


def moved(call: Call, refusal: Refusal) -> Answer:
    """A renamed repository: the same call by the repository's id."""
    old = f"/repos/{call.params['owner']}/{call.params['repo']}"
    place = refusal.headers["Location"] + call.path.removeprefix(old)
    return Answer(301, refusal.body() | {"url": place}, {"Location": place})


def parsed(raw: bytes) -> Json:
    if not raw:
        return {}
    try:
        body = json.loads(raw)
        json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "Problems parsing JSON") from error
    if not isinstance(body, dict):
        raise Refusal(400, "Body should be a JSON object")
    return body


def note(call: Call, request: Request, answer: Answer) -> None:
    """The record of the request: who and what, never the token's text. What was answered is kept
    only where a test asked for it (there a minted token's text may stand)."""
    token = call.token
    kept = {"answer": answer.body} if call.world.keep_answers else {}
    call.world.log.append(
        kept
        | {
            "method": request.method,
            "path": request.url.path,
            "query": request.url.query,
            "operation": call.operation.path,
            "token": None if token is None else token.id,
            "app": None if call.app is None else call.app.slug,
            "permissions": None if token is None else token.permissions,
            "repositories": None if token is None else sorted(token.repositories),
            "body": call.body,
            "status": answer.status,
        }
    )


def packed(call: Call, answer: Answer) -> Response:
    app = call.app if call.token is None else call.token.installation.app
    key = "" if app is None else app.slug
    used = call.world.used[key] = call.world.used.get(key, 0) + 1
    if answer.status == 200 and call.operation.method == "GET" and isinstance(answer.body, list):
        tag = f'W/"{hashlib.sha256(json.dumps(answer.body).encode()).hexdigest()}"'
        if call.headers.get("if-none-match") == tag:  # GitHub does not count this one
            call.world.used[key] -= 1
            answer = Answer(304, None, dict(answer.headers) | {"ETag": tag})
        else:
            answer = Answer(200, answer.body, dict(answer.headers) | {"ETag": tag}, answer.media)
    headers = {
        "X-GitHub-Media-Type": "github.v3; format=json",
        "X-GitHub-Api-Version-Selected": VERSION,
        "X-GitHub-Request-Id": f"{used:04X}:{int(time.time()):X}",
        "X-RateLimit-Limit": str(LIMIT),
        "X-RateLimit-Remaining": str(max(0, LIMIT - used)),
        "X-RateLimit-Used": str(used),
        "X-RateLimit-Reset": str(int(time.time()) + 3600),
        "X-RateLimit-Resource": "core",
    } | dict(answer.headers)
    if answer.body is None:
        return Response(status_code=answer.status, headers=headers)
    if isinstance(answer.body, str):
        binary = answer.media.startswith("application/vnd.github.raw")
        data = answer.body.encode("latin-1" if binary else "utf-8", "replace")
    else:
        data = json.dumps(answer.body, ensure_ascii=False).encode("utf-8", "replace")
    return Response(data, answer.status, headers, media_type=answer.media)


def nowhere(world: World) -> Endpoint:
    """Unknown routes: 404 in GitHub's JSON, and in the log."""

    async def handle(request: Request) -> Response:
        refusal = not_found()
        world.log.append(
            {
                "method": request.method,
                "path": request.url.path,
                "query": request.url.query,
                "operation": None,
                "token": None,
                "app": None,
                "permissions": None,
                "repositories": None,
                "body": None,
                "status": refusal.status,
            }
        )
        data = json.dumps(refusal.body()).encode()
        return Response(data, refusal.status, media_type="application/json; charset=utf-8")

    return handle
