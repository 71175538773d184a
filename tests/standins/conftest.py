"""Fixtures of the stand-ins' own tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.standins.github import GitHubStandin
from tests.standins.github_world import Acme, acme


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
