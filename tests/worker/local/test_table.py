"""Evidence in the terminal: what a reader must not miss, in the words that are shown."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from app.domain.check import Comparison, Failure, Standing
from app.domain.claims import NO_LEAK, NOT_RUN, TOUCHED
from app.domain.edit import FILE, Delta
from app.domain.evidence import Finding, Holds
from app.domain.run import Attempt, Run
from tests.app.domain.report_world import TEST, TREE, passed, result
from worker.local import table

ODD = Delta("od\nd\tname.py", 0, FILE, 1, 0)


def shown(run: Run, deltas: Sequence[Delta] = ()) -> str:
    out = io.StringIO()
    Console(file=out, width=400, highlight=False).print(table.report(run, deltas))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def judged(*findings: Finding) -> Run:
    run = passed()
    assert run.verdict is not None
    return replace(run, verdict=replace(run.verdict, findings=findings))


def after(run: Run, **changed: object) -> Run:
    made = replace(result(TREE), **changed)  # type: ignore[arg-type]
    return replace(run, attempts=(Attempt(TREE, (made,), "x"),))


def test_the_base_s_own_tests_that_fail_are_named_with_the_reason() -> None:
    why = Failure(TEST, "AssertionError", "assert 9 == 6", "tests/test_calc.py", 9)
    more = Comparison(newly_failing=(TEST, "tests/test_calc.py::test_other"))
    back = replace(result("e5" * 20, Standing.FAILED, more), failures=(why,))
    text = shown(replace(passed(), restored=(back,)))
    part = text.partition("the base's own tests that fail on the change")[2]
    assert f"{TEST}  tests/test_calc.py:9" in part
    assert "AssertionError: assert 9 == 6" in part
    assert "tests/test_calc.py::test_other" in part
    assert "✘ 5 passed, 1 failed" in text.partition("failures")[0]
    bare = replace(back, failures=(), comparison=None, tail="Segmentation fault")
    assert "Segmentation fault" in shown(replace(passed(), restored=(bare,)))
    assert "own tests" not in shown(passed())


def test_an_output_that_nobody_could_read_is_said_to_be_unparsed() -> None:
    assert "✔ exit 0 (unparsed)" in shown(after(passed(), counts=None))
    assert "unparsed" not in shown(after(passed(), counts=None, parsed="ruff"))
    line = io.StringIO()
    Console(file=line, width=200).print(table.done("verify", replace(result(TREE), counts=None)))
    assert "tests not counted (unparsed)" in line.getvalue()


def test_a_newline_in_a_name_is_shown() -> None:
    text = shown(after(passed(), comparison=Comparison(new=("t::a[x\ny]",))), (ODD,))
    assert r"od\nd\tname.py" in text
    assert "new (1)" in text and r"t::a[x\ny]" in text


def test_a_passed_verdict_says_how_much_there_is_to_look_at() -> None:
    assert "no rule speaks against it." in shown(judged())
    two = [Finding(f"Look at: {one}", Holds.UNKNOWN, ("x",)) for one in ("this", "that")]
    assert "speaks against it; 2 points to look at above." in shown(judged(*two))
    assert "speaks against it; 1 point to look at above." in shown(judged(two[0]))


def test_a_failed_check_is_not_said_to_have_passed() -> None:
    leaf = Finding("`tests` passed", Holds.FAILS, ("`tests`: failed (exit 1).", "On the base: x."))
    text = shown(judged(Finding("Every required check passed", Holds.FAILS, parts=(leaf,))))
    assert "✘ `tests`: failed (exit 1).\n    On the base: x." in text
    assert "`tests` passed" not in text and "does not hold" not in text
    bare = Finding("All", Holds.FAILS, parts=(Finding("It ended", Holds.FAILS),))
    assert "✘ does not hold: It ended" in shown(judged(bare))


def test_a_secret_and_what_was_not_run_are_told() -> None:
    said = "A secret is in the change: `a.py` adds what looks like one (GitHub token)."
    leaf = Finding(NO_LEAK, Holds.UNKNOWN, (said,))
    idle = Finding(NOT_RUN, Holds.UNKNOWN, ("Sentinels: not run, `tests` failed.",))
    text = shown(judged(Finding("Shown", Holds.UNKNOWN, parts=(leaf,)), idle))
    assert f"? {said}\n    If it is a real one: revoke it" in text
    assert "beside the checks\n  · Sentinels: not run, `tests` failed." in text
    assert NOT_RUN not in text


def test_what_touched_the_referee_is_not_told_twice() -> None:
    touched = Finding(TOUCHED, Holds.UNKNOWN, ("`tests/test_calc.py` (test) is changed.",))
    text = shown(judged(touched), (Delta("tests/test_calc.py", FILE, FILE, 1, 1),))
    assert "it changes tests" not in text
    assert "it changes tests" in shown(judged(), (Delta("tests/test_calc.py", FILE, FILE, 1, 1),))
