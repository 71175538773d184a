"""A full disk is waited for: a real small file system, filled to its last byte."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.edit import FILE, Change
from app.domain.errors import Missing, Refused, Unavailable
from tests.small_disk import fill, small_disk
from tests.worker.runner.repository.plumbing import EMPTY
from worker.runner.repository import Store
from worker.runner.repository.mirror import on_disk

BYTES = os.urandom(50_000)
WANTED = (Change("a.bin", FILE, hashlib.sha256(BYTES).hexdigest()),)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "small") as place:
        yield place


def test_what_cannot_be_written_is_waited_for_and_done_once_there_is_room(small: Path) -> None:
    store = Store(small / "1.git")
    base = str(store._repo.TreeBuilder().write())
    assert base == EMPTY
    filled = fill(small)
    with pytest.raises(Unavailable, match=r"disk is full .* PATCHWARRANT_STATE"):
        store.build(base, WANTED, lambda _: BYTES)
    with pytest.raises(Unavailable, match="The runner's disk is full"):
        Store(small / "2.git")
    filled.unlink()
    other = Store(small / "2.git")
    other._repo.TreeBuilder().write()
    built = {one.build(base, WANTED, lambda _: BYTES) for one in (store, other)}
    assert len(built) == 1
    assert store.read(built.pop(), "a.bin") == BYTES


@pytest.mark.parametrize("error", [Refused("no"), Missing("gone"), OSError("odd")])
def test_what_fails_with_room_on_the_disk_stays_what_it_is(
    tmp_path: Path, error: Exception
) -> None:
    with pytest.raises(type(error), match=str(error)), on_disk(tmp_path / "not" / "there"):
        raise error
