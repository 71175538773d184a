"""The GitHub stand-in refuses what GitHub would refuse, in its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.standins.github_world import REPO, Acme

GIT = f"/repos/{REPO}/git"


@pytest.fixture
def http(world: Acme) -> Iterator[httpx.Client]:
    with world.rest() as client:
        yield client


def said(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["message"]


def commit(http: httpx.Client, parent: str, files: dict[str, str | None]) -> str:
    """A commit through the API; its id."""
    base = http.get(f"{GIT}/commits/{parent}").json()["tree"]["sha"]
    entries = [
        {"path": path, "mode": "100644", "type": "blob"}
        | ({"sha": None} if text is None else {"content": text})
        for path, text in files.items()
    ]
    tree = http.post(f"{GIT}/trees", json={"base_tree": base, "tree": entries})
    assert tree.status_code == 201, tree.text
    told = {"message": "m", "tree": tree.json()["sha"], "parents": [parent]}
    return str(http.post(f"{GIT}/commits", json=told).json()["sha"])


def create(http: httpx.Client, branch: str, sha: str) -> httpx.Response:
    return http.post(f"{GIT}/refs", json={"ref": f"refs/heads/{branch}", "sha": sha})


def test_a_commit_of_the_app_is_verified_and_one_with_an_author_is_not(
    world: Acme, http: httpx.Client
) -> None:
    sha = commit(http, world.head, {"a": "1"})
    made = http.get(f"{GIT}/commits/{sha}").json()
    assert made["verification"]["verified"] is True
    assert made["author"] == made["committer"]
    assert made["author"]["name"] == "patchwarrant[bot]"
    told = {"message": "m", "tree": made["tree"]["sha"], "parents": [world.head]}
    person = {"name": "Eve", "email": "eve@example.com"}
    other = http.post(f"{GIT}/commits", json=told | {"author": person}).json()
    assert other["verification"]["verified"] is False
    assert (other["author"]["name"], other["committer"]["name"]) == ("Eve", "Eve")


def test_a_pushed_signature_of_ones_own_is_not_verified(world: Acme, http: httpx.Client) -> None:
    sha = world.standin.push(REPO, "alice", "main", {"a": "1"})
    verification = http.get(f"{GIT}/commits/{sha}").json()["verification"]
    assert verification["reason"] == "unsigned"


def test_an_existing_ref_is_refused(world: Acme, http: httpx.Client) -> None:
    assert create(http, "topic", world.head).status_code == 201
    assert said(create(http, "topic", world.head)) == (422, "Reference already exists")


@pytest.mark.parametrize(
    ("ref", "sha", "message"),
    [
        ("main", None, "Reference name must start with"),
        ("refs/heads/a..b", None, "is not a valid ref name"),
        ("refs/heads/x", "0" * 40, "Object does not exist"),
        ("refs/heads/x", "nonsense", "Object does not exist"),
        ("refs/heads/main/below", None, "Reference update failed"),
    ],
)
def test_an_impossible_ref_is_refused(
    world: Acme, http: httpx.Client, ref: str, sha: str | None, message: str
) -> None:
    answer = http.post(f"{GIT}/refs", json={"ref": ref, "sha": sha or world.head})
    assert answer.status_code == 422
    assert message in answer.json()["message"]


def test_a_ref_moves_forward_only_unless_forced(world: Acme, http: httpx.Client) -> None:
    one, other = (commit(http, world.head, {"a": text}) for text in "12")
    create(http, "topic", one)
    path = f"{GIT}/refs/heads/topic"
    assert said(http.patch(path, json={"sha": other})) == (422, "Update is not a fast forward")
    assert http.patch(path, json={"sha": other, "force": True}).status_code == 200
    forward = commit(http, other, {"b": "1"})
    assert http.patch(path, json={"sha": forward}).json()["object"]["sha"] == forward
    gone = http.patch(f"{GIT}/refs/heads/none", json={"sha": other})
    assert said(gone) == (422, "Reference does not exist")
    assert http.get(f"{GIT}/ref/heads/none").status_code == 404


def test_a_deleted_ref_is_gone_and_the_default_branch_stays(
    world: Acme, http: httpx.Client
) -> None:
    create(http, "topic", world.head)
    assert http.delete(f"{GIT}/refs/heads/topic").status_code == 204
    again = http.delete(f"{GIT}/refs/heads/topic")
    assert said(again) == (422, "Reference does not exist")
    assert http.delete(f"{GIT}/refs/heads/main").status_code == 422


def test_an_empty_repository_has_no_git_data(world: Acme) -> None:
    made = world.standin.create_repo("acme/empty")
    world.standin.change_installation(world.installation, add=["acme/empty"])
    token = world.as_app().request(
        "POST",
        f"/app/installations/{world.installation}/access_tokens",
        json={"repository_ids": [made["id"]]},
    )
    with world.with_token(token.json()["token"]) as http:
        answer = http.get("/repos/acme/empty/git/ref/heads/main")
    assert said(answer) == (409, "Git Repository is empty.")


@pytest.mark.parametrize("path", [".github/workflows/ci.yml", ".github/workflows/new.yml"])
def test_a_workflow_needs_its_own_permission(world: Acme, path: str) -> None:
    with world.rest() as http:
        sha = commit(http, world.head, {path: "on: pull_request\n"})
        answer = create(http, "topic", sha)
        assert answer.status_code == 403
        assert answer.json()["message"] == (
            f"refusing to allow a GitHub App to create or update workflow `{path}` without "
            "`workflows` permission"
        )
        later = commit(http, sha, {"a": "1"})
        assert create(http, "topic", later).status_code == 403
    permissions = {"contents": "write", "workflows": "write"}
    world.standin.change_installation(world.installation, permissions=permissions)
    with world.rest(**permissions) as http:
        assert create(http, "topic", sha).status_code == 201


def test_a_reachable_workflow_may_be_carried_along(world: Acme, http: httpx.Client) -> None:
    newer = world.standin.push(REPO, "alice", "main", {".github/workflows/ci.yml": "on: x\n"})
    assert create(http, "topic", commit(http, newer, {"a": "1"})).status_code == 201


def test_a_branch_does_not_move_over_workflow_files_that_its_base_changed(
    world: Acme, http: httpx.Client
) -> None:
    old = commit(http, world.head, {"a": "1"})
    create(http, "topic", old)
    newer = world.standin.push(REPO, "alice", "main", {".github/workflows/ci.yml": "on: x\n"})
    tree = http.get(f"{GIT}/commits/{commit(http, newer, {'a': '1'})}").json()["tree"]["sha"]
    told = {"message": "m", "tree": tree, "parents": [old, newer]}
    merge = http.post(f"{GIT}/commits", json=told).json()["sha"]
    answer = http.patch(f"{GIT}/refs/heads/topic", json={"sha": merge})
    assert answer.status_code == 403 and "`workflows` permission" in answer.json()["message"]
    plain = commit(http, old, {"b": "2"})
    assert http.patch(f"{GIT}/refs/heads/topic", json={"sha": plain}).status_code == 200


@pytest.mark.parametrize(("action", "status"), [("deleted", 410), ("transferred", 404)])
def test_an_issue_that_is_gone_says_so(
    world: Acme, http: httpx.Client, action: str, status: int
) -> None:
    number = world.standin.open_issue(REPO, "bob", "A bug")
    world.standin.take_away(REPO, number, "alice", action)
    answer = http.get(f"/repos/{REPO}/issues/{number}")
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"path": "gone", "mode": "100644", "sha": None}, "GitRPC::BadObjectState"),
        ({"path": "/abs", "mode": "100644", "content": ""}, "malformed path"),
        ({"path": "a/../b", "mode": "100644", "content": ""}, "malformed path"),
        ({"path": ".git/config", "mode": "100644", "content": ""}, "malformed path"),
        ({"path": "a", "mode": "100600", "content": ""}, "valid tree.mode"),
        ({"path": "a", "mode": "100644", "sha": "0" * 40}, "is not a valid blob"),
        ({"path": "a", "mode": "100644"}, "either tree.sha or tree.content"),
    ],
)
def test_a_wrong_tree_entry_is_refused(
    world: Acme, http: httpx.Client, entry: dict[str, Any], message: str
) -> None:
    base = http.get(f"{GIT}/commits/{world.head}").json()["tree"]["sha"]
    answer = http.post(f"{GIT}/trees", json={"base_tree": base, "tree": [entry]})
    assert answer.status_code == 422
    assert message in answer.json()["message"]


def test_bad_base64_and_unknown_parents_are_refused(world: Acme, http: httpx.Client) -> None:
    blob = http.post(f"{GIT}/blobs", json={"content": "?!", "encoding": "base64"})
    assert said(blob) == (422, "content is not valid Base64")
    told = {"message": "m", "tree": "0" * 40, "parents": [world.head]}
    assert said(http.post(f"{GIT}/commits", json=told)) == (422, "Tree SHA does not exist")


def pull(http: httpx.Client, **told: Any) -> httpx.Response:
    usual = {"title": "T", "head": "topic", "base": "main"}
    return http.post(f"/repos/{REPO}/pulls", json=usual | told)


def test_a_second_pull_request_of_a_branch_is_refused(world: Acme, http: httpx.Client) -> None:
    create(http, "topic", commit(http, world.head, {"a": "1"}))
    first = pull(http)
    assert first.status_code == 201
    assert first.json()["mergeable"] is None
    assert http.get(f"/repos/{REPO}/pulls/{first.json()['number']}").json()["mergeable"] is True
    answer = pull(http)
    assert said(answer) == (422, "Validation Failed")
    error = answer.json()["errors"][0]
    assert error["message"] == "A pull request already exists for acme:topic."
    number = first.json()["number"]
    http.patch(f"/repos/{REPO}/pulls/{number}", json={"state": "closed"})
    assert pull(http).status_code == 201


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"head": "none"}, {"field": "head", "code": "invalid"}),
        ({"base": "none"}, {"field": "base", "code": "invalid"}),
        ({"head": "same"}, {"message": "No commits between main and same"}),
        (
            {"body": "x" * 65_537},
            {"message": "body is too long (maximum is 65536 characters)", "field": "body"},
        ),
    ],
)
def test_a_wrong_pull_request_is_refused(
    world: Acme, http: httpx.Client, told: dict[str, str], expected: dict[str, str]
) -> None:
    create(http, "topic", commit(http, world.head, {"a": "1"}))
    create(http, "same", world.head)
    answer = pull(http, **told)
    assert answer.status_code == 422
    assert expected.items() <= answer.json()["errors"][0].items()


def test_a_body_of_the_longest_length_is_taken(world: Acme, http: httpx.Client) -> None:
    create(http, "topic", commit(http, world.head, {"a": "1"}))
    assert pull(http, body="x" * 65_536).status_code == 201


def test_drafts_can_be_unsupported(world: Acme, http: httpx.Client) -> None:
    world.standin.configure_repo(REPO, drafts=False)
    create(http, "topic", commit(http, world.head, {"a": "1"}))
    message = "Draft pull requests are not supported in this repository."
    assert said(pull(http, draft=True)) == (422, message)
    assert pull(http, draft=False).status_code == 201


def test_a_conflict_is_not_mergeable(world: Acme, http: httpx.Client) -> None:
    create(http, "topic", commit(http, world.head, {"README.md": "ours\n"}))
    number = pull(http).json()["number"]
    world.standin.push(REPO, "alice", "main", {"README.md": "theirs\n"})
    path = f"/repos/{REPO}/pulls/{number}"
    assert http.get(path).json()["mergeable"] is None
    assert http.get(path).json()["mergeable"] is False


def test_a_locked_issue_takes_no_comment_of_the_app(world: Acme, http: httpx.Client) -> None:
    number = world.standin.open_issue(REPO, "eve", "T")
    world.standin.lock_issue(REPO, number, "alice")
    answer = http.post(f"/repos/{REPO}/issues/{number}/comments", json={"body": "x"})
    assert said(answer) == (403, "Unable to create comment because issue is locked.")


def test_labels_say_what_is_absent_and_what_exists(world: Acme, http: httpx.Client) -> None:
    number = world.standin.open_issue(REPO, "eve", "T")
    path = f"/repos/{REPO}/issues/{number}/labels"
    assert said(http.delete(f"{path}/none")) == (404, "Label does not exist")
    label = {"name": "agent:fix", "color": "ffffff"}
    assert http.post(f"/repos/{REPO}/labels", json=label).status_code == 201
    again = http.post(f"/repos/{REPO}/labels", json=label)
    assert again.json()["errors"][0]["code"] == "already_exists"


def test_a_check_run_of_another_app_and_a_too_long_text_are_refused(
    world: Acme, http: httpx.Client
) -> None:
    hub = world.standin
    hub.create_app("other-ci", permissions={"checks": "write"})
    theirs = hub.add_check_run(REPO, "other-ci", world.head, "ci", "failure")
    answer = http.patch(f"/repos/{REPO}/check-runs/{theirs}", json={"conclusion": "success"})
    assert answer.status_code == 403
    told: dict[str, Any] = {"name": "x", "head_sha": world.head}
    output = {"title": "t", "summary": "s", "text": "x" * 65_536}
    path = f"/repos/{REPO}/check-runs"
    assert http.post(path, json=told | {"output": output}).status_code == 422
    assert http.post(path, json=told | {"head_sha": "0" * 40}).status_code == 422
    listed = http.get(f"/repos/{REPO}/commits/main/check-runs").json()
    assert [run["app"]["slug"] for run in listed["check_runs"]] == ["other-ci"]


def test_an_archived_repository_is_read_only(world: Acme, http: httpx.Client) -> None:
    world.standin.configure_repo(REPO, archived=True)
    assert create(http, "topic", world.head).status_code == 403
    assert http.get(f"/repos/{REPO}").json()["archived"] is True


@pytest.mark.parametrize(
    ("login", "permission", "role"),
    [
        ("acme-boss", "admin", "admin"),
        ("alice", "write", "write"),
        ("mia", "write", "maintain"),
        ("bob", "read", "triage"),
        ("eve", "none", "none"),
    ],
)
def test_the_old_scale_hides_the_role(
    world: Acme, http: httpx.Client, login: str, permission: str, role: str
) -> None:
    world.standin.set_role(REPO, login, role)
    told = http.get(f"/repos/{REPO}/collaborators/{login}/permission").json()
    assert (told["permission"], told["role_name"]) == (permission, role)


def test_lists_come_in_pages_with_links(world: Acme, http: httpx.Client) -> None:
    number = world.standin.open_issue(REPO, "eve", "T")
    for at in range(5):
        world.standin.comment(REPO, number, "eve", f"comment {at}")
    path = f"/repos/{REPO}/issues/{number}/comments"
    bodies: list[str] = []
    answer = http.get(path, params={"per_page": 2})
    assert {"next", "last"} == set(answer.links)
    while True:
        bodies += [one["body"] for one in answer.json()]
        if "next" not in answer.links:
            break
        answer = http.get(answer.links["next"]["url"])
    assert bodies == [f"comment {at}" for at in range(5)]
    assert {"prev", "first"} == set(answer.links)


def test_marking_ready_needs_both_permissions(world: Acme, http: httpx.Client) -> None:
    create(http, "topic", commit(http, world.head, {"a": "1"}))
    made = pull(http, draft=True).json()
    query = (
        "mutation($id: ID!) { ready: markPullRequestReadyForReview(input: {pullRequestId: $id}) "
        "{ pullRequest { isDraft number } } }"
    )
    told = {"query": query, "variables": {"id": made["node_id"]}}
    with world.rest(pull_requests="write") as narrow:
        answer = narrow.post("/graphql", json=told)
    assert answer.status_code == 200
    assert answer.json()["errors"][0]["type"] == "FORBIDDEN"
    with world.rest(pull_requests="write", contents="write") as wide:
        answer = wide.post("/graphql", json=told)
        expected = {"ready": {"pullRequest": {"isDraft": False, "number": made["number"]}}}
        assert answer.json() == {"data": expected}
        missing = wide.post("/graphql", json=told | {"variables": {"id": "PR_none"}})
        assert missing.json()["errors"][0]["type"] == "NOT_FOUND"
