"""A pinned package's files, by the ordinary client of its kind; skips where that has no answer."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.domain.edit import EXECUTABLE, FILE
from app.domain.repo_config import CONFIG_PATH
from tests.compat.packages import Package

Files = dict[str, bytes | tuple[int, bytes]]


def files_of(package: Package, place: Path) -> Files:
    """The repository's files. Fails where what came is not what was pinned."""
    archive = FETCH[package.kind](package, place)
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert found == package.sha256, f"{package.name} is not the file that was pinned: {found}"
    files = _unpacked(archive, package)
    if package.config:
        files[CONFIG_PATH] = package.config
    return files


def _ran(words: Sequence[str], place: Path, package: Package) -> None:
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{words[0]} does not give {package.name}: {done.stderr[-300:]}")


def _one(place: Path, *globs: str) -> Path:
    found = [path for glob in globs for path in place.glob(glob)]
    if not found:
        pytest.skip(f"nothing was fetched into {place}")
    return found[0]


def _sdist(package: Package, place: Path) -> Path:
    """pip wants metadata as well, which not every old build system gives: the file is enough."""
    pins = place / "pins.txt"
    pins.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    words += ["--require-hashes", "-r", str(pins), "-d", str(place)]
    subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    return _one(place, "*.tar.gz")


def _npm(package: Package, place: Path) -> Path:
    _ran(["npm", "pack", "--silent", f"{package.name}@{package.version}"], place, package)
    return _one(place, "*.tgz")


def _deb(package: Package, place: Path) -> Path:
    _ran(["apt-get", "download", "-qq", f"{package.name}={package.version}"], place, package)
    return _one(place, "*.deb")


def _source(package: Package, place: Path) -> Path:
    """The upstream tar of a source package, from the mirror that apt is set to."""
    shape = "$(CREATED_BY)|$(REPO_URI)|$(CODENAME)|$(COMPONENT)"
    asked = subprocess.run(
        ["apt-get", "indextargets", "--format", shape], capture_output=True, text=True, check=False
    )
    lines = {
        f"deb-src {uri} {name} main"
        for made, uri, name, part in (line.split("|") for line in asked.stdout.splitlines())
        if made == "Packages" and part == "main" and "-" not in name
    }
    (place / "lists").mkdir()
    (place / "sources.list").write_text("\n".join(lines) + "\n")
    options = ["-o", f"Dir::Etc::sourcelist={place}/sources.list", "-o", "Dir::Etc::sourceparts=-"]
    options += ["-o", f"Dir::State::lists={place}/lists"]
    _ran(["apt-get", *options, "-qq", "update"], place, package)
    wanted = f"{package.name}={package.version}"
    _ran(["apt-get", *options, "-qq", "--download-only", "source", wanted], place, package)
    return _one(place, "*.orig.tar.*")


FETCH = {"sdist": _sdist, "npm": _npm, "deb": _deb, "source": _source}


def _unpacked(archive: Path, package: Package) -> Files:
    data = archive.read_bytes()
    if package.kind == "deb":
        words = ["dpkg-deb", "--fsys-tarfile", str(archive)]
        data = subprocess.run(words, capture_output=True, check=True).stdout
    files: Files = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            path = os.path.normpath(member.name)
            inside = package.inside or path.partition("/")[0]
            source = tar.extractfile(member) if member.isreg() else None
            if source is not None and path.startswith(f"{inside}/"):
                mode = EXECUTABLE if member.mode & 0o100 else FILE
                files[path.removeprefix(f"{inside}/")] = (mode, source.read())
    return files
