"""Images made and refused by a real engine; nothing is pulled."""

from __future__ import annotations

import io
import tarfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from app.domain.errors import Missing, Refused
from tests.worker.sandbox.running import engine_or_skip
from worker.sandbox import keeper, selftest
from worker.sandbox.cell import Maker
from worker.sandbox.engine import Engine
from worker.sandbox.image import REPOSITORY, Images, ensure_default, recipe_hash

pytestmark = pytest.mark.docker

Recipe = Callable[[str], Path]


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine_or_skip()
    with Engine() as opened:
        yield opened


@pytest.fixture
def recipe(tmp_path: Path, engine: Engine) -> Iterator[Recipe]:
    """Makes recipes on top of the default image; what was built from them is removed."""
    made: list[Path] = []
    parent = ensure_default(engine, lambda _: None)

    def make(lines: str) -> Path:
        folder = tmp_path / uuid.uuid4().hex
        folder.mkdir()
        text = f"FROM {parent}\nLABEL test={folder.name}\n{lines}"
        (folder / "Dockerfile").write_text(text, encoding="utf-8")
        (folder / "packages.txt").write_text("", encoding="utf-8")
        made.append(folder)
        return folder

    yield make
    api = docker.APIClient(version="auto")
    for folder in made:
        api.remove_image(f"{REPOSITORY}:{recipe_hash(folder)}", force=True)
    api.close()


def images(engine: Engine, *allowed: str) -> Images:
    me = keeper.owner(Path("image-tests"), 1)
    maker = Maker.of(engine, str(me), lambda: 4e9)
    return Images(engine, allowed, lambda _: None, lambda image: selftest.probe(maker, image))


def test_an_image_is_built_once_with_words_on_the_way(
    engine: Engine, recipe: Recipe, tmp_path: Path
) -> None:
    said: list[str] = []
    folder = recipe("")
    first = ensure_default(engine, said.append, folder, tmp_path)
    assert first.startswith("sha256:")
    assert any("LABEL" in words for words in said)
    said.clear()
    assert ensure_default(engine, said.append, folder, tmp_path) == first
    assert said == []


def test_an_image_that_brings_a_volume_is_refused(engine: Engine, recipe: Recipe) -> None:
    folder = recipe("VOLUME /data\n")
    ensure_default(engine, lambda _: None, folder)
    name = f"{REPOSITORY}:{recipe_hash(folder)}"
    with pytest.raises(Refused, match="Volumes should be empty"):
        images(engine, name).ensure(name)


def test_an_allowed_image_works_under_its_own_entry_point(engine: Engine, recipe: Recipe) -> None:
    folder = recipe('ENTRYPOINT ["false"]\nCMD ["x"]\nHEALTHCHECK CMD false\nUSER root\n')
    made = ensure_default(engine, lambda _: None, folder)
    name = f"{REPOSITORY}:{recipe_hash(folder)}"
    kept = images(engine, name)
    assert kept.ensure(name) == made
    kept.check(made)
    with pytest.raises(Refused, match="not one that the operator allows"):
        images(engine).check(made)


def test_an_image_without_python_is_refused(engine: Engine) -> None:
    root = io.BytesIO()
    with tarfile.open(fileobj=root, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("empty"))
    tag = uuid.uuid4().hex[:8]
    name = f"patchwarrant-test:{tag}"
    engine.load_root(iter([root.getvalue()]), "patchwarrant-test", tag, [])
    try:
        with pytest.raises(Refused, match="python3"):
            images(engine, name).ensure(name)
    finally:
        api = docker.APIClient(version="auto")
        api.remove_image(name, force=True)
        api.close()


def test_an_image_that_is_not_there_is_missing(engine: Engine) -> None:
    with pytest.raises(Missing):
        engine.image_id("patchwarrant-test:none")
    with pytest.raises(Missing):
        engine.image_names("sha256:" + "0" * 64)
