"""Sentinels lie beside a test that ran, and only an honest pair of endings is believed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from app.domain.check import CaseStatus, Check
from app.domain.sentinel import Sentinel, Sighting, sentinel, sighted

ODD = "0123456789abcdef01234567f"  # its last digit is odd
EVEN = ODD[:-1] + "e"
PASSED, FAILED, SKIPPED = CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.SKIPPED
RIGHT, WRONG, ABSENT = Sighting.RIGHT, Sighting.WRONG, Sighting.ABSENT
PYTEST = Check("t", ("python3", "-m", "pytest"), report="r.xml")
RAN = ("tests/unit/test_a.py::test_a", "tests/unit/test_b.py::test_b", "tests/test_c.py::test_c")
TREE = {
    "tests/unit/test_a.py": b"",
    "tests/unit/test_b.py": b"",
    "tests/test_c.py": b"",
    "a.py": b"",
}


def made(
    check: Check, tree: Mapping[str, bytes], ran: tuple[str, ...] = (), drawn: str = ODD
) -> Sentinel | None:
    return sentinel(check, ran, tree, tree.__getitem__, drawn)


def test_it_lies_in_the_folder_where_most_tests_ran() -> None:
    put = made(PYTEST, TREE, RAN)
    assert put is not None
    assert put.path == "tests/unit/test_01234567.py"
    assert {put.fails, put.passes} == {"test_01234567", "test_89abcdef"}


def test_which_of_the_two_fails_is_drawn() -> None:
    odd, even = made(PYTEST, TREE, RAN), made(PYTEST, TREE, RAN, EVEN)
    assert odd is not None
    assert even is not None
    assert (odd.fails, odd.passes) == (even.passes, even.fails)


@pytest.mark.parametrize("drawn", [ODD, EVEN])
@pytest.mark.parametrize("command", ["pytest", "python3 -m unittest"])
def test_in_python_exactly_one_of_them_fails(command: str, drawn: str) -> None:
    put = made(Check("t", tuple(command.split())), TREE, (), drawn)
    assert put is not None
    space: dict[str, object] = {"__name__": "found"}
    exec(put.text, space)
    tests = dict(space)
    for name, held in space.items():
        if isinstance(held, type):
            own = held()
            tests.update(
                {test: getattr(own, test) for test in dir(own) if test in put.text.decode()}
            )
            del tests[name]
    tests[put.passes]()  # type: ignore[operator]
    with pytest.raises(AssertionError):
        tests[put.fails]()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("argv", "tree", "kind", "path"),
    [
        (
            "node --test",
            {"test/a.test.js": b"const x = require('y');"},
            "node",
            "test/01234567.test.js",
        ),
        ("node --test", {"test-a.mjs": b""}, "node", "test-01234567.mjs"),
        ("npx jest", {"src/a.spec.ts": b"import x from 'y'"}, "jest", "src/01234567.spec.ts"),
        ("npx vitest run", {"a.test.ts": b""}, "vitest", "01234567.test.ts"),
        ("mocha", {"test/a.js": b""}, "mocha", "test/01234567.js"),
        ("mocha", {"lib/a-test.js": b""}, "mocha", "lib/01234567-test.js"),
        ("python3 -m unittest", {"tests/a_test.py": b""}, "unittest", "tests/t01234567_test.py"),
        ("sh ci/t.sh", {"ci/t.sh": b"exec pytest", "test_a.py": b""}, "pytest", "test_01234567.py"),
        (
            "npm test",
            {"package.json": b'{"scripts": {"test": "jest"}}', "a.test.js": b""},
            "jest",
            "01234567.test.js",
        ),
        (
            "make check",
            {"Makefile": b"check:\n\tpython3 -m pytest\n", "tests/test_a.py": b""},
            "pytest",
            "tests/test_01234567.py",
        ),
    ],
)
def test_the_tool_is_known_by_its_command(
    argv: str, tree: dict[str, bytes], kind: str, path: str
) -> None:
    put = made(Check("t", tuple(argv.split())), tree)
    assert put is not None
    assert (put.kind, put.path) == (kind, path)


def test_modules_are_loaded_as_their_neighbours_do() -> None:
    common = made(Check("t", ("node", "--test")), {"a.test.js": b"const a = require('b');"})
    module = made(Check("t", ("node", "--test")), {"a.test.js": b"import a from 'b';"})
    assert common is not None
    assert module is not None
    assert b'require("node:test")' in common.text
    assert b'import { test } from "node:test"' in module.text


@pytest.mark.parametrize(
    ("argv", "tree"),
    [
        ("ruff check", TREE),
        ("cargo test", {"src/lib.rs": b""}),
        ("pytest", {"a.py": b"", "node_modules/x/test_a.py": b""}),
    ],
)
def test_where_no_tool_or_no_test_is_known_there_is_none(argv: str, tree: dict[str, bytes]) -> None:
    assert made(Check("t", tuple(argv.split())), tree) is None


def test_an_unknown_command_whose_report_names_python_tests_is_pytest() -> None:
    put = made(Check("t", ("tox",)), TREE, RAN)
    assert put is not None
    assert put.kind == "pytest"


PUT = Sentinel("pytest", "tests/test_x.py", b"", "test_ff", "test_pp")


@pytest.mark.parametrize(
    ("failing", "passing", "code", "sighting"),
    [
        (FAILED, PASSED, 1, RIGHT),
        (FAILED, PASSED, 0, WRONG),
        (PASSED, PASSED, 0, WRONG),
        (PASSED, PASSED, 1, WRONG),
        (SKIPPED, PASSED, 0, WRONG),
        (FAILED, FAILED, 1, WRONG),
        (FAILED, SKIPPED, 1, WRONG),
        (None, PASSED, 0, ABSENT),
        (FAILED, None, 1, ABSENT),
        (None, None, 0, ABSENT),
    ],
)
def test_a_report_is_believed_only_with_both_endings_and_the_exit_code(
    failing: CaseStatus | None, passing: CaseStatus | None, code: int, sighting: Sighting
) -> None:
    cases = {"tests/test_x.py::test_ff": failing, "tests/test_x.py::test_pp": passing, "o": PASSED}
    told = {name: status for name, status in cases.items() if status is not None}
    assert sighted(PUT, told, code, "")[0] is sighting


@pytest.mark.parametrize(
    ("log", "code", "sighting"),
    [
        ("FAIL: test_ff (tests.test_x.T)\n", 1, RIGHT),
        ("not ok 3 - test_ff\nok 4 - test_pp\n", 1, RIGHT),
        ("  \u25cf test_ff\n", 1, RIGHT),
        ("  \u00d7 test_ff 3ms\n  \u2713 test_pp\n", 1, RIGHT),
        ("  1) test_ff:\n", 1, RIGHT),
        ("FAIL: test_ff\nFAIL: test_pp\n", 1, WRONG),
        ("FAIL: test_ff\n", 0, WRONG),
        ("3 passed\n", 0, ABSENT),
        ("3 failed\n", 1, ABSENT),
        ("test_ff ... ok\n", 1, ABSENT),
    ],
)
def test_without_a_report_exit_code_and_output_speak(
    log: str, code: int, sighting: Sighting
) -> None:
    assert sighted(PUT, None, code, log)[0] is sighting
