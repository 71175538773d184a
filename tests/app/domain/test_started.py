"""What a check starts and names is followed through the base's texts; what it works on is not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from app.domain.base_files import BaseFiles
from app.domain.check import Check
from app.domain.runner_settings import add_settings
from app.domain.shell_words import commands
from app.domain.started import Trail, trail_of

PRODUCT = {"shop/__init__.py": "", "shop/price.py": "def f(): ...\n", "src/main.c": "int main"}


def trail(run: str | list[str], files: Mapping[str, str], changed: set[str] | None = None) -> Trail:
    every = {**PRODUCT, **files}
    base = BaseFiles(
        frozenset(every), frozenset(changed or every), lambda path: every.get(path, "")
    )
    argv = ("sh", "-euc", run) if isinstance(run, str) else tuple(run)
    found = trail_of(Check("c", argv), base)
    add_settings(base, found)
    return found


def test_commands_lose_what_only_starts_them() -> None:
    text = "cd a && PYTHONPATH=. timeout 30 uv run pytest -q | tee out > x; x=$(sh b.sh); . ./c"
    found = [(one.words, one.folder) for one in commands(text)]
    assert (("pytest", "-q"), "a") in found
    assert (("sh", "b.sh"), "a") in found
    assert ((".", "./c"), "a") in found
    assert next(one for one in commands(text) if one.words[:1] == ("pytest",)).env["PYTHONPATH"]


@pytest.mark.parametrize(
    ("run", "files", "path"),
    [
        ("python3 verify.py", {"verify.py": ""}, "verify.py"),
        (["python3", "-B", "ci/look.py"], {"ci/look.py": ""}, "ci/look.py"),
        ("./gate", {"gate": "#!/bin/sh\n"}, "gate"),
        ("cd sub && sh go", {"sub/go": ""}, "sub/go"),
        ("sh < steps", {"steps": ""}, "steps"),
        ("exec timeout 9 bash -o pipefail x/y", {"x/y": ""}, "x/y"),
        ("python3 -m quality.gate", {"quality/gate.py": ""}, "quality/gate.py"),
        ("python3 -m coverage run look.py", {"look.py": ""}, "look.py"),
        ("node -r ./support/setup.js --test", {"support/setup.js": ""}, "support/setup.js"),
        ("NODE_OPTIONS='--import ./s.mjs' node --test", {"s.mjs": ""}, "s.mjs"),
        ("mocha --require support/setup", {"support/setup.js": ""}, "support/setup.js"),
        ("pytest -c config/q.ini", {"config/q.ini": ""}, "config/q.ini"),
        ("pytest --config-file=config/q.ini", {"config/q.ini": ""}, "config/q.ini"),
        ("pytest -p support.plugin", {"support/plugin.py": ""}, "support/plugin.py"),
        ("PYTEST_PLUGINS=support.plugin pytest", {"support/plugin.py": ""}, "support/plugin.py"),
        ("eslint --rulesdir=x --config lint/base.js .", {"lint/base.js": ""}, "lint/base.js"),
        ("diff out.txt wanted.txt", {"wanted.txt": ""}, "wanted.txt"),
        ("sh a.sh", {"a.sh": '. "$(dirname "$0")/b"\n', "b": ""}, "b"),
        ("sh t/a.sh", {"t/a.sh": "D=lib\n. $D/b\n", "lib/b": ""}, "lib/b"),
        ("sh a.sh", {"a.sh": "for f in ci/*; do sh $f; done\n", "ci/one": ""}, "ci/one"),
        ("make", {"Makefile": "include c/rules\nall:\n\ttrue\n", "c/rules": ""}, "c/rules"),
        (
            "make check",
            {"Makefile": "P=python3\ncheck: one\none:\n\t@$(P) q.py\n", "q.py": ""},
            "q.py",
        ),
        ("make -C sub", {"sub/Makefile": "all:\n\tsh go\n", "sub/go": ""}, "sub/go"),
        (
            "npm test",
            {"package.json": '{"scripts": {"test": "npm run a", "a": "node ci.js"}}', "ci.js": ""},
            "ci.js",
        ),
        ("python3 q.py", {"q.py": "open('wanted.json')\n", "wanted.json": ""}, "wanted.json"),
        ("python3 q.py", {"q.py": "os.system('sh go')\n", "go": ""}, "go"),
        (
            "pytest",
            {"pyproject.toml": '[tool.pytest.ini_options]\naddopts="-p a.b"', "a/b.py": ""},
            "a/b.py",
        ),
        ("pytest", {"setup.cfg": "[tool:pytest]\naddopts = -p a.b\n", "a/b.py": ""}, "a/b.py"),
        ("pytest", {"conftest.py": "pytest_plugins = ('a.b',)\n", "a/b.py": ""}, "a/b.py"),
        (
            "pytest",
            {"pyproject.toml": '[project.entry-points.pytest11]\nx = "a.b:C"', "a/b.py": ""},
            "a/b.py",
        ),
        ("jest", {"jest.config.js": "setupFiles: ['<rootDir>/ci/s.js']", "ci/s.js": ""}, "ci/s.js"),
        ("mocha", {".mocharc.yml": "require:\n  - ./ci/s.js\n", "ci/s.js": ""}, "ci/s.js"),
        ("jest", {"package.json": '{"jest": {"globalSetup": "./s.js"}}', "s.js": ""}, "s.js"),
    ],
)
def test_what_decides_is_found_wherever_it_lies(
    run: str | list[str], files: Mapping[str, str], path: str
) -> None:
    assert path in trail(run, files).files


@pytest.mark.parametrize(
    ("run", "files"),
    [
        ("cc -Wall -c src/main.c -o main", {}),
        ("ruff check --fix shop/price.py", {}),
        ("python3 -m doctest shop/price.py", {}),
        ("mypy shop/price.py", {}),
        ("wc -c shop/price.py; grep -c x shop/price.py; cp -p shop/price.py out", {}),
        ("make check", {"Makefile": "run:\n\tpython3 shop/price.py\ncheck:\n\tpytest\n"}),
        ("make", {"Makefile": "all: main\nmain: src/main.c\n\t$(CC) -o main src/main.c\n"}),
        (
            "npm test",
            {"package.json": '{"scripts": {"test": "jest", "start": "node shop/price.py"}}'},
        ),
        ("pytest --doctest-modules shop/price.py", {}),
        ("pytest --cov=shop/price.py", {}),
        ("vitest", {"vite.config.ts": "build: {lib: {entry: 'src/main.c'}}"}),
        ("python3 q.py", {"q.py": "import shop.price\nWHERE = 'shop/price.py'\n"}),
    ],
)
def test_what_a_check_works_on_is_product(run: str, files: Mapping[str, str]) -> None:
    found = trail(run, files)
    assert not set(PRODUCT) & set(found.files)
    base = BaseFiles(frozenset(PRODUCT), frozenset(PRODUCT), lambda _path: "")
    assert not [p for glob, folder in found.globs for p in base.matching(glob, (folder, ""))]


def test_places_that_python_looks_into_are_told_by_commands_and_settings() -> None:
    ini = {"pytest.ini": "[pytest]\npythonpath = back lib/py\n", "t.sh": "cd deep\npython3 x\n"}
    found = trail("cd front && PYTHONPATH=../more pytest; sh ../t.sh", ini)
    assert {"front", "more", "back", "lib/py", "front/deep"} <= found.places


@pytest.mark.parametrize(
    ("run", "files"),
    [
        ("pytest", {"pyproject.toml": '[tool.pytest.ini_options]\npython_files=["check_*.py"]'}),
        ("python3 -m unittest discover -s checks -p 'check*.py'", {}),
        ("python3 -m unittest checks.check_price", {}),
        ("pytest checks/check_price.py", {}),
        ("cd checks && python3 -m pytest check_price.py::test_a", {}),
    ],
)
def test_files_of_tests_are_known_by_what_the_runner_is_told(
    run: str, files: Mapping[str, str]
) -> None:
    every = {**files, "checks/check_price.py": ""}
    found = trail(run, every)
    base = BaseFiles(frozenset(every), frozenset(every), lambda _path: "")
    matched = {p for glob, folder in found.globs for p in base.matching(glob, (folder, ""))}
    assert matched == {"checks/check_price.py"}
