"""Object stores go when their installation is gone or they were not used for long."""

from __future__ import annotations

import os
from pathlib import Path

from worker.runner.repository.tidy import LOCK, tidy


def stores(root: Path, *numbers: int, at: float = 1_000_000) -> None:
    for number in numbers:
        place = root / f"{number}.git"
        place.mkdir()
        (place / LOCK).touch()
        os.utime(place / LOCK, (at, at))


def names(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()}


def test_gone_and_unused_stores_are_deleted_and_needed_ones_stay(tmp_path: Path) -> None:
    stores(tmp_path, 1, 2, 3)
    stores(tmp_path, 4, 5, at=10)
    (tmp_path / "not-ours.git").mkdir()
    (tmp_path / "6.git").mkdir()  # being made: nothing was fetched into it yet
    found = tidy(tmp_path, {2, 3, 9}, lambda number: number in (3, 5), older=1_000)
    assert found == 2
    assert names(tmp_path) == {"1.git", "3.git", "5.git", "6.git", "not-ours.git"}
