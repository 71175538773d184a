"""Faults on demand: each kind does what it says, to the request that it names and no other."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
import pytest
from githubkit.exception import PrimaryRateLimitExceeded, SecondaryRateLimitExceeded

from tests.standins.github import StandinRefused
from tests.standins.github_world import REPO, Acme

PATH = f"/repos/{REPO}/git/refs"
READ = f"/repos/{REPO}/git/ref/heads/topic"


@pytest.fixture
def http(world: Acme) -> Iterator[httpx.Client]:
    with world.rest() as client:
        yield client


def create(world: Acme, http: httpx.Client, branch: str = "topic") -> httpx.Response:
    return http.post(PATH, json={"ref": f"refs/heads/{branch}", "sha": world.head})


def exists(world: Acme, branch: str = "topic") -> bool:
    return f"refs/heads/{branch}" in world.standin.refs(REPO)


def test_a_status_comes_instead_of_the_effect(world: Acme, http: httpx.Client) -> None:
    world.standin.fault("status", r"/git/refs$", method="POST", status=503, body={"message": "no"})
    answer = create(world, http)
    assert (answer.status_code, answer.json()) == (503, {"message": "no"})
    assert not exists(world)
    assert create(world, http).status_code == 201
    assert world.standin.faults()[0]["fired"] == 1


def test_the_nth_request_is_hit_as_often_as_said(world: Acme, http: httpx.Client) -> None:
    world.standin.fault("status", f"^/repos/{REPO}$", nth=2, times=2, status=500)
    got = [http.get(f"/repos/{REPO}").status_code for _ in range(4)]
    assert got == [200, 500, 500, 200]


def test_a_dropped_request_has_no_effect_and_no_answer(world: Acme, http: httpx.Client) -> None:
    world.standin.fault("drop", r"/git/refs$")
    with pytest.raises(httpx.RemoteProtocolError):
        create(world, http)
    assert not exists(world)


@pytest.mark.parametrize("kind", ["do_then_drop", "do_then_status"])
def test_an_effect_can_happen_unheard(world: Acme, http: httpx.Client, kind: str) -> None:
    world.standin.fault(kind, r"/git/refs$")
    if kind == "do_then_drop":
        with pytest.raises(httpx.RemoteProtocolError):
            create(world, http)
    else:
        assert create(world, http).status_code == 502
    assert exists(world)
    assert create(world, http).json()["message"] == "Reference already exists"


def test_a_delay_only_delays(world: Acme, http: httpx.Client) -> None:
    world.standin.fault("delay", r"/git/refs$", seconds=0.3)
    start = time.monotonic()
    assert create(world, http).status_code == 201
    assert time.monotonic() - start >= 0.3


def test_a_late_answer_is_about_work_that_was_done_at_once(world: Acme) -> None:
    world.standin.fault("late", r"/git/refs$", seconds=30)
    with world.rest() as client, pytest.raises(httpx.ReadTimeout):
        told = {"ref": "refs/heads/topic", "sha": world.head}
        client.post(PATH, json=told, timeout=2)
    assert exists(world)


def test_a_flipped_digit_is_only_in_the_answer(world: Acme, http: httpx.Client) -> None:
    path = f"/repos/{REPO}/git/blobs"
    honest = http.post(path, json={"content": "x"}).json()["sha"]
    world.standin.fault("flip", r"/git/blobs$")
    flipped = http.post(path, json={"content": "x"}).json()["sha"]
    assert len(flipped) == 40
    assert sum(a != b for a, b in zip(honest, flipped, strict=True)) == 1
    assert http.get(f"{path}/{flipped}").status_code == 404
    assert http.post(path, json={"content": "x"}).json()["sha"] == honest


def test_the_limits_are_the_ones_that_githubkit_knows(world: Acme) -> None:
    gh = world.kit(metadata="read")
    world.standin.fault("rate_primary", f"^/repos/{REPO}$", seconds=90)
    with pytest.raises(PrimaryRateLimitExceeded) as primary:
        gh.rest.repos.get("acme", "widgets")
    assert 60 < primary.value.retry_after.total_seconds() <= 90
    world.standin.fault("rate_secondary", f"^/repos/{REPO}$", retry_after=7)
    with pytest.raises(SecondaryRateLimitExceeded) as secondary:
        gh.rest.repos.get("acme", "widgets")
    assert secondary.value.retry_after.total_seconds() == 7


def test_a_secondary_limit_can_come_without_a_time(world: Acme, http: httpx.Client) -> None:
    world.standin.fault("rate_secondary", f"^/repos/{REPO}$")
    answer = http.get(f"/repos/{REPO}")
    assert answer.status_code == 403
    assert "retry-after" not in answer.headers
    assert "secondary rate limit" in answer.json()["message"]


def test_what_was_made_can_lag(world: Acme, http: httpx.Client) -> None:
    world.standin.fault("read_lag", r"/git/refs$", method="POST", reads=2)
    assert create(world, http).status_code == 201
    assert [http.get(READ).status_code for _ in range(3)] == [404, 404, 200]


def test_a_list_can_lag_behind_what_was_made(world: Acme, http: httpx.Client) -> None:
    number = world.standin.open_issue(REPO, "eve", "T")
    path = f"/repos/{REPO}/issues/{number}/comments"
    world.standin.fault("read_lag", r"/comments$", method="POST", reads=1)
    http.post(path, json={"body": "x"})
    assert [len(http.get(path).json()) for _ in range(2)] == [0, 1]


def test_git_can_be_hit_as_well(world: Acme, http: httpx.Client) -> None:
    world.standin.fault("status", r"\.git/info/refs$", status=500)
    assert http.get(f"/{REPO}.git/info/refs?service=git-upload-pack").status_code == 500
    assert world.standin.log()[-1]["fault"] == "status"


def test_a_fault_that_does_not_exist_is_refused(world: Acme) -> None:
    with pytest.raises(StandinRefused, match="no fault 'explode'"):
        world.standin.fault("explode", ".")
    with pytest.raises(StandinRefused, match="400"):
        world.standin.fault("drop", "(")
