"""The merge gate: passed only when everything was shown, on that very tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.budget import Limits
from app.domain.check import Check, CheckResult, Comparison, Counts, Failure, Standing, Tier
from app.domain.claims import BASE_TESTS, UNPARSED
from app.domain.contract import Criterion
from app.domain.edit import EXECUTABLE, FILE, GITLINK, LINK, Delta
from app.domain.errors import HaltRecord, Reason
from app.domain.evidence import Finding, Holds, Result, readable
from app.domain.gate import Exhibits, judge, size_problem
from app.domain.plan import Action, Plan, PlannedFile
from app.domain.policy import Rules
from app.domain.witness import RedGreen, Sighted, Witness

TREE = "a" * 40
OTHER = "b" * 40
UNIT = Check("unit", ("pytest",))
LINT = Check("lint", ("ruff",))
QUICK = Check("quick", ("true",), tier=Tier.QUICK)


def plan(*files: tuple[str, Action, int]) -> Plan:
    return Plan("s", tuple(PlannedFile(p, a, "why", n) for p, a, n in files), (), (), (), 1)


PLAN = plan(("src/a.py", Action.EDIT, 5), ("tests/test_a.py", Action.EDIT, 5))
EDITED = Delta("src/a.py", FILE, FILE, 3, 2)


def result(
    check: Check = UNIT, standing: Standing = Standing.PASSED, **changed: Any
) -> CheckResult:
    passed = standing is Standing.PASSED
    made = CheckResult(
        check=check.name,
        digest=check.digest(),
        tree=TREE,
        image="sha256:1",
        standing=standing,
        reason="" if passed else "exit 1",
        exit_code=0 if passed else 1,
        ms=5,
        counts=Counts(3, 0, 0) if passed else Counts(2, 1, 0),
        failures=(),
        log="",
        tail="",
    )
    return replace(made, **changed)


def exhibits(**changed: Any) -> Exhibits:
    made = Exhibits(
        tree=TREE,
        base_commit="c" * 40,
        plan=PLAN,
        deltas=(EDITED,),
        rules=Rules(),
        limits=Limits(),
        checks=(UNIT,),
        results=(result(),),
        baseline=(result(standing=Standing.FAILED, tree=OTHER),),
        attempts=1,
    )
    return replace(made, **changed)


def leaves(findings: tuple[Finding, ...]) -> list[Finding]:
    return [leaf for f in findings for leaf in (leaves(f.parts) if f.parts else [f])]


def test_a_change_whose_every_claim_holds_has_passed() -> None:
    verdict = judge(exhibits())
    assert verdict.result is Result.PASSED
    assert verdict.wall == ""
    assert (verdict.tree, verdict.base_commit) == (TREE, "c" * 40)
    assert {leaf.standing for leaf in leaves(verdict.findings)} == {Holds.HOLDS}
    text = str(verdict.findings)
    assert "On the base: failed (exit 1), 2 passed, 1 failed, 0 skipped." in text
    assert "Verified candidates: 1." in text


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"deltas": ()}, "nothing was changed"),
        ({"deltas": (Delta("src/b.py", FILE, FILE, 1, 1),)}, "does not declare: `src/b.py`"),
        ({"deltas": (Delta("src/a.py", FILE, 0, 0, 9),)}, "does not declare: `src/a.py`"),
        ({"rules": Rules(allow=("docs/**",))}, "allows: `src/a.py`"),
        ({"deltas": (Delta("src/a.py", FILE, EXECUTABLE, 0, 0),)}, "file modes: `src/a.py`"),
        ({"deltas": (Delta("src/a.py", FILE, LINK, 1, 1),)}, "file modes: `src/a.py`"),
        ({"deltas": (Delta("src/a.py", LINK, LINK, 1, 1),)}, "file modes: `src/a.py`"),
        ({"deltas": (Delta("src/a.py", GITLINK, GITLINK, 1, 1),)}, "file modes: `src/a.py`"),
        ({"deltas": (Delta("src/a.py", FILE, FILE, -1, -1),)}, "binary"),
        ({"deltas": (Delta("src/a.py", FILE, FILE, 30, 11),)}, "41 changed lines of source"),
    ],
)
def test_a_broken_rule_fails_the_change(changed: dict[str, Any], said: str) -> None:
    verdict = judge(exhibits(**changed))
    assert verdict.result is Result.FAILED
    assert said in verdict.wall


def test_a_blocked_path_is_the_first_wall_even_if_all_else_fails() -> None:
    made = plan(("go.sum", Action.EDIT, 5))
    bad = exhibits(
        plan=made,
        deltas=(Delta("go.sum", FILE, FILE, 500, 1),),
        results=(result(standing=Standing.FAILED),),
        halt=HaltRecord(Reason.BUDGET_TURNS, "The budget stopped this run.", ""),
    )
    verdict = judge(bad)
    assert verdict.result is Result.FAILED
    assert verdict.wall == "The change touches paths that are blocked: `go.sum`."


def test_created_and_deleted_files_are_plain_files() -> None:
    made = plan(("n.py", Action.CREATE, 5), ("old.sh", Action.DELETE, 5))
    deltas = (Delta("n.py", 0, FILE, 3, 0), Delta("old.sh", EXECUTABLE, 0, 0, 3))
    assert judge(exhibits(plan=made, deltas=deltas)).result is Result.PASSED
    deltas = (Delta("n.py", 0, EXECUTABLE, 3, 0),)
    assert "file modes: `n.py`" in judge(exhibits(plan=made, deltas=deltas)).wall


def test_many_paths_are_cut() -> None:
    deltas = tuple(Delta(f"x{n}", FILE, FILE, 0, 0) for n in range(25))
    assert judge(exhibits(deltas=deltas)).wall.endswith("`x19` and 5 more.")


# -- checks


@pytest.mark.parametrize(
    ("results", "expected", "said"),
    [
        ((), Result.PARTIAL, "`unit` did not run on this tree."),
        ((result(tree=OTHER),), Result.PARTIAL, "did not run on this tree"),
        ((result(digest="0" * 64),), Result.PARTIAL, "did not run on this tree"),
        ((result(check=LINT),), Result.PARTIAL, "did not run on this tree"),
        ((result(standing=Standing.FAILED),), Result.FAILED, "failed (exit 1), 2 passed, 1 failed"),
        ((result(standing=Standing.SKIPPED),), Result.PARTIAL, "`unit`: skipped"),
        ((result(standing=Standing.UNAVAILABLE),), Result.PARTIAL, "`unit`: unavailable"),
        ((result(), result(standing=Standing.FAILED)), Result.FAILED, "`unit`: failed"),
        ((result(standing=Standing.SKIPPED), result()), Result.PARTIAL, "`unit`: skipped"),
        ((result(counts=Counts(0, 0, 0)),), Result.PARTIAL, "0 passed"),
        ((result(counts=Counts(0, 0, 4)),), Result.PARTIAL, "4 skipped"),
        ((result(counts=Counts(3, 1, 0)),), Result.PARTIAL, "1 failed"),
        ((result(exit_code=1),), Result.PARTIAL, "`unit`: passed"),
        ((result(exit_code=None, counts=None),), Result.PARTIAL, "not started"),
        ((result(counts=None),), Result.PASSED, ""),
    ],
)
def test_nothing_but_a_clean_pass_on_this_tree_is_a_pass(
    results: tuple[CheckResult, ...], expected: Result, said: str
) -> None:
    verdict = judge(exhibits(results=results))
    assert verdict.result is expected
    assert said in verdict.wall


def test_every_required_check_counts_and_others_do_not() -> None:
    both = exhibits(checks=(UNIT, LINT, QUICK))
    assert "`lint` did not run" in judge(both).wall
    full = replace(both, results=(result(), result(LINT), result(QUICK, Standing.FAILED)))
    assert judge(full).result is Result.PASSED


def test_no_required_check_at_all_is_no_pass() -> None:
    for checks in ((), (QUICK,)):
        verdict = judge(exhibits(checks=checks))
        assert verdict.result is Result.PARTIAL
        assert "names no required check" in verdict.wall


def test_a_run_that_stopped_early_is_partial_with_its_reason_as_the_wall() -> None:
    halt = HaltRecord(Reason.BUDGET_DOLLARS, "The budget stopped this run: $2.50 are spent.", "")
    for results in ((result(),), ()):
        verdict = judge(exhibits(halt=halt, results=results))
        assert verdict.result is Result.PARTIAL
        assert verdict.wall == halt.message
    assert judge(exhibits(halt=halt, results=(result(standing=Standing.FAILED),))).result is (
        Result.FAILED
    )


# -- the referee


REFEREE = plan(("src/a.py", Action.EDIT, 5), ("setup.cfg", Action.EDIT, 5))
TOUCHED = (EDITED, Delta("setup.cfg", FILE, FILE, 1, 1))
RESTORED = (result(tree=OTHER),)


def test_a_touched_referee_passes_only_if_the_base_s_version_passes_too() -> None:
    bare = exhibits(plan=REFEREE, deltas=TOUCHED)
    verdict = judge(bare)
    assert verdict.result is Result.PARTIAL
    assert verdict.wall == (
        "The base's version was not run, although the change touches: `setup.cfg`."
    )
    good = judge(replace(bare, restored=RESTORED))
    assert good.result is Result.PASSED
    assert "Touched: `setup.cfg`." in str(good.findings)
    bad = judge(replace(bare, restored=(result(standing=Standing.FAILED, tree=OTHER),)))
    assert bad.result is Result.FAILED
    assert bad.wall.startswith("With the base's tests put back: `unit`: failed")


@pytest.mark.parametrize(
    "restored",
    [(), (result(LINT),), (result(standing=Standing.UNAVAILABLE),), (result(digest="0"),)],
)
def test_a_base_version_that_said_nothing_is_no_pass(restored: tuple[CheckResult, ...]) -> None:
    verdict = judge(exhibits(plan=REFEREE, deltas=TOUCHED, restored=restored))
    assert verdict.result is Result.PARTIAL
    assert verdict.wall.startswith("With the base's tests put back")


def test_with_no_required_check_the_base_version_shows_nothing() -> None:
    verdict = judge(exhibits(checks=(), restored=RESTORED))
    assert "No required check was run with the base's tests put back." in str(verdict.findings)
    assert verdict.result is Result.PARTIAL


@pytest.mark.parametrize(
    ("delta", "action", "needed"),
    [
        (Delta("tests/test_a.py", FILE, FILE, 1, 1), Action.EDIT, True),
        (Delta("tests/test_a.py", FILE, 0, 0, 9), Action.DELETE, True),
        (Delta("tests/test_new.py", 0, FILE, 9, 0), Action.CREATE, False),
        (Delta("tests/conftest.py", 0, FILE, 9, 0), Action.CREATE, True),
        (Delta("Makefile", FILE, FILE, 1, 1), Action.EDIT, True),
        (Delta("src/b.py", 0, FILE, 9, 0), Action.CREATE, False),
    ],
)
def test_which_changes_need_the_base_s_version(delta: Delta, action: Action, needed: bool) -> None:
    made = exhibits(plan=plan((delta.path, action, 5)), deltas=(delta,))
    assert (judge(made).result is Result.PARTIAL) is needed


@pytest.mark.parametrize(
    "lost", [Comparison(gone=("t::a", "t::b")), Comparison(newly_skipped=("t::a", "t::b"))]
)
def test_a_test_that_is_gone_or_skipped_fails_and_is_told_to_pass_when_put_back(
    lost: Comparison,
) -> None:
    bare = exhibits(results=(result(comparison=lost),))
    verdict = judge(bare)
    assert verdict.result is Result.FAILED
    assert verdict.wall == "Tests of the base are gone or newly skipped: `t::a`, `t::b`."
    good = judge(replace(bare, restored=RESTORED))
    assert good.result is Result.FAILED
    assert good.wall.endswith("`t::b`. Put back, they pass; the change would pass with them.")
    assert judge(replace(bare, restored=())).result is Result.FAILED
    elsewhere = result(tree=OTHER, comparison=lost)
    assert judge(exhibits(results=(result(), elsewhere))).result is Result.PASSED


def test_nobody_is_blamed_for_tests_of_a_base_that_could_not_be_measured() -> None:
    base = result(standing=Standing.UNAVAILABLE, reason="environment", tree=OTHER)
    mine = result(
        standing=Standing.UNAVAILABLE,
        reason="baseline unusable",
        comparison=Comparison(gone=("t::a",)),
    )
    verdict = judge(exhibits(baseline=(base,), results=(mine,)))
    assert verdict.result is Result.PARTIAL
    assert "baseline unusable" in verdict.wall


def test_a_check_that_paths_set_aside_must_pass_with_the_base_s_tests() -> None:
    aside = replace(UNIT, name="aside", paths=("src/**",))
    bare = exhibits(plan=REFEREE, deltas=TOUCHED, aside=(aside,))
    known = replace(RESTORED[0], check="aside", digest=aside.digest())
    assert judge(replace(bare, restored=RESTORED)).result is Result.PARTIAL
    assert judge(replace(bare, restored=(*RESTORED, known))).result is Result.PASSED
    failed = replace(known, standing=Standing.FAILED, exit_code=1)
    assert judge(replace(bare, restored=(*RESTORED, failed))).result is Result.FAILED


# -- size


@pytest.mark.parametrize(
    ("lines", "planned", "limit", "fits"),
    [
        ((40, 0), 0, 0, True),
        ((41, 0), 0, 0, False),
        ((20, 21), 13, 0, False),
        ((21, 21), 14, 0, True),
        ((150, 150), 100, 0, True),
        ((151, 150), 100, 0, False),
        ((10, 0), 100, 10, True),
        ((10, 1), 100, 10, False),
        ((-1, -1), 0, 10, True),
    ],
)
@pytest.mark.parametrize("path", ["src/a.py", "tests/test_a.py"])
def test_the_size_is_measured_against_the_plan(
    path: str, lines: tuple[int, int], planned: int, limit: int, fits: bool
) -> None:
    problem = size_problem(
        plan((path, Action.EDIT, planned)),
        [Delta(path, FILE, FILE, *lines)],
        Limits(changed_lines=limit),
        Rules(),
    )
    assert (problem == "") is fits


def test_source_and_tests_are_counted_apart() -> None:
    made = plan(("src/a.py", Action.EDIT, 1), ("tests/test_a.py", Action.EDIT, 100))
    deltas = [Delta("src/a.py", FILE, FILE, 40, 0), Delta("tests/test_a.py", FILE, FILE, 300, 0)]
    assert size_problem(made, deltas, Limits(), Rules()) == ""
    deltas[0] = Delta("src/a.py", FILE, FILE, 41, 0)
    assert "41 changed lines of source; at most 40" in size_problem(made, deltas, Limits(), Rules())
    deltas = [Delta("tests/test_a.py", FILE, FILE, 300, 1)]
    assert "301 changed lines of tests" in size_problem(made, deltas, Limits(), Rules())


# -- the one property


RESULTS = st.lists(
    st.builds(
        result,
        st.sampled_from([UNIT, LINT]),
        st.sampled_from(list(Standing)),
        tree=st.sampled_from([TREE, OTHER]),
        counts=st.sampled_from([None, Counts(0, 0, 0), Counts(1, 0, 0), Counts(1, 1, 0)]),
        exit_code=st.sampled_from([0, 1, None]),
    ),
    max_size=4,
)


@given(RESULTS, st.none() | RESULTS, st.sampled_from([TOUCHED, (EDITED,)]), st.booleans())
def test_passed_means_every_required_check_passed_here(
    results: list[CheckResult],
    restored: list[CheckResult] | None,
    deltas: tuple[Delta, ...],
    halted: bool,
) -> None:
    verdict = judge(
        exhibits(
            plan=REFEREE,
            deltas=deltas,
            checks=(UNIT, LINT),
            results=results,
            restored=restored,
            halt=HaltRecord(Reason.NO_PROGRESS, "stuck", "") if halted else None,
        )
    )
    assert (verdict.wall == "") is (verdict.result is Result.PASSED)
    if verdict.result is Result.PASSED:
        assert not halted
        for check in (UNIT, LINT):
            here = [r for r in results if r.check == check.name and r.tree == TREE]
            assert here
            assert all(r.standing is Standing.PASSED and r.exit_code == 0 for r in here)
        assert deltas != TOUCHED or restored


# -- what is beside the checks


def claims(verdict: Any) -> dict[str, Finding]:
    return {leaf.claim: leaf for leaf in leaves(verdict.findings)}


@pytest.mark.parametrize(
    ("witness", "expected", "wall"),
    [
        (Witness(sentinels=(Sighted("unit", Holds.HOLDS, "ok"),)), Result.PASSED, ""),
        (Witness(sentinels=(Sighted("unit", Holds.UNKNOWN, "none"),)), Result.PASSED, ""),
        (
            Witness(sentinels=(Sighted("unit", Holds.FAILS, "It lies."),)),
            Result.FAILED,
            "Referee not credible: It lies.",
        ),
        (
            Witness(flaky=("t::a",)),
            Result.PARTIAL,
            "Two runs on the same tree gave different answers for: `t::a`.",
        ),
        (Witness(touched=("x",), signs=("y",), red=RedGreen(idle=("t::a",))), Result.PASSED, ""),
    ],
)
def test_only_sentinels_and_changed_minds_decide(
    witness: Witness, expected: Result, wall: str
) -> None:
    verdict = judge(exhibits(witness=witness))
    assert (verdict.result, verdict.wall) == (expected, wall)


def test_the_touched_referee_comes_first_and_what_to_look_at_last() -> None:
    witness = Witness(touched=tuple(f"t{n}" for n in range(50)), signs=("s",))
    findings = judge(exhibits(witness=witness)).findings
    assert (findings[0].claim, findings[-1].claim) == (
        "Touched the referee",
        "Look at: lines that could decide about the tests",
    )
    assert findings[0].exhibits[-1] == "And 10 more."


def test_red_to_green_says_what_shows_the_fix_and_what_does_not() -> None:
    red = RedGreen(("t::a",), ("t::b",), ("t::c",), "A note.")
    found = claims(judge(exhibits(witness=Witness(red=red))))
    told = [
        (finding.standing, finding.exhibits)
        for claim, finding in found.items()
        if claim.startswith(("Tests of the change", "Red to green"))
    ]
    assert told == [
        (Holds.HOLDS, ("Shown by: `t::a`.",)),
        (
            Holds.UNKNOWN,
            ("They pass without it, too, and prove nothing about the fix: `t::b`.",),
        ),
        (Holds.UNKNOWN, ("A note.", "Not told on the base's sources: `t::c`.")),
    ]


def test_a_note_alone_is_told_alone() -> None:
    (found,) = [
        one
        for one in judge(exhibits(witness=Witness(red=RedGreen(note="Dark.")))).findings
        if one.claim == "Red to green was not shown"
    ]
    assert found.exhibits == ("Dark.",)


def test_criteria_rest_on_fixed_tests_red_to_green_and_passed_checks() -> None:
    criteria = tuple(
        Criterion(text, "checklist")
        for text in ("`add` keeps cents", "All tests pass", "the manual says so")
    )
    passed = result(comparison=Comparison(fixed=("tests/test_x.py::test_add_cents",)))
    verdict = judge(exhibits(results=(passed,), witness=Witness(criteria=criteria)))
    group = next(one for one in verdict.findings if one.claim == "What supports each criterion")
    assert [part.standing for part in group.parts] == [Holds.HOLDS, Holds.HOLDS, Holds.UNKNOWN]
    assert group.standing is Holds.UNKNOWN
    assert verdict.result is Result.PASSED
    all_supported = judge(exhibits(witness=Witness(criteria=criteria[1:2])))
    assert all_supported.findings[-1].standing is Holds.HOLDS


def test_a_script_that_a_check_starts_needs_the_bases_version_like_a_test() -> None:
    witness = Witness(deciding=frozenset({"src/a.py"}))
    verdict = judge(exhibits(witness=witness))
    assert verdict.result is Result.PARTIAL
    assert "although the change touches: `src/a.py`" in verdict.wall


def test_a_flaky_test_of_a_check_that_ran_twice_is_told_with_the_others() -> None:
    passed = result(comparison=Comparison(flaky=("t::b",)))
    verdict = judge(exhibits(results=(passed,), witness=Witness(flaky=("t::a",))))
    assert verdict.result is Result.PARTIAL
    assert "`t::a`, `t::b`" in verdict.wall


def test_the_base_is_told_as_unusable_cached_or_cut() -> None:
    base = result(
        standing=Standing.UNAVAILABLE, reason="environment", counts=None, tree=OTHER, cached=True
    )
    cut = result(standing=Standing.FAILED, reason="limit:time", counts=None, subset=(3, 9))
    verdict = judge(exhibits(baseline=(base,), results=(cut,)))
    text = str(verdict.findings)
    assert "On the base, measured by an earlier run: baseline unusable, unavailable" in text
    assert "failed (limit:time), subset: 3 of 9 tests" in verdict.wall


def test_a_secret_is_never_passed_and_stands_as_the_wall_before_what_is_unknown() -> None:
    said = "A secret is in the change: `a.py` adds what looks like one (GitHub token)."
    held = Witness(secrets=(said,))
    verdict = judge(exhibits(witness=held))
    assert verdict.result is Result.PARTIAL
    assert verdict.wall == said
    assert judge(exhibits(witness=held, results=())).wall == said
    worse = judge(exhibits(witness=held, results=(result(standing=Standing.FAILED),)))
    assert worse.result is Result.FAILED
    assert said in [text for one in leaves(worse.findings) for text in one.exhibits]


def test_a_check_that_passed_by_its_exit_code_alone_is_to_be_looked_at() -> None:
    def said(**changed: Any) -> list[str]:
        verdict = judge(exhibits(results=(result(**changed),)))
        return [text for one in verdict.findings if one.claim == UNPARSED for text in one.exhibits]

    (line,) = said(counts=None)
    assert "`unit` passed by its exit code alone" in line and "unparsed" in line
    assert said() == []
    assert said(counts=None, parsed="ruff") == []
    assert said(counts=None, standing=Standing.FAILED) == []
    assert judge(exhibits(results=(result(counts=None),))).result is Result.PASSED


def test_the_base_s_own_tests_that_fail_are_named_with_the_reason() -> None:
    why = Failure("t::b", "AssertionError", "assert 9\n == 6", "t.py", 3)
    old = Failure("t::a", "ValueError", "old")
    failed = result(
        standing=Standing.FAILED,
        tree=OTHER,
        failures=(old, why),
        comparison=Comparison(newly_failing=("t::b",), already_failing=("t::a",)),
    )
    verdict = judge(exhibits(plan=REFEREE, deltas=TOUCHED, restored=(failed,)))
    assert verdict.result is Result.FAILED
    assert verdict.wall.startswith("With the base's tests put back: `unit`: failed (exit 1)")
    assert verdict.wall.endswith("Of the base's own tests fail: `t::b`, `t::a`.")
    (leaf,) = [one for one in leaves(verdict.findings) if one.claim == BASE_TESTS]
    assert leaf.exhibits[1] == "`unit` said: AssertionError: assert 9 == 6 (`t.py:3`)"
    bare = replace(failed, failures=(), comparison=None, tail="one\nSegmentation fault\n\n")
    verdict = judge(exhibits(plan=REFEREE, deltas=TOUCHED, restored=(bare,)))
    (leaf,) = [one for one in leaves(verdict.findings) if one.claim == BASE_TESTS]
    assert leaf.exhibits[1] == "`unit` said: Segmentation fault"


def test_what_a_name_hides_is_written_out_before_it_is_signed() -> None:
    odd = (EDITED, Delta("a\nb\u202e.py", FILE, FILE, 1, 0))
    verdict = readable(judge(exhibits(deltas=odd)))
    assert verdict.wall.endswith("`a\\nb<U+202E>.py`.")
    assert "\n" not in str([one.exhibits for one in leaves(verdict.findings)]).replace("\\\\n", "")
