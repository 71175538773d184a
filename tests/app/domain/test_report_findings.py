"""What the gate found has its place on the page: the referee first, criteria where asked."""

from __future__ import annotations

from dataclasses import replace

from app.domain import report, witness
from app.domain.check import Comparison
from app.domain.claims import CRITERIA, NO_LEAK, NOT_RUN, RED_GREEN, TOUCHED
from app.domain.contract import Criterion
from app.domain.criteria import Support
from app.domain.edit import FILE, Delta
from app.domain.evidence import Finding, Holds
from app.domain.repo_config import RepoConfig
from app.domain.report import attached_in, check_output, page, pull_body, statements_in
from app.domain.report_facts import ATTACHED, OUTPUT_CAP, Facts
from app.domain.report_parts import OPEN_FILES
from app.domain.report_signed import key_of_line
from app.domain.run import Attempt, Run
from app.domain.state import Kind
from tests.app.domain.rendered import balanced, problems
from tests.app.domain.report_world import TEST, TREE, facts, passed, result

OURS = ("Closes #12", "For #12", "issue #12")


def judged(*findings: Finding) -> Run:
    run = passed()
    assert run.verdict and run.contract
    criteria = (*run.contract.criteria, Criterion("the docs say so", "checklist"))
    return replace(
        run,
        contract=replace(run.contract, criteria=criteria),
        verdict=replace(run.verdict, findings=findings),
    )


def first_screen(run: Run) -> str:
    return pull_body(run, facts()).split("\n## ", 1)[0]


def test_the_claims_that_have_a_place_are_the_gate_s_own() -> None:
    seen = witness.Witness(
        touched=("`conftest.py` is changed.",),
        red=witness.RedGreen(shown=(TEST,)),
        criteria=passed().contract.criteria,  # type: ignore[union-attr]
        secrets=("A secret is in the change: `a.py`.",),
        unrun=("Sentinels: not run.",),
    )
    support = Support((TEST,), (TEST,), ("tests",), True)
    claims = {one.claim for one in (*witness.touched(seen), *witness.looks(seen, support))}
    assert claims == {TOUCHED, RED_GREEN, CRITERIA, NOT_RUN}
    assert [part.claim for one in witness.secret(seen) for part in one.parts] == [NO_LEAK]


def test_a_touched_referee_and_a_shown_fix_stand_on_the_first_screen() -> None:
    run = judged(
        Finding(TOUCHED, Holds.UNKNOWN, ("`conftest.py` is changed.",)),
        Finding(RED_GREEN, Holds.HOLDS, (f"Shown by: `{TEST}`.",)),
    )
    screen = first_screen(run)
    assert "⚠️ **Touched the referee:** `conftest.py` is changed." in screen
    assert f"**Red → green:** Shown by: `{TEST}`." in screen
    assert screen.index("Touched") < screen.index("| check |")
    assert "Touched" in check_output(run, facts())[1]


def test_each_criterion_is_listed_with_what_supports_it() -> None:
    run = judged(
        Finding(
            CRITERIA,
            Holds.UNKNOWN,
            parts=(
                Finding("Criterion: mean", Holds.HOLDS, ("The check `tests` passed.",)),
                Finding("Criterion: docs", Holds.UNKNOWN, ("No evidence: please review.",)),
            ),
        )
    )
    body = pull_body(run, facts())
    asked = body.partition("## What was asked")[2].partition("## ")[0]
    assert "✅ The check `tests` passed." in asked
    assert "❓ No evidence: please review." in asked
    assert body.count("please review") == 1  # told once, where it was asked


def test_advice_is_told_apart_from_what_the_verdict_rests_on() -> None:
    run = judged(
        Finding("Look at: lines that could decide", Holds.UNKNOWN, ("`a.py` line 3.",)),
        Finding("Checks", Holds.FAILS, parts=(Finding("`tests` passed", Holds.FAILS, ("No.",)),)),
    )
    look = pull_body(run, facts()).partition("## Look at this first")[2].partition("## ")[0]
    assert "⚠️ **Look at: lines that could decide:** `a.py` line 3." in look
    assert "- ❌ No.\n" in look
    assert "`tests` passed" not in look  # which did not pass


def test_flaky_tests_and_subsets_are_named() -> None:
    after = replace(result(TREE, comparison=Comparison(flaky=(TEST,))), subset=(3, 1_000))
    screen = first_screen(replace(passed(), attempts=(Attempt(TREE, (after,), "x"),)))
    assert f"**Flaky, two runs differed:** `{TEST}`" in screen
    assert "**subset: 3 of 1,000 tests**" in screen


def test_somebody_else_s_change_closes_nothing_and_has_no_plan() -> None:
    run = replace(judged(), kind=Kind.VERIFY, plan=None, grounding=None, issue=0)
    deltas = tuple(
        Delta(path, 0o100644, 0o100644, 1, 1) for path in (".github/workflows/ci.yml", "calc.py")
    )
    body = pull_body(run, replace(facts(), deltas=deltas))
    for absent in ("Closes", "the plan", "planned", "issue #", "model calls"):
        assert absent not in body
    assert "Evidence about somebody else's change, made without a model" in body
    assert "**it touches protected paths:** `.github/workflows/ci.yml`" in body
    assert not problems(body)


