"""Which parser is chosen, and tools whose real output is not among the recorded ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from app.domain.check import Counts, Failure
from worker.runner.checks.parsers.log import log_from
from worker.runner.checks.parsers.read import (
    DISAGREE,
    NO_TESTS,
    SILENT,
    Parsed,
    around,
    read,
    with_context,
)
from worker.runner.checks.parsers.record import bounded, failure
from worker.runner.checks.parsers.tools import TOOLS, named

PATHS = frozenset({"src/lib.rs", "a.py", "CMakeLists.txt", "src/test/java/x/CartTest.java"})


def said(text: str, argv: tuple[str, ...], code: int = 1, parser: str = "") -> Parsed:
    return read(log_from((text.encode(),), code, PATHS), argv, parser)


def shell(command: str) -> tuple[str, ...]:
    return ("sh", "-euc", command)


@pytest.mark.parametrize(
    ("command", "tools", "open_ended"),
    [
        ("pytest -q", ["pytest"], False),
        ("python3.11 -m pytest tests", ["pytest"], False),
        ("cd sub && FOO=1 poetry run python -X dev -m pytest", ["pytest"], False),
        ("coverage run --branch -m pytest", ["pytest"], False),
        ("timeout -s KILL 3 python -u -m pytest -v", ["pytest"], False),
        ("pip install pytest && ./run.sh", [], True),
        ("ruff check . && mypy .", ["ruff", "mypy"], False),
        ("npx --yes jest --ci", ["jest"], False),
        ("node --test test/", ["node"], False),
        ("node node_modules/.bin/mocha", ["mocha"], False),
        ("npm test", [], True),
        ("go vet ./... && go test ./...", ["go-build", "go"], False),
        ("cargo build", ["rustc"], False),
        ("cargo nextest run", ["cargo-test"], False),
        ("bundle exec rspec", ["rspec"], False),
        ("make check", ["make"], True),
        ("tox -e py", [], True),
        ("php -l index.php", ["php"], False),
        ("./vendor/bin/phpunit", ["phpunit"], False),
        ("mvn -q test", ["surefire"], False),
        ("mvn package", ["javac"], False),
        ("", [], True),
    ],
)
def test_a_command_names_its_tools(command: str, tools: list[str], open_ended: bool) -> None:
    found, open_end = named(shell(command))
    assert ([tool.name for tool in found], open_end) == (tools, open_ended)
    if "&&" not in command and "=" not in command:
        assert [tool.name for tool in named(tuple(command.split()))[0]] == tools


def test_an_unknown_output_is_unparsed_and_the_exit_code_decides() -> None:
    for code in (0, 3):
        parsed = said("ERROR: x.py:3: something\n", ("./run.sh",), code)
        assert (parsed.tools, parsed.failures, parsed.doubt()) == ((), (), "")


def test_words_of_a_linter_in_a_good_run_are_nobodys() -> None:
    text = "a.c:3:4: error: from a test of the compiler\n3 passed in 0.01s\n"
    parsed = said(text, ("make", "check"), 0)
    assert (parsed.failures, parsed.doubt()) == ((), "")


def test_a_configured_parser_is_taken_at_its_word() -> None:
    assert said("a.py:3: bad\n", ("./lint",), 1, "lines").failures == (
        Failure("", "lint", "bad", "a.py", 3),
    )
    assert said("1 failed in 0.1s\n", ("./t",), 0, "pytest").doubt()
    assert said("1 failed in 0.1s\n", ("pytest",), 0, "none").doubt() == ""


NEXTEST = """
    Starting 3 tests across 1 binary
        PASS [   0.004s] inv tests::works
        FAIL [   0.005s] inv tests::adds
  stderr ---
    note
thread 'tests::adds' panicked at src/lib.rs:21:9:
assertion failed
     SIGABRT [   0.005s] (3/3) inv tests::dies
------------
     Summary [   0.015s] 3 tests run: 1 passed, 2 failed, 4 skipped
        FAIL [   0.005s] inv tests::adds
"""


def test_nextest() -> None:
    parsed = said(NEXTEST, shell("cargo nextest run"), 100)
    assert parsed.found.counts == Counts(1, 2, 4)
    assert [(one.test, one.error, one.file, one.line) for one in parsed.failures] == [
        ("inv tests::adds", "panic", "src/lib.rs", 21),
        ("inv tests::dies", "failure", "", 0),
    ]


GRADLE = """> Task :test

x.CartTest > sums() FAILED
    org.opentest4j.AssertionFailedError: expected: <3> but was: <2> at CartTest.java:12

4 tests completed, 1 failed, 1 skipped

> Task :test FAILED
"""


def test_gradle() -> None:
    parsed = said(GRADLE, ("./gradlew", "test"))
    assert parsed.found.counts == Counts(2, 1, 1)
    (one,) = parsed.failures
    assert (one.test, one.error) == ("x.CartTest.sums()", "org.opentest4j.AssertionFailedError")
    assert (one.message, one.line) == ("expected: <3> but was: <2>", 12)


CTEST = """
75% tests passed, 1 tests failed out of 4

