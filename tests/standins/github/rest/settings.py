"""What fences a repository: rulesets, a branch's rules, classic protection, Actions' settings."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from tests.standins.github.refusals import Refusal, not_found
from tests.standins.github.rest.call import Answer, Call, Operation
from tests.standins.github.shapes import repos
from tests.standins.github.state import Repo, Token

Json = dict[str, Any]
INSIDE = ("rules", "conditions", "bypass_actors")
ADMINISTRATION = ("administration:read",)


def list_rulesets(call: Call) -> Answer:
    """Names alone: what each says is another question."""
    return call.paged(
        call.repo.rulesets, lambda one: {k: v for k, v in one.items() if k not in INSIDE}
    )


def get_ruleset(call: Call) -> Answer:
    """Who may pass by is shown to administrators; everybody is told whether they may themselves."""
    wanted = int(call.params["ruleset_id"])
    for one in call.repo.rulesets:
        if one["id"] == wanted:
            api = f"{repos.api_url(call.world, call.repo)}/rulesets/{wanted}"
            links = {"self": {"href": api}, "html": {"href": api}}
            told = one | {"current_user_can_bypass": bypass(call.caller, one), "_links": links}
            if not administers(call.caller):
                told.pop("bypass_actors", None)
            return Answer(200, told)
    raise not_found()


def administers(token: Token) -> bool:
    return token.permissions.get("administration") in ("read", "write")


def bypass(token: Token, ruleset: Json) -> str:
    for actor in ruleset.get("bypass_actors", []):
        own = actor.get("actor_id") == token.installation.app.id
        if token.person is None and actor.get("actor_type") == "Integration" and own:
            return str(actor.get("bypass_mode", "always"))
        if token.person is not None and actor.get("actor_type") == "RepositoryRole":
            return "always"
    return "never"


def branch_rules(call: Call) -> Answer:
    """The rules that are active for a branch, also for one that does not exist."""
    repo, name = call.repo, str(call.params["branch"])
    found = [
        rule
        | {
            "ruleset_source_type": one["source_type"],
            "ruleset_source": one["source"],
            "ruleset_id": one["id"],
        }
        for one in repo.rulesets
        if one["enforcement"] == "active" and one.get("target", "branch") == "branch"
        if covers(one, repo, name)
        for rule in one.get("rules", [])
    ]
    return call.paged(found, lambda one: one)


def covers(ruleset: Json, repo: Repo, branch: str) -> bool:
    names = ruleset.get("conditions", {}).get("ref_name", {})

    def fits(pattern: str) -> bool:
        if pattern == "~DEFAULT_BRANCH":
            return branch == repo.default_branch
        return pattern == "~ALL" or fnmatchcase(f"refs/heads/{branch}", pattern)

    included = any(fits(one) for one in names.get("include", []))
    return included and not any(fits(one) for one in names.get("exclude", []))


def protection(call: Call) -> Answer:
    if call.repo.protection is None or str(call.params["branch"]) != call.repo.default_branch:
        raise Refusal(404, "Branch not protected")
    return Answer(200, call.repo.protection)


def actions(call: Call) -> Answer:
    return Answer(200, {"enabled": call.repo.actions["enabled"], "allowed_actions": "all"})


def actions_token(call: Call) -> Answer:
    told = {"default_workflow_permissions": call.repo.actions["default_workflow_permissions"]}
    return Answer(200, told | {"can_approve_pull_request_reviews": False})


_REPO = "/repos/{owner}/{repo}"
OPERATIONS = (
    Operation("GET", f"{_REPO}/rulesets", list_rulesets, ("metadata:read",)),
    Operation("GET", f"{_REPO}/rulesets/{{ruleset_id}}", get_ruleset, ("metadata:read",)),
    Operation(
        "GET",
        f"{_REPO}/rules/branches/{{branch}}",
        branch_rules,
        ("metadata:read",),
        deep=("branch",),
    ),
    Operation("GET", f"{_REPO}/branches/{{branch}}/protection", protection, ADMINISTRATION),
    Operation("GET", f"{_REPO}/actions/permissions", actions, ADMINISTRATION),
    Operation("GET", f"{_REPO}/actions/permissions/workflow", actions_token, ADMINISTRATION),
)
