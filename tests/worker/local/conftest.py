"""The GitHub stand-in for tests of local commands, emptied for each test that asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.standins.github import GitHubStandin
from tests.standins.github_world import Acme, acme


@pytest.fixture(scope="session")
def standin() -> Iterator[GitHubStandin]:
    with GitHubStandin() as hub:
        yield hub


@pytest.fixture
def world(standin: GitHubStandin) -> Acme:
    standin.reset()
    return acme(standin)
