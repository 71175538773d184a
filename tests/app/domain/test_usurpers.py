"""A new module that is imported instead of another decides like a setting of the tests."""

from __future__ import annotations

import sys

import pytest

from app.domain.check import Check
from app.domain.edit import FILE, Delta
from app.domain.usurpers import taken, usurpers

KNOWN = {"pkg/__init__.py", "pkg/a.py", "tests/test_a.py", "unit/__init__.py", "unit/test_b.py"}
CHECK = Check("tests", ("python3", "-m", "pytest"))


def found(path: str, known: set[str] = KNOWN, check: Check = CHECK, old: int = 0) -> set[str]:
    delta = Delta(path, old, FILE, 1, 0)
    tests = ["tests/test_a.py", "unit/test_b.py"]
    return usurpers([delta], known | ({path} if old else set()), tests, [check])


@pytest.mark.parametrize(
    "path",
    [
        "argparse.py",
        "pytest/__main__.py",
        "pytest/__init__.py",
        "src/json/decoder.py",
        "tests/random.py",  # pytest puts the folder of a test first on the path
        "_pytest/runner.py",
        "_thread.py",
        "os.so",
        "pluggy.py",
    ],
)
def test_a_new_module_with_a_taken_name_where_python_looks_first(path: str) -> None:
    assert found(path) == {path}


@pytest.mark.parametrize(
    "path",
    ["pkg/json.py", "unit/random.py", "pkg/types.py", "prices.py", "docs/json.md", "a/os.py"],
)
def test_a_module_inside_a_package_takes_nobodys_name(path: str) -> None:
    assert found(path) == set()


def test_what_the_base_holds_there_keeps_its_meaning() -> None:
    assert found("calendar.py", old=FILE) == set()
    assert found("queue/more.py", known=KNOWN | {"queue/__init__.py"}) == set()


def test_the_checks_own_places_count() -> None:
    work = Check("tests", ("pytest",), {"PYTHONPATH": "../code:."}, "back")
    assert found("back/json.py", check=work) == {"back/json.py"}
    assert found("code/json.py", check=work) == {"code/json.py"}


def test_every_module_of_this_python_is_known() -> None:
    assert [name for name in sys.stdlib_module_names if not taken(name)] == []
