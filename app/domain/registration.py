"""Registering the App by a manifest: what is asked of GitHub, what comes back, what is kept of it.

GitHub's manifest flow: a page posts the manifest to GitHub, a person agrees there, GitHub sends the
browser back with a one-time code, and the code is exchanged for the App's id and keys.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from app.domain.permissions import EVENTS, registration

HOOK_PATH = "/webhooks/github"
# With `intake: poll` nobody is to receive anything: a name that can exist nowhere (RFC 2606).
NOWHERE = "https://patchwarrant.invalid"
HOMEPAGE = "https://github.com/patchwarrant/patchwarrant"
DESCRIPTION = (
    "A labelled issue becomes a draft pull request whose evidence was measured. It never merges."
)
NAME_CAP = 34  # characters, GitHub's own
CODE = re.compile(r"[A-Za-z0-9_-]{1,128}")
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:_[A-Za-z0-9]{1,20})?")


class Unusable(ValueError):
    """GitHub's answer is not what an App's registration needs; the sentence says what is amiss."""


@dataclass(frozen=True)
class Registered:
    """What GitHub made. Secrets have no repr."""

    id: int
    slug: str
    owner: str
    key: str = field(repr=False)
    webhook_secret: str = field(repr=False)
    amiss: tuple[str, ...] = ()


def manifest(name: str, address: str, redirect: str) -> dict[str, Any]:
    """The manifest that is posted; `address` is where the receiver is reached, without a path."""
    return {
        "name": name,
        "url": HOMEPAGE,
        "description": DESCRIPTION,
        "public": False,
        "hook_attributes": {"url": f"{address}{HOOK_PATH}", "active": True},
        "redirect_url": redirect,
        "default_permissions": registration(),
        "default_events": list(EVENTS),
    }


def action(server: str, organisation: str, state: str) -> str:
    """The address that the page posts to."""
    place = f"organizations/{quote(organisation, safe='')}/" if organisation else ""
    return f"{server}/{place}settings/apps/new?state={quote(state, safe='')}"


def settings_page(server: str, organisation: str, slug: str) -> str:
    """Where the App's own settings are."""
    place = f"organizations/{quote(organisation, safe='')}/" if organisation else ""
    return f"{server}/{place}settings/apps/{slug}"


def page(target: str, asked: Mapping[str, Any]) -> str:
    """The local page: one button, and what it asks for."""
    value = html.escape(json.dumps(asked, separators=(",", ":")), quote=True)
    rights = "".join(
        f"<li><code>{html.escape(name)}: {html.escape(level)}</code></li>"
        for name, level in asked["default_permissions"].items()
    )
    hook = html.escape(str(asked["hook_attributes"]["url"]))
    body = (
        f"<p>GitHub will show what this App asks for, and asks you to agree there.</p><ul>{rights}"
        f"</ul><p>Webhooks go to <code>{hook}</code>. The App is private to its owner.</p>"
        f'<form action="{html.escape(target, quote=True)}" method="post">'
        f'<input type="hidden" name="manifest" value="{value}">'
        '<button type="submit">Register on GitHub</button></form>'
    )
    return document("Register Patchwarrant", body)


def document(title: str, body: str) -> str:
    """A whole page; `body` is HTML of ours."""
    shown = html.escape(title)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{shown}</title></head><body><h1>{shown}</h1>{body}</body></html>"
    )


def registered(data: object, asked: Mapping[str, Any]) -> Registered:
    """What a conversion's answer says. Raises `Unusable` where a part that is needed is missing."""
    part = data if isinstance(data, Mapping) else {}
    owner = part.get("owner")
    login = owner.get("login") if isinstance(owner, Mapping) else None
    number, slug = part.get("id"), part.get("slug")
    key, secret = part.get("pem"), part.get("webhook_secret")
    named = isinstance(slug, str) and isinstance(login, str)
    if type(number) is not int or not named or number <= 0:
        raise Unusable("GitHub's answer names no App with an id, a slug and an owner")
    if not SLUG.fullmatch(str(slug)) or not LOGIN.fullmatch(str(login)):
        raise Unusable("GitHub's answer names an App or an owner as neither can be called")
    if not isinstance(key, str) or "PRIVATE KEY" not in key:
        raise Unusable("GitHub's answer holds no private key")
    if not isinstance(secret, str) or len(secret) < 16:
        raise Unusable("GitHub's answer holds no webhook secret of 16 characters or more")
    return Registered(
        id=number,
        slug=str(slug),
        owner=str(login),
        key=key,
        webhook_secret=secret,
        amiss=_differences(part, asked),
    )


def _differences(part: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the App that was made is not the one that was asked for."""
    rights, events = part.get("permissions"), part.get("events")
    wanted = asked["default_permissions"]
    given = rights if isinstance(rights, Mapping) else {}
    found = [
        f"permission {name}: {given.get(name, 'nothing')} instead of {wanted.get(name, 'nothing')}"
        for name in sorted(given.keys() | wanted.keys())
        if given.get(name) != wanted.get(name)
    ]
    listed = set(events) if isinstance(events, list) else set()
    missing = sorted(set(asked["default_events"]) - listed)
    return (*found, *(f"event {name} is missing" for name in missing))
