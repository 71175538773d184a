"""Reads what the doctor looks at: each fact live, or why it could not be seen; writes nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from app.domain.config_values import ConfigError
from app.domain.doctor import (
    OPERATOR,
    ActionsFacts,
    AppFacts,
    BranchFacts,
    FileFacts,
    HookFacts,
    InstallationFacts,
    RepositoryFacts,
    Rule,
    Ruleset,
    Unseen,
)
from app.domain.errors import Fault, Halt, Missing
from app.domain.repo_config import CONFIG_PATH, RepoConfig
from app.domain.workflows import FOLDER
from worker.desk.github import answers
from worker.desk.github.auth import App
from worker.desk.github.deliveries import Deliveries
from worker.desk.github.http import Client

Fact = TypeVar("Fact")
LAST = 30  # deliveries that are looked at
RULESETS = 50
WORKFLOWS = 60
OWNERS_FILES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")


def seen(read: Callable[[], Fact], who: str) -> Fact | Unseen:
    """The fact, or GitHub's own words for why it may not be seen."""
    try:
        return read()
    except (Fault, Halt) as no:
        return Unseen(str(no), who)


def app_facts(app: App) -> AppFacts:
    data = app.call("GET", "/app").data
    return AppFacts(
        answers.number(data, "id"), answers.text(data, "slug"), _levels(data), _names(data)
    )


def hook_facts(app: App) -> HookFacts:
    data = app.call("GET", "/app/hook/config").data
    newest = itertools.islice(Deliveries(app).since(0), LAST)
    return HookFacts(
        url=str(answers.part(data, "url") or ""),
        content_type=str(answers.part(data, "content_type") or ""),
        insecure=str(answers.part(data, "insecure_ssl")) == "1",
        codes=tuple(one.code for one in newest),
    )


def installation_facts(app: App, owner: str, name: str) -> InstallationFacts:
    """Id 0 where no installation covers the repository."""
    try:
        data = app.call("GET", f"/repos/{owner}/{name}/installation").data
    except Missing:
        return InstallationFacts(0, {}, (), False)
    return InstallationFacts(
        id=answers.number(data, "id"),
        permissions=_levels(data),
        events=_names(data),
        suspended=answers.part(data, "suspended_at") is not None,
    )


def repository_facts(client: Client) -> tuple[int, RepositoryFacts]:
    """(the repository's id, what is told of it)."""
    data = client.call("repository").data
    told = {k: v for k, v in data.items() if k.startswith(("allow_", "squash_", "merge_commit_"))}
    return answers.number(data, "id"), RepositoryFacts(
        owner=answers.text(data, "owner", "login"),
        name=answers.text(data, "name"),
        default_branch=answers.text(data, "default_branch"),
        private=answers.flag(data, "private"),
        archived=answers.flag(data, "archived"),
        merge=told if "allow_squash_merge" in told else None,
    )


def ruleset_facts(client: Client, *, own: bool) -> tuple[Ruleset, ...]:
    """Those of the repository and of its organisation, each in whole. `own`: the App itself asks,
    so that what GitHub says about who asks is about the App."""
    listed = client.pages("rulesets", {"includes_parents": "true"})
    numbers = [answers.number(one, "id") for one in itertools.islice(listed, RULESETS)]
    ask = {"includes_parents": "true"}
    return tuple(
        _ruleset(client.call("ruleset", ask=ask, ruleset=one).data, own) for one in numbers
    )


def _ruleset(data: Any, own: bool) -> Ruleset:
    actors = answers.part(data, "bypass_actors")
    names = answers.part(data, "conditions", "ref_name")
    return Ruleset(
        id=answers.number(data, "id"),
        name=answers.text(data, "name")[:100],
        target=str(answers.part(data, "target") or "branch"),
        active=answers.part(data, "enforcement") == "active",
        include=_texts(names, "include"),
        exclude=_texts(names, "exclude"),
        kinds=frozenset(str(answers.part(one, "type")) for one in answers.items(data, "rules")),
        bypass=str(answers.part(data, "current_user_can_bypass") or "") if own else "",
        actors=tuple(_actor(one) for one in actors) if isinstance(actors, list) else None,
    )


def _actor(one: Any) -> tuple[str, int]:
    number = answers.part(one, "actor_id")
    return str(answers.part(one, "actor_type")), number if type(number) is int else 0


def branch_facts(client: Client, name: str, *, admin: bool) -> BranchFacts:
    """The branch's active rules; its classic protection in whole where `admin` may look."""
    rules = tuple(
        Rule(str(one.get("type")), _mapping(one.get("parameters")))
        for one in client.pages("branch_rules", {}, branch=name)
    )
    data = client.call("branch", branch=name).data
    required = answers.items(data, "protection", "required_status_checks", "contexts")
    whole = _protection(client, name) if admin else None
    classic = answers.part(data, "protection", "enabled") is True
    return BranchFacts(rules, classic, tuple(map(str, required)), whole)


def _protection(client: Client, name: str) -> Mapping[str, Any] | None:
    try:
        return _mapping(client.call("protection", branch=name).data)
    except Missing:
        return {}  # there is none
    except (Fault, Halt):
        return None


def actions_facts(client: Client) -> ActionsFacts:
    enabled = answers.flag(client.call("actions").data, "enabled")
    level = answers.part(client.call("actions_token").data, "default_workflow_permissions")
    return ActionsFacts(enabled, level != "read")


def file_facts(
    client: Client,
    branch: str,
    config_of: Callable[[bytes], RepoConfig],
    load: Callable[[bytes], Mapping[str, Any]],
) -> FileFacts:
    """What lies on `branch`; `config_of` and `load` read YAML and raise `ConfigError`."""
    workflows: dict[str, Mapping[Any, Any] | None] = {}
    for path in _listed(client, FOLDER.rstrip("/"), branch):
        workflows[path] = _parsed(_file(client, path, branch), load)
    data, error, key = _file(client, CONFIG_PATH, branch), "", ""
    if data is not None:
        try:
            key = config_of(data).evidence_key
        except ConfigError as wrong:
            error = str(wrong)
    owners = any(_file(client, path, branch) is not None for path in OWNERS_FILES)
    return FileFacts(workflows, data is not None, error, key, owners)


def _listed(client: Client, folder: str, branch: str) -> Iterator[str]:
    """The YAML files directly below a folder."""
    try:
        data = client.call("file", ask={"ref": branch}, path=folder).data
    except Missing:
        return
    for one in (data if isinstance(data, list) else [])[:WORKFLOWS]:
        path = str(answers.part(one, "path"))
        if answers.part(one, "type") == "file" and path.endswith((".yml", ".yaml")):
            yield path


def _file(client: Client, path: str, branch: str) -> bytes | None:
    try:
        return answers.content(client.call("file", ask={"ref": branch}, path=path).data)
    except Missing:
        return None


def _parsed(
    data: bytes | None, load: Callable[[bytes], Mapping[str, Any]]
) -> Mapping[Any, Any] | None:
    try:
        return load(data or b"")
    except ConfigError:
        return None


def unseen_by_app() -> Unseen:
    return Unseen("the App's id and key are not at hand", OPERATOR)


def _levels(data: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in _mapping(answers.part(data, "permissions")).items()}


def _names(data: Any) -> tuple[str, ...]:
    return tuple(map(str, answers.items(data, "events")))


def _texts(data: Any, key: str) -> tuple[str, ...]:
    return tuple(map(str, answers.items(data, key)))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
