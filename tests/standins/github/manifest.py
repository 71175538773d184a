"""The manifest flow as a browser sees it: GitHub shows what is asked for, a person agrees."""

from __future__ import annotations

import html
import json
import secrets
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.standins.github.client import new_key
from tests.standins.github.control_setup import create_app
from tests.standins.github.refusals import Refusal
from tests.standins.github.world import World

Json = dict[str, Any]
KEYS = {
    "name", "url", "hook_attributes", "redirect_url", "callback_urls", "setup_url", "description",
    "public", "default_events", "default_permissions", "request_oauth_on_install",
    "setup_on_update",
}  # fmt: skip
# An event needs a permission that makes it visible.
NEEDS = {
    "check_run": "checks",
    "check_suite": "checks",
    "issues": "issues",
    "issue_comment": "issues",
    "pull_request": "pull_requests",
    "pull_request_review": "pull_requests",
    "pull_request_review_comment": "pull_requests",
    "push": "contents",
    "repository": "metadata",
    "status": "statuses",
}
PERSON = "operator"  # who is logged in in this browser


class Wrong(Exception):
    """What GitHub's page would say in red."""


def checked(world: World, text: str) -> Json:
    """The manifest. Raises `Wrong`."""
    try:
        told = json.loads(text)
    except ValueError:
        raise Wrong("The manifest is not JSON") from None
    if not isinstance(told, dict) or set(told) - KEYS:
        raise Wrong("The manifest has keys that are unknown")
    hook = told.get("hook_attributes") or {}
    address = urlsplit(str(hook.get("url", "")))
    if not address.hostname or address.hostname in ("localhost", "127.0.0.1", "::1"):
        raise Wrong("Hook url is not supported because it isn't reachable over the Internet")
    if not urlsplit(str(told.get("url", ""))).hostname:
        raise Wrong("url can't be blank")
    for event in told.get("default_events", []):
        if NEEDS.get(event) not in told.get("default_permissions", {}):
            raise Wrong(f"Default events unsupported: {event}")
    name = str(told.get("name", ""))
    if not 0 < len(name) <= 34:
        raise Wrong("Name is too long (maximum is 34 characters)")
    if any(app.name.lower() == name.lower() for app in world.apps.values()):
        raise Wrong("Name is already taken")
    return told


async def posted(request: Request) -> dict[str, str]:
    return dict(parse_qsl((await request.body()).decode(), keep_blank_values=True))


async def ask(world: World, request: Request) -> Response:
    """The page that shows the manifest's name and the button."""
    form = await posted(request)
    try:
        told = checked(world, form.get("manifest", ""))
    except Wrong as wrong:
        return HTMLResponse(f"<p>{html.escape(str(wrong))}</p>", 422)
    state = html.escape(request.query_params.get("state", ""), quote=True)
    text = html.escape(json.dumps(told), quote=True)
    place = html.escape(request.url.path.removesuffix("/new"), quote=True)
    return HTMLResponse(
        f'<h1>Create GitHub App</h1><form method="post" action="{place}/agree">'
        f'<input type="hidden" name="manifest" value="{text}">'
        f'<input type="hidden" name="state" value="{state}">'
        "<button>Create GitHub App</button></form>"
    )


async def agree(world: World, request: Request) -> Response:
    """The App is made and the browser is sent back with a code that is good once."""
    form = await posted(request)
    try:
        told = checked(world, form.get("manifest", ""))
    except Wrong as wrong:
        return HTMLResponse(f"<p>{html.escape(str(wrong))}</p>", 422)
    owner = str(request.path_params.get("org", PERSON))
    private, public = new_key()
    made = create_app(
        world,
        slug=told["name"].lower().replace(" ", "-"),
        public_key=public,
        owner=owner,
        webhook_url=told["hook_attributes"]["url"],
        webhook_secret=secrets.token_hex(20),
        permissions=told["default_permissions"],
        events=told["default_events"],
    )
    app, code = world.app(made["id"]), secrets.token_hex(20)
    world.manifests[code] = {
        "app_id": app.id,
        "pem": private,
        "webhook_secret": app.webhook_secret,
        "client_secret": secrets.token_hex(20),
    }
    back = urlencode({"code": code, "state": form.get("state", "")})
    return RedirectResponse(f"{told['redirect_url']}?{back}", 302)


def routes(world: World) -> list[Route]:
    async def new(request: Request) -> Response:
        return await ask(world, request)

    async def make(request: Request) -> Response:
        try:
            return await agree(world, request)
        except Refusal as refusal:
            return HTMLResponse(html.escape(str(refusal.body())), refusal.status)

    return [
        Route(f"{place}settings/apps/{word}", act, methods=["POST"])
        for place in ("/", "/organizations/{org}/")
        for word, act in (("new", new), ("agree", make))
    ]
