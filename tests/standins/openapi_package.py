"""GitHub's whole description of its REST API, from a package pinned by version and hash.

It is fetched by npm when a test asks for it, kept in pytest's own cache, and compared with its hash
every time. Where npm or the network is missing, the test skips with the reason.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest

NAME = "@octokit/openapi"
VERSION = "23.0.2"
INTEGRITY = (
    "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3"
    "D7gZXbFx5AHzLUVRBXGDhg=="
)
MEMBER = "package/generated/api.github.com.json"
PATIENCE = 240.0  # seconds for about 29 MB


def whole(cache: Path) -> dict[str, Any]:
    """The description. Skips where it cannot be had; fails where it is not the pinned one."""
    archive = cache / f"openapi-{VERSION}.tgz"
    if not archive.is_file() or integrity(archive) != INTEGRITY:
        fetch(archive)
    with tarfile.open(archive) as tar:
        found = tar.extractfile(MEMBER)
        assert found is not None
        spec: dict[str, Any] = json.load(found)
    return spec


def fetch(archive: Path) -> None:
    """Put the package at `archive`, whole or not at all."""
    if shutil.which("npm") is None:
        pytest.skip(f"npm is not here, and it gives {NAME}, GitHub's description of its API")
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        words = ["npm", "pack", "--silent", f"{NAME}@{VERSION}"]
        try:
            done = subprocess.run(
                words, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not give {NAME} within {PATIENCE:.0f} s")
        if done.returncode:
            pytest.skip(f"npm does not give {NAME}: {done.stderr[-300:]}")
        (fetched,) = Path(folder).glob("*.tgz")
        found = integrity(fetched)
        assert found == INTEGRITY, f"{NAME} {VERSION} is not the file that was pinned: {found}"
        fetched.replace(archive)


def integrity(file: Path) -> str:
    """A file's hash as npm writes it."""
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha512").digest()
    return f"sha512-{base64.b64encode(digest).decode()}"
