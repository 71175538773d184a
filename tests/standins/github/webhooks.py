"""Outgoing webhooks: the payload is fixed and signed when the thing happens, then carried."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
import uuid
from typing import Any

import httpx

from tests.standins.github.shapes.accounts import node, user
from tests.standins.github.shapes.repos import full
from tests.standins.github.state import Actor, App, Delivery, Installation, Repo
from tests.standins.github.world import World

Json = dict[str, Any]
ALWAYS = ("installation", "installation_repositories", "ping")
AGENT = "GitHub-Hookshot/stand-in"
WAIT = 30.0  # GitHub itself gives ten; here a whole test suite runs beside the receiver


def emit(
    world: World, repo: Repo, event: str, action: str | None, actor: Actor, fields: Json
) -> None:
    """Tell every app that is installed on the repository and subscribed to the event."""
    shown = full(world, repo)
    if event == "push":
        for name in ("created_at", "pushed_at"):
            moment = repo.created_at if name == "created_at" else repo.pushed_at
            shown[name] = int(moment.timestamp())
        shown |= {"stargazers": 0, "master_branch": repo.default_branch}
    payload: Json = {} if action is None else {"action": action}
    payload |= fields | {"repository": shown}
    if repo.owner.type == "Organization":
        payload["organization"] = organisation(world, repo)
    payload["sender"] = user(world, actor.account)
    for app in world.apps.values():
        installation = world.installation_of(app, repo)
        if installation is None or installation.suspended_at is not None:
            continue
        if event in ALWAYS or event in app.events:
            tell(world, app, installation, event, action, payload, repo.id)


def organisation(world: World, repo: Repo) -> Json:
    shown = user(world, repo.owner)
    api = f"{world.url}/orgs/{repo.owner.login}"
    kept = {key: shown[key] for key in ("login", "id", "node_id", "avatar_url")}
    return kept | {
        "url": api,
        "repos_url": f"{api}/repos",
        "events_url": f"{api}/events",
        "hooks_url": f"{api}/hooks",
        "issues_url": f"{api}/issues",
        "members_url": f"{api}/members{{/member}}",
        "public_members_url": f"{api}/public_members{{/member}}",
        "description": "",
    }


def tell(
    world: World,
    app: App,
    installation: Installation,
    event: str,
    action: str | None,
    payload: Json,
    repository_id: int | None,
) -> None:
    """Queue one event for one app."""
    if "installation" not in payload:
        short = {
            "id": installation.id,
            "node_id": node("MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9u", installation.id),
        }
        payload = payload | {"installation": short}
    queue(
        world,
        Delivery(
            id=world.next_id(),
            guid=str(uuid.uuid4()),
            app=app,
            event=event,
            action=action,
            installation_id=installation.id,
            repository_id=repository_id,
            payload=json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode(),
            queued_at=world.now(),
        ),
    )


def queue(world: World, delivery: Delivery) -> None:
    world.deliveries.append(delivery)
    world.waiting.append(delivery)
    world.bell.set()


def again(world: World, old: Delivery) -> Delivery:
    """The same bytes and the same GUID once more, as GitHub redelivers."""
    fresh = Delivery(
        id=world.next_id(),
        guid=old.guid,
        app=old.app,
        event=old.event,
        action=old.action,
        installation_id=old.installation_id,
        repository_id=old.repository_id,
        payload=old.payload,
        queued_at=world.now(),
        redelivery=True,
    )
    queue(world, fresh)
    return fresh


def headers(delivery: Delivery) -> dict[str, str]:
    """GitHub's headers; the signature covers the body only."""
    named = {
        "Accept": "*/*",
        "Content-Type": "application/json",
        "User-Agent": AGENT,
        "X-GitHub-Delivery": delivery.guid,
        "X-GitHub-Event": delivery.event,
        "X-GitHub-Hook-ID": str(delivery.app.id),
        "X-GitHub-Hook-Installation-Target-ID": str(delivery.app.id),
        "X-GitHub-Hook-Installation-Target-Type": "integration",
    }
    secret = delivery.app.webhook_secret.encode()
    if secret:
        digest = hmac.new(secret, delivery.payload, hashlib.sha256).hexdigest()
        named["X-Hub-Signature-256"] = f"sha256={digest}"
    return named


async def carry(world: World) -> None:
    """Hand the waiting deliveries over, one after the other, for ever."""
    async with httpx.AsyncClient(trust_env=False, timeout=WAIT) as client:
        while True:
            await world.bell.wait()
            world.bell.clear()
            while world.waiting:
                world.carrying = 1
                await hand_over(world, client, world.waiting.popleft())
            world.carrying = 0


async def hand_over(world: World, client: httpx.AsyncClient, delivery: Delivery) -> None:
    url = delivery.app.webhook_url
    started = time.perf_counter()
    if url is None:
        delivery.status = "not configured"
    else:
        try:
            answer = await client.post(url, content=delivery.payload, headers=headers(delivery))
            delivery.status_code = answer.status_code
            delivery.status = "OK" if answer.is_success else f"Invalid HTTP Response: {answer}"
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            delivery.status = f"failed to connect to host: {type(error).__name__}"
            delivery.status_code = 502
    delivery.delivered_at = world.now()
    delivery.duration = round(time.perf_counter() - started, 2)
