"""Odd values in otherwise right requests: the GitHub stand-in refuses, and never fails itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.standins.github import GitHubStandin
from tests.standins.github_world import REPO, Acme, acme

API = f"/repos/{REPO}"
ODD: tuple[Any, ...] = (
    "",
    " ",
    "\0",
    "a\0b",
    "../x",
    "é\u2028\n",
    "x" * 70_000,
    "-0001-01-01",
    "9999-12-31T23:59:59-23:59",
    None,
    -1,
    10**40,
    1.5,
    True,
    [],
    [None],
    [[]],
    {},
    {"": None},
)
WHO = {"name": "A", "email": "a@example.com", "date": "2026-01-01T00:00:00Z"}
ENTRY = {"path": "a/b", "mode": "100644", "type": "blob", "content": "x"}
LINE = {"path": "a", "body": "x", "line": 1, "side": "RIGHT"}
OUTPUT = {"title": "t", "summary": "s", "text": "x", "annotations": []}
DATES = {"started_at": "2026-01-01T00:00:00Z", "completed_at": "2026-01-01T00:00:00Z"}


def requests(head: str, tree: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Right requests, one or more of each writing call."""
    run = {"name": "n", "head_sha": head, "status": "completed", "conclusion": "success"}
    return [
        ("POST", f"{API}/git/blobs", {"content": "eA==", "encoding": "base64"}),
        ("POST", f"{API}/git/trees", {"base_tree": tree, "tree": [ENTRY]}),
        ("POST", f"{API}/git/trees", {"tree": [ENTRY | {"sha": tree, "mode": "040000"}]}),
        (
            "POST",
            f"{API}/git/commits",
            {"message": "m", "tree": tree, "parents": [head], "author": WHO, "committer": WHO},
        ),
        ("POST", f"{API}/git/refs", {"ref": "refs/heads/new", "sha": head}),
        ("PATCH", f"{API}/git/refs/heads/topic", {"sha": head, "force": True}),
        ("POST", f"{API}/issues/1/comments", {"body": "x"}),
        ("POST", f"{API}/issues/1/labels", {"labels": ["bug", {"name": "other"}]}),
        ("POST", f"{API}/issues/1/reactions", {"content": "eyes"}),
        ("POST", f"{API}/issues/1/assignees", {"assignees": ["alice"]}),
        ("POST", f"{API}/labels", {"name": "n", "color": "ffffff", "description": "d"}),
        ("PATCH", f"{API}/pulls/2", {"title": "T", "body": "b", "state": "open"}),
        (
            "POST",
            f"{API}/pulls/2/reviews",
            {"event": "COMMENT", "body": "x", "commit_id": head, "comments": [LINE]},
        ),
        ("POST", f"{API}/pulls/2/requested_reviewers", {"reviewers": ["bob"]}),
        (
            "POST",
            f"{API}/pulls",
            {"title": "T", "head": "topic", "base": "main", "body": "b", "draft": True},
        ),
        ("POST", f"{API}/check-runs", run | DATES | {"external_id": "x", "output": OUTPUT}),
        (
            "POST",
            f"{API}/statuses/{head}",
            {"state": "success", "context": "c", "description": "d", "target_url": "u"},
        ),
        ("POST", "/graphql", {"query": "mutation { x(a: 1) { y } }", "variables": {"a": "b"}}),
    ]


def spoilt(body: Any) -> Iterator[Any]:
    """The body with each of its values, at any depth, replaced by each odd one."""
    if isinstance(body, dict):
        for key, value in body.items():
            yield from (body | {key: odd} for odd in ODD)
            yield from (body | {key: inner} for inner in spoilt(value))
    elif isinstance(body, list):
        for at, value in enumerate(body):
            yield from ([*body[:at], inner, *body[at + 1 :]] for inner in (*ODD, *spoilt(value)))


@pytest.fixture
def busy(github: GitHubStandin) -> Acme:
    """Issue 1, pull request 2."""
    github.reset()
    world = acme(github)
    github.open_issue(REPO, "eve", "T", labels=["bug"])
    github.push(REPO, "alice", "topic", {"a": "1\n"})
    github.open_pull(REPO, "alice", "topic", "Fix")
    return world


def test_each_odd_value_gets_an_answer(busy: Acme) -> None:
    with busy.rest() as http:
        tree = http.get(f"{API}/git/commits/{busy.head}").json()["tree"]["sha"]
        told, statuses = 0, set()
        for method, path, body in requests(busy.head, tree):
            for odd in spoilt(body):
                answer = http.request(method, path, content=json.dumps(odd).encode())
                assert answer.status_code < 500, f"{method} {path} {str(odd)[:300]}"
                told += 1
                statuses.add(answer.status_code)
    assert told > 1000
    assert {200, 201, 422} <= statuses


@pytest.mark.parametrize(
    "path",
    [
        f"{API}/contents/%00",
        f"{API}/contents/a%2F..%2Fb",
        f"{API}/contents/a?ref=%00",
        f"{API}/branches/%00",
        f"{API}/branches/..",
        f"{API}/compare/%00...main",
        f"{API}/compare/main",
        f"{API}/git/ref/%00",
        f"{API}/git/trees/%00",
        f"{API}/git/commits/zz",
        f"{API}/commits/%FF/status",
        f"{API}/issues/99999999999999999999",
        f"{API}/issues/1/labels/%00",
        f"{API}/issues/1/comments?per_page=x&page=-3",
        f"{API}/issues/1/comments?page=999999999999",
        f"{API}/collaborators/%00/permission",
        "/repositories/0/x",
        f"/{REPO}/blob/%00/x",
        f"/{REPO}.git/HEAD",
        f"/{REPO}.git/info/refs",
        f"/{REPO}.git/../../x",
    ],
)
def test_odd_paths_get_an_answer(busy: Acme, path: str) -> None:
    with busy.rest() as http:
        assert http.get(path).status_code < 500
