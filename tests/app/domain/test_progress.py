"""Signatures hold still where nothing changed, and the loop stops where nothing improves (A21)."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

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
        ("at 17:03:21.5", "at 04:00:00"),
        ("on Mon, 30 Nov 2026 17:03:15 GMT", "on Tue, 1 Dec 2026 09:00:00 GMT"),
        ("commit 1a2b3c4 is gone", "commit f00ba12 is gone"),
        ("/home/one/proj/a.py is missing", "/workspace/a.py is missing"),
        ("C:\\Users\\one\\a.py", "D:\\b\\a.py"),
        ("no answer at 127.0.0.1:5432", "no answer at 127.0.0.1:61022"),
        ("port=8080 taken", "port=9 taken"),
        ("Randomized with seed 4711", "Randomized with seed 1"),
        ("[worker 3] gone, pid=12", "[worker 0] gone, pid=99999"),
        ("no file tmpa1b2c3d4", "no file tmpzz_9xx0q"),
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


VOLATILE = {
    "time": st.datetimes().map(lambda one: one.isoformat()),
    "clock": st.times().map(lambda one: one.strftime("%H:%M:%S")),
    "address": st.integers(0, 2**48).map(lambda one: f"<T object at {one:#x}>"),
    "hash": st.binary(min_size=20, max_size=32).map(lambda one: one.hex()),
    "uuid": st.uuids().map(str),
    "port": st.integers(1, 65_535).map(lambda one: f"localhost:{one}"),
    "seed": st.integers(0, 10**9).map(lambda one: f"seed={one}"),
    "pid": st.integers(1, 10**6).map(lambda one: f"pid {one}"),
    "duration": st.floats(0.01, 900).map(lambda one: f"{one:.2f}s"),
    "tmp": st.text("abcxyz019", min_size=1, max_size=9).map(lambda one: f"/tmp/run-{one}/f.txt"),
    "home": st.text("abcxyz", min_size=1, max_size=9).map(lambda one: f"/home/{one}/src/f.py"),
    "line": st.integers(1, 9_999).map(lambda one: f"f.py:{one}:{one % 80}"),
}
WORDS = st.lists(st.text("ghijklmnopqrstuvw", min_size=2, max_size=9), min_size=1, max_size=6)
KINDS = st.lists(st.sampled_from(sorted(VOLATILE)), min_size=1, max_size=4)


@given(st.data(), WORDS, KINDS)
def test_two_runs_of_one_failure_have_one_signature(
    data: st.DataObject, words: list[str], kinds: list[str]
) -> None:
    def run() -> CheckResult:
        parts = [data.draw(VOLATILE[kind]) for kind in kinds]
        said = " ".join(f"{word} {part}" for word, part in zip_longest(words, parts, fillvalue=""))
        return result(message=said, tail=said)

    first, second = run(), run()
    assert signature([first]) == signature([second])
    untold = [replace(one, failures=()) for one in (first, second)]
    assert signature(untold[:1]) == signature(untold[1:])


@given(st.data(), WORDS, WORDS, KINDS)
def test_two_failures_have_two_signatures(
    data: st.DataObject, one: list[str], other: list[str], kinds: list[str]
) -> None:
    parts = " ".join(data.draw(VOLATILE[kind]) for kind in kinds)
    assume(one != other)
    first, second = (result(message=f"{' '.join(words)} {parts}") for words in (one, other))
    assert signature([first]) != signature([second])
    named = [result(failing=("::".join(words),)) for words in (one, other)]
    assert signature(named[:1]) != signature(named[1:])


@given(st.integers(0, 999), st.integers(0, 999))
def test_numbers_in_a_tests_name_tell_tests_apart(one: int, other: int) -> None:
    names = [f"./spec/a_spec.rb:{number}" for number in (one, other)]
    signatures = {signature([result(failing=(name,))]) for name in names}
    assert len(signatures) == len(set(names))


@given(st.text(max_size=80))
def test_what_is_steady_stays_as_it_is(text: str) -> None:
    assert steady(steady(text)) == steady(text)


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
