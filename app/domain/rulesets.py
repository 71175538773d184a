"""The rulesets that fence the App on GitHub's side, as values: `manifests/rulesets/` has the same.

A token for `contents: write` is good for every branch; only rulesets bind it to `agent/**`.
"""

from __future__ import annotations

from typing import Any

APPROVAL = "patchwarrant/approval"
AGENT = "refs/heads/agent/**"
# GitHub's own roles: admin, maintain, write.
_PEOPLE = [
    {"actor_id": number, "actor_type": "RepositoryRole", "bypass_mode": "always"}
    for number in (5, 2, 4)
]
_CLOSED = [{"type": "creation"}, {"type": "update"}, {"type": "deletion"}]
APP_ID = "APP_ID"  # stands for the App's number in the files


def _ruleset(
    name: str,
    target: str,
    include: list[str],
    exclude: list[str],
    rules: list[Any],
    actors: list[Any],
) -> dict[str, Any]:
    return {
        "name": f"patchwarrant {name}",
        "target": target,
        "enforcement": "active",
        "conditions": {"ref_name": {"include": include, "exclude": exclude}},
        "rules": rules,
        "bypass_actors": actors,
    }


def fence_branches() -> dict[str, Any]:
    return _ruleset(
        "1: the App writes nothing but agent branches", "branch", ["~ALL"], [AGENT], _CLOSED,
        _PEOPLE,
    )  # fmt: skip


def fence_tags() -> dict[str, Any]:
    return _ruleset("2: the App writes no tags", "tag", ["~ALL"], [], _CLOSED, _PEOPLE)


def agent_branches(app: int | str) -> dict[str, Any]:
    own = {"actor_id": app, "actor_type": "Integration", "bypass_mode": "always"}
    return _ruleset(
        "3: agent branches are the App's, and are never rewritten", "branch", [AGENT], [],
        [*_CLOSED, {"type": "non_fast_forward"}], [own, *_PEOPLE],
    )  # fmt: skip


def default_branch(app: int | str) -> dict[str, Any]:
    review = {
        "required_approving_review_count": 1,
        "dismiss_stale_reviews_on_push": True,
        "require_code_owner_review": True,
        "require_last_push_approval": True,
        "required_review_thread_resolution": False,
    }
    checks = {
        "strict_required_status_checks_policy": True,
        "required_status_checks": [{"context": APPROVAL, "integration_id": app}],
    }
    rules = [
        {"type": "deletion"},
        {"type": "non_fast_forward"},
        {"type": "pull_request", "parameters": review},
        {"type": "required_status_checks", "parameters": checks},
    ]
    return _ruleset(
        "4: the default branch takes reviewed pull requests only", "branch", ["~DEFAULT_BRANCH"],
        [], rules, [],
    )  # fmt: skip
