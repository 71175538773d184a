"""Control acts that set a world up: accounts, apps, installations, repositories, roles."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.standins.github.auth import person_token
from tests.standins.github.git_store import GitStore
from tests.standins.github.refusals import Refusal
from tests.standins.github.shapes.accounts import installation as installation_json
from tests.standins.github.shapes.accounts import user
from tests.standins.github.shapes.repos import minimal
from tests.standins.github.state import ROLES, Actor, App, Grant, Installation, Repo
from tests.standins.github.webhooks import emit, tell
from tests.standins.github.world import World

Json = dict[str, Any]
EVENTS = (
    "check_run",
    "check_suite",
    "create",
    "delete",
    "issue_comment",
    "issues",
    "label",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "push",
    "repository",
    "status",
)


def create_account(world: World, *, login: str, kind: str = "User") -> Json:
    """`kind`: User or Organization."""
    account = world.account(login, kind)
    account.type = kind
    return {"id": account.id, "login": account.login}


def create_app(
    world: World,
    *,
    slug: str,
    public_key: str,
    app_id: int | None = None,
    owner: str = "operator",
    webhook_url: str | None = None,
    webhook_secret: str = "",
    permissions: dict[str, str] | None = None,
    events: list[str] | None = None,
) -> Json:
    number = world.small_id() if app_id is None else app_id
    if number in world.apps or any(app.slug == slug for app in world.apps.values()):
        raise Refusal(422, f"there is already an app {slug!r} or {number}")
    app = App(
        id=number,
        slug=slug,
        name=slug.replace("-", " ").title(),
        owner=world.account(owner),
        bot=world.account(f"{slug}[bot]", "Bot"),
        public_key=public_key,
        webhook_url=webhook_url,
        webhook_secret=webhook_secret,
        permissions=permissions or {},
        events=list(EVENTS if events is None else events),
        created_at=world.now(),
    )
    world.apps[app.id] = app
    return {"id": app.id, "slug": app.slug, "bot": app.bot.login}


def set_webhook(world: World, *, app: str, url: str | None, secret: str | None = None) -> None:
    found = world.app(app)
    found.webhook_url = url
    if secret is not None:
        found.webhook_secret = secret


def offer_manifest(world: World, *, app: str, pem: str) -> Json:
    """A one-time code that POST /app-manifests/{code}/conversions turns into this app."""
    found, code = world.app(app), secrets.token_hex(20)
    world.manifests[code] = {
        "app_id": found.id,
        "pem": pem,
        "webhook_secret": found.webhook_secret,
        "client_secret": secrets.token_hex(20),
    }
    return {"code": code}


def create_repo(
    world: World,
    *,
    full_name: str,
    private: bool = True,
    default_branch: str | None = None,
    source: str | None = None,
    drafts: bool = True,
) -> Json:
    """Empty, or a bare copy of the git repository at `source` (which is only read)."""
    owner, slash, name = full_name.partition("/")
    if not slash or not owner or not name or any(c in full_name for c in ("..", "\\", "\0")):
        raise Refusal(400, f"{full_name!r} is not owner/name")
    if any(r.full_name.lower() == full_name.lower() for r in world.repos.values()):
        raise Refusal(422, f"{full_name} already exists")
    path = world.root / owner / f"{name}.git"
    if source is None:
        store = GitStore.empty(path, default_branch or "main")
    else:
        store = GitStore.copied(path, Path(source), default_branch)
    now = world.now()
    branch = default_branch or store.branch_of_head()
    repo = Repo(
        world.next_id(), world.account(owner), name, private, branch, store, now, now, drafts
    )
    world.repos[repo.id] = repo
    return {
        "id": repo.id,
        "full_name": repo.full_name,
        "default_branch": branch,
        "head": store.ref(f"refs/heads/{branch}"),
        "path": str(path),
    }


def configure_repo(
    world: World,
    *,
    repo: str,
    drafts: bool | None = None,
    archived: bool | None = None,
    private: bool | None = None,
    rename: str | None = None,
) -> None:
    """Switches of one repository; None leaves a switch as it is."""
    found = world.named(repo)
    found.drafts = found.drafts if drafts is None else drafts
    for name, value, words in (
        ("archived", archived, ("unarchived", "archived")),
        ("private", private, ("publicized", "privatized")),
    ):
        if value is not None and value != getattr(found, name):
            setattr(found, name, value)
            emit(world, found, "repository", words[value], Actor(found.owner), {})
    if rename is not None:
        world.former[found.full_name.lower()] = found.id
        old, found.name = found.name, rename
        changes = {"changes": {"repository": {"name": {"from": old}}}}
        emit(world, found, "repository", "renamed", Actor(found.owner), changes)


def add_ruleset(world: World, *, repo: str, ruleset: Json) -> Json:
    """Listed, and told for a branch; of all rules only required checks keep a merge back."""
    found = world.named(repo)
    made = {
        "id": world.small_id(),
        "source": found.full_name,
        "source_type": "Repository",
        "enforcement": "active",
    } | ruleset
    found.rulesets.append(made)
    return {"id": made["id"]}


def set_settings(
    world: World,
    *,
    repo: str,
    merge: Json | None = None,
    protection: Json | None = None,
    actions: Json | None = None,
) -> None:
    """Merge settings, classic protection of the default branch, Actions' settings."""
    found = world.named(repo)
    found.merge = found.merge if merge is None else merge
    found.protection = found.protection if protection is None else protection
    found.actions = found.actions if actions is None else found.actions | actions


