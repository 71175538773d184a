"""Reports are claims: hostile, broken and odd ones never crash the reader, never become a pass."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.domain.check import Case, CaseStatus
from tests.shared_data import shared_dir
from worker.runner.checks.parsers.junit import CASES_CAP, FAILURES_CAP, REPORT_CAP, parse

PASSED, FAILED, SKIPPED = CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.SKIPPED


def suite(*cases: str) -> bytes:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>".encode()


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"<html/>",
        b"no xml",
        b"<testsuites/>"[:-3],
        suite('<testcase name="a"/>')[:-20],
        b'<!DOCTYPE a [<!ENTITY b "c">]><testsuite><testcase name="&b;"/></testsuite>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><testsuite/>',
        "<testsuite/>".encode("utf-16"),
        b"<testsuite>\xff</testsuite>",
        b"<testsuite>" + b"<a>" * 100_000,
        b"<testsuite>" + b'<testcase name="a"/>' * (CASES_CAP + 1),
        suite(f'<testcase name="{"a" * REPORT_CAP}"/>'),
        b"<testsuite><testcase/>&undefined;</testsuite>",
    ],
)
def test_what_is_no_report_is_none(data: bytes | None) -> None:
    assert parse(data, ()) is None


def test_control_characters_are_replaced_and_the_rest_is_read() -> None:
    report = parse(
        b'<testsuite tests="2" failures="1"><testcase name="a"><failure message="\x1b[31mE\x00'
        b'&#0;&#x1b;&#xFFFFFFF;&#9;"/></testcase><testcase name="b"/></testsuite>',
        (),
    )
    assert report is not None
    assert [case.status for case in report.cases] == [FAILED, PASSED]
    assert report.failures[0].message.startswith("\ufffd")


def test_every_kind_of_ending_is_told_apart() -> None:
    report = parse(
        suite(
            '<testcase name="a"/>',
            '<testcase name="b"><failure message="no"/></testcase>',
            '<testcase name="c"><error message="no"/></testcase>',
            '<testcase name="d"><skipped message="later"/></testcase>',
            '<testcase name="e"><system-out>&lt;failure/&gt;</system-out></testcase>',
        ),
        (),
    )
    assert report is not None
    assert [case.status for case in report.cases] == [PASSED, FAILED, FAILED, SKIPPED, PASSED]


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        ("", "<failure/>", FAILED),
        ("<failure/>", "", FAILED),
        ("<skipped/>", "", PASSED),
        ("", "<skipped/>", PASSED),
        ("<skipped/>", "<skipped/>", SKIPPED),
    ],
)
def test_a_test_that_is_told_twice_counts_once(first: str, second: str, status: CaseStatus) -> None:
    case = '<testcase classname="m" name="a">{}</testcase>'
    report = parse(suite(case.format(first), case.format(second)), ())
    assert report is not None
    assert report.cases == (Case("m::a", status),)


def test_sums_over_several_suites() -> None:
    data = (
        b'<testsuites><testsuite><testcase name="a"/><testsuite><testcase name="b"/></testsuite>'
        b'</testsuite><testsuite xmlns="urn:x"><testcase name="c"/></testsuite></testsuites>'
    )
    report = parse(data, ())
    assert report is not None
    assert [case.id for case in report.cases] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("attributes", "paths", "wanted"),
    [
        ('classname="tests.test_a.TestX" name="t" file="tests/test_a.py"', (), "TestX::t"),
        ('classname="tests.test_a.TestX.In" name="t[a::b]" file="./tests/test_a.py"', (), None),
        ('classname="test_a.TestX" name="t" file="tests/test_a.py"', (), "TestX::t"),
        ('classname="other.TestX" name="t" file="tests/test_a.py"', (), "TestX::t"),
        ('classname="" name="tests.test_a" file="tests/test_a.py"', (), ""),
        ('classname="tests.test_a.TestX" name="t"', ("tests/test_a.py",), "TestX::t"),
        ('classname="" name="tests.test_a"', ("tests/test_a.py",), ""),
        ('classname="tests.test_a" name="t"', ("tests/test_a.py",), "t"),
    ],
)
def test_ids_are_those_of_the_test_runner(
    attributes: str, paths: tuple[str, ...], wanted: str | None
) -> None:
    report = parse(suite(f"<testcase {attributes}/>"), paths)
    assert report is not None
    ends = "TestX::In::t[a::b]" if wanted is None else wanted
    assert report.cases[0].id == "::".join(part for part in ("tests/test_a.py", ends) if part)


def test_other_tools_keep_their_names() -> None:
    report = parse(suite('<testcase classname="pkg/kv" name="TestA/one" file=""/>'), ())
    assert report is not None
    assert report.cases[0].id == "pkg/kv::TestA/one"


def test_hostile_size_costs_little_time() -> None:
    huge = suite(f'<testcase name="a"><failure>{"x:1: y " * 500_000}</failure></testcase>')
    start = time.thread_time()
    report = parse(huge, ())
    assert report is not None
    assert sum(map(len, report.failures[0].trace)) < 3_000
    assert time.thread_time() - start < 5


def test_failures_are_bounded_and_cases_are_not() -> None:
    many = suite(*(f'<testcase name="t{n}"><error/></testcase>' for n in range(700)))
    report = parse(many, ())
    assert report is not None
    assert (len(report.cases), len(report.failures)) == (700, FAILURES_CAP)


TESTS = """
import pytest
import unittest


