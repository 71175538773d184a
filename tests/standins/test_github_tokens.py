"""The GitHub stand-in enforces who asks, for what, and how long."""

from __future__ import annotations

import time
from typing import Any

import httpx
import jwt
import pytest
from githubkit.exception import RequestFailed

from tests.standins.github.client import new_key
from tests.standins.github_world import EVERYTHING, REPO, Acme


def signed(world: Acme, key: str | None = None, **changed: Any) -> str:
    now = int(time.time())
    claims = {"iss": str(world.app.app_id), "iat": now - 60, "exp": now + 540} | changed
    return jwt.encode(claims, key or world.app.private_key, "RS256")


def ask(world: Acme, secret: str, path: str = "/app") -> httpx.Response:
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx.get(world.standin.url + path, headers=headers, trust_env=False)


def test_an_app_is_known_by_its_signature(world: Acme) -> None:
    assert ask(world, signed(world)).json()["slug"] == "patchwarrant"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"iat": 300}, "'Issued at'"),
        ({"exp": -5}, "'Expiration time' claim ('exp') must be"),
        ({"exp": 3600}, "too far in the future"),
        ({"iss": "999999999"}, "Integration not found"),
    ],
)
def test_a_bad_assertion_is_refused(world: Acme, changed: dict[str, Any], said: str) -> None:
    now = int(time.time())  # not when tests are collected: the last of them begin much later
    claims = {key: now + by if isinstance(by, int) else by for key, by in changed.items()}
    answer = ask(world, signed(world, **claims))
    assert answer.status_code == 401
    assert said in answer.json()["message"]


@pytest.mark.parametrize("secret", ["x", "nonsense", "a.b.c", "ghs_1_x.y.z"])
def test_nonsense_is_no_assertion(world: Acme, secret: str) -> None:
    assert ask(world, secret).status_code == 401


def test_another_key_is_refused(world: Acme) -> None:
    assert ask(world, signed(world, key=new_key()[0])).status_code == 401


def test_a_token_has_the_new_format_and_says_what_it_grants(world: Acme) -> None:
    app = world.as_app()
    made = app.rest.apps.create_installation_access_token(
        world.installation,
        repository_ids=[world.repo_id],
        permissions={"contents": "read"},
    )
    assert made.status_code == 201
    body = made.json()
    assert body["token"].startswith(f"ghs_{world.app.app_id}_")
    assert len(body["token"]) > 450
    assert body["permissions"] == {"metadata": "read", "contents": "read"}
    assert body["repository_selection"] == "selected"
    assert [r["id"] for r in body["repositories"]] == [world.repo_id]
    assert made.parsed_data.token == body["token"]


def test_no_permissions_asked_means_all_of_the_installation(world: Acme) -> None:
    world.mint()
    assert world.standin.tokens()[-1]["permissions"] == EVERYTHING


@pytest.mark.parametrize(
    "body",
    [
        {"permissions": {"administration": "write"}},
        {"permissions": {"contents": "admin"}},
        {"permissions": {"contents": "sometimes"}},
        {"repository_ids": [1]},
        {"repositories": ["other"]},
    ],
)
def test_more_than_the_installation_holds_is_422(world: Acme, body: dict[str, Any]) -> None:
    app = world.as_app()
    path = f"/app/installations/{world.installation}/access_tokens"
    with pytest.raises(RequestFailed) as failed:
        app.request("POST", path, json=body)
    assert failed.value.response.status_code == 422


def test_a_revoked_token_is_dead(world: Acme) -> None:
    gh = world.kit(metadata="read")
    assert gh.rest.repos.get("acme", "widgets").status_code == 200
    assert gh.rest.apps.revoke_installation_access_token().status_code == 204
    with pytest.raises(RequestFailed) as failed:
        gh.rest.repos.get("acme", "widgets")
    assert failed.value.response.status_code == 401
    assert failed.value.response.json()["message"] == "Bad credentials"


