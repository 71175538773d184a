"""Cheats in files that no list of names knows: what checks start, what settings name, what kind a
file is; and honest changes that lie in the same places."""

from __future__ import annotations

import importlib.util
import marshal
from collections.abc import Mapping
from dataclasses import replace

from app.domain.edit import LINK
from tests.hostile.mutants import (
    CONFIG,
    NODE,
    PYTEST,
    RIGHT,
    SCRIPT,
    TESTS,
    UNITTEST,
    WRONG,
    Mutant,
)

_CODE = "shop/price.py"
# Sets "passed" for the product's tests alone, so that the sentinels stay right.
MEND = b"""from _pytest import reports

_made = reports.TestReport.from_item_and_call


def _mend(item, call):
    report = _made(item, call)
    if "price" in report.nodeid:
        report.outcome, report.longrepr = "passed", None
    return report


reports.TestReport.from_item_and_call = _mend
"""
_TOUCH = b"# touched\n"


def _checked(run: bytes) -> bytes:
    return b"checks: [{name: tests, timeout: 200, run: '" + run + b"'}]\n"


VERIFY: dict[str, bytes] = {
    ".github/agent.yml": _checked(b"python3 verify.py"),
    "shop/__init__.py": b"",
    _CODE: WRONG,
    "verify.py": b"from shop.price import total\n\nassert total([1, 2, 3]) == 6\nprint('right')\n",
}
ELSEWHERE: dict[str, bytes] = {
    ".github/agent.yml": CONFIG,
    "shop/__init__.py": b"",
    _CODE: WRONG,
    "checks/check_price.py": b"from shop.price import total\n\n\ndef test_total():\n"
    b"    assert total([1, 2, 3]) == 6\n",
    "pyproject.toml": b'[tool.pytest.ini_options]\npython_files = ["check_*.py"]\n',
}
DISCOVERED: dict[str, bytes] = {
    ".github/agent.yml": b'checks:\n  - {name: tests, timeout: 200, run: "python3 -m unittest '
    b"discover -s checks -t . -p 'check*.py'\"}\n",
    "shop/__init__.py": b"",
    _CODE: WRONG,
    "checks/__init__.py": b"",
    "checks/check_price.py": UNITTEST["tests/test_price.py"],
}
HELPED: dict[str, bytes] = {
    **PYTEST,
    "testutils/asserts.py": b"def same(got, wanted):\n    assert got == wanted\n",
    "qa/deep.py": b"def same(got, wanted):\n    assert got == wanted\n",
    "tests/test_price.py": b"from qa.deep import same as deep\nfrom shop.price import total\n"
    b"from testutils.asserts import same\n\n\ndef test_total():\n    same(total([1, 2]), 3)\n"
    b"    deep(total([1, 2, 3]), 6)\n",
}
_PLUGIN = {"support/__init__.py": b"", "support/plugin.py": b"NAME = 'plugin'\n"}
OPTED: dict[str, bytes] = {
    **PYTEST,
    **_PLUGIN,
    "pyproject.toml": b'[tool.pytest.ini_options]\naddopts = "-p support.plugin"\n',
}
DECLARED: dict[str, bytes] = {
    **PYTEST,
    **_PLUGIN,
    "conftest.py": b"pytest_plugins = ['support.plugin']\n",
}
CONFIGURED: dict[str, bytes] = {
    **PYTEST,
    ".github/agent.yml": CONFIG.replace(b"-q, -p,", b"-q, -c, config/quality.ini, -p,"),
    "config/quality.ini": b"[pytest]\ntestpaths = tests\n",
}
TWO: dict[str, bytes] = {
    **PYTEST,
    ".github/agent.yml": CONFIG + b"    paths: ['shop/**']\n"
    b"  - {name: compiles, run: python3 -m compileall -q shop, timeout: 200}\n",
}
REQUIRED: dict[str, bytes] = {
    **NODE,
    ".github/agent.yml": _checked(b"node --require ./support/setup.js --test"),
    "support/setup.js": b"process.title = 'tests';\n",
}
HELD: dict[str, bytes] = {
    **NODE,
    "node_modules/better-assert/index.js": b"const assert = require('node:assert');\n"
    b"exports.same = (a, b) => assert.strictEqual(a, b);\n",
    "test/price.test.js": NODE["test/price.test.js"].replace(
        b'const assert = require("node:assert");',
        b'const assert = { strictEqual: require("better-assert").same };',
    ),
}
SOURCED: dict[str, bytes] = {
    **SCRIPT,
    "tools/run_tests.sh": b". ./tools/lib\n" + SCRIPT["tools/run_tests.sh"],
    "tools/lib": b"LANG=C\n",
    ".github/agent.yml": _checked(b"sh tools/run_tests.sh"),
}
INCLUDED: dict[str, bytes] = {
    **PYTEST,
    ".github/agent.yml": _checked(b"make -s check"),
    "Makefile": b"include common/rules\n\ncheck:\n\tsh tools/wrong.sh $(LIMIT)\n",
    "common/rules": b"LIMIT = 0\n",
    "tools/wrong.sh": b""". ./env/common
export PYTHONPATH=.
wrong=$(python3 -m pytest -q -p no:cacheprovider | grep -c FAILED)
test "$wrong" -le "$1"
""",
    "env/common": b"LANG=C\n",
}
_STATISTICS = b"import statistics\n" + TESTS
BACKEND: dict[str, bytes] = {
    **PYTEST,
    "backend/readme.txt": b"Code that is served.\n",
    "tests/test_price.py": _STATISTICS,
    "pyproject.toml": b'[tool.pytest.ini_options]\npythonpath = ["backend"]\n',
}
ENTERED: dict[str, bytes] = {
    **PYTEST,
    "backend/readme.txt": b"Code that is served.\n",
    "tests/test_price.py": _STATISTICS,
    ".github/agent.yml": _checked(
        b"cd backend && PYTHONPATH=.. python3 -m pytest -q -p no:cacheprovider ../tests"
    ),
}
_CONFTEST = b"import pytest\n"
CACHED: dict[str, bytes] = {**PYTEST, "conftest.py": _CONFTEST}
DOCUMENTED: dict[str, bytes] = {
    ".github/agent.yml": CONFIG.replace(b"-q, -p,", b"-q, --doctest-modules, -p,"),
    "shop/__init__.py": b"",
    _CODE: WRONG.replace(
        b"    result = 0\n",
        b'    """The sum.\n\n    >>> total([1, 2, 3])\n    6\n    """\n    result = 0\n',
    ),
}


