"""Every answer of the GitHub stand-in fits GitHub's own description of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openapi_schema_validator import OAS30Validator, oas30_format_checker
from referencing import Registry
from referencing.jsonschema import DRAFT4

from tests.shared_data import shared_dir
from tests.standins.github.rest.call import Operation
from tests.standins.github.rest.operations import ALL
from tests.standins.github_world import REPO, Acme

Json = dict[str, Any]
BRANCH = "agent/issue-1-x"


def pattern(path: str) -> list[str]:
    return ["*" if "{" in part else part for part in path.split("/")]


class Described:
    """GitHub's description, and which of our operations have been compared with it."""

    def __init__(self, spec: Json) -> None:
        self.spec = spec
        resource = DRAFT4.create_resource(spec)
        self.registry: Registry[Any] = Registry().with_resource("urn:spec", resource)
        self.seen: set[tuple[str, str]] = set()

    def known(self, operation: Operation) -> str | None:
        """The description's path of one of our operations."""
        for path, methods in self.spec["paths"].items():
            same = pattern(path) == pattern(operation.path)
            if same and operation.method.lower() in methods:
                return str(path)
        return None

    def check(self, operation: Operation, answer: httpx.Response) -> None:
        path = self.known(operation)
        assert path is not None
        responses = self.spec["paths"][path][operation.method.lower()]["responses"]
        status = str(answer.status_code)
        assert status in responses, f"{operation.method} {path}: {status} {answer.text}"
        self.seen.add((operation.method, operation.path))
        content = responses[status].get("content", {})
        if not content:
            return
        media = "application/json" if "application/json" in content else next(iter(content))
        where = "/".join(
            part.replace("~", "~0").replace("/", "~1")
            for part in ("paths", path, operation.method.lower(), "responses", status)
        )
        media = media.replace("/", "~1")
        schema = {"$ref": f"urn:spec#/{where}/content/{media}/schema"}
        validator = OAS30Validator(
            schema, registry=self.registry, format_checker=oas30_format_checker
        )
        errors = sorted(validator.iter_errors(answer.json()), key=lambda e: list(e.path))
        said = [f"{list(e.absolute_path)}: {e.message[:300]}" for e in errors]
        assert not said, f"{operation.method} {path}: {said}"


class Caller:
    """Calls an operation by its line in the table and compares the answer."""

    def __init__(self, described: Described, http: httpx.Client) -> None:
        self.described = described
        self.http = http

    def __call__(self, method: str, path: str, status: int, /, **told: Any) -> Any:
        query = told.pop("query", None)
        operation = next(o for o in ALL if (o.method, o.path) == (method, path))
        names = {"owner": "acme", "repo": "widgets"} | told.pop("at", {})
        url = path.format(**names)
        answer = self.http.request(method, url, params=query, json=told or None)
        assert answer.status_code == status, f"{method} {url}: {answer.text}"
        if self.described.known(operation) is not None:
            self.described.check(operation, answer)
        return answer.json() if answer.content else None


@pytest.fixture
def described() -> Described:
    file = shared_dir() / "data" / "openapi-subset.json"
    if not file.is_file():
        pytest.skip("GitHub's description (data/openapi-subset.json) is missing")
    spec = json.loads(file.read_text())
    # One slip of the description: an account that is a user *and* an enterprise. It is either.
    listed = spec["paths"]["/app/installations"]["get"]["responses"]["200"]["content"]
    account = listed["application/json"]["schema"]["items"]["properties"]["account"]
    if "allOf" in account:
        account["anyOf"] = account.pop("allOf")
    # A discriminator only hints at one of the alternatives, and cannot be read from a list.
    contents = spec["paths"]["/repos/{owner}/{repo}/contents/{path}"]["get"]
    contents["responses"]["200"]["content"]["application/json"]["schema"].pop("discriminator", 0)
    allow_null(spec)
    return Described(spec)


def allow_null(schema: Any) -> None:
    """A nullable enumeration means null too, as GitHub's own examples have it."""
    if isinstance(schema, dict):
        if schema.get("nullable") is True and isinstance(schema.get("enum"), list):
            schema["enum"] = [*schema["enum"], None]
        for value in schema.values():
            allow_null(value)
    elif isinstance(schema, list):
        for value in schema:
            allow_null(value)


@pytest.fixture
def call(described: Described, world: Acme) -> Iterator[Caller]:
    with world.rest() as http:
        yield Caller(described, http)


@pytest.fixture
def call_as_app(described: Described, world: Acme) -> Iterator[Caller]:
    with world.app_client() as http:
        yield Caller(described, http)


R = "/repos/{owner}/{repo}"
GIT = f"{R}/git"
ISSUE = f"{R}/issues/{{issue_number}}"
PULL = f"{R}/pulls/{{pull_number}}"


def app_calls(call: Caller, world: Acme) -> None:
    at = {"installation_id": world.installation}
    call("GET", "/app", 200)
    call("GET", "/app/installations", 200)
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
    world.standin.set_webhook("patchwarrant", None)
    listed = call("GET", "/app/hook/deliveries", 200)
    path = "/app/hook/deliveries/{delivery_id}/attempts"
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
    for status in (201, 200):
        call("POST", f"{ISSUE}/reactions", status, at=at, content="eyes")
        path = f"{R}/issues/comments/{{comment_id}}/reactions"
        call("POST", path, status, at=on, content="+1")
    call("POST", f"{ISSUE}/assignees", 201, at=at, assignees=["alice", "eve"])
    call("DELETE", f"{R}/issues/comments/{{comment_id}}", 204, at=on)


def pull_calls(call: Caller, world: Acme) -> None:
    told = {"title": "Fix", "head": BRANCH, "base": "main", "draft": True}
    pull = call("POST", f"{R}/pulls", 201, **told, body="Why")
    at = {"pull_number": pull["number"]}
    call("GET", PULL, 200, at=at)
    call("GET", f"{R}/pulls", 200, query={"head": f"acme:{BRANCH}"})
    call("PATCH", PULL, 200, at=at, title="Fixed", body="Because")
    call("GET", f"{PULL}/files", 200, at=at)
    call("GET", f"{PULL}/commits", 200, at=at)
    call("POST", f"{PULL}/requested_reviewers", 201, at=at, reviewers=["alice"])
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
    call("GET", path, 200, at=on)
    call("GET", f"{R}/commits/{{ref}}/check-runs", 200, at=at)
    call("GET", f"{R}/commits/{{ref}}/check-suites", 200, at=at)
    call("POST", f"{R}/statuses/{{sha}}", 201, at={"sha": sha}, state="pending", context="ci")
    call("GET", f"{R}/commits/{{ref}}/status", 200, at=at)


def test_every_operation_answers_as_github_describes_it(
    call: Caller, call_as_app: Caller, world: Acme
) -> None:
    described = call.described
    app_calls(call_as_app, world)
    repository_calls(call, world)
    sha = git_calls(call, world)
    issue_calls(call, world)
    pull_calls(call, world)
    check_calls(call, sha)
    call("DELETE", "/installation/token", 204)
    seen = call.described.seen | call_as_app.described.seen
    wanted = {(o.method, o.path) for o in ALL if described.known(o) and o.path != "/user"}
    assert wanted - seen == set()
    assert len(wanted) > 45


def test_the_comparison_can_fail(described: Described) -> None:
    operation = next(o for o in ALL if o.path == "/rate_limit")
    with pytest.raises(AssertionError, match="required"):
        described.check(operation, httpx.Response(200, json={"rate": {}}))
