"""Fixtures of the stand-ins' own tests."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.shared_data import shared_dir
from tests.standins import openapi_package
from tests.standins.github import GitHubStandin
from tests.standins.github_world import Acme, acme
from tests.standins.openapi import Description


@pytest.fixture(scope="session")
def github() -> Iterator[GitHubStandin]:
    """One GitHub stand-in for all tests of a process."""
    with GitHubStandin() as standin:
        yield standin


@pytest.fixture
def world(github: GitHubStandin) -> Acme:
    """The small ready-made world, fresh for each test."""
    github.reset()
    return acme(github)


@pytest.fixture
def subset() -> Description:
    """GitHub's description of the operations that an App like ours calls."""
    file = shared_dir() / "data" / "openapi-subset.json"
    if not file.is_file():
        pytest.skip("GitHub's description (data/openapi-subset.json) is missing")
    return Description(json.loads(file.read_text()))


@pytest.fixture
def whole(request: pytest.FixtureRequest) -> Description:
    """GitHub's description of everything, fetched once and kept."""
    return Description(openapi_package.whole(request.config.cache.mkdir("octokit-openapi")))