def test_a_long_list_of_files_is_folded_away() -> None:
    many = tuple(Delta(f"a{n}.py", 0o100644, 0o100644, 1, 1) for n in range(OPEN_FILES + 1))
    body = pull_body(passed(), replace(facts(), deltas=many))
    assert f"<details><summary>{OPEN_FILES + 3} files</summary>" in body  # two planned, unchanged
    assert balanced(body) and not problems(body, *OURS)


def test_an_attachment_that_does_not_fit_takes_nothing_from_the_words_for_people() -> None:
    for size, there in ((1_000, True), (ATTACHED, True), (ATTACHED + 1, False)):
        made = replace(facts(), envelope="{}", attached="A" * size)
        text = check_output(passed(), made)[2]
        assert (attached_in(text) == "A" * size) is there
        assert statements_in(text) == ("{}",)
        assert "## Look at this first" in text and len(text.encode()) <= OUTPUT_CAP
        assert balanced(text)
    crowded = replace(facts(), envelope="x" * 30_000, attached="A" * 30_000)
    text = check_output(passed(), crowded)[2]
    assert attached_in(text) == "" and statements_in(text) == ("x" * 30_000,)
    long = replace(facts(), envelope="x" * 60_000)
    assert "too long to be shown here" in check_output(passed(), long)[2]


def test_what_no_rung_of_the_ladder_makes_short_enough_is_left_out() -> None:
    assert report._fitting(lambda sizes: "x" * sizes.line, 10, len) == ""
    assert report._fitting(lambda sizes: "x" * sizes.line, 200, len) == "x" * 200


def test_an_empty_run_claims_nothing() -> None:
    run = replace(passed(), verdict=None, plan=None, candidate=None, attempts=(), snapshot=None)
    body = pull_body(run, Facts())
    for said in (
        "No rule looked at this change.",
        "There was no plan to fulfil.",
        "without a plan",
    ):
        assert said in body
    for never in ("✅", "as planned", "planned is missing"):
        assert never not in body


def test_a_signature_that_the_base_s_line_cannot_verify_is_said() -> None:
    line = "ed25519:JkG1RMOQZwNsrLcQQD0JSRisEBYGrLiy2FKh2wYsV70="
    run = passed()
    assert run.contract
    named = replace(run, contract=replace(run.contract, config=RepoConfig(evidence_key=line)))
    assert "signed by another key" in pull_body(named, facts())
    right = replace(facts(), key=key_of_line(line))
    assert "signed by another key" not in pull_body(named, right)
    assert "signed by another key" not in pull_body(run, facts())


def test_a_passed_verdict_says_how_much_there_is_to_look_at() -> None:
    assert "speaks against it.\n" in first_screen(judged())
    odd = tuple(Finding(f"Look at: {word}", Holds.UNKNOWN, ("x",)) for word in ("this", "that"))
    assert "; **2 points to look at below**.\n" in first_screen(judged(*odd))
    bare = Finding(CRITERIA, Holds.UNKNOWN, parts=(Finding("a", Holds.UNKNOWN, ("none",)),))
    screen = first_screen(judged(odd[0], bare))
    assert "; **1 point to look at below, 1 criterion without evidence**.\n" in screen


def test_a_secret_is_named_at_the_top_with_what_to_do() -> None:
    said = "A secret is in the change: `a.py` adds what looks like one (GitHub token)."
    leaf = Finding(NO_LEAK, Holds.UNKNOWN, (said,))
    run = judged(Finding("It can be shown", Holds.UNKNOWN, parts=(leaf,)))
    screen = first_screen(run)
    assert f"🔑 **{said}** If it is a real one: revoke it" in screen
    assert screen.index("🔑") < screen.index("| check |")
    assert pull_body(run, facts()).count(said) == 1  # it is the wall besides, where it is one


def test_what_touched_the_referee_is_not_told_twice() -> None:
    few = judged(Finding(TOUCHED, Holds.UNKNOWN, ("`tests/test_calc.py` (test) is changed.",)))
    deltas = (Delta("tests/test_calc.py", FILE, FILE, 1, 1),)
    body = pull_body(few, replace(facts(), deltas=deltas))
    assert body.count("Touched the referee") == 1
    assert "it changes tests" not in body
    assert "Nothing stands out to the rules beside what stands at the top." in body
    many = judged(Finding(TOUCHED, Holds.UNKNOWN, tuple(f"`t{n}.py` changed." for n in range(9))))
    look = pull_body(many, facts()).partition("## Look at this first")[2].partition("## ")[0]
    assert "- ⚠️ **Touched the referee:**\n  - `t0.py` changed.\n  - `t1.py` changed.\n" in look


def test_passes_that_were_not_run_are_named_with_the_reason() -> None:
    run = judged(Finding(NOT_RUN, Holds.UNKNOWN, ("Sentinels: not run, `tests` failed.",)))
    body = pull_body(run, facts())
    done = body.partition("## What was not done")[2].partition("\n## ")[0]
    assert "Beside the checks:\n\n- Sentinels: not run, `tests` failed.\n" in done
    assert body.count("Sentinels: not run") == 1  # no point to look at
    assert "Sentinels: not run" in page(run, facts())
