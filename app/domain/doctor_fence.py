"""The doctor's rules about fences: rulesets that bind the App to `agent/**`, the default branch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from app.domain import rulesets
from app.domain.doctor import (
    OPERATOR,
    BranchFacts,
    Facts,
    Point,
    Ruleset,
    Unseen,
    fails,
    holds,
    unseen,
)

CLOSED = frozenset({"creation", "update", "deletion"})
_AGENT = frozenset({rulesets.AGENT, "refs/heads/agent/**/*"})
IMPORT = "Import this ruleset under Settings → Rules → Rulesets → New ruleset → Import a ruleset."


def fences(facts: Facts) -> Iterator[Point]:
    """Four points: branches, tags, agent branches, and who passes them by."""
    app = 0 if isinstance(facts.app, Unseen) else facts.app.id
    sets = facts.rulesets
    branches = "the App can write no branch but `agent/**`"
    tags = "the App can write no tag"
    own = "`agent/**` is the App's, and nobody rewrites it"
    if isinstance(sets, Unseen):
        yield unseen("fence-branches", branches, sets)
        yield unseen("fence-tags", tags, sets)
        yield unseen("agent-branches", own, sets)
        return
    yield _closed("fence-branches", branches, sets, app, "branch", rulesets.fence_branches())
    yield _closed("fence-tags", tags, sets, app, "tag", rulesets.fence_tags())
    yield _own(own, sets, app)


def _closed(
    point: str, claim: str, sets: Iterable[Ruleset], app: int, target: str, wanted: dict[str, Any]
) -> Point:
    around = [one for one in sets if one.active and one.target == target and _everywhere(one)]
    missing = CLOSED - _kinds(one for one in around if one.lets_by(app) is False)
    if not missing:
        return holds(point, claim, _named(around))
    unclear = [one for one in around if one.lets_by(app) is None]
    if not CLOSED - _kinds(one for one in around if one.lets_by(app) is not True):
        why = f"whether the App passes {_named(unclear)} by was not shown"
        return unseen(point, claim, Unseen(why))
    by = [one for one in around if one.lets_by(app)]
    if by:
        return fails(
            point, claim, f"the App is let past {_named(by)}",
            "Take the App out of the bypass list of that ruleset.",
        )  # fmt: skip
    found = f"no ruleset refuses {', '.join(sorted(missing))} of every {target} to the App"
    return fails(point, claim, found, IMPORT, wanted)


def _own(claim: str, sets: Iterable[Ruleset], app: int) -> Point:
    around = [one for one in sets if one.active and one.target == "branch" and _agent(one)]
    shut = [one for one in around if one.kinds & {"creation", "update"} and not one.lets_by(app)]
    if [one for one in shut if one.lets_by(app) is False]:
        return fails(
            "agent-branches", claim, f"{_named(shut)} keeps the App out of `agent/**`",
            "Add the App to the bypass list of that ruleset: without it no pull request is opened.",
        )  # fmt: skip
    kinds = _kinds(around)
    if shut:
        why = f"whether the App passes {_named(shut)} by was not shown"
        return unseen("agent-branches", claim, Unseen(why))
    if not {"creation", "update", "non_fast_forward"} <= kinds:
        found = "other Apps and actions can write to `agent/**`, or rewrite it"
        return fails("agent-branches", claim, found, IMPORT, rulesets.agent_branches(app or "ID"))
    return holds("agent-branches", claim, _named(around))


def _everywhere(one: Ruleset) -> bool:
    prefix = "refs/heads/" if one.target == "branch" else "refs/tags/"
    every = {"~ALL", f"{prefix}**/*", f"{prefix}**"}
    return bool(every & set(one.include)) and set(one.exclude) <= _AGENT


def _agent(one: Ruleset) -> bool:
    named = {"~ALL", "refs/heads/**/*", "refs/heads/**", *_AGENT} & set(one.include)
    return bool(named) and not _AGENT & set(one.exclude)


def _kinds(sets: Iterable[Ruleset]) -> frozenset[str]:
    return frozenset().union(*(one.kinds for one in sets))


def _named(sets: Iterable[Ruleset]) -> str:
    return ", ".join(f"`{one.name}`" for one in sets) or "none"


def default_branch(facts: Facts) -> Iterator[Point]:
    """Reviews, stale approvals and the required check of the default branch."""
    claims = {
        "default-branch": "the default branch takes reviewed pull requests only",
        "stale-approvals": "an approval goes when something is pushed after it",
        "required-check": f"`{rulesets.APPROVAL}` must be green before a merge, and from the App",
    }
    branch = facts.branch
    if isinstance(branch, Unseen):
        yield from (unseen(name, claim, branch) for name, claim in claims.items())
        return
    app = 0 if isinstance(facts.app, Unseen) else facts.app.id
    wanted = rulesets.default_branch(app or "ID")
    yield _reviewed("default-branch", claims["default-branch"], branch, wanted)
    yield _stale("stale-approvals", claims["stale-approvals"], branch, wanted)
    yield _required("required-check", claims["required-check"], branch, app, wanted)


def _reviews(branch: BranchFacts) -> list[dict[str, Any]]:
    """What reviews must be, by rulesets and by an administrator's look at classic protection."""
    found = [dict(one.parameters) for one in branch.rules if one.kind == "pull_request"]
    classic = (branch.protection or {}).get("required_pull_request_reviews")
    if isinstance(classic, dict):
        named = {"dismiss_stale_reviews_on_push": classic.get("dismiss_stale_reviews")}
        found.append({**classic, **named})
    return found


def _reviewed(point: str, claim: str, branch: BranchFacts, wanted: dict[str, Any]) -> Point:
    counts = [_count(one.get("required_approving_review_count")) for one in _reviews(branch)]
    if max(counts, default=0) >= 1:
        return holds(point, claim)
    if branch.protected and branch.protection is None:
        why = "it is protected in the classic way, whose reviews were not shown"
        return unseen(point, claim, Unseen(why))
    return fails(point, claim, "no approving review is required", IMPORT, wanted)


def _stale(point: str, claim: str, branch: BranchFacts, wanted: dict[str, Any]) -> Point:
    if any(one.get("dismiss_stale_reviews_on_push") is True for one in _reviews(branch)):
        return holds(point, claim)
    if branch.protected and branch.protection is None:
        why = "it is protected in the classic way, whose reviews were not shown"
        return unseen(point, claim, Unseen(why))
    todo = "Switch on “Dismiss stale pull request approvals when new commits are pushed”. " + IMPORT
    return fails(point, claim, "an approval outlives later pushes", todo, wanted)


def _required(
    point: str, claim: str, branch: BranchFacts, app: int, wanted: dict[str, Any]
) -> Point:
    rules = [one for one in branch.rules if one.kind == "required_status_checks"]
    listed = [
        check
        for one in rules
        for check in one.parameters.get("required_status_checks") or ()
        if isinstance(check, dict) and check.get("context") == rulesets.APPROVAL
    ]
    if any(app and check.get("integration_id") == app for check in listed):
        return holds(point, claim)
    if listed or rulesets.APPROVAL in branch.contexts:
        todo = "Choose the App as the expected source of that check."
        if not app:
            return unseen(point, claim, Unseen("the App's id is not known here", OPERATOR))
        return fails(point, claim, "any App or writer could set it", todo, wanted)
    return fails(point, claim, "it is not required", IMPORT, wanted)


def _count(value: object) -> int:
    return value if type(value) is int else 0
