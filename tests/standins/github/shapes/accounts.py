"""Accounts, apps and installations as GitHub shows them."""

from __future__ import annotations

import base64
from typing import Any

from tests.standins.github.auth import client_id
from tests.standins.github.state import Account, App, Installation, Issue, Repo
from tests.standins.github.world import World, stamp

Json = dict[str, Any]


def node(kind: str, number: int) -> str:
    """A global id in GitHub's style: prefix and an opaque rest."""
    return f"{kind}_{base64.urlsafe_b64encode(f'{kind}:{number}'.encode()).decode().rstrip('=')}"


def user(world: World, account: Account) -> Json:
    api = f"{world.url}/users/{account.login}"
    kind = {"Bot": "BOT", "Organization": "O"}.get(account.type, "U")
    page = account.login.removesuffix("[bot]")
    html = f"{world.url}/apps/{page}" if account.type == "Bot" else f"{world.url}/{page}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": node(kind, account.id),
        "avatar_url": f"{world.url}/avatars/u/{account.id}?v=4",
        "gravatar_id": "",
        "url": api,
        "html_url": html,
        "followers_url": f"{api}/followers",
        "following_url": f"{api}/following{{/other_user}}",
        "gists_url": f"{api}/gists{{/gist_id}}",
        "starred_url": f"{api}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{api}/subscriptions",
        "organizations_url": f"{api}/orgs",
        "repos_url": f"{api}/repos",
        "events_url": f"{api}/events{{/privacy}}",
        "received_events_url": f"{api}/received_events",
        "type": account.type,
        "user_view_type": "public",
        "site_admin": False,
    }


def maybe_user(world: World, account: Account | None) -> Json | None:
    return None if account is None else user(world, account)


def app(world: World, one: App) -> Json:
    made = stamp(one.created_at)
    return {
        "id": one.id,
        "client_id": client_id(one),
        "slug": one.slug,
        "node_id": node("A", one.id),
        "owner": user(world, one.owner),
        "name": one.name,
        "description": "",
        "external_url": "https://example.com",
        "html_url": f"{world.url}/apps/{one.slug}",
        "created_at": made,
        "updated_at": made,
        "permissions": {"metadata": "read"} | one.permissions,
        "events": one.events,
    }


def installation(world: World, one: Installation) -> Json:
    org = one.account.type == "Organization"
    settings = f"organizations/{one.account.login}/" if org else ""
    made = stamp(one.created_at)
    return {
        "id": one.id,
        "client_id": client_id(one.app),
        "account": user(world, one.account),
        "repository_selection": one.selection,
        "access_tokens_url": f"{world.url}/app/installations/{one.id}/access_tokens",
        "repositories_url": f"{world.url}/installation/repositories",
        "html_url": f"{world.url}/{settings}settings/installations/{one.id}",
        "app_id": one.app.id,
        "app_slug": one.app.slug,
        "target_id": one.account.id,
        "target_type": one.account.type,
        "permissions": {"metadata": "read"} | one.permissions,
        "events": one.app.events,
        "created_at": made,
        "updated_at": made,
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": None if one.suspended_at is None else user(world, one.account),
        "suspended_at": stamp(one.suspended_at),
    }


def association(repo: Repo, account: Account, thread: Issue | None = None) -> str:
    """How the account stands to the repository: OWNER, COLLABORATOR, CONTRIBUTOR or NONE."""
    if account.login == repo.owner.login:
        return "OWNER"
    if repo.roles.get(account.login.lower(), "none") != "none":
        return "COLLABORATOR"
    if account.type == "Bot" and thread is not None and thread.by.account is account:
        return "CONTRIBUTOR"
    return "NONE"