def test_an_expired_token_is_dead(world: Acme) -> None:
    with world.rest() as http:
        assert world.standin.expire_tokens() == 1
        assert http.get(f"/repos/{REPO}").status_code == 401


def test_a_missing_permission_is_403_with_what_would_do(world: Acme) -> None:
    with world.rest(contents="read") as http:
        answer = http.post(f"/repos/{REPO}/git/blobs", json={"content": "x"})
    assert answer.status_code == 403
    assert answer.json()["message"] == "Resource not accessible by integration"
    assert answer.headers["x-accepted-github-permissions"] == "contents=write"


def test_pull_requests_alone_may_comment_on_a_pull_but_not_on_an_issue(world: Acme) -> None:
    hub = world.standin
    issue = hub.open_issue(REPO, "eve", "Broken")
    hub.push(REPO, "alice", "topic", {"a": "1\n"})
    pull = hub.open_pull(REPO, "alice", "topic", "Fix")
    with world.rest(pull_requests="write") as http:
        assert http.post(f"/repos/{REPO}/issues/{pull}/comments", json={"body": "x"}).is_success
        path = f"/repos/{REPO}/issues/{issue}/comments"
        assert http.post(path, json={"body": "x"}).status_code == 403


def test_a_repository_outside_the_token_does_not_exist(world: Acme) -> None:
    world.standin.create_repo("acme/secret")
    with world.rest() as http:
        assert http.get("/repos/acme/secret").status_code == 404
        assert http.get("/repos/acme/none").status_code == 404
        assert http.get("/nothing/here/at/all").json()["message"] == "Not Found"


def test_a_suspended_installation_gives_and_takes_nothing(world: Acme) -> None:
    with world.rest() as http:
        world.standin.suspend(world.installation)
        answer = http.get(f"/repos/{REPO}")
        assert (answer.status_code, answer.json()["message"]) == (
            403,
            "This installation has been suspended",
        )
        with pytest.raises(RequestFailed) as failed:
            world.mint()
        assert failed.value.response.status_code == 403
        world.standin.suspend(world.installation, suspended=False)
        assert http.get(f"/repos/{REPO}").status_code == 200


def test_an_uninstalled_app_is_unknown(world: Acme) -> None:
    with world.rest() as http:
        world.standin.uninstall(world.installation)
        assert http.get(f"/repos/{REPO}").status_code == 401
    assert ask(world, signed(world), f"/repos/{REPO}/installation").status_code == 404


def test_the_extra_grant_switch_gives_more_than_asked_once(world: Acme) -> None:
    other = world.standin.create_repo("acme/other")
    world.standin.extra_grant(
        world.installation, permissions={"actions": "write"}, repositories=["acme/other"]
    )
    world.mint(contents="read")
    world.mint(contents="read")
    extra, plain = world.standin.tokens()[-2:]
    assert extra["permissions"]["actions"] == "write"
    assert extra["repositories"] == sorted([world.repo_id, other["id"]])
    assert plain["permissions"] == {"metadata": "read", "contents": "read"}


def test_the_log_names_the_token_but_never_tells_it(world: Acme) -> None:
    token = world.mint(issues="read")
    world.standin.clear_log()
    with world.with_token(token) as http:
        http.get(f"/repos/{REPO}/issues/1")
    (entry,) = world.standin.log()
    assert entry["token"] == "token-1"
    assert entry["permissions"] == {"metadata": "read", "issues": "read"}
    assert (entry["method"], entry["path"], entry["status"]) == (
        "GET",
        f"/repos/{REPO}/issues/1",
        404,
    )
    assert token not in str(world.standin.log())


def test_each_answer_carries_the_rate_limit(world: Acme) -> None:
    with world.rest() as http:
        first, second = http.get(f"/repos/{REPO}"), http.get(f"/repos/{REPO}")
    left = [int(a.headers["x-ratelimit-remaining"]) for a in (first, second)]
    assert left[0] - left[1] == 1
    assert int(second.headers["x-ratelimit-reset"]) > time.time()
