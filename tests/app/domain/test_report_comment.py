"""Comments: progress in one place, and one clear word at every ending."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import HaltRecord, Reason, Waiting
from app.domain.event import Person
from app.domain.report import BODY_CAP, ending, status, uncertified
from app.domain.run import Publication, Run, Wait
from app.domain.state import State
from tests.app.domain.rendered import problems
from tests.app.domain.report_world import TREE, failed, passed

HALT = HaltRecord(
    Reason.BUDGET_TURNS,
    "The budget stopped this run: 12 of 12 turns are used.",
    "Raise `limits` in `.github/agent.yml`.",
    ("calc.py was changed",),
)


def admitted() -> Run:
    """A run of which nothing but its admission is there."""
    run = passed()
    return replace(
        run,
        state=State.PREPARE,
        snapshot=None,
        grounding=None,
        plan=None,
        candidate=None,
        attempts=(),
        verdict=None,
    )


def test_the_status_ticks_what_is_there_and_points_at_what_is_done_now() -> None:
    shown = status(admitted(), 65_000, "https://agent.example.org/runs/1")
    assert shown.startswith("<!-- patchwarrant:status:0a1b2c -->\n**At work: prepare** · 1 min 5 s")
    assert shown.count("- [x]") == 1
    assert "- [x] admitted" in shown
    assert "- [ ] ▶️ prepared" in shown
    assert "[details](https://agent.example.org/runs/1)" in shown
    assert status(passed(), 0, "").count("- [x]") == 7


def test_a_repair_shows_that_an_attempt_did_not_pass() -> None:
    run = passed()
    again = replace(run, state=State.EDIT, attempts=run.attempts[:1], verdict=None)
    shown = status(again, 1, "")
    assert "- [ ] ▶️ edited" in shown
    assert "- [ ] verified: required checks on the candidate (earlier attempts that did" in shown


def test_a_wait_says_for_what_and_until_when() -> None:
    wait = Wait(Waiting.MODEL, 1_796_083_200_000, "the provider is overloaded")
    shown = status(replace(admitted(), wait=wait), 0, "")
    assert "**Waiting in prepare**" in shown
    assert "⏸️ `waiting-model`: the provider is overloaded" in shown
    assert "overloaded. It goes on by 2026-12-01 00:00:00 UTC at the latest" in shown


def test_a_wait_for_a_person_says_when_it_ends() -> None:
    wait = Wait(Waiting.PLAN, 1_796_083_200_000, "a person has to approve the plan")
    shown = status(replace(admitted(), wait=wait), 0, "")
    assert "approve the plan. Without that it ends at 2026-12-01 00:00:00 UTC;" in shown


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (
            replace(
                passed(), state=State.COMPLETE, publication=Publication(pull=5, pull_url="http://x")
            ),
            ("**Done: draft pull request**", "Draft pull request: #5"),
        ),
        (
            replace(failed(), state=State.COMPLETE),
            ("**Done: incomplete draft pull request**",),
        ),
        (
            replace(admitted(), state=State.HALTED, halt=HALT, contract=None),
            ("**Stopped without a pull request**", "Stopped: `budget-turns`"),
        ),
    ],
)
def test_ends_are_named_as_what_they_are(run: Run, words: tuple[str, ...]) -> None:
    shown = status(run, 0, "")
    for one in words:
        assert one in shown


def test_an_ending_mentions_who_asked_and_says_reason_spend_and_next_step() -> None:
    shown = ending(replace(admitted(), state=State.HALTED, halt=HALT))
    assert shown.startswith("<!-- patchwarrant:ending:0a1b2c -->\n@ann this run stopped")
    for wanted in ("`budget-turns`", "12 of 12 turns are used.", "- calc.py was changed"):
        assert wanted in shown
    assert "**What you can do:** Raise `limits` in `.github/agent.yml`." in shown
    assert "$0.0312 of $2.50" in shown
    assert problems(shown, "@ann") == []


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_its_ending(reason: Reason) -> None:
    shown = ending(replace(admitted(), contract=None, halt=replace(HALT, reason=reason)))
    assert f"**Reason:** `{reason}`" in shown
    assert "@ann " in shown


def test_no_change_is_said_and_no_branch_is_named() -> None:
    halt = HaltRecord(Reason.NO_CHANGE, "The model finished without a change.", "")
    shown = ending(replace(admitted(), halt=halt))
    assert "@ann no change was made, so there is no pull request." in shown
    assert "agent/issue" not in shown
    assert "**What you can do" not in shown


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (passed(), "@ann the draft pull request #5 is there; its checks passed."),
        (failed(), "#5, but it is incomplete: the required check tests failed"),
        (replace(passed(), verdict=None), "#5, but it is incomplete."),
    ],
)
def test_an_ending_with_a_draft_links_it(run: Run, words: str) -> None:
    assert words in ending(replace(run, publication=Publication(pull=5)))


def test_an_ending_after_a_pull_request_does_not_deny_it() -> None:
    there = Publication("agent/issue-7-r1", "c" * 40, 5, "http://x")
    run = replace(passed(), state=State.HALTED, halt=HALT, publication=there)
    shown = ending(run)
    assert "#5" in shown and "still there" in shown and "Nothing was published" not in shown
    sticky = status(run, 0, "")
    assert "Stopped after its pull request" in sticky and "#5" in sticky and "Stopped: `" in sticky


@pytest.mark.parametrize(("commit", "words"), [("c" * 40, "is there, with"), ("", "could not be")])
def test_an_ending_names_the_branch_that_it_leaves(commit: str, words: str) -> None:
    there = Publication("agent/issue-7-r1", commit)
    shown = ending(replace(passed(), state=State.HALTED, halt=HALT, publication=there))
    assert "agent/issue-7-r1" in shown and words in shown and "Nothing was" not in shown


def test_a_pull_request_that_is_no_draft_is_not_called_one() -> None:
    open_one = Publication("b", "c" * 40, 5, "http://x", draft=False)
    shown = status(replace(passed(), state=State.COMPLETE, publication=open_one), 0, "")
    assert "Done: pull request (no draft)" in shown and "Pull request, not a draft: #5" in shown


def test_what_nobody_checked_is_not_certified_and_closes_nothing() -> None:
    there = Publication("b", "c" * 40, 5, "http://x")
    title, body = uncertified(replace(passed(), publication=there), "Agent fix", "d" * 40)
    assert title == "[not certified] Agent fix" and uncertified(passed(), title, "d")[0] == title
    assert "Not certified" in body and "d" * 12 in body and "Closes" not in body
    assert problems(body.replace(f"For #{passed().issue}, ", "")) == []


def test_an_ending_without_a_reason_still_speaks() -> None:
    assert "@ann this run ended in `prepare` without a change." in ending(admitted())


@pytest.mark.parametrize(
    "person", [Person(1, "evil @team"), Person(1, "helper[bot]", "Bot"), Person(1, "-x")]
)
def test_only_a_person_with_a_real_login_is_mentioned(person: Person) -> None:
    shown = ending(replace(admitted(), requester=person, halt=HALT))
    assert "For `" in shown
    assert problems(shown) == []


def test_partial_work_is_shown_exactly_and_never_as_right() -> None:
    patch = "diff --git a/x b/x\n+/merge\n+@org ```\n"
    shown = ending(replace(failed(), halt=HALT), patch)
    assert f"**Partial work** (tree `{TREE[:12]}`), not shown to be right by anything:" in shown
    assert f"````diff\n{patch}````" in shown


def test_a_long_patch_is_cut_at_a_line_and_it_is_said() -> None:
    patch = "".join(f"+line {number}\n" for number in range(20_000))
    shown = ending(replace(failed(), halt=HALT), patch)
    assert len(shown) <= BODY_CAP
    assert f"of {len(patch):,} characters fit here" in shown
    assert len(ending(replace(admitted(), candidate=None, halt=HALT), "+" * 99_000)) <= BODY_CAP


TEXT = st.sampled_from(["@org " * 900, "#1" * 2_000, "``` </details> <b>", "x\n" * 300]) | st.text()


@settings(max_examples=60, deadline=None)
@given(TEXT, TEXT, st.lists(TEXT, max_size=4), st.sampled_from([1, 90]), TEXT)
def test_endings_fit_and_are_inert(
    message: str, step: str, details: list[str], times: int, patch: str
) -> None:
    halt = HaltRecord(Reason.SCOPE, message, step, tuple(details * times))
    run = replace(failed(), halt=halt, wait=Wait(Waiting.MODEL, 1, message))
    shown = ending(run, patch * 40)
    assert len(shown) <= BODY_CAP
    assert problems(shown, "@ann") == []
    progress = status(run, 1, "")
    assert len(progress) <= BODY_CAP
    assert problems(progress) == []
