"""The doctor's rules: each gap is one exact finding, what was not seen is never guessed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from app.domain import rulesets
from app.domain.doctor import (
    ActionsFacts,
    AppFacts,
    BranchFacts,
    Facts,
    FileFacts,
    HookFacts,
    InstallationFacts,
    Point,
    RepositoryFacts,
    Rule,
    Ruleset,
    Standing,
    Unseen,
    summary,
)
from app.domain.doctor_rules import examine
from app.domain.permissions import EVENTS, registration
from tests.shared_data import REPOSITORY

APP = 7
CLOSED = frozenset({"creation", "update", "deletion"})
KEY = "ed25519:" + "A" * 43 + "="
SAFE = {
    "on": ["push", "pull_request"],
    "permissions": {"contents": "read"},
    "jobs": {"test": {"runs-on": "ubuntu-24.04", "steps": []}},
}
SECRET = {**SAFE, "env": {"TOKEN": "${{ secrets.TOKEN }}"}}
FENCE = Ruleset(1, "fence", "branch", True, ("~ALL",), (rulesets.AGENT,), CLOSED, "never")
TAGS = Ruleset(2, "tags", "tag", True, ("~ALL",), (), CLOSED, "never")
OWN = Ruleset(
    3, "own", "branch", True, (rulesets.AGENT,), (), CLOSED | {"non_fast_forward"}, "always"
)
REVIEWS = Rule(
    "pull_request",
    {"required_approving_review_count": 1, "dismiss_stale_reviews_on_push": True},
)
CHECK = Rule(
    "required_status_checks",
    {"required_status_checks": [{"context": rulesets.APPROVAL, "integration_id": APP}]},
)
GOOD = Facts(
    app=AppFacts(APP, "pw", registration(), EVENTS),
    hook=HookFacts("https://pw.example.com/webhooks/github", "json", False, (202, 202)),
    installation=InstallationFacts(5, registration(), EVENTS, False),
    repository=RepositoryFacts(
        "Acme", "widgets", "main", False, False,
        {"allow_squash_merge": True, "squash_merge_commit_message": "PR_BODY"},
    ),
    rulesets=(FENCE, TAGS, OWN),
    branch=BranchFacts((REVIEWS, CHECK), False, (), None),
    actions=ActionsFacts(True, False),
    files=FileFacts({".github/workflows/ci.yml": SAFE}, True, "", KEY, True),
    owners=frozenset({"acme"}),
)  # fmt: skip


def point(facts: Facts, name: str) -> Point:
    return next(one for one in examine(facts) if one.id == name)


def test_a_good_repository_holds_in_every_point() -> None:
    points = examine(GOOD)
    assert [one for one in points if one.standing is not Standing.HOLDS] == []
    assert len({one.id for one in points}) == len(points)
    assert summary(points) | {"digest": ""} == {
        "digest": "", "points": len(points), "fails": [], "unseen": [],
    }  # fmt: skip


def test_nothing_seen_is_nothing_said() -> None:
    blind = Unseen("no key at hand", "somebody")
    facts = Facts(*(blind,) * 9)
    points = examine(facts)
    assert {one.standing for one in points} == {Standing.UNSEEN}
    assert {one.id for one in points} == {one.id for one in examine(GOOD)}
    assert all("seen by somebody" in one.todo for one in points)


def repo(**change: Any) -> dict[str, Any]:
    assert isinstance(GOOD.repository, RepositoryFacts)
    return {"repository": replace(GOOD.repository, **change)}


def files(**change: Any) -> dict[str, Any]:
    assert isinstance(GOOD.files, FileFacts)
    return {"files": replace(GOOD.files, **change)}


def hook(**change: Any) -> dict[str, Any]:
    assert isinstance(GOOD.hook, HookFacts)
    return {"hook": replace(GOOD.hook, **change)}


def branch(*rules: Rule, **change: Any) -> dict[str, Any]:
    return {"branch": replace(BranchFacts(rules, False, (), None), **change)}


def workflow(**change: Any) -> dict[str, Any]:
    return files(workflows={".github/workflows/ci.yml": {**SAFE, **change}})


OTHERS_CHECK = Rule(
    "required_status_checks", {"required_status_checks": [{"context": rulesets.APPROVAL}]}
)
LOOSE = Rule("pull_request", {"required_approving_review_count": 1})
RIGHTS = {**registration(), "administration": "write"}
COMMITS = {"allow_squash_merge": True, "squash_merge_commit_message": "COMMIT_MESSAGES"}

GAPS: list[tuple[str, dict[str, Any], str]] = [
    ("app-permissions", {"app": AppFacts(APP, "pw", RIGHTS, EVENTS)}, "administration: write"),
    ("app-events", {"app": AppFacts(APP, "pw", registration(), ("issues",))}, "missing: check_run"),
    ("installation", {"installation": InstallationFacts(0, {}, (), False)}, "no installation"),
    (
        "installation",
        {"installation": InstallationFacts(5, registration(), EVENTS, True)},
        "it is suspended",
    ),
    (
        "installation-permissions",
        {"installation": InstallationFacts(5, {"metadata": "read"}, EVENTS, False)},
        "contents: nothing instead of write",
    ),
    ("webhook", hook(url=""), "no webhook address"),
    ("webhook", hook(content_type="form"), "content type is `form`"),
    ("webhook", hook(insecure=True), "does not verify TLS"),
    ("webhook", hook(codes=(401, 202)), "answered with 401"),
    ("webhook", hook(codes=(0,)), "answered with nothing"),
    ("owner", {"owners": frozenset({"octo"})}, "Acme is not"),
    ("repository", repo(archived=True), "archived"),
    ("fence-branches", {"rulesets": (TAGS, OWN)}, "no ruleset refuses creation, deletion, update"),
    (
        "fence-branches",
        {"rulesets": (replace(FENCE, kinds=frozenset({"update"})), TAGS, OWN)},
        "no ruleset refuses creation, deletion of",
    ),
    ("fence-branches", {"rulesets": (replace(FENCE, active=False), TAGS, OWN)}, "no ruleset"),
    (
        "fence-branches",
        {"rulesets": (replace(FENCE, include=("~DEFAULT_BRANCH",)), TAGS, OWN)},
        "no ruleset",
    ),
    (
        "fence-branches",
        {"rulesets": (replace(FENCE, exclude=("refs/heads/**",)), TAGS, OWN)},
        "no ruleset",
    ),
    ("fence-branches", {"rulesets": (replace(FENCE, bypass="always"), TAGS, OWN)}, "let past"),
    (
        "fence-branches",
        {"rulesets": (replace(FENCE, actors=(("Integration", APP),)), TAGS, OWN)},
        "let past `fence`",
    ),
    ("fence-tags", {"rulesets": (FENCE, OWN)}, "of every tag"),
    ("agent-branches", {"rulesets": (FENCE, TAGS)}, "other Apps"),
    (
        "agent-branches",
        {"rulesets": (FENCE, TAGS, replace(OWN, bypass="never"))},
        "keeps the App out",
    ),
    (
        "agent-branches",
        {"rulesets": (FENCE, TAGS, replace(OWN, kinds=CLOSED))},
        "or rewrite it",
    ),
    ("default-branch", branch(CHECK), "no approving review is required"),
    ("stale-approvals", branch(LOOSE, CHECK), "outlives later pushes"),
    ("required-check", branch(REVIEWS), "it is not required"),
    ("required-check", branch(REVIEWS, OTHERS_CHECK), "any App or writer could set it"),
    (
        "required-check",
        branch(REVIEWS, contexts=(rulesets.APPROVAL,)),
        "any App or writer could set it",
    ),
    ("codeowners", files(codeowners=False), "no CODEOWNERS"),
    ("actions-token", {"actions": ActionsFacts(True, True)}, "by default it may write"),
    ("workflows", workflow(env={"A": "${{ secrets.A }}"}), "sees a secret"),
    ("workflows", workflow(permissions="write-all"), "its token may write"),
    ("workflows", workflow(permissions={"id-token": "write"}), "identity token"),
    ("workflows", workflow(on="pull_request_target"), "base's secrets"),
    (
        "workflows",
        workflow(jobs={"a": {"runs-on": "self-hosted", "steps": []}}),
        "self-hosted runner",
    ),
    (  # whatever the change touches
        "workflows",
        workflow(on={"push": {"paths": ["lib/**"]}}, permissions="write-all"),
        "its token may write",
    ),
    ("workflows", files(workflows={"x.yml": None}), "cannot be read as a workflow"),
    ("merge-messages", files(workflows={"w.yml": SECRET}) | repo(merge=COMMITS), "a squash merge"),
    (
        "merge-messages",
        files(workflows={"w.yml": SECRET})
        | repo(merge={"allow_squash_merge": False, "allow_rebase_merge": True}),
        "a rebase merge",
    ),
    ("configuration", files(configured=False, evidence_key=""), "there is none"),
    ("configuration", files(error="`chekcs` is unknown"), "`chekcs` is unknown"),
    ("evidence-key", files(evidence_key=""), "no key is named"),
    ("evidence-key", {"signing": "ed25519:" + "B" * 43 + "="}, "another key"),
]


@pytest.mark.parametrize(("name", "change", "part"), GAPS)
def test_each_gap_is_one_exact_finding(name: str, change: dict[str, Any], part: str) -> None:
    facts = replace(GOOD, **change)
    found = point(facts, name)
    assert found.standing is Standing.FAILS and part in found.found
    assert found.todo
    assert name in summary(examine(facts))["fails"]


UNSEEN: list[tuple[str, dict[str, Any], str]] = [
    ("webhook", hook(codes=()), "no delivery in three days"),
    ("drafts", repo(private=True), "depend on the owner's plan"),
    ("merge-messages", files(workflows={"w.yml": SECRET}) | repo(merge=None), "not shown"),
    ("fence-branches", {"rulesets": (replace(FENCE, bypass=""), TAGS, OWN)}, "was not shown"),
    ("agent-branches", {"rulesets": (FENCE, TAGS, replace(OWN, bypass=""))}, "was not shown"),
    ("default-branch", branch(CHECK, protected=True), "classic way"),
    ("stale-approvals", branch(CHECK, protected=True), "classic way"),
    ("installation-permissions", {"installation": InstallationFacts(0, {}, (), False)}, "no inst"),
]


@pytest.mark.parametrize(("name", "change", "part"), UNSEEN)
def test_what_nobody_showed_is_unseen_and_says_who_could(
    name: str, change: dict[str, Any], part: str
) -> None:
    found = point(replace(GOOD, **change), name)
    assert found.standing is Standing.UNSEEN and part in found.found
    assert found.todo.startswith("It could be seen by ")


HELD: list[tuple[str, dict[str, Any]]] = [
    ("webhook", hook(codes=(502,)) | {"intake": "poll"}),
    ("workflows", files(workflows={"w.yml": SECRET}) | {"actions": ActionsFacts(False, True)}),
    ("workflows", workflow(on={"push": {"branches": ["main"]}}, permissions="write-all")),
    ("merge-messages", repo(merge=COMMITS)),  # nothing is held back, so there is no trailer
    ("actions-token", {"actions": ActionsFacts(False, True)}),
    ("fence-branches", {"rulesets": (replace(FENCE, bypass="always", actors=()), TAGS, OWN)}),
    (
        "stale-approvals",
        branch(
            CHECK,
            protected=True,
            protection={
                "required_pull_request_reviews": {
                    "required_approving_review_count": 1,
                    "dismiss_stale_reviews": True,
                }
            },
        ),
    ),
]


@pytest.mark.parametrize(("name", "change"), HELD)
def test_what_makes_up_for_a_gap_counts(name: str, change: dict[str, Any]) -> None:
    assert point(replace(GOOD, **change), name).standing is Standing.HOLDS


def test_a_workflow_without_permissions_is_judged_by_the_default_where_that_was_seen() -> None:
    bare = {k: v for k, v in SAFE.items() if k != "permissions"}
    facts = replace(GOOD, **files(workflows={"w.yml": bare}))
    assert point(facts, "workflows").standing is Standing.HOLDS
    facts = replace(facts, actions=Unseen("no"))
    assert point(facts, "workflows").standing is Standing.FAILS


@pytest.mark.parametrize(
    ("file", "made"),
    [
        ("1-fence-branches.json", rulesets.fence_branches()),
        ("2-fence-tags.json", rulesets.fence_tags()),
        ("3-agent-branches.json", rulesets.agent_branches(rulesets.APP_ID)),
        ("4-default-branch.json", rulesets.default_branch(rulesets.APP_ID)),
    ],
)
def test_the_rulesets_that_are_printed_are_those_that_are_shipped(
    file: str, made: dict[str, Any]
) -> None:
    assert made == json.loads((REPOSITORY / "manifests/rulesets" / file).read_text())


def test_without_the_apps_id_a_bypass_for_some_app_says_nothing() -> None:
    named = replace(OWN, bypass="", actors=(("Integration", APP), ("RepositoryRole", 5)))
    assert (named.lets_by(APP), named.lets_by(8), named.lets_by(0)) == (True, False, None)
    assert replace(named, actors=(("RepositoryRole", 5),)).lets_by(0) is False


def test_the_remedy_is_a_ruleset_with_the_apps_number() -> None:
    found = point(replace(GOOD, rulesets=()), "agent-branches")
    assert found.ruleset == rulesets.agent_branches(APP)


def test_the_summary_tells_answers_apart() -> None:
    good, bad = examine(GOOD), examine(replace(GOOD, **repo(archived=True)))
    assert summary(good)["digest"] != summary(bad)["digest"]
    assert summary(bad)["fails"] == ["repository"]
    assert summary(reversed(good)) == summary(good)
