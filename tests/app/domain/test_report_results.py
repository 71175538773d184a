"""The base's own tests that fail on the change, named with the reason wherever evidence is read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.check import CheckResult, Comparison, Failure, Standing
from app.domain.report import check_output, page, pull_body, status
from app.domain.run import Attempt, Run
from app.domain.state import Kind, State
from tests.app.domain.rendered import balanced, problems
from tests.app.domain.report_world import TEST, TREE, contract, facts, passed, result

OURS = ("Closes #12", "issue #12")
BACK = "e5" * 20
WHY = Failure(TEST, "AssertionError", "assert 9 == 6", "tests/test_calc.py", 9)
FAILS = replace(
    result(BACK, Standing.FAILED, Comparison(newly_failing=(TEST,))),
    failures=(WHY,),
    tail="E  assert 9 == 6\n1 failed, 5 passed",
)


def weakened(*restored: CheckResult) -> Run:
    """Green with its own tests, while the base's own say something else."""
    return replace(passed(), restored=restored)


def texts(run: Run) -> dict[str, str]:
    looked = replace(run, kind=Kind.VERIFY, state=State.COMPLETE, plan=None)
    looked = replace(looked, contract=replace(contract(), head="a" * 40))
    return {
        "pull request": pull_body(run, facts()).split("\n## ", 1)[0],
        "check run": check_output(run, facts())[1],
        "page": page(run, facts()),
        "comment": status(looked, 0, ""),
    }


@pytest.mark.parametrize("where", ["pull request", "check run", "page", "comment"])
def test_the_failing_tests_and_why_stand_on_the_first_screen(where: str) -> None:
    text = texts(weakened(FAILS))[where]
    assert "❌ **The base's own tests fail on this change:** `tests`, exit 1" in text
    assert f"- `{TEST}` at `tests/test_calc.py:9`  \n  AssertionError: assert 9 == 6\n" in text
    assert "| with base's own tests |" in text and "| ✅ passed | ❌ failed · exit 1" in text
    assert "E  assert 9 == 6\n1 failed, 5 passed" in text  # the end of the output
    assert not problems(text, *OURS)
    assert balanced(text)


def test_where_no_test_is_known_the_end_of_the_output_stands_open() -> None:
    tail = "\n".join(f"line {n}" for n in range(40))
    bare = replace(FAILS, failures=(), comparison=None, counts=None, tail=tail)
    screen = texts(weakened(bare))["pull request"]
    assert "line 39\n```" in screen and "line 27\n" not in screen
    assert "<details>" not in screen.partition("The base's own tests fail")[2]


def test_what_failed_on_the_base_too_is_said_to() -> None:
    known = replace(FAILS, comparison=Comparison(already_failing=(TEST,)))
    assert "(it failed on the base, too)" in texts(weakened(known))["pull request"]


def test_where_they_pass_or_were_not_run_nothing_is_claimed_to_fail() -> None:
    for run in (weakened(), weakened(result(BACK))):
        for text in texts(run).values():
            assert "own tests fail" not in text
    assert "with base's own tests" not in texts(weakened())["page"]
    assert "✅ passed · exit 0" in texts(weakened(result(BACK)))["page"]


def test_each_run_tells_its_time_its_limit_and_what_it_left() -> None:
    mine = replace(result(TREE), cases="20" * 32)
    run = replace(weakened(FAILS), attempts=(Attempt(TREE, (mine,), "x"),))
    body = pull_body(run, facts())
    fold = body.partition("Each run, with times and digests")[2].partition("</details>")[0]
    assert "`tests` on this change: ✅ passed" in fold
    assert "1.2 s of at most 300 s · log `101010101010`" in fold
    assert "list of its 6 tests `202020202020`" in fold
    assert "`tests` with the base's own tests: ❌ failed" in fold
    assert "`tests` on the base: ❌ failed" in fold


def test_new_tests_are_listed() -> None:
    mine = result(TREE, comparison=Comparison(new=("tests/test_calc.py::test_new",)))
    run = replace(passed(), attempts=(Attempt(TREE, (mine,), "x"),))
    assert "**New:** `tests/test_calc.py::test_new`" in texts(run)["pull request"]
