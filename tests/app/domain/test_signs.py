"""Lines of product code that could decide about its tests are named with their number."""

from __future__ import annotations

import time

import pytest

from app.domain.signs import MOST, signs


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("import pytest", "test framework"),
        ("from _pytest import runner", "test framework"),
        ("import unittest", "test framework"),
        ('const t = require("node:test")', "test framework"),
        ('import { vi } from "vitest";', "test framework"),
        ("sys.modules['x'] = y", "loaded modules"),
        ("builtins.AssertionError = X", "loaded modules"),
        ("sys.settrace(f)", "loaded modules"),
        ("globalThis.test = () => {}", "loaded modules"),
        ("    os._exit(0)", "ends the process"),
        ("sys.exit()", "ends the process"),
        ("atexit.register(f)", "ends the process"),
        ("process.exit(0);", "ends the process"),
        ("System.exit(0);", "ends the process"),
        ("os.Exit(0)", "ends the process"),
        ("if 'PYTEST_CURRENT_TEST' in os.environ:", "being tested"),
        ("if os.environ.get('CI'):", "being tested"),
        ("if (process.env.TEST_MODE) {", "being tested"),
        ("sys._getframe(1)", "being tested"),
        ("open('junit.xml', 'w')", "reports of tests"),
        ("Path('test-report.xml').write_text(x)", "reports of tests"),
        ("json.load(open('tests/data/a.json'))", "names test files"),
        ("    def __eq__(self, other):", "equal anything"),
        ("exec(code)", "that was text"),
        ("    #[ignore]", "stands in product code"),
        ("    >>> total([1])", "stands in product code"),
    ],
)
def test_a_sign_is_seen(line: str, what: str) -> None:
    found = signs("pkg/a.py", [(7, line)])
    assert any(what in one.what for one in found), found
    assert {(one.path, one.line) for one in found} == {("pkg/a.py", 7)}
    assert f"`pkg/a.py` line 7 {found[0].what}: {line.strip()}" == str(found[0])


@pytest.mark.parametrize(
    "line",
    [
        "return total + price",
        "def exits(self): return self.doors",
        "for test in latest:",
        "executor.submit(f)",
        "result = model.evaluate(x)",
        "the_environment = 3",
        "import pytestarch_like",
        "re.match(pattern, text)",
    ],
)
def test_ordinary_code_has_none(line: str) -> None:
    assert signs("pkg/a.py", [(1, line)]) == ()


def test_a_configured_report_is_known_by_its_name() -> None:
    assert signs("a.py", [(1, "open('out.json')")]) == ()
    (found,) = signs("a.py", [(1, "open('out.json')")], ["build/out.json", ""])
    assert "reports of tests" in found.what


def test_they_are_bounded_in_number_length_and_time() -> None:
    found = signs("a.py", [(n, "os._exit(0)" + "x" * 500) for n in range(500)])
    assert len(found) == MOST
    assert max(len(one.text) for one in found) == 100
    hostile = ["environ" * 300_000, "tests/" * 300_000, "'" * 1_000_000, "report" * 300_000]
    began = time.thread_time()
    signs("a.py", enumerate(hostile))
    assert time.thread_time() - began < 2