class TestX:
    class TestIn:
        @pytest.mark.parametrize("a", ["x::y", "a[b]", "p/q.py"])
        def test_y(self, a):
            assert a == "x::y"


class Old(unittest.TestCase):
    def test_u(self):
        self.assertEqual(1, 2)


@pytest.fixture
def late():
    yield
    raise RuntimeError("teardown")


def test_late(late):
    pass


def test_skip():
    pytest.skip("later")


def test_colour():
    print("\\x1b[31mred\\x00")
    raise ValueError("first\\nsecond")
"""


def test_what_pytest_really_writes(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(TESTS)
    (tmp_path / "tests" / "test_b.py").write_text("import nowhere_to_be_found\n")
    for family in ("xunit1", "xunit2"):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
                *("-o", f"junit_family={family}", "--junitxml=r.xml"),
                "--continue-on-collection-errors",
            ],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 1, done.stdout
        paths = {"tests/test_a.py", "tests/test_b.py"}
        report = parse((tmp_path / "r.xml").read_bytes(), paths)
        assert report is not None
        assert {case.id: case.status for case in report.cases} == {
            "tests/test_a.py::Old::test_u": FAILED,
            "tests/test_a.py::TestX::TestIn::test_y[a[b]]": FAILED,
            "tests/test_a.py::TestX::TestIn::test_y[p/q.py]": FAILED,
            "tests/test_a.py::TestX::TestIn::test_y[x::y]": PASSED,
            "tests/test_a.py::test_colour": FAILED,
            "tests/test_a.py::test_late": FAILED,
            "tests/test_a.py::test_skip": SKIPPED,
            "tests/test_b.py": FAILED,
        }
        told = {failure.test: failure for failure in report.failures}
        missing = told["tests/test_b.py"]
        assert (missing.error, missing.file, missing.line) == (
            "ModuleNotFoundError",
            "tests/test_b.py",
            1,
        )
        assert missing.message == "No module named 'nowhere_to_be_found'"
        late = told["tests/test_a.py::test_late"]
        assert (late.error, late.message) == ("RuntimeError", "teardown")
        colour = told["tests/test_a.py::test_colour"]
        assert (colour.error, colour.message, colour.line) == ("ValueError", "first", 34)


def test_a_recorded_pytest_report_says_what_it_is_known_to_say() -> None:
    folder = shared_dir() / "data" / "outputs" / "pytest-junitxml"
    expected = json.loads((folder / "expected.json").read_text())
    report = parse((folder / "junit.xml").read_bytes(), {"test_x.py"})
    assert report is not None
    statuses = [case.status for case in report.cases]
    assert statuses.count(PASSED) == expected["counts"]["passed"]
    assert statuses.count(FAILED) == expected["counts"]["failed"] + expected["counts"]["errors"]
    assert statuses.count(SKIPPED) == expected["counts"]["skipped"]
    for wanted, failure in zip(expected["failures"], report.failures, strict=True):
        assert (failure.test, failure.file, failure.line, failure.error) == (
            wanted["id"],
            wanted["file"],
            wanted["line"],
            wanted["type"],
        )
        assert wanted["message"] in failure.message


def test_a_recorded_go_report_says_what_it_is_known_to_say() -> None:
    folder = shared_dir() / "data" / "outputs" / "gotestsum-junit"
    expected = json.loads((folder / "expected.json").read_text())
    report = parse((folder / "junit.xml").read_bytes(), ())
    assert report is not None
    failed = {case.id.rpartition("::")[2] for case in report.cases if case.status is FAILED}
    assert failed == {one["junit_name"] for one in expected["failures"]}
    places = {failure.test.rpartition("::")[2]: failure for failure in report.failures}
    assert (places["TestBad"].file, places["TestBad"].line) == ("a_test.go", 6)
