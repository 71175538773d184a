"""A real small file system, and a way to fill it to its last byte."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of six megabytes at `place`; skips the test where nothing can be mounted."""
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)]
    try:
        subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"nothing can be mounted here: {error}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> Path:
    """A file that takes all that is left."""
    with suppress(OSError), (place / "fill").open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    return place / "fill"