The following tests FAILED:
\t  3 - parses_numbers (Failed)
Errors while running CTest
"""


def test_ctest() -> None:
    parsed = said(CTEST, ("ctest",), 8)
    assert parsed.found.counts == Counts(3, 1, 0)
    assert [(one.test, one.error) for one in parsed.failures] == [("parses_numbers", "Failed")]


def test_cmake() -> None:
    text = "CMake Error at CMakeLists.txt:3 (find_package):\n  Could not find Nowhere.\n"
    (one,) = said(text, ("cmake", ".")).failures
    assert (one.file, one.line, one.message) == ("CMakeLists.txt", 3, "Could not find Nowhere.")


def test_sarif_in_one_long_line() -> None:
    region = {"startLine": 7, "startColumn": 2}
    where = {"physicalLocation": {"artifactLocation": {"uri": "a.py"}, "region": region}}
    result = {"ruleId": "R1", "message": {"text": "bad"}, "locations": [where]}
    noise = {"ruleId": "R2", "level": "note", "message": {"text": "x" * 90_000}}
    excused = {**result, "suppressions": [{"kind": "inSource"}]}
    text = json.dumps({"version": "2.1.0", "runs": [{"results": [noise, excused, result]}]})
    assert said(text, ("./scan",)).failures == (Failure("", "R1", "bad", "a.py", 7, 2),)
    for broken in (text[:-9], '{"runs": 3}', '{"runs": [3, {"results": [4, {}]}]}'):
        assert all(not one.file for one in said(broken, ("./scan",)).failures)


@pytest.mark.parametrize(
    ("text", "counts", "failing"),
    [
        ("1..2\nok 1 - a\nnot ok 2 - b # TODO later\n", Counts(1, 0, 1), []),
        ("TAP version 13\nok 1 - a # SKIP no\n1..1\n", Counts(0, 0, 1), []),
        ("1..3\nok 1\nok 2\n", Counts(2, 1, 0), ["3 tests were planned; 2 were run"]),
        ("1..2\nok 1 a\nBail out! no disk\n", Counts(1, 0, 0), ["no disk"]),
        ("ok 1 - a\n# a word\n", Counts(1, 1, 0), ["no plan, so it was cut off; 1 were run"]),
        ("not ok 1 - a\n  ---\n  message: 'too far'\n  ...\n1..1\n", Counts(0, 1, 0), ["too far"]),
    ],
)
def test_tap(text: str, counts: Counts, failing: list[str]) -> None:
    parsed = said(text, ("prove",))
    assert parsed.found.counts == counts
    assert [one.message for one in parsed.failures] == failing


def test_several_sessions_of_pytest_add_up_but_not_one_that_a_test_printed() -> None:
    start = "=" * 27 + " test session starts " + "=" * 27
    one = f"{start}\n{'=' * 30} 2 passed in 0.01s {'=' * 30}\n"
    parsed = said(one + one, ("make", "all"), 0)
    assert parsed.found.counts == Counts(4, 0, 0)


@pytest.mark.parametrize(
    "text",
    ["collecting ... ", "collected 3 items\n\nt.py ..", "..   [ 66%]", "t.py::a PASSED [ 33%]"],
)
def test_a_session_that_stops_on_its_way_has_run_no_tests(text: str) -> None:
    assert said(f"= test session starts =\n{text}", ("pytest",), 0).doubt() == SILENT


def test_a_cargo_test_that_ends_the_process_is_no_pass() -> None:
    text = "running 3 tests\ntest a ... ok\n\nrunning 1 test\ntest b ... ok\n\n"
    text += "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
    parsed = said(text, ("cargo", "test"), 0)
    assert (parsed.found.counts, parsed.doubt()) == (Counts(1, 3, 0), DISAGREE)


def test_what_is_kept_is_bounded() -> None:
    many = [failure(f"t{n}", "E", "m" * 900, trace=["x" * 400] * 20) for n in range(50)]
    kept = bounded(many)
    assert 3 <= len(kept) <= 12
    assert all(len(one.trace) <= 8 for one in kept)
    size = sum(len(one.message) + sum(map(len, one.trace)) for one in kept)
    assert size <= 8_000


def test_context_marks_the_line_and_stays_inside_the_file() -> None:
    assert around(["a", "b"], 2) == ("  1 | a", "> 2 | b")
    assert around(["a"], 2) == around([], 0) == ()
    (one,) = with_context([Failure("t", "E", "m", "gone.py", 3)], lambda path: None)
    assert one.context == ()


def test_a_path_of_another_place_is_the_trees_own_where_a_tail_of_it_is() -> None:
    log = log_from((), 1, frozenset({"pkg/tests/a.py", "b.py"}), "pkg")
    assert log.place("/somewhere/else/b.py") == "b.py"
    assert log.place("tests/a.py") == "pkg/tests/a.py"
    assert log.place("./tests/../tests/a.py") == "pkg/tests/a.py"
    assert log.place("/workspace/pkg/tests/a.py") == "pkg/tests/a.py"
    assert log.place("/usr/lib/c.py") == "/usr/lib/c.py"
    assert not log.ours("/usr/lib/c.py") and not log.ours("node_modules/x.js")


def test_the_page_tells_every_tool_and_which_of_them_run_tests() -> None:
    page = (Path(__file__).resolve().parents[5] / "docs" / "parsers.md").read_text()
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|.*\| (yes )?\|$", page, re.MULTILINE)
    assert [(name, bool(tests)) for name, tests in rows] == [
        (tool.name, tool.tests) for tool in TOOLS
    ]
    for reason in (SILENT, DISAGREE, NO_TESTS):
        assert f"`{reason}`" in page
