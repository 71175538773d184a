"""The control API under /_/: what people and operators do, without credentials, on loopback."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pygit2
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.standins.github import control_acts, control_setup
from tests.standins.github.faults import KINDS, Fault
from tests.standins.github.refusals import Refusal
from tests.standins.github.rest.apps import delivery_item
from tests.standins.github.rest.endpoint import parsed
from tests.standins.github.world import World, stamp

Json = dict[str, Any]
Act = Callable[..., Any]


def add_fault(
    world: World,
    *,
    kind: str,
    path: str,
    method: str = "*",
    nth: int = 1,
    times: int = 1,
    status: int | None = None,
    body: Any = None,
    headers: dict[str, str] | None = None,
    seconds: float = 0.0,
    retry_after: int | None = None,
    reads: int = 1,
) -> Json:
    if kind not in KINDS:
        raise Refusal(400, f"no fault {kind!r}; there are {', '.join(KINDS)}")
    usual = {"do_then_status": 502, "rate_primary": 403, "rate_secondary": 403}.get(kind, 500)
    fault = Fault(
        id=world.small_id(),
        kind=kind,
        method=method,
        path=re.compile(path),
        skip=nth - 1,
        times=times,
        status=usual if status is None else status,
        body=body,
        headers=headers or {},
        seconds=seconds,
        retry_after=retry_after,
        reads=reads,
    )
    world.faults.append(fault)
    return {"id": fault.id}


def faults(world: World) -> list[Json]:
    return [
        {"id": f.id, "kind": f.kind, "path": f.path.pattern, "seen": f.seen, "fired": f.fired}
        for f in world.faults
    ]


def clear_faults(world: World) -> None:
    world.faults.clear()
    world.lag.clear()


def log(world: World, *, since: int = 0) -> list[Json]:
    return world.log[since:]


def keep_answers(world: World, *, keep: bool = True) -> None:
    """From now on the log holds what was answered too."""
    world.keep_answers = keep


def clear_log(world: World) -> None:
    world.log.clear()
    world.used.clear()  # a new hour, as far as the primary limit counts


def deliveries(world: World, since: int = 0) -> list[Json]:
    """Every delivery but the first `since`, payload as text, waiting ones too, oldest first."""
    return [
        delivery_item(one)
        | {"app": one.app.slug, "payload": one.payload.decode(), "queued_at": stamp(one.queued_at)}
        for one in world.deliveries[since:]
    ]


def idle(world: World) -> bool:
    return not world.waiting and not world.carrying


def expire_tokens(world: World) -> int:
    """Every living token expired a second ago."""
    alive = [t for t in world.tokens.values() if t.expires_at > world.now()]
    for token in alive:
        token.expires_at = world.now() - timedelta(seconds=1)
    return len(alive)


def tokens(world: World) -> list[Json]:
    """The tokens ever made, without their text."""
    return [
        {
            "id": t.id,
            "permissions": t.permissions,
            "repositories": sorted(t.repositories),
            "expires_at": stamp(t.expires_at),
            "revoked": t.revoked,
            "alive": not t.revoked and t.expires_at > world.now(),
        }
        for t in world.tokens.values()
    ]


def reset(world: World) -> None:
    """Forget everything and remove the repositories."""
    for repo in world.repos.values():
        shutil.rmtree(repo.store.path, ignore_errors=True)
    for name in ("apps", "accounts", "installations", "tokens", "repos", "lag", "used", "former"):
        getattr(world, name).clear()
    world.keep_answers = False
    for name in ("deliveries", "waiting", "log", "faults"):
        getattr(world, name).clear()


HERE: dict[str, Act] = {
    act.__name__: act
    for act in (
        add_fault,
        clear_faults,
        clear_log,
        deliveries,
        expire_tokens,
        faults,
        idle,
        keep_answers,
        log,
        reset,
        tokens,
    )
}
ACTS: dict[str, Act] = HERE | control_setup.ACTS | control_acts.ACTS


def perform(world: World, name: str, told: Json) -> Any:
    """Look the act up, check its arguments' names, do it."""
    act = ACTS.get(name)
    if act is None:
        raise Refusal(404, f"no act {name!r}; there are {', '.join(sorted(ACTS))}")
    try:
        bound = inspect.signature(act).bind(world, **told)
    except TypeError as error:
        raise Refusal(400, f"{name}: {error}") from error
    try:
        return act(*bound.args, **bound.kwargs)
    except (ValueError, TypeError, LookupError, OSError, pygit2.GitError, re.error) as error:
        raise Refusal(400, f"{name}: {error}") from error


def route(world: World) -> Route:
    async def handle(request: Request) -> Response:
        try:
            told = parsed(await request.body())
            answer = perform(world, str(request.path_params["act"]), told)
        except Refusal as refusal:
            return JSONResponse(refusal.body(), refusal.status)
        return Response(json.dumps(answer), media_type="application/json")

    return Route("/_/{act}", handle, methods=["POST"])
