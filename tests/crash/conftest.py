"""One world for the tests that put single faults into runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crash.case import Bench
from tests.crash.matrix import bench
from tests.crash.stories import STORIES, TEN_TURNS
from worker.runner.repository import mirror


@pytest.fixture(scope="session")
def made() -> Iterator[Bench]:
    patience = mirror.LOCK_SECONDS  # an office in this process shortens it
    with bench({"fix": STORIES["fix"], TEN_TURNS.name: TEN_TURNS}) as (one, _points):
        yield one
    mirror.LOCK_SECONDS = patience