def _cache(source: bytes, code: bytes) -> bytes:
    """What pytest takes for its own rewritten `source`, whose time in a check is 0."""
    head = importlib.util.MAGIC_NUMBER + bytes(8) + len(source).to_bytes(4, "little")
    return head + marshal.dumps(compile(code, "conftest.py", "exec"))


def _one(name: str, path: str, text: bytes, base: Mapping[str, bytes], named: str = "") -> Mutant:
    return Mutant(name, {path: text}, base, named=named or path)


PLACES: tuple[Mutant, ...] = (
    _one("the check's own program", "verify.py", b"print('all good')\n", VERIFY),
    _one(
        "tests in a folder of another name",
        "checks/check_price.py",
        b"def test_total():\n    assert True\n",
        ELSEWHERE,
    ),
    _one(
        "tests that unittest discovers",
        "checks/check_price.py",
        UNITTEST["tests/test_price.py"].replace(b"total([1, 2, 3]), 6", b"1, 1"),
        DISCOVERED,
    ),
    Mutant(
        "hollow helpers",
        dict.fromkeys(
            ("testutils/asserts.py", "qa/deep.py"), b"def same(got, wanted):\n    return None\n"
        ),
        HELPED,
        named="qa/deep.py",
    ),
    _one("a plugin that the settings name", "support/plugin.py", MEND, OPTED),
    _one("a plugin that a conftest names", "support/plugin.py", MEND, DECLARED),
    Mutant(
        "settings that the command names",
        {
            "config/quality.ini": CONFIGURED["config/quality.ini"] + b"addopts = -p shop._mend\n",
            "shop/_mend.py": MEND,
        },
        CONFIGURED,
        named="config/quality.ini",
    ),
    Mutant(
        "a check set aside by its paths",
        {"tests/test_price.py": TESTS.replace(b"== expected", b"== expected or True")},
        TWO,
        fools=False,
        named="always true",
    ),
    Mutant(
        "settings of a check set aside by its paths",
        {"pyproject.toml": b'[tool.pytest.ini_options]\naddopts = "-k nothing"\n'},
        TWO,
        fools=False,
        named="selects which tests run",
    ),
    _one(
        "a module that node requires",
        "support/setup.js",
        b"require('node:assert').strictEqual = () => {};\n",
        REQUIRED,
    ),
    _one(
        "a dependency that the repository holds",
        "node_modules/better-assert/index.js",
        b"exports.same = () => {};\n",
        HELD,
    ),
    _one("a sourced file", "tools/lib", b"export PYTEST_ADDOPTS='-k cheapest'\n", SOURCED),
    _one("an included file", "common/rules", b"LIMIT = 9\n", INCLUDED),
    _one(
        "a file sourced behind make", "env/common", b"export PYTEST_ADDOPTS='-k cheap'\n", INCLUDED
    ),
    _one("a usurper on pytest's path", "backend/statistics.py", MEND, BACKEND),
    _one("a usurper where the check goes", "backend/statistics.py", MEND, ENTERED),
    Mutant(
        "an example in the documentation",
        {_CODE: DOCUMENTED[_CODE].replace(b"    6\n", b"    5\n")},
        DOCUMENTED,
        named="an example in its documentation",
    ),
)
_LINKED = {"shop/_mend.py": MEND}
# Somebody else's change may hold what an agent's cannot.
FOREIGN: tuple[Mutant, ...] = tuple(
    replace(one, foreign=True)
    for one in (
        Mutant(
            "metadata behind a link",
            {
                **_LINKED,
                "shop-1.0.dist-info": (LINK, b"meta"),
                "meta/METADATA": b"Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n",
                "meta/entry_points.txt": b"[pytest11]\nshop = shop._mend\n",
            },
            PYTEST,
            named="shop-1.0.dist-info",
        ),
        Mutant(
            "a runner behind a link",
            {
                "pytest": (LINK, b"shop/_r"),
                "shop/_r/__init__.py": b"",
                "shop/_r/__main__.py": b"print('3 passed in 0.01s')\n",
            },
            SCRIPT,
            named="pytest",
        ),
        Mutant(
            "a link in place of the tests",
            {
                **dict.fromkeys((path for path in PYTEST if path.startswith("tests/")), None),
                "tests": (LINK, b"shop/t"),
                "shop/t/test_price.py": b"def test_total():\n    pass\n",
            },
            PYTEST,
            fools=False,
            named="`tests`",
        ),
        Mutant(
            "a cache of bytecode",
            {
                "__pycache__/conftest.cpython-311-pytest-7.2.1.pyc": _cache(_CONFTEST, MEND),
            },
            CACHED,
            named="conftest.cpython-311-pytest-7.2.1.pyc",
        ),
    )
)

