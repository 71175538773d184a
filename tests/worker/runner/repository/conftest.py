"""A store in a folder of its own, and the git program looking at the same objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worker.runner.repository.plumbing import Git
from worker.runner.repository import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stores" / "7.git"


@pytest.fixture
def store(path: Path) -> Store:
    return Store(path)


@pytest.fixture
def git(store: Store, path: Path) -> Git:
    return Git(path)
