"""Deletes object stores that nobody needs: of removed installations, and long unused ones."""

from __future__ import annotations

import fcntl
import logging
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

LOCK = "patchwarrant.lock"  # every fetch opens it anew, so its time is that of the last fetch
log = logging.getLogger(__name__)


def tidy(
    root: Path,
    gone: Collection[int],
    needed: Callable[[int], bool],
    *,
    older: float,
) -> int:
    """Delete the stores below `root` of repositories in `gone`, and those last used before `older`
    (epoch seconds); how many went. `needed` says whether a run on that repository has not ended,
    asked while no fetch goes on."""
    count = 0
    for path in sorted(root.glob("*.git")):
        if not path.stem.isdecimal() or path.is_symlink():
            continue
        repository, lock = int(path.stem), path / LOCK
        if not lock.exists() or (repository not in gone and lock.stat().st_mtime >= older):
            continue
        with lock.open("r") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if needed(repository):
                continue
            shutil.rmtree(path, ignore_errors=True)
        log.info("the object store of repository %d was deleted", repository)
        count += 1
    return count
