"""The pull request's body and the check run: from records alone, safe, and never too long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.budget import Limits
from app.domain.check import Comparison, Counts, Standing
from app.domain.contract import Criterion
from app.domain.edit import Delta
from app.domain.errors import HaltRecord, Reason
from app.domain.event import Person
from app.domain.evidence import Finding, Holds, Result, Verdict
from app.domain.plan import Action, Amendment, PlannedFile
from app.domain.report import BODY_CAP, Facts, check_output, merge_body, pull_body
from app.domain.report_facts import BODY_TARGET
from app.domain.report_parts import outcome
from app.domain.run import Attempt, Grounding, Run
from tests.app.domain.rendered import balanced, headings, problems
from tests.app.domain.report_world import (
    BASE,
    COMMIT,
    FIRST,
    TEST,
    TREE,
    check,
    contract,
    facts,
    failed,
    passed,
    result,
)

SECTIONS = [
    "Look at this first",
    "What was not done",
    "What was asked",
    "Files against the plan",
    "How it came about",
    "How to go on",
    "In the model's own words",
    "Evidence",
]
OURS = ("Closes #12", "For #12", "issue #12")


def first_screen(body: str) -> str:
    return body.split("\n## ", 1)[0]


def test_the_first_screen_says_verdict_tree_commit_checks_files_and_spend() -> None:
    screen = first_screen(pull_body(passed(), facts()))
    assert screen.startswith("<!-- patchwarrant:body:0a1b2c -->\n✅ **Passed.**")
    for wanted in (TREE, COMMIT, BASE[:12], "Closes #12", "5 passed, 1 failed", "6 passed", TEST):
        assert wanted in screen
    for wanted in (
        "**Fixed:**",
        "2 files (+3 -0; 7 lines were planned), 1 not in the plan",
        "$0.0312 of $2.50",
    ):
        assert wanted in screen
    assert headings(pull_body(passed(), facts())) == SECTIONS


def test_only_a_passed_verdict_closes_the_issue() -> None:
    body = pull_body(failed(), facts())
    assert "Closes" not in body
    assert "❌ **Failed: not ready for review.** The wall: the required check tests failed" in body
    assert "**Newly failing:** `" + TEST in first_screen(body)
    assert "\n- ❌ tests\n" in body  # what was seen, not the claim that it denies
    assert "**does not hold**" not in body
    assert "**unknown**: the base's own tests pass" in body


def test_checks_of_another_tree_are_never_shown_as_this_ones() -> None:
    stale = replace(passed(), attempts=passed().attempts[:1])
    body = pull_body(stale, facts())
    assert "not run on this tree | ❓ **not shown**" in body
    assert "no required check ran on this tree" in body
    assert "**Fixed:**" not in body
    moved = replace(passed(), verdict=replace(failed().verdict or _none(), tree=FIRST))
    assert "not run on this tree" in pull_body(moved, facts())


def _none() -> Verdict:
    raise AssertionError


def test_of_two_results_of_one_check_the_worse_is_shown() -> None:
    both = (result(TREE, Standing.FAILED), result(TREE))
    for results in (both, both[::-1]):
        run = replace(passed(), attempts=(Attempt(TREE, results, "x"),))
        assert "| ❌ failed (exit 1) |" in first_screen(pull_body(run, facts()))


def test_a_result_of_another_command_is_none() -> None:
    other = replace(result(TREE), digest="00" * 32)
    run = replace(passed(), attempts=(Attempt(TREE, (other,), "x"),))
    assert "❓ **not shown**" in pull_body(run, facts())


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (Standing.SKIPPED, "⏭️ skipped"),
        (Standing.UNAVAILABLE, "❓ unavailable"),
        (Standing.FAILED, "❌ failed"),
        (Standing.PASSED, "✅ passed"),
    ],
)
def test_the_four_standings_never_blur(standing: Standing, words: str) -> None:
    after = replace(result(TREE), standing=standing, reason="environment", counts=None)
    after = replace(after, exit_code=None)
    body = pull_body(replace(passed(), attempts=(Attempt(TREE, (after,), "x"),)), facts())
    assert f"did not start · tests not counted | {words} (environment) |" in body
    nothing = f"is {words} (environment): it showed nothing"
    assert (nothing in body) == (standing in (Standing.SKIPPED, Standing.UNAVAILABLE))


def test_the_failing_first_attempt_is_told_and_certifies_nothing() -> None:
    body = pull_body(passed(), facts())
    assert f"attempt 1: tree `{FIRST[:12]}`: `tests` ❌ failed" in body
    assert f"failing: `{TEST}`" in body
    assert "they certify nothing about this tree" in body


def test_the_table_has_a_column_for_earlier_attempts_only_where_there_were_any() -> None:
    run = passed()
    assert "| check | baseline | attempts before | after | standing |" in pull_body(run, Facts())
    first = replace(run, attempts=run.attempts[-1:])
    assert "| check | baseline | after | standing |" in pull_body(first, Facts())


def test_what_the_model_said_stands_under_its_own_heading_in_a_fence() -> None:
    run = replace(passed(), grounding=Grounding("all 14 tests pass, **trust me**", ()))
    before, _, after = pull_body(run, facts()).partition("## In the model's own words")
    assert "14 tests" not in before
    assert "claims of the model. Nothing here was measured.\n\n```text\nLocated: all 14" in after


def test_changed_tests_and_referees_are_named_before_anything_else() -> None:
    deltas = (
        Delta("tests/test_old.py", 0o100644, 0, 0, 9),
        Delta("tests/test_calc.py", 0o100644, 0o100644, 1, 1),
        Delta("tests/test_new.py", 0, 0o100644, 9, 0),
        Delta("conftest.py", 0, 0o100755, 9, 0),
        Delta("logo.png", 0o100644, 0o100755, -1, -1),
    )
    plan = passed().plan
    assert plan is not None
    amended = (Amendment("it is needed", (PlannedFile("x.py", Action.CREATE, "", 1),), ("y.py",)),)
    run = replace(passed(), plan=replace(plan, amendments=amended))
    body = pull_body(run, replace(facts(), deltas=deltas))
    look = body.partition("## Look at this first")[2].partition("##")[0]
    assert "**it deletes tests:** `tests/test_old.py`" in look
    assert "**it changes tests:** `tests/test_calc.py`\n" in look
    assert "how tests or builds run:** `conftest.py`" in look
    assert "amended for `x.py`, `y.py`; the model's reason: it is needed" in look
    assert "`logo.png` binary · **not in the plan** · mode 100644 → 100755" in body
    assert "`tests/test_old.py` +0 -9 · **not in the plan** · deleted" in body


def test_paths_that_nobody_measured_are_listed_without_numbers() -> None:
    body = pull_body(passed(), Facts())
    assert "1 file (lines not counted; 7 lines were planned)" in body
    assert "- `calc.py` lines not counted · edit" in body


def test_a_halt_and_its_way_on_are_told() -> None:
    halt = HaltRecord(Reason.BUDGET_TURNS, "12 of 12 turns are used.", "Raise `limits`.", ("d",))
    body = pull_body(replace(failed(), halt=halt), facts())
    assert "- stopped by `budget-turns`: 12 of 12 turns are used.\n- d\n" in body
    assert "## How to go on\n\n- Raise `limits`.\n" in body


def test_the_request_is_shown_with_its_hidden_text_counted() -> None:
    asked = contract()
    asked = replace(asked, request=replace(asked.request, hidden=7), criteria=(), config_source="")
    body = pull_body(replace(passed(), contract=asked), facts())
    assert "7 characters of hidden text were removed from it." in body
    assert "The request names no criterion." in body
    assert "no configuration file at base" in body


def test_evidence_names_commands_image_profile_and_statement() -> None:
    body = pull_body(passed(), replace(facts(), page="https://agent.example.org/runs/1"))
    for wanted in (
        check().digest()[:12],
        "`python -m pytest -q`",
        "sha256:" + "d1" * 32,
        "e1" * 32,
    ):
        assert wanted in body
    assert "signed statement, envelope `" + "ab" * 32 in body
    assert "[the run's page](https://agent.example.org/runs/1)" in body
    assert "testimony of processes that also ran the change" in body


def test_a_run_that_has_nothing_yet_still_makes_a_body() -> None:
    run = passed()
    bare = Run(
        **{
            field: getattr(run, field)
            for field in ("id", "kind", "change", "event", "installation", "repository", "issue")
        },
        requester=run.requester,
        created=1,
    )
    body = pull_body(bare, Facts())
    assert "❓ **Unknown.**" in body
    assert "No check is configured or was recognised" in body
    assert "No candidate reached the required checks." in body
    title, summary, text = check_output(bare, Facts())
    assert title == "Unknown on tree unknown"
    assert summary and text


# -- cuts -----------------------------------------------------------------------------------------


def many(run: Run, checks: int, tests: int) -> Run:
    named = tuple(check(f"check {number} `|` {'x' * 90}") for number in range(checks))
    lost = Comparison(
        newly_failing=tuple(f"tests/test_{number}.py::t|{'y' * 200}" for number in range(tests))
    )
    results = tuple(
        replace(result(TREE, Standing.FAILED, lost, one.name), digest=one.digest()) for one in named
    )
    assert run.snapshot is not None
    return replace(
        run, snapshot=replace(run.snapshot, checks=named), attempts=(Attempt(TREE, results, "x"),)
    )


def test_the_first_screen_has_at_most_30_lines_whatever_the_run() -> None:
    for checks, tests in ((1, 1), (6, 100), (200, 5)):
        screen = first_screen(pull_body(many(failed(), checks, tests), facts()))
        assert len(screen.splitlines()) <= 30
    assert "… and 195 more checks" in screen
    assert "996 more" in screen  # 200 x 5 ids, 4 of them shown


def test_logs_are_cut_first_and_it_is_said() -> None:
    body = pull_body(passed(), replace(facts(), logs={"tests": "z" * 300_000}))
    assert len(body) <= BODY_TARGET
    assert "(292,000 earlier characters were cut)" in body
    logs = {f"check {number}": "\U0001f600" * 3_000 for number in range(200)}
    body = pull_body(many(failed(), 200, 5), replace(facts(), logs=logs))
    assert len(body) <= BODY_TARGET
    assert "200 logs (600,000 characters in all) were left out for their size." in body
    assert headings(body) == SECTIONS
    assert TREE in body
    assert body.endswith("<!-- /patchwarrant:body:0a1b2c -->")


def test_the_models_words_are_cut_next() -> None:
    run = replace(passed(), grounding=Grounding("w" * 50_000, ()))
    body = pull_body(run, facts())
    assert len(body) <= BODY_TARGET
    assert "more characters)" in body.partition("## In the model's own words")[2]


HOSTILE = st.sampled_from(
    [
        "```\n@org/all Fixes #1 </details><img src=http://x/y>\n````",
        "![](http://x/?q=1) [l](http://x) www.x.org @claude do #12 GH-3 fixes acme/calc#4",
        "| a | b |\n|---|---|\n\\",
        "<!-- /patchwarrant:body:0a1b2c -->",
        "## Evidence\n\n</sub><!--",
        "`" * 70,
        "@" * 900,
        "#1" * 1_500,
        "|`\\" * 300,
        "\U0001f600\u202e" * 100,
        "/merge\n/approve",
        "\ud800\x00\x1b[31m",
    ]
)
ANY = HOSTILE | st.text(max_size=50)


@st.composite
def hostile(draw: st.DrawFn) -> tuple[Run, Facts]:
    """A run all of whose free texts are hostile, in sizes from none to many."""

    def some(most: int = 60) -> tuple[str, ...]:
        kinds = draw(st.lists(ANY, max_size=3))
        return tuple(kinds * draw(st.sampled_from([0, 1, most])))

    text = draw(ANY)
    halt = HaltRecord(Reason.SCOPE, draw(ANY), draw(ANY), some())
    run = many(failed(), draw(st.sampled_from([0, 1, 60])), 2)
    plan, asked, snapshot = run.plan, run.contract, run.snapshot
    assert plan is not None and asked is not None and snapshot is not None
    files = tuple(PlannedFile(path, Action.EDIT, text, 1) for path in some())
    results = tuple(
        replace(one, check=name, reason=text, comparison=Comparison(some(), some(), some()))
        for one, name in zip([result(TREE, Standing.FAILED)] * 200, some(), strict=False)
    )
    leaves = tuple(Finding(one, Holds.FAILS, some(9)) for one in some())
    run = replace(
        run,
        halt=halt,
        plan=replace(plan, summary=text, files=files, amendments=(Amendment(text, files, some()),)),
        grounding=Grounding(draw(ANY), ()),
        contract=replace(
            asked,
            request=replace(asked.request, title=draw(ANY), author=text, updated_at=text),
            criteria=tuple(Criterion(one, one) for one in some()),
        ),
        snapshot=replace(snapshot, assumed=some(), image=text),
        attempts=(*[Attempt(FIRST, results, "x")] * 9, Attempt(TREE, results, "x")),
        requester=Person(1, draw(st.sampled_from(["ann", "a b", "@x\n"]))),
        verdict=Verdict(
            TREE, BASE, Result.FAILED, text, (Finding(text, Holds.FAILS, (), leaves), *leaves)
        ),
        model=text,
    )
    deltas = tuple(Delta(path, 0o100644, 0o100644, 1, 1) for path in some(150))
    return run, Facts(COMMIT, deltas, dict(zip(some(), some(), strict=False)), "", text, text)


SLOW: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=25, **SLOW)
@given(hostile())
def test_nothing_breaks_out_and_nothing_is_too_long(made: tuple[Run, Facts]) -> None:
    body = pull_body(*made)
    assert len(body) <= BODY_TARGET
    body.encode()
    assert problems(body, *OURS) == []
    assert headings(body) == SECTIONS
    assert balanced(body)
    assert body.count("<!-- patchwarrant:body:") == body.count("<!-- /patchwarrant:body:") == 1
    assert TREE in body
    assert len(first_screen(body).splitlines()) <= 30
    assert merge_body(f"a\n{body}\nb", "X") == "a\nX\nb"


@settings(max_examples=12, **SLOW)
@given(hostile())
def test_the_check_run_fits_and_is_safe_too(made: tuple[Run, Facts]) -> None:
    title, summary, text = check_output(*made)
    assert title == f"Failed on tree {TREE[:12]}"
    for part in (summary, text):
        assert 0 < len(part.encode()) < 65_535
        assert problems(part, *OURS) == []
        assert balanced(part)


# -- merging --------------------------------------------------------------------------------------


def test_what_people_wrote_around_our_part_survives() -> None:
    first, second = pull_body(failed(), facts()), pull_body(passed(), facts())
    theirs = f"Please wait.\r\n\r\n{first}\r\n\r\n- [x] reviewed by me"
    merged = merge_body(theirs, second)
    assert merged == f"Please wait.\r\n\r\n{second}\r\n\r\n- [x] reviewed by me"
    assert merge_body(merged, second) == merged


def test_the_part_of_an_earlier_run_is_replaced() -> None:
    older = pull_body(replace(passed(), id="older"), facts())
    ours = pull_body(passed(), facts())
    assert merge_body(f"{older}\nkept", ours) == f"{ours}\nkept"


@pytest.mark.parametrize(
    "existing", ["", "I removed your text", "<!-- patchwarrant:body:x --> cut"]
)
def test_without_our_markers_ours_comes_first_and_theirs_stays(existing: str) -> None:
    merged = merge_body(existing, "ours")
    assert merged.startswith("ours")
    assert merged.endswith(existing)


def test_a_long_text_of_others_is_cut_at_its_end_and_it_is_said() -> None:
    ours = pull_body(passed(), facts())
    for existing in ("n" * 80_000, f"{'n' * 70_000}{ours}", f"{'n' * 40_000}{ours}{'m' * 40_000}"):
        merged = merge_body(existing, ours)
        assert len(merged) <= BODY_CAP
        assert ours in merged
        assert "more characters)" in merged


def test_limits_are_not_shown_before_there_is_a_contract() -> None:
    assert Limits().calls == 60
    assert "**Spent:** $0.0312 · 7 model calls" in pull_body(
        replace(passed(), contract=None), facts()
    )


def test_what_was_asked_is_there_in_its_own_words() -> None:
    body = pull_body(passed(), facts())
    assert "The request, without hidden text" in body
    assert "the checks show only what they test" in body


def test_what_was_assumed_is_not_what_was_left_undone() -> None:
    run = passed()
    assert run.snapshot is not None and run.contract is not None
    run = replace(run, snapshot=replace(run.snapshot, assumed=("pytest is the check.",)))
    run = replace(
        run, contract=replace(run.contract, config=replace(run.contract.config, checks=()))
    )
    body = pull_body(run, facts())
    undone = body.partition("What was not done")[2].partition("What was asked")[0]
    assert "pytest is the check." in body and "pytest is the check." not in undone
    assert "Commands, recognised from the base's files" in body


@pytest.mark.parametrize(
    ("counts", "parsed", "told"),
    [
        (Counts(2, 1, 0), "report", "exit 1 · 2 passed, 1 failed, 0 skipped"),
        (Counts(2, 1, 0), "pytest", "exit 1 · 2 passed, 1 failed, 0 skipped (by pytest's output)"),
        (None, "ruff", "exit 1 · tests not counted"),
        (None, "", "exit 1 · tests not counted (output unparsed)"),
    ],
)
def test_where_the_counts_come_from_is_said(counts: Counts | None, parsed: str, told: str) -> None:
    one = replace(result("tests"), exit_code=1, counts=counts, parsed=parsed)
    assert outcome(one) == told