def create_person_token(world: World, *, login: str) -> Json:
    """A person's own token, as of the roles that the person has now."""
    return {"token": person_token(world, login)}


def set_role(world: World, *, repo: str, login: str, role: str) -> None:
    if role not in ROLES:
        raise Refusal(400, f"no role {role!r}; there are {', '.join(ROLES)}")
    world.account(login)
    world.named(repo).roles[login.lower()] = role


def install(
    world: World,
    *,
    app: str,
    account: str,
    repositories: list[str],
    permissions: dict[str, str] | None = None,
    selection: str = "selected",
) -> Json:
    """The app on an account's repositories; permissions default to those of the app."""
    found, owner = world.app(app), world.account(account)
    made = Installation(
        id=world.small_id(),
        app=found,
        account=owner,
        permissions=dict(found.permissions if permissions is None else permissions),
        repositories=[world.named(name).id for name in repositories],
        selection=selection,
        created_at=world.now(),
    )
    world.installations[made.id] = made
    _tell_installation(world, made, "installation", "created", _listed(world, made.repositories))
    return {"id": made.id}


def _installation(world: World, number: int) -> Installation:
    found = world.installations.get(number)
    if found is None:
        raise Refusal(404, f"no installation {number}")
    return found


def _listed(world: World, numbers: list[int], name: str = "repositories") -> Json:
    shown = []
    for number in numbers:
        whole = minimal(world, world.repos[number])
        shown.append({k: whole[k] for k in ("id", "node_id", "name", "full_name", "private")})
    return {name: shown}


def _tell_installation(
    world: World, one: Installation, event: str, action: str, fields: Json
) -> None:
    whole = {"installation": installation_json(world, one), "sender": user(world, one.account)}
    tell(world, one.app, one, event, action, {"action": action} | fields | whole, None)


def change_installation(
    world: World,
    *,
    installation: int,
    suspended: bool | None = None,
    permissions: dict[str, str] | None = None,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    silent: bool = False,
) -> None:
    """Suspend, change permissions, add or remove repositories; `silent` sends no webhook."""
    found = _installation(world, installation)
    if permissions is not None:
        found.permissions = permissions
    if suspended is not None:
        found.suspended_at = world.now() if suspended else None
        if not silent:
            action = "suspend" if suspended else "unsuspend"
            _tell_installation(world, found, "installation", action, {"repositories": []})
    for action, names in (("added", add or []), ("removed", remove or [])):
        numbers = [world.named(name).id for name in names]
        if action == "added":
            found.repositories += [n for n in numbers if n not in found.repositories]
        else:
            found.repositories = [n for n in found.repositories if n not in numbers]
        if numbers and not silent:
            fields = _listed(world, numbers, f"repositories_{action}")
            other = "removed" if action == "added" else "added"
            fields |= {f"repositories_{other}": [], "requester": None}
            fields |= {"repository_selection": found.selection}
            _tell_installation(world, found, "installation_repositories", action, fields)


def uninstall(world: World, *, installation: int, silent: bool = False) -> None:
    found = _installation(world, installation)
    if not silent:
        fields = _listed(world, found.repositories)
        _tell_installation(world, found, "installation", "deleted", fields)
    del world.installations[installation]


def extra_grant(
    world: World,
    *,
    installation: int,
    permissions: dict[str, str] | None = None,
    repositories: list[str] | None = None,
) -> None:
    """The next token gets this beyond what it asked for: a server that grants too much."""
    ids = [world.named(name).id for name in repositories or []]
    _installation(world, installation).extra = Grant(permissions or {}, ids)


ACTS: dict[str, Callable[..., Any]] = {
    act.__name__: act
    for act in (
        add_ruleset,
        create_person_token,
        set_settings,
        change_installation,
        configure_repo,
        create_account,
        create_app,
        create_repo,
        extra_grant,
        install,
        offer_manifest,
        set_role,
        set_webhook,
        uninstall,
    )
}
