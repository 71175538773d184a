"""Signatures hold still where nothing changed, and the loop stops where nothing improves (A21)."""

from __future__ import annotations

import pytest

from app.domain.budget import Limits
from app.domain.check import CheckResult, Comparison, Failure, Standing
from app.domain.progress import fingerprint, signature, steady, stuck
from app.domain.run import Attempt

LIMITS = Limits(repeats=3)


def result(
    standing: Standing = Standing.FAILED,
    *,
    message: str = "boom",
    failing: tuple[str, ...] = ("t::a",),
    fixed: tuple[str, ...] = (),
    gone: tuple[str, ...] = (),
    compared: bool = True,
    name: str = "tests",
    tail: str = "",
) -> CheckResult:
    failures = tuple(Failure(test, "ValueError", message, "a.py", 3) for test in failing)
    comparison = Comparison(newly_failing=failing, fixed=fixed, gone=gone) if compared else None
    reason = "" if standing is Standing.PASSED else "exit 1"
    return CheckResult(
        name, "d", "t", "i", standing, reason, 1, 5, None, failures, "", tail, "", comparison
    )


def attempts(*pairs: tuple[str, CheckResult]) -> tuple[Attempt, ...]:
    return tuple(Attempt(tree, (one,), "") for tree, one in pairs)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<a.B object at 0x7fe2690d1a10>", "<a.B object at 0x55aa>"),
        ("took 1.25s", "took 3s"),
        ("took 12 ms", "took 900 ms"),
        ("at 2026-11-30T18:40:51.39+00:00", "at 2027-01-02 03:04"),
        ("/tmp/pytest-0/x/y.txt missing", "/tmp/pytest-17/x/z.txt missing"),
        ("File a.py:12: in f", "File a.py:340: in f"),
        ("a.py, line 12", "a.py, line 13"),
        ("id 140610444257448", "id 140610444250000"),
        ("sha 0123456789abcdef0123", "sha fedcba9876543210fedc"),
        ("6f1c2b3a-0000-4000-8000-0123456789ab", "7f1c2b3a-0000-4000-8000-0123456789ff"),
        ("two  words\n", "two words"),
    ],
)
def test_volatile_parts_make_no_difference(one: str, other: str) -> None:
    assert steady(one) == steady(other)
    assert signature([result(message=one)]) == signature([result(message=other)])


@pytest.mark.parametrize(
    ("one", "other"),
    [("1 != 2", "1 != 3"), ("KeyError: 'a'", "KeyError: 'b'"), ("404", "500")],
)
def test_what_matters_does(one: str, other: str) -> None:
    assert signature([result(message=one)]) != signature([result(message=other)])


def test_order_of_checks_and_failures_makes_no_difference() -> None:
    first, second = result(name="a", failing=("x", "y")), result(name="b")
    turned = result(name="a", failing=("y", "x"))
    assert signature([first, second]) == signature([second, turned])


def test_without_structured_failures_the_output_tells() -> None:
    one, other = result(failing=(), tail="E: a"), result(failing=(), tail="E: b")
    assert signature([one]) != signature([other])


def test_nothing_failed_is_no_signature() -> None:
    assert signature([result(Standing.PASSED), result(Standing.SKIPPED)]) == ""
    assert signature([result(Standing.UNAVAILABLE)]) != ""


def test_a_fingerprint_is_of_diff_and_failures() -> None:
    assert fingerprint("t1", [result()]) == fingerprint("t1", [result()])
    assert fingerprint("t1", [result()]) != fingerprint("t2", [result()])
    assert fingerprint("t1", [result()]) != fingerprint("t1", [result(message="other")])


def test_fewer_attempts_than_repeats_are_no_standstill() -> None:
    assert stuck((), LIMITS) == ""
    assert stuck(attempts(("a", result()), ("a", result())), LIMITS) == ""


def test_the_same_change_three_times_stops() -> None:
    tried = attempts(*(("a", result(message=str(n))) for n in range(3)))
    assert stuck(tried, LIMITS) == "the change was the same 3 times in a row"


def test_the_same_failure_three_times_stops_although_the_change_differs() -> None:
    tried = attempts(*((f"t{n}", result(message=f"at 0x{n}")) for n in range(3)))
    assert "failed in the same way 3 times" in stuck(tried, LIMITS)


def test_other_failures_alone_are_no_progress() -> None:
    tried = attempts(*((f"t{n}", result(message=f"{n} != 0")) for n in range(3)))
    assert "no check and no test was newly fulfilled" in stuck(tried, LIMITS)


def test_a_newly_fulfilled_test_is_progress() -> None:
    tried = attempts(
        ("a", result(message="1")),
        ("b", result(message="2", fixed=("t::b",))),
        ("c", result(message="3", fixed=("t::b",))),
    )
    assert stuck(tried, LIMITS) == ""


def test_a_check_that_passes_is_progress_once() -> None:
    passing = result(Standing.PASSED, name="style", compared=False)

    def attempt(tree: str, message: str, styled: bool) -> Attempt:
        results = (result(message=message), *((passing,) if styled else ()))
        return Attempt(tree, results, "")

    tried = (attempt("a", "1", False), attempt("b", "2", True), attempt("c", "3", True))
    assert stuck(tried, LIMITS) == ""
    more = (*tried, attempt("d", "4", True), attempt("e", "5", True))
    assert "newly fulfilled" in stuck(more, LIMITS)


def test_breaking_less_than_ever_before_is_progress() -> None:
    tried = attempts(
        ("a", result(message="1", failing=("x", "y"), gone=("z",))),
        ("b", result(message="2", failing=("x", "y"), gone=("z",))),
        ("c", result(message="3", failing=("x",))),
    )
    assert stuck(tried, LIMITS) == ""
