"""Every answer of the GitHub stand-in fits GitHub's own description of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.standins.github.rest.operations import ALL
from tests.standins.github_world import REPO, Acme
from tests.standins.openapi import Description
from tests.standins.openapi_package import INTEGRITY, integrity

BRANCH = "agent/issue-1-x"


class Caller:
    """Calls operations by their line in the table; compares question and answer with each
    description that knows the operation."""

    def __init__(self, described: list[Description], http: httpx.Client) -> None:
        self.described = described
        self.http = http

    def __call__(self, method: str, path: str, status: int, /, **told: Any) -> Any:
        query = told.pop("query", None)
        assert any((o.method, o.path) == (method, path) for o in ALL)
        names = {"owner": "acme", "repo": "widgets"} | told.pop("at", {})
        url = path.format(**names)
        answer = self.http.request(method, url, params=query, json=told or None)
        assert answer.status_code == status, f"{method} {url}: {answer.text}"
        shown = answer.json() if answer.content else None
        for one in self.described:
            if one.known(method, path):
                one.check_request(method, path, told or None, query or {})
                one.check_answer(method, path, status, shown)
        return shown


R = "/repos/{owner}/{repo}"
GIT = f"{R}/git"
ISSUE = f"{R}/issues/{{issue_number}}"
PULL = f"{R}/pulls/{{pull_number}}"


def app_calls(call: Caller, world: Acme) -> None:
    at = {"installation_id": world.installation}
    call("GET", "/app", 200)
    call("GET", "/app/installations", 200)
    call("GET", "/app/installations/{installation_id}", 200, at=at)
    call("GET", f"{R}/installation", 200)
    call(
        "POST",
        "/app/installations/{installation_id}/access_tokens",
        201,
        at=at,
        repository_ids=[world.repo_id],
        permissions={"contents": "read"},
    )
    world.standin.set_webhook("patchwarrant", "http://127.0.0.1:9/nobody", "s")
    world.standin.comment(REPO, world.standin.open_issue(REPO, "eve", "T"), "eve", "hello")
    world.standin.wait_delivered()
    call("GET", "/app/hook/config", 200)
    world.standin.set_webhook("patchwarrant", None)
    listed = call("GET", "/app/hook/deliveries", 200)
    path = "/app/hook/deliveries/{delivery_id}/attempts"
    call("GET", "/app/hook/deliveries/{delivery_id}", 200, at={"delivery_id": listed[0]["id"]})
    call("POST", path, 202, at={"delivery_id": listed[0]["id"]})
    code = world.standin.offer_manifest("patchwarrant", world.app.private_key)
    call("POST", "/app-manifests/{code}/conversions", 201, at={"code": code})


def repository_calls(call: Caller, world: Acme) -> None:
    call("GET", R, 200)
    call("GET", f"{R}/contents/{{path}}", 200, at={"path": "README.md"})
    call("GET", f"{R}/contents/{{path}}", 200, at={"path": "src"})
    call("GET", f"{R}/contents/", 200, query={"ref": "main"})
    call("GET", f"{R}/branches/{{branch}}", 200, at={"branch": "main"})
    for login in ("alice", "bob", "eve", "acme", "patchwarrant[bot]"):
        path = f"{R}/collaborators/{{username}}/permission"
        call("GET", path, 404 if login == "acme" else 200, at={"username": login})
    world.standin.add_ruleset(REPO, {"name": "fence", "target": "branch", "rules": []})
    call("GET", f"{R}/rulesets", 200)
    call("GET", "/rate_limit", 200)
    call("GET", "/installation/repositories", 200)
    call("GET", "/user", 403)


def git_calls(call: Caller, world: Acme) -> str:
    """The whole way to a branch; answers its commit."""
    base = call("GET", f"{GIT}/commits/{{commit_sha}}", 200, at={"commit_sha": world.head})
    blob = call("POST", f"{GIT}/blobs", 201, content="aGVsbG8K", encoding="base64")
    call("GET", f"{GIT}/blobs/{{file_sha}}", 200, at={"file_sha": blob["sha"]})
    tree = call(
        "POST",
        f"{GIT}/trees",
        201,
        base_tree=base["tree"]["sha"],
        tree=[
            {"path": "src/widgets.py", "mode": "100644", "type": "blob", "content": "x = 1\n"},
            {"path": "hello", "mode": "100755", "type": "blob", "sha": blob["sha"]},
            {"path": "README.md", "mode": "100644", "type": "blob", "sha": None},
        ],
    )
    at = {"tree_sha": tree["sha"]}
    call("GET", f"{GIT}/trees/{{tree_sha}}", 200, at=at, query={"recursive": "1"})
    told = {"message": "Fix", "tree": tree["sha"], "parents": [world.head]}
    commit = call("POST", f"{GIT}/commits", 201, **told)
    person = {"name": "A", "email": "a@example.com", "date": "2026-01-01T00:00:00Z"}
    call("POST", f"{GIT}/commits", 201, **told, author=person)
    sha = str(commit["sha"])
    call("POST", f"{GIT}/refs", 201, ref=f"refs/heads/{BRANCH}", sha=sha)
    call("GET", f"{GIT}/ref/{{ref}}", 200, at={"ref": f"heads/{BRANCH}"})
    call("GET", f"{GIT}/matching-refs/{{ref}}", 200, at={"ref": "heads/"})
    call("POST", f"{GIT}/refs", 201, ref="refs/heads/spare", sha=world.head)
    call("PATCH", f"{GIT}/refs/{{ref}}", 200, at={"ref": "heads/spare"}, sha=sha)
    call("DELETE", f"{GIT}/refs/{{ref}}", 204, at={"ref": "heads/spare"})
    for basehead in (f"main...{BRANCH}", f"{BRANCH}...main", "main...main", f"main...{sha}"):
        call("GET", f"{R}/compare/{{basehead}}", 200, at={"basehead": basehead})
    call("GET", f"{R}/commits/{{ref}}", 200, at={"ref": BRANCH})
    return sha


def issue_calls(call: Caller, world: Acme) -> None:
    number = world.standin.open_issue(REPO, "eve", "It adds wrongly", "See.", ["bug"])
    at = {"issue_number": number}
    call("GET", ISSUE, 200, at=at)
    call("GET", f"{R}/issues", 200)
    comment = call("POST", f"{ISSUE}/comments", 201, at=at, body="Working on it")
    on = {"comment_id": comment["id"]}
    call("GET", f"{ISSUE}/comments", 200, at=at)
    call("GET", f"{R}/issues/comments/{{comment_id}}", 200, at=on)
    call("PATCH", f"{R}/issues/comments/{{comment_id}}", 200, at=on, body="Done")
    call("POST", f"{R}/labels", 201, name="agent:fix", color="00ff00", description="go")
    call("GET", f"{R}/labels/{{name}}", 200, at={"name": "agent:fix"})
    call("POST", f"{ISSUE}/labels", 200, at=at, labels=["agent:fix", "new"])
    call("GET", f"{ISSUE}/labels", 200, at=at)
    call("DELETE", f"{ISSUE}/labels/{{name}}", 200, at=at | {"name": "agent:fix"})
    call("GET", f"{ISSUE}/events", 200, at=at)
    for status in (201, 200):
        call("POST", f"{ISSUE}/reactions", status, at=at, content="eyes")
        path = f"{R}/issues/comments/{{comment_id}}/reactions"
        call("POST", path, status, at=on, content="+1")
    call("POST", f"{ISSUE}/assignees", 201, at=at, assignees=["alice", "eve"])
    call("DELETE", f"{R}/issues/comments/{{comment_id}}", 204, at=on)


def pull_calls(call: Caller, world: Acme, sha: str) -> None:
    told = {"title": "Fix", "head": BRANCH, "base": "main", "draft": True}
    pull = call("POST", f"{R}/pulls", 201, **told, body="Why")
    at = {"pull_number": pull["number"]}
    call("GET", PULL, 200, at=at)
    call("GET", f"{R}/pulls", 200, query={"head": f"acme:{BRANCH}"})
    call("PATCH", PULL, 200, at=at, title="Fixed", body="Because")
    call("GET", f"{PULL}/files", 200, at=at)
    call("GET", f"{PULL}/commits", 200, at=at)
    call("GET", f"{R}/commits/{{commit_sha}}/pulls", 200, at={"commit_sha": sha})
    call("POST", f"{PULL}/requested_reviewers", 201, at=at, reviewers=["alice"])
    for draft in (False, True):
        world.standin.set_draft(REPO, pull["number"], "alice", draft)
    world.standin.unrequest_review(REPO, pull["number"], "alice", "alice")
    call("GET", f"{ISSUE}/events", 200, at={"issue_number": pull["number"]})
    line = {"path": "src/widgets.py", "body": "Why one?", "line": 1}
    review = world.standin.review(
        REPO, pull["number"], "alice", "REQUEST_CHANGES", "Hm", comments=[line]
    )
    call("GET", f"{PULL}/reviews", 200, at=at)
    call("POST", f"{PULL}/reviews", 200, at=at, event="COMMENT", body="Noted")
    comments = call("GET", f"{PULL}/comments", 200, at=at)
    on = {"comment_id": comments[0]["id"]}
    call("POST", f"{PULL}/comments/{{comment_id}}/replies", 201, at=at | on, body="Because")
    call("POST", f"{R}/pulls/comments/{{comment_id}}/reactions", 201, at=on, content="heart")
    path = f"{PULL}/reviews/{{review_id}}/dismissals"
    call("PUT", path, 200, at=at | {"review_id": review}, message="stale")
    call("GET", ISSUE, 200, at={"issue_number": pull["number"]})


def check_calls(call: Caller, sha: str) -> None:
    at = {"ref": sha}
    told = {"name": "patchwarrant/evidence", "head_sha": sha, "external_id": "run-1"}
    output = {"title": "T", "summary": "S", "text": "X"}
    run = call("POST", f"{R}/check-runs", 201, **told, status="in_progress")
    on = {"check_run_id": run["id"]}
    path = f"{R}/check-runs/{{check_run_id}}"
    call("PATCH", path, 200, at=on, conclusion="success", output=output)
    note = {"path": "a", "start_line": 1, "end_line": 1, "message": "m"}
    output |= {"annotations": [note | {"annotation_level": "warning"}]}
    call("PATCH", path, 200, at=on, output=output)
    call("GET", f"{path}/annotations", 200, at=on)
    call("GET", path, 200, at=on)
    call("GET", f"{R}/commits/{{ref}}/check-runs", 200, at=at)
    call("GET", f"{R}/commits/{{ref}}/check-suites", 200, at=at)
    call("POST", f"{R}/statuses/{{sha}}", 201, at={"sha": sha}, state="pending", context="ci")
    call("GET", f"{R}/commits/{{ref}}/status", 200, at=at)


def settings_calls(call: Caller, world: Acme) -> None:
    """What an administrator sees; the App's own token gets most of it too."""
    rules = [
        {"type": "deletion"},
        {
            "type": "required_status_checks",
            "parameters": {
                "strict_required_status_checks_policy": False,
                "required_status_checks": [{"context": "tests"}],
            },
        },
    ]
    ruleset = {
        "name": "main",
        "target": "branch",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "bypass_actors": [{"actor_id": 5, "actor_type": "RepositoryRole", "bypass_mode": "always"}],
        "rules": rules,
    }
    number = world.standin.add_ruleset(REPO, ruleset)
    call("GET", f"{R}/rulesets/{{ruleset_id}}", 200, at={"ruleset_id": number})
    call("GET", f"{R}/rules/branches/{{branch}}", 200, at={"branch": "main"})
    protection = {"required_status_checks": {"strict": False, "contexts": ["ci"], "checks": []}}
    call("GET", f"{R}/branches/{{branch}}/protection", 404, at={"branch": "main"})
    world.standin.act("set_settings", repo=REPO, protection=protection)
    call("GET", f"{R}/branches/{{branch}}/protection", 200, at={"branch": "main"})
    call("GET", f"{R}/actions/permissions", 200)
    call("GET", f"{R}/actions/permissions/workflow", 200)