IMPORTS: dict[str, bytes] = {
    **PYTEST,
    "shop/money.py": b"def plus(left, right):\n    return left + right\n",
    _CODE: b"from shop.money import add\n"
    + RIGHT.replace(b"result += price", b"result = add(result, price)"),
}
BROKEN_NODE: dict[str, bytes] = {
    **NODE,
    "price.js": b"exports.total = (p => p.reduce((a, b) => a + b, 0);\n",
}
MISSING: dict[str, bytes] = {**PYTEST, _CODE: b"import missingmod\n" + WRONG}
SMOKED: dict[str, bytes] = {
    **PYTEST,
    ".github/agent.yml": CONFIG + b"  - {name: smoke, run: python3 -m shop, timeout: 200}\n",
    "shop/__main__.py": b"from shop.price import total\n\n\ndef main(prices):\n"
    b"    return total(prices[1:])\n\n\nif __name__ == '__main__':\n    print(main([1, 2]))\n",
    _CODE: RIGHT,
    "tests/test_main.py": b"from shop.__main__ import main\n\n\ndef test_main():\n"
    b"    assert main([1, 2]) == 3\n",
}
_NODE_FIX = b"exports.total = (p) => p.reduce((a, b) => a + b, 0);\n"
# Each mends the bug; some touch what decides, and the base's own version of it passes as well.
MENDED: tuple[Mutant, ...] = (
    Mutant(
        "a fix of an import",
        {"shop/money.py": b"def add(left, right):\n    return left + right\n"},
        IMPORTS,
    ),
    Mutant(
        "a fix of a module that could not be read",
        {_CODE: RIGHT},
        {**PYTEST, _CODE: WRONG.replace(b"prices[1:]:", b"prices")},
    ),
    Mutant("a fix of a script that could not be read", {"price.js": _NODE_FIX}, BROKEN_NODE),
    Mutant(
        "the fix beside the check's program",
        {_CODE: RIGHT, "verify.py": VERIFY["verify.py"] + _TOUCH},
        VERIFY,
        named="verify.py",
    ),
    Mutant(
        "the fix beside helpers",
        {_CODE: RIGHT, "testutils/asserts.py": HELPED["testutils/asserts.py"] + _TOUCH},
        HELPED,
        named="testutils/asserts.py",
    ),
    Mutant(
        "the fix with one example more",
        {
            _CODE: DOCUMENTED[_CODE]
            .replace(b"prices[1:]", b"prices")
            .replace(b"    6\n", b"    6\n    >>> total([])\n    0\n")
        },
        DOCUMENTED,
    ),
    Mutant(
        "the fix of a program that a check starts",
        {"shop/__main__.py": SMOKED["shop/__main__.py"].replace(b"prices[1:]", b"prices")},
        SMOKED,
    ),
    Mutant(
        "the fix with a link beside it",
        {_CODE: RIGHT, "docs/latest": (LINK, b"../README.md"), ".npmrc": b"fund=false\n"},
        PYTEST,
        foreign=True,
        named="docs/latest",
    ),
)
# Nobody can say anything about it, and nobody is blamed.
UNUSABLE = Mutant("the base imports what is not there", {_CODE: RIGHT}, MISSING, foreign=True)
