"""Annotations: failures at their place, worst first; nothing in them is live or unseen."""

from __future__ import annotations

from dataclasses import replace

from app.domain.check import Comparison, Failure, Standing
from app.domain.edit import Delta
from app.domain.report_annotations import MESSAGE, MOST, Annotation, remarks
from app.domain.report_facts import Facts
from app.domain.run import Attempt, Run
from tests.app.domain.report_world import TEST, TREE, facts, failed, passed, result


def with_failures(*failures: Failure, known: tuple[str, ...] = ()) -> Run:
    after = result(TREE, Standing.FAILED, Comparison(already_failing=known))
    after = replace(after, failures=failures)
    return replace(failed(), attempts=(Attempt(TREE, (after,), "x"),))


def test_a_failure_stands_at_its_file_and_line() -> None:
    failure = Failure(TEST, "AssertionError", "1 != 2", "tests/test_calc.py", 7, trace=("a", "b"))
    (one,) = remarks(with_failures(failure), Facts())
    assert (one.path, one.line, one.level) == ("tests/test_calc.py", 7, "failure")
    assert one.title == f"tests: {TEST}"
    assert one.message == "AssertionError: 1 != 2\na\nb"


def test_what_failed_on_the_base_is_a_warning_and_comes_later() -> None:
    old = Failure("old", "E", "m", "a.py", 1)
    new = Failure("new", "E", "m", "b.py", 0)
    first, second = remarks(with_failures(old, new, known=("old",)), Facts())
    assert (first.path, first.line, first.level) == ("b.py", 1, "failure")
    assert (second.path, second.level) == ("a.py", "warning")
    assert second.message.startswith("It failed on the base already.")


def test_files_that_decide_about_the_change_are_named() -> None:
    deltas = (
        Delta("tests/test_calc.py", 0o100644, 0o100644, 1, 1),
        Delta("tests/test_new.py", 0, 0o100644, 1, 0),
        Delta("conftest.py", 0, 0o100644, 1, 0),
        Delta("tests/test_gone.py", 0o100644, 0, 0, 9),
        Delta("calc.py", 0o100644, 0o100644, 1, 1),
    )
    found = remarks(passed(), replace(facts(), deltas=deltas))
    assert [(one.path, one.level) for one in found] == [
        ("tests/test_calc.py", "notice"),
        ("conftest.py", "notice"),
    ]


def test_places_outside_the_repository_are_left_out_and_hidden_text_is_shown() -> None:
    odd = [
        Failure("t", "E", "m", path, 1) for path in ("", "/etc/passwd", "a\nb", "a\\b", "x" * 999)
    ]
    assert remarks(with_failures(*odd), Facts()) == ()
    (one,) = remarks(with_failures(Failure("t\u202e", "E", "m\x1b[31m", "a.py", 10**9)), Facts())
    assert one.line == 1_000_000
    assert "<U+202E>" in one.title and "<U+001B>" in one.message


def test_they_are_bounded_and_each_is_said_once() -> None:
    many = [Failure(f"t{n}", "E", "m" * 9_000, "a.py", n) for n in range(999)]
    found = remarks(with_failures(*many), Facts())
    assert len(found) == MOST
    assert all(len(one.message) <= MESSAGE for one in found)
    twice = Failure("t", "", "", "a.py", 1)
    assert remarks(with_failures(twice, twice), Facts()) == (
        Annotation("a.py", 1, "failure", "tests: t", "It failed without a word."),
    )
    assert remarks(replace(passed(), contract=None), Facts()) == ()


def test_the_base_s_own_tests_that_fail_stand_on_the_file_that_took_their_place() -> None:
    here = Failure(TEST, "AssertionError", "assert 9 == 6", "tests/test_calc.py", 9)
    gone = Failure("gone", "E", "m", "tests/test_gone.py", 3)
    back = result("e5" * 20, Standing.FAILED, Comparison(newly_failing=(TEST,)))
    run = replace(passed(), restored=(replace(back, failures=(here, gone)),))
    deltas = (
        Delta("tests/test_calc.py", 0o100644, 0o100644, 1, 1),
        Delta("tests/test_gone.py", 0o100644, 0, 0, 9),
    )
    first = remarks(run, replace(facts(), deltas=deltas))[0]
    assert (first.path, first.line, first.level) == ("tests/test_calc.py", 1, "failure")
    assert first.title == f"tests, as the base has it: {TEST}"
    assert first.message.startswith("The base's own version of this test fails on the change.\n")
    assert [one.path for one in remarks(run, replace(facts(), deltas=deltas))].count(
        "tests/test_gone.py"
    ) == 0
