"""Source distributions of real packages, pinned by hash, fetched at test time, never committed."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Sdist:
    """A source distribution: its name, version and SHA-256."""

    name: str
    version: str
    sha256: str

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"


BOLTONS_OLD = Sdist(
    "boltons", "26.0.0", "5566d6cfd5a1e873d8e8476496287a9f92979964611ad9a9cecb6b0ef29b1edd"
)
BOLTONS_NEW = Sdist(
    "boltons", "26.1.0", "5764468aba493b15995ed17f46a16789023f123ca2a62d491a9ce825c1cbe26c"
)
TOOLZ_OLD = Sdist(
    "toolz", "1.0.0", "2c86e3d9a04798ac556793bced838816296a2f085017664e4995cb40a1047a02"
)
TOOLZ_NEW = Sdist(
    "toolz", "1.1.0", "27a5c770d068c110d9ed9323f24f1543e83b2f300a687b7891c1a6d56b697b5b"
)


def unpacked(sdist: Sdist, place: Path) -> Path:
    """The folder of an unpacked source distribution. Skips where no package index answers."""
    pins = place / f"{sdist.folder}.txt"
    pins.write_text(f"{sdist.name}=={sdist.version} --hash=sha256:{sdist.sha256}\n")
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    words += ["--require-hashes", "-r", str(pins), "-d", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    archive = place / f"{sdist.folder}.tar.gz"
    if not archive.exists():
        if "do not match the hashes" in done.stderr or "HASHES" in done.stderr:
            pytest.fail(f"{sdist.folder} is not the file that was pinned")
        pytest.skip(f"no package index gives {sdist.folder}: {done.stderr[-300:]}")
    with tarfile.open(archive) as tar:
        tar.extractall(place, filter="data")
    return place / sdist.folder
