"""Pull requests in the GitHub stand-in follow branches, people and names, as on GitHub."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.standins.github import StandinRefused
from tests.standins.github_world import REPO, Acme

API = f"/repos/{REPO}"


@pytest.fixture
def http(world: Acme) -> Iterator[httpx.Client]:
    with world.rest() as client:
        yield client


@pytest.fixture
def number(world: Acme) -> int:
    """An open pull request of alice: one file renamed and changed, one added, one deleted."""
    files = {
        "src/widgets.py": None,
        "src/adding.py": "def add(a, b):\n    return a - b\n",
        "new": "one\ntwo\n",
    }
    world.standin.push(REPO, "alice", "topic", files, "Move")
    return world.standin.open_pull(REPO, "alice", "topic", "Move things", body="Why")


def test_the_files_are_what_git_says(http: httpx.Client, number: int) -> None:
    listed = http.get(f"{API}/pulls/{number}/files").json()
    shown = {(f["filename"], f["status"], f["additions"], f["deletions"]) for f in listed}
    assert shown == {("new", "added", 2, 0), ("src/adding.py", "renamed", 0, 0)}
    renamed = next(f for f in listed if f["status"] == "renamed")
    assert renamed["previous_filename"] == "src/widgets.py"
    added = next(f for f in listed if f["status"] == "added")
    assert added["patch"] == "@@ -0,0 +1,2 @@\n+one\n+two"
    accept = {"accept": "application/vnd.github.diff"}
    text = http.get(f"{API}/pulls/{number}", headers=accept).text
    assert text.startswith("diff --git a/new b/new\n")


def test_a_comparison_tells_ahead_and_behind(world: Acme, http: httpx.Client) -> None:
    world.standin.push(REPO, "alice", "topic", {"a": "1\n"})
    world.standin.push(REPO, "alice", "topic", {"a": "2\n"})
    ahead = http.get(f"{API}/compare/main...topic").json()
    assert (ahead["status"], ahead["ahead_by"], ahead["behind_by"]) == ("ahead", 2, 0)
    world.standin.push(REPO, "alice", "main", {"b": "1\n"})
    split = http.get(f"{API}/compare/main...topic").json()
    assert (split["status"], split["ahead_by"], split["behind_by"]) == ("diverged", 2, 1)
    assert split["merge_base_commit"]["sha"] == world.head
    assert [f["filename"] for f in split["files"]] == ["a"]
    assert http.get(f"{API}/compare/topic...main~none").status_code == 404


def test_a_pull_request_follows_its_branch_and_closes_with_it(
    world: Acme, http: httpx.Client, number: int
) -> None:
    sha = world.standin.push(REPO, "alice", "topic", {"more": "1\n"})
    shown = http.get(f"{API}/pulls/{number}").json()
    assert (shown["head"]["sha"], shown["commits"]) == (sha, 2)
    world.standin.move_branch(REPO, "alice", "topic", None)
    shown = http.get(f"{API}/pulls/{number}").json()
    assert (shown["state"], shown["merged"], shown["head"]["sha"]) == ("closed", False, sha)
    assert http.patch(f"{API}/pulls/{number}", json={"state": "open"}).status_code == 422


@pytest.mark.parametrize(("method", "parents"), [("merge", 2), ("squash", 1)])
def test_only_a_person_merges(
    world: Acme, http: httpx.Client, number: int, method: str, parents: int
) -> None:
    assert http.put(f"{API}/pulls/{number}/merge").status_code == 404
    sha = world.standin.merge(REPO, number, "alice", method)
    shown = http.get(f"{API}/pulls/{number}").json()
    assert (shown["state"], shown["merged"]) == ("closed", True)
    assert shown["merge_commit_sha"] == sha == world.standin.refs(REPO)["refs/heads/main"]
    made = http.get(f"{API}/git/commits/{sha}").json()
    assert len(made["parents"]) == parents
    head = http.get(f"{API}/git/commits/{shown['head']['sha']}").json()
    assert made["tree"]["sha"] == head["tree"]["sha"]


def test_nobody_approves_the_own_pull_request(world: Acme, http: httpx.Client, number: int) -> None:
    with pytest.raises(StandinRefused, match="Can not approve your own pull request"):
        world.standin.review(REPO, number, "alice", "APPROVE")
    told = {"title": "T", "head": "own", "base": "main"}
    world.standin.push(REPO, "bob", "own", {"b": "1\n"})
    mine = http.post(f"{API}/pulls", json=told).json()["number"]
    answer = http.post(f"{API}/pulls/{mine}/reviews", json={"event": "APPROVE"})
    assert answer.status_code == 422
    assert answer.json()["message"] == "Can not approve your own pull request"


def test_reviews_keep_the_commit_that_they_are_about(
    world: Acme, http: httpx.Client, number: int
) -> None:
    first = world.standin.pull(REPO, number)["head"]["sha"]
    world.standin.push(REPO, "alice", "topic", {"more": "1\n"})
    world.standin.review(REPO, number, "bob", "APPROVE", commit_id=first)
    world.standin.review(REPO, number, "bob", "APPROVE", "Fine")
    listed = http.get(f"{API}/pulls/{number}/reviews").json()
    head = world.standin.pull(REPO, number)["head"]["sha"]
    assert [one["commit_id"] for one in listed] == [first, head]


def test_reviewers_are_collaborators(world: Acme, http: httpx.Client, number: int) -> None:
    path = f"{API}/pulls/{number}/requested_reviewers"
    for login, said in (("eve", "not a collaborator"), ("alice", "pull request author")):
        answer = http.post(path, json={"reviewers": [login]})
        assert answer.status_code == 422
        assert said in answer.json()["message"]
    assert http.post(path, json={"reviewers": ["bob"]}).status_code == 201
    assert [u["login"] for u in world.standin.pull(REPO, number)["requested_reviewers"]] == ["bob"]


def test_lists_of_pull_requests_are_filtered(world: Acme, http: httpx.Client, number: int) -> None:
    world.standin.push(REPO, "alice", "other", {"o": "1\n"})
    other = world.standin.open_pull(REPO, "alice", "other", "Other")
    world.standin.close_issue(REPO, other, "alice")

    def listed(**query: str) -> list[int]:
        return [p["number"] for p in http.get(f"{API}/pulls", params=query).json()]

    assert listed() == [number]
    assert listed(state="all") == [other, number]
    assert listed(state="all", head="acme:other") == [other]
    assert listed(head="acme:other") == []
    assert listed(base="none") == []


def test_the_latest_check_run_of_a_name_counts(world: Acme, http: httpx.Client) -> None:
    told = {"name": "evidence", "head_sha": world.head}
    for conclusion in ("failure", "success"):
        http.post(f"{API}/check-runs", json=told | {"conclusion": conclusion})
    path = f"{API}/commits/{world.head}/check-runs"
    assert [r["conclusion"] for r in http.get(path).json()["check_runs"]] == ["success"]
    every = http.get(path, params={"filter": "all"}).json()
    assert every["total_count"] == 2
    assert http.get(path, params={"check_name": "none"}).json()["check_runs"] == []


def test_statuses_combine_to_the_worst_of_the_latest(world: Acme, http: httpx.Client) -> None:
    path = f"{API}/commits/main/status"
    assert http.get(path).json()["state"] == "pending"
    for context, state in (("a", "failure"), ("b", "success")):
        world.standin.set_status(REPO, "alice", world.head, context, state)
    assert http.get(path).json()["state"] == "failure"
    world.standin.set_status(REPO, "alice", world.head, "a", "success")
    assert http.get(path).json()["state"] == "success"


def test_a_renamed_repository_is_found_by_its_id(world: Acme, http: httpx.Client) -> None:
    world.standin.configure_repo(REPO, rename="gadgets")
    moved = http.get(f"{API}/branches/main")
    assert moved.status_code == 301
    by_id = f"/repositories/{world.repo_id}"
    assert moved.headers["location"] == f"{world.standin.url}{by_id}/branches/main"
    assert http.get(moved.headers["location"]).json()["commit"]["sha"] == world.head
    assert http.get(by_id).json()["full_name"] == "acme/gadgets"


def test_an_enterprise_server_has_the_same_calls(world: Acme, http: httpx.Client) -> None:
    assert http.get(f"/api/v3{API}").json()["id"] == world.repo_id
    assert "errors" in http.post("/api/graphql", json={"query": "{"}).json()


def test_a_dismissal_takes_a_review_back_and_only_writers_dismiss(
    world: Acme, http: httpx.Client, number: int
) -> None:
    review = world.standin.review(REPO, number, "bob", "APPROVE")
    with pytest.raises(StandinRefused, match="write access to dismiss"):
        world.standin.dismiss_review(REPO, number, "bob", review)
    world.standin.dismiss_review(REPO, number, "alice", review)
    (listed,) = http.get(f"{API}/pulls/{number}/reviews").json()
    assert listed["state"] == "DISMISSED"
    with pytest.raises(StandinRefused, match="Can not dismiss"):
        world.standin.dismiss_review(REPO, number, "alice", review)
    with pytest.raises(StandinRefused, match="404"):
        world.standin.review(REPO, number, "eve", "APPROVE")  # sees no private repository


RULES = {
    "name": "r",
    "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH", "refs/heads/rel/*"], "exclude": []}},
    "rules": [
        {"type": "deletion"},
        {
            "type": "required_status_checks",
            "parameters": {
                "strict_required_status_checks_policy": False,
                "required_status_checks": [{"context": "gatekeeper"}],
            },
        },
    ],
}


def test_branch_rules_are_listed_and_a_required_check_keeps_a_merge_back(
    world: Acme, http: httpx.Client, number: int
) -> None:
    world.standin.add_ruleset(REPO, RULES)
    world.standin.add_ruleset(REPO, {**RULES, "enforcement": "disabled"})
    for branch, kinds in (
        ("main", ["deletion", "required_status_checks"]),
        ("rel/1", ["deletion", "required_status_checks"]),
        ("topic", []),
    ):
        listed = http.get(f"{API}/rules/branches/{branch}").json()
        assert [one["type"] for one in listed] == kinds
    head = world.standin.pull(REPO, number)["head"]["sha"]
    with pytest.raises(StandinRefused, match='check \\\\"gatekeeper'):
        world.standin.merge(REPO, number, "alice")
    world.standin.add_check_run(REPO, "patchwarrant", head, "gatekeeper", "action_required")
    with pytest.raises(StandinRefused, match="gatekeeper"):
        world.standin.merge(REPO, number, "alice")
    world.standin.add_check_run(REPO, "patchwarrant", head, "gatekeeper", "success")
    world.standin.merge(REPO, number, "alice")


def test_the_pull_requests_of_a_commit(world: Acme, http: httpx.Client, number: int) -> None:
    head = world.standin.pull(REPO, number)["head"]["sha"]
    world.standin.move_branch(REPO, "alice", "twin", head)
    twin = world.standin.open_pull(REPO, "alice", "twin", "Twin")
    found = http.get(f"{API}/commits/{head}/pulls").json()
    assert sorted(one["number"] for one in found) == [number, twin]
    assert {one["head"]["sha"] for one in found} == {head}
    assert http.get(f"{API}/commits/{world.head}/pulls").json() == []
    assert http.get(f"{API}/commits/{'0' * 40}/pulls").status_code == 422
    world.standin.move_branch(REPO, "alice", "rel", world.head)
    world.standin.rebase_pull(REPO, twin, "alice", "rel")
    assert http.get(f"{API}/pulls/{twin}").json()["base"]["ref"] == "rel"
