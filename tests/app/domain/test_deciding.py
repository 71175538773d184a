"""Which changed paths decide, beside those that are known by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from app.domain.base_files import BaseFiles
from app.domain.check import Check
from app.domain.deciding import Deciding, deciding
from app.domain.edit import EXECUTABLE, FILE, GITLINK, LINK, Delta
from app.domain.kinds import deciding_kind
from app.domain.policy import Rules

PYTEST = Check("tests", ("python3", "-m", "pytest"))
SMOKE = Check("smoke", ("python3", "-m", "shop"))
FILES = {
    "shop/__init__.py": "",
    "shop/__main__.py": "from shop.price import f\n",
    "shop/price.py": "def f(a):\n    '''One.\n\n    >>> f(1)\n    1\n    '''\n"
    "    assert a\n    return a\n",
    "shop/testing.py": "import pytest\n",
    "shop/used.py": "import pytest\n",
    "shop/uses.py": "from shop import used\n",
    "qa/same.py": "def same(a, b):\n    assert a == b\n",
    "aids/only.py": "def same(a, b):\n    '''Says.'''\n    assert a == b\n",
    "ci/look.py": "import lib\n",
    "ci/lib.py": "",
    "checks/price.py": "def test_f():\n    assert f()\n",
    "tests/test_a.py": "import wanted_module\nfrom aids import only\nfrom qa.same import same\n"
    "from shop.price import f\nfrom shop import testing, used\n",
}


def found(
    *changed: str,
    files: Mapping[str, str] | None = None,
    checks: tuple[Check, ...] = (PYTEST,),
    ids: Collection[str] = (),
    new: Mapping[str, str] | None = None,
    links: Mapping[str, str] | None = None,
    missing: Collection[str] = (),
) -> Deciding:
    every = {**FILES, **(files or {})}
    base = BaseFiles(
        frozenset(every), frozenset(changed), lambda path: every.get(path, ""), links or {}
    )
    deltas = [Delta(path, FILE if path in every else 0, FILE, 1, 0) for path in changed]
    texts = new or {}
    return deciding(
        base, {*every, *changed}, deltas, Rules(), checks, ids, missing, lambda p: texts.get(p, "")
    )


@pytest.mark.parametrize("path", ["qa/same.py", "aids/only.py", "shop/testing.py"])
def test_what_only_tests_import_helps_them(path: str) -> None:
    assert path in found(path).every


@pytest.mark.parametrize(
    "path", ["shop/price.py", "shop/used.py", "shop/uses.py", "shop/__main__.py"]
)
def test_product_code_decides_nothing(path: str) -> None:
    assert found(path).paths == frozenset()


def test_what_lies_beside_a_checks_script_belongs_to_it() -> None:
    assert "ci/lib.py" in found("ci/lib.py", checks=(Check("c", ("python3", "ci/look.py")),)).every


def test_tests_are_what_the_report_names_and_the_file_holds() -> None:
    decided = found(
        "checks/price.py", ids=["checks/price.py::test_f", "shop/price.py::shop.price.f"]
    )
    assert decided.tests == {"checks/price.py"}
    dotted = found("checks/price.py", "shop/price.py", ids=["checks.price.test_f"])
    assert dotted.tests == {"checks/price.py"}
    linted = found("shop/price.py", ids=["shop/price.py::E501", "shop/price.py: E501"])
    assert linted.paths == frozenset()
    fresh = found("checks/new.py", ids=["checks/new.py::test_x"])
    assert fresh.paths == frozenset()
    assert fresh.fresh == {"checks/new.py"}


def test_a_program_decides_for_the_check_that_starts_it_alone() -> None:
    deltas = [Delta("shop/__main__.py", FILE, FILE, 1, 1)]
    decided = found("shop/__main__.py", checks=(PYTEST, SMOKE))
    assert decided.of(SMOKE, deltas, Rules()) == ("shop/__main__.py",)
    assert decided.of(PYTEST, deltas, Rules()) == ()
    assert decided.touches(SMOKE, deltas, Rules())
    assert not decided.touches(PYTEST, deltas, Rules())
    assert "smoke" in decided.why("shop/__main__.py")


def test_a_link_of_the_base_gives_a_file_its_meaning() -> None:
    links = {"conftest.py": "support/conf.py", "shop/tests": "shop/t"}
    files = {"support/conf.py": "", "shop/t/a.py": ""}
    decided = found("support/conf.py", "shop/t/a.py", files=files, links=links)
    assert set(decided.every) == {"support/conf.py", "shop/t/a.py"}
    links = {"tests/fixtures/app": "shop", "tests/sample.py": "shop/price.py"}
    assert found("shop/price.py", links=links).paths == frozenset()


def test_a_new_module_takes_the_name_of_one_that_the_base_imports() -> None:
    assert "wanted_module.py" in found("wanted_module.py").every
    assert "src/pytest_cov.py" in found("src/pytest_cov.py").every
    assert found("wanted_module.py", missing=["wanted_module"]).every == {}
    assert found("another.py").every == {}
    assert found("src/shop/price.py").every == {}  # the product's own name: product code
    back = {"pytest.ini": "[pytest]\npythonpath = back\n", "back/read.txt": ""}
    assert "back/statistics.py" in found("back/statistics.py", files=back).every
    path = {"tests/conftest.py": "import sys\nsys.path.insert(0, 'back')\n", "back/read.txt": ""}
    assert "back/statistics.py" in found("back/statistics.py", files=path).every


def test_examples_in_the_documentation_are_put_back_alone() -> None:
    old = FILES["shop/price.py"]
    changed = old.replace("    1\n", "    2\n").replace("return a", "return a + 1")
    doctests = (Check("d", ("python3", "-m", "pytest", "--doctest-modules")),)
    decided = found("shop/price.py", checks=doctests, new={"shop/price.py": changed})
    assert decided.spliced == {"shop/price.py": old.replace("return a", "return a + 1")}
    assert decided.paths == {"shop/price.py"}
    more = old.replace("    1\n", "    1\n    >>> f(2)\n    2\n")
    assert found("shop/price.py", checks=doctests, new={"shop/price.py": more}).paths == frozenset()
    assert found("shop/price.py", new={"shop/price.py": changed}).paths == frozenset()


@pytest.mark.parametrize(
    "delta",
    [
        Delta("docs/latest", 0, LINK, 1, 0),
        Delta("lib", 0, GITLINK, 1, 0),
        Delta("a/__pycache__/b.cpython-311.pyc", 0, FILE, -1, -1),
        Delta("shop.egg-info", 0, FILE, 1, 0),
        Delta("x-1.dist-info/entry_points.txt", 0, FILE, 1, 0),
        Delta("native/fast.so", 0, FILE, -1, -1),
        Delta("node_modules/a/index.js", FILE, FILE, 1, 1),
        Delta("vendor/a/a.go", FILE, FILE, 1, 1),
        Delta("tool", 0, EXECUTABLE, -1, -1),
        Delta("shop/odd", 0, FILE, -1, -1),
    ],
)
def test_what_no_reviewer_can_read_decides(delta: Delta) -> None:
    assert deciding_kind(delta)


@pytest.mark.parametrize(
    "delta",
    [
        Delta("img/logo.PNG", 0, FILE, -1, -1),
        Delta("shop/Price.cs", FILE, FILE, -1, -1),
        Delta("shop/price.py", FILE, FILE, 1, 1),
        Delta("bin/run", FILE, EXECUTABLE, 0, 0),
    ],
)
def test_data_and_source_do_not_decide_by_their_kind(delta: Delta) -> None:
    assert deciding_kind(delta) == ""
