"""What a wheel must hold: every file that the code reads beside itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.shared_data import REPOSITORY

BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
READ = "from worker.sandbox.image import RECIPE, recipe_hash; print(RECIPE, recipe_hash(RECIPE))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("setuptools", minversion="77", reason="no setuptools to build with")
    place = tmp_path_factory.mktemp("tree")
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in ("app", "worker"):
        shutil.copytree(REPOSITORY / folder, place / folder, ignore=left_out)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, place / name)
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-c", BUILD, str(out)], cwd=place, check=True, capture_output=True
    )
    (made,) = out.glob("*.whl")
    return zipfile.ZipFile(made)


def test_every_file_beside_the_code_is_in_it(wheel: zipfile.ZipFile) -> None:
    held = set(wheel.namelist())
    wanted = {
        path.relative_to(REPOSITORY).as_posix()
        for folder in ("app", "worker")
        for path in (REPOSITORY / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path)
    }
    assert {"worker/sandbox/recipe/Dockerfile", "worker/__main__.py"} <= wanted
    assert wanted - held == set()


def test_the_sandbox_finds_its_recipe_there(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    words = [sys.executable, "-c", READ]
    done = subprocess.run(
        words, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))
