"""Branch rules: which rules of a repository's active rulesets hold for a branch, and the checks
that a merge waits for."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from tests.standins.github.refusals import Refusal
from tests.standins.github.state import Repo

Json = dict[str, Any]
GOOD = ("success", "neutral", "skipped")  # conclusions that satisfy a required check


def rules_for(repo: Repo, branch: str) -> list[Json]:
    """The rules as GitHub lists them for one branch, whether it exists or not."""
    return [
        {
            "type": rule["type"],
            **({"parameters": rule["parameters"]} if "parameters" in rule else {}),
            "ruleset_source_type": ruleset["source_type"],
            "ruleset_source": ruleset["source"],
            "ruleset_id": ruleset["id"],
        }
        for ruleset in repo.rulesets
        if ruleset["enforcement"] == "active" and _holds(repo, ruleset, branch)
        for rule in ruleset.get("rules", [])
    ]


def _holds(repo: Repo, ruleset: Json, branch: str) -> bool:
    if ruleset.get("target", "branch") != "branch":
        return False
    names = ruleset.get("conditions", {}).get("ref_name", {})

    def named(patterns: list[str]) -> bool:
        return any(
            one == "~ALL"
            or (one == "~DEFAULT_BRANCH" and branch == repo.default_branch)
            or fnmatchcase(f"refs/heads/{branch}", one.replace("**", "*"))
            for one in patterns
        )

    return named(names.get("include", [])) and not named(names.get("exclude", []))


def require_checks(repo: Repo, branch: str, sha: str) -> None:
    """405 unless every check that the branch's rules require is good on that commit."""
    for rule in rules_for(repo, branch):
        if rule["type"] != "required_status_checks":
            continue
        for wanted in rule["parameters"]["required_status_checks"]:
            if _newest(repo, sha, wanted) not in GOOD:
                raise Refusal(405, f'Required status check "{wanted["context"]}" is expected.')


def _newest(repo: Repo, sha: str, wanted: Json) -> str | None:
    """The conclusion of the newest check run of that name, of the app where one is named."""
    app = wanted.get("integration_id")
    runs = [
        run
        for suite in repo.suites
        for run in suite.runs
        if run.head_sha == sha and run.name == wanted["context"] and app in (None, suite.app.id)
    ]
    return max(runs, key=lambda run: run.id).conclusion if runs else None
