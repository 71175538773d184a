"""An exit code of 0 beside words of failure: the exit code was swallowed, so it is no pass."""

from __future__ import annotations

import pytest

from app.domain.check import Check, Outcome, Standing
from worker.runner.checks.heard import hear
from worker.runner.checks.rules import Seen, stand

SAID = {
    "jest": b"FAIL src/a.test.js\n  \xe2\x97\x8f Test suite failed to run\n\n    SyntaxError: x\n\n"
    b"Test Suites: 1 failed, 1 passed, 2 total\nTests:       3 passed, 3 total\n",
    "vitest": b" Test Files  1 failed | 1 passed (2)\n      Tests  2 passed (2)\n",
    "surefire": b"[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE\n",
    "cargo-test": b"error: could not compile `a` (lib) due to 1 previous error\n",
    "tsc": b"src/a.ts(1,2): error TS2304: Cannot find name 'a'.\n",
    "mypy": b"a.py:1: error: x  [name-defined]\nFound 1 error in 1 file (checked 1 source file)\n",
    "gcc": b"a.c:1:2: error: expected\n",
    "make": b"make: *** [Makefile:2: all] Error 1\n",
    "tap": b"TAP version 13\n1..2\nok 1 - a\nBail out! died\n",
}
FINE = {
    "vitest": b" Test Files  2 passed (2)\n      Tests  2 passed (2)\n",
    "surefire": b"[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n",
    "gcc": b"a.c:1:2: warning: unused variable x\n",
    "mypy": b"Success: no issues found in 1 source file\n",
    "tap": b"TAP version 13\n1..1\nok 1 - a\n",
}


def standing(parser: str, out: bytes, report: bytes | None = None) -> Standing:
    file = "r.xml" if report is not None else ""
    check = Check("c", ("sh", "-euc", "true"), report=file, parser=parser)
    outcome = Outcome(0, "", 0, out, b"", (len(out), 0), report)
    heard = hear(check, outcome, frozenset(), lambda _path: None)
    return stand(Seen(check, outcome, heard, None, frozenset(), None))[0]


@pytest.mark.parametrize("parser", SAID)
def test_words_of_failure_are_never_a_pass(parser: str) -> None:
    assert standing(parser, SAID[parser]) is not Standing.PASSED


@pytest.mark.parametrize("parser", FINE)
def test_an_honest_end_is_one(parser: str) -> None:
    assert standing(parser, FINE[parser]) is Standing.PASSED


@pytest.mark.parametrize(
    "report",
    [
        b'<testsuite tests="9" failures="5" errors="2"><testcase name="a"/></testsuite>',
        b'<testsuites errors="1"><testsuite><testcase name="a"/></testsuite></testsuites>',
        b'<testsuite tests="1"><error message="x"/><testcase name="a"/></testsuite>',
        b'<testsuite tests="1"><testcase name="a"/><system-out>\0</system-out></testsuite>',
        b"TAP version 13\n1..1\nok 1 - a\nBail out! died\n",
    ],
)
def test_a_report_that_tells_of_more_failures_than_its_cases_is_none(report: bytes) -> None:
    assert standing("", b"", report) is not Standing.PASSED


def test_an_honest_report_passes() -> None:
    report = b'<testsuite tests="1" failures="0" errors="0"><testcase name="a"/></testsuite>'
    assert standing("", b"", report) is Standing.PASSED
