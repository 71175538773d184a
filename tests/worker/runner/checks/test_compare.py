"""A file that failed as a whole is replaced by its tests: that is a fix, and no test is gone."""

from __future__ import annotations

import pytest

from app.domain.check import Case, CaseStatus
from worker.runner.checks.compare import compare

PASSED, FAILED, SKIPPED = CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.SKIPPED


@pytest.mark.parametrize(
    ("whole", "test"),
    [
        ("tests/test_price.py", "tests/test_price.py::test_total"),
        ("/workspace/test/price.test.js", "total adds all"),
        ("/workspace/test/price.test.js", "test/price.test.js::total"),
        ("test/a.test.ts::test/a.test.ts", "test/a.test.ts::adds"),
        ("unittest.loader._FailedTest.test_price", "tests.test_price.TestPrice.test_total"),
        ("setUpClass (tests.test_price.TestPrice)", "tests.test_price.TestPrice.test_total"),
    ],
)
def test_what_failed_as_a_whole_is_fixed_by_its_tests(whole: str, test: str) -> None:
    before = (Case(whole, FAILED), Case("other", PASSED))
    fixed = compare(before, (Case(test, PASSED), Case("other", PASSED)))
    assert (fixed.fixed, fixed.gone, fixed.new) == ((whole,), (), (test,))
    skipped = compare(before, (Case(test, SKIPPED), Case("other", PASSED)))
    assert (skipped.newly_skipped, skipped.fixed, skipped.gone) == ((whole,), (), ())
    failing = compare(before, (Case(test, FAILED), Case("other", PASSED)))
    assert (failing.newly_failing, failing.gone, failing.fixed) == ((test,), (), ())
    gone = compare(before, (Case("other", PASSED),))
    assert (gone.gone, gone.fixed) == ((whole,), ())


def test_a_file_s_tests_do_not_stand_for_another_file_nor_for_a_test() -> None:
    before = (Case("tests/test_a.py", FAILED), Case("tests/test_b.py::test_x", FAILED))
    after = (Case("tests/test_c.py::test_y", PASSED), Case("tests/test_b.py::test_z", PASSED))
    assert compare(before, after).gone == ("tests/test_a.py", "tests/test_b.py::test_x")


def test_what_passed_as_a_whole_stays_gone() -> None:
    before = (Case("tests/test_a.py", PASSED),)
    assert compare(before, (Case("tests/test_a.py::t", PASSED),)).gone == ("tests/test_a.py",)
