"""The calls of the App itself: its installations, its tokens, its deliveries."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.standins.github import auth, webhooks
from tests.standins.github.refusals import Refusal, not_found
from tests.standins.github.rest.call import Answer, Call, Operation
from tests.standins.github.shapes import accounts, repos
from tests.standins.github.state import Delivery, Installation
from tests.standins.github.world import stamp

Json = dict[str, Any]
LIMIT = 5000


def _mine(call: Call) -> list[Installation]:
    every = call.world.installations.values()
    return [one for one in every if one.app.id == call.asking.id]


def get_app(call: Call) -> Answer:
    shown = accounts.app(call.world, call.asking)
    return Answer(200, shown | {"installations_count": len(_mine(call))})


def list_installations(call: Call) -> Answer:
    return call.paged(_mine(call), lambda one: accounts.installation(call.world, one))


def get_installation(call: Call) -> Answer:
    return Answer(200, accounts.installation(call.world, _installation(call)))


def _installation(call: Call) -> Installation:
    wanted = int(call.params["installation_id"])
    found = next((one for one in _mine(call) if one.id == wanted), None)
    if found is None:
        raise not_found()
    return found


def get_repo_installation(call: Call) -> Answer:
    found = call.world.installation_of(call.asking, call.repo)
    if found is None:
        raise not_found()
    return Answer(200, accounts.installation(call.world, found))


def create_token(call: Call) -> Answer:
    installation = _installation(call)
    text, token = auth.mint(call.world, installation, call.body)
    body: Json = {
        "token": text,
        "expires_at": stamp(token.expires_at),
        "permissions": token.permissions,
        "repository_selection": installation.selection,
    }
    if "repository_ids" in call.body or "repositories" in call.body:
        body["repository_selection"] = "selected"
        chosen = sorted(token.repositories)
        body["repositories"] = [
            repos.detailed(call.world, call.world.repos[number]) for number in chosen
        ]
    return Answer(201, body)


def revoke_token(call: Call) -> Answer:
    call.caller.revoked = True
    return Answer(204)


def list_repositories(call: Call) -> Answer:
    found = [call.world.repos[number] for number in sorted(call.caller.repositories)]
    return call.paged(found, lambda one: repos.detailed(call.world, one), wrap="repositories")


def hook_config(call: Call) -> Answer:
    app = call.asking
    told = {"content_type": "json", "insecure_ssl": "0"}
    if app.webhook_url is not None:
        told["url"] = app.webhook_url
    if app.webhook_secret:
        told["secret"] = "********"
    return Answer(200, told)


def list_deliveries(call: Call) -> Answer:
    """Newest first; `cursor` is the id below which the page starts."""
    size = call.number("per_page", 30, 1, 100)
    below = call.number("cursor", 2**62, 0, 2**62)
    mine = [
        one
        for one in reversed(call.world.deliveries)
        if one.app.id == call.asking.id and one.delivered_at is not None and one.id < below
        if one.status != "not configured"
    ]
    page = mine[:size]
    headers = {}
    if len(mine) > size:
        headers["Link"] = f'<{call.url_with(cursor=page[-1].id)}>; rel="next"'
    return Answer(200, [delivery_item(one) for one in page], headers)


def delivery_item(one: Delivery) -> Json:
    return {
        "id": one.id,
        "guid": one.guid,
        "delivered_at": stamp(one.delivered_at),
        "redelivery": one.redelivery,
        "duration": one.duration,
        "status": one.status,
        "status_code": one.status_code,
        "event": one.event,
        "action": one.action,
        "installation_id": one.installation_id,
        "repository_id": one.repository_id,
        "throttled_at": None,
    }


def get_delivery(call: Call) -> Answer:
    """One delivery with what was sent, and what was answered as far as it is kept here."""
    wanted = int(call.params["delivery_id"])
    for one in call.world.deliveries:
        if one.id == wanted and one.app.id == call.asking.id:
            request = {"headers": webhooks.headers(one), "payload": json.loads(one.payload)}
            shown = {"url": one.app.webhook_url or "", "request": request}
            answered = {"response": {"headers": {}, "payload": None}}
            return Answer(200, delivery_item(one) | shown | answered)
    raise not_found()


def redeliver(call: Call) -> Answer:
    wanted = int(call.params["delivery_id"])
    for one in call.world.deliveries:
        if one.id == wanted and one.app.id == call.asking.id:
            webhooks.again(call.world, one)
            return Answer(202, {})
    raise not_found()


def convert_manifest(call: Call) -> Answer:
    """The one-time code of the manifest flow; what it stands for is set by the control API."""
    found = call.world.manifests.pop(str(call.params["code"]), None)
    if found is None:
        raise not_found()
    app = call.world.app(int(found["app_id"]))
    secrets = {key: found[key] for key in ("pem", "webhook_secret", "client_secret")}
    shown = accounts.app(call.world, app)
    return Answer(201, shown | secrets | {"client_id": auth.client_id(app)})


def rate_limit(call: Call) -> Answer:
    used = min(LIMIT, call.world.used.get(call.caller.installation.app.slug, 0))
    rate = {
        "limit": LIMIT,
        "remaining": LIMIT - used,
        "reset": int(time.time()) + 3600,
        "used": used,
    }
    return Answer(200, {"resources": {"core": rate, "search": rate, "graphql": rate}, "rate": rate})


def not_a_person(call: Call) -> Answer:
    raise Refusal(403, "Resource not accessible by integration")


OPERATIONS = (
    Operation("GET", "/app", get_app, actor="app"),
    Operation("GET", "/app/installations", list_installations, actor="app"),
    Operation("GET", "/app/installations/{installation_id}", get_installation, actor="app"),
    Operation(
        "POST", "/app/installations/{installation_id}/access_tokens", create_token, actor="app"
    ),
    Operation("DELETE", "/installation/token", revoke_token),
    Operation("GET", "/installation/repositories", list_repositories, ("metadata:read",)),
    Operation("GET", "/repos/{owner}/{repo}/installation", get_repo_installation, actor="app"),
    Operation("GET", "/app/hook/config", hook_config, actor="app"),
    Operation("GET", "/app/hook/deliveries", list_deliveries, actor="app"),
    Operation("GET", "/app/hook/deliveries/{delivery_id}", get_delivery, actor="app"),
    Operation("POST", "/app/hook/deliveries/{delivery_id}/attempts", redeliver, actor="app"),
    Operation("POST", "/app-manifests/{code}/conversions", convert_manifest, actor="anyone"),
    Operation("GET", "/rate_limit", rate_limit),
    Operation("GET", "/user", not_a_person),
)
