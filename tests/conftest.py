"""Fixtures for every test: a real Redis, empty at the start of each test that asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from redis import Redis

from tests.redis_server import Server, redis_server

# What waits most goes first, so that no worker of xdist is left alone with it at the end.
FIRST = ("tests/e2e/", "tests/crash/", "tests/hostile/", "tests/compat/", "tests/worker/sandbox/")

# How long an example takes says more about the machine's load than about the code: that is for
# scripts/bench. The same code meets the same examples; PATCHWARRANT_SEARCH=1 looks for others.
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=not os.environ.get("PATCHWARRANT_SEARCH"),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The order of files; inside one nothing changes."""
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


@pytest.fixture(scope="session")
def redis_process() -> Iterator[Server]:
    """One durable server for the whole test run (one a worker of xdist)."""
    with redis_server() as server:
        yield server


@pytest.fixture
def redis(redis_process: Server) -> Iterator[Redis]:
    """A client (bytes) of an empty server; `redis_process.url` is its address."""
    with redis_process.client() as client:
        client.flushall()
        yield client