def everything(world: Acme, described: list[Description]) -> set[tuple[str, str]]:
    """Call every operation; those that one of the descriptions knows."""
    with world.app_client() as http:
        app_calls(Caller(described, http), world)
    with world.rest() as http:
        call = Caller(described, http)
        repository_calls(call, world)
        sha = git_calls(call, world)
        issue_calls(call, world)
        pull_calls(call, world, sha)
        check_calls(call, sha)
        call("DELETE", "/installation/token", 204)
    world.standin.set_role(REPO, "root", "admin")
    person = str(world.standin.act("create_person_token", login="root")["token"])
    with world.with_token(person) as http:
        settings_calls(Caller(described, http), world)
    known = {
        (one.method, one.path)
        for one in ALL
        if any(description.known(one.method, one.path) for description in described)
    }
    seen = set().union(*(description.seen for description in described))
    assert known - seen == set()
    return known


def test_every_operation_answers_as_the_subset_describes_it(
    subset: Description, world: Acme
) -> None:
    assert len(everything(world, [subset])) > 45


def test_every_operation_answers_as_github_describes_it(
    subset: Description, whole: Description, world: Acme
) -> None:
    """Nothing that the stand-in offers is outside GitHub's description."""
    known = everything(world, [subset, whole])
    assert {(one.method, one.path) for one in ALL} - known == set()


def test_the_comparison_can_fail(subset: Description) -> None:
    with pytest.raises(AssertionError, match="required"):
        subset.check_answer("GET", "/rate_limit", 200, {"rate": {}})
    with pytest.raises(AssertionError, match="404"):
        subset.check_answer("GET", "/app", 404, {})
    path = f"{R}/git/blobs"
    subset.check_request("POST", path, {"content": "x", "encoding": "utf-8"}, {})
    for body, why in (
        ({}, "content"),
        ({"content": 1}, "1 is not"),
        ({"content": "", "x": 1}, "x"),
    ):
        with pytest.raises(AssertionError, match=why):
            subset.check_request("POST", path, body, {})
    with pytest.raises(AssertionError, match="unknown in the query"):
        subset.check_request("GET", "/app", None, {"x": "1"})
    with pytest.raises(AssertionError, match="describes no"):
        subset.check_request("PUT", "/app", None, {})


def test_a_package_that_is_not_the_pinned_one_is_not_read(tmp_path: Path) -> None:
    other = tmp_path / "other.tgz"
    other.write_bytes(b"another file")
    assert integrity(other) != INTEGRITY
    assert integrity(other).startswith("sha512-")
