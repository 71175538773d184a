"""A full disk is waited for: a real small file system, filled to its last byte."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.domain.edit import FILE, Change
from app.domain.errors import Missing, Refused, Unavailable
from tests.worker.runner.repository.plumbing import EMPTY
from worker.runner.repository import Store
from worker.runner.repository.mirror import on_disk

BYTES = os.urandom(50_000)
WANTED = (Change("a.bin", FILE, hashlib.sha256(BYTES).hexdigest()),)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of six megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)]
    try:
        subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"nothing can be mounted here: {error}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> Path:
    """A file that takes all that is left."""
    with suppress(OSError), (place / "fill").open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    return place / "fill"


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
