"""What people read about a revision: each thread told honestly, the delta, people's commits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain import report
from app.domain.contributors import PullCommit
from app.domain.edit import FILE, Delta
from app.domain.errors import HaltRecord, Reason
from app.domain.event import Person
from app.domain.evidence import Result
from app.domain.report_revision import outcome_words
from app.domain.revision import Outcome, Revision, Scope, Thread
from app.domain.run import Publication, Run
from app.domain.since import Since
from app.domain.state import Kind, State
from tests.app.domain.report_world import passed

COMMIT, HEAD = "c" * 40, "d" * 40
INLINE = Thread("t1", "Say it.", "rita", "review:5:1", 71, "src/a.py", 4, 3)
TALK = Thread("t2", "And @everybody <b>mend</b>.", "mona", "comment:2", wide=True)
SINCE = Since(
    HEAD, (Delta("src/a.py", FILE, FILE, 2, 1),), True, (("tests", "passed", "failed"),),
    ("t::new",), ("t::old",), (), ("t::new",),
)  # fmt: skip


def revising(state: State = State.COMPLETE, commit: str = COMMIT) -> Run:
    run = passed()
    assert run.contract is not None
    scope = Scope(("src/a.py", "src/b.py"), tests=True, words=("add a test",))
    revision = Revision(9, (INLINE, TALK), scope, ("review:5:1", "comment:2"), "r0")
    return replace(
        run,
        kind=Kind.REVISE,
        state=state,
        contract=replace(run.contract, head=HEAD, revision=revision),
        publication=Publication("agent/issue-1-x", commit, 9, "https://x.test/9"),
        people=(PullCommit("e" * 40, Person(3, "rita"), Person(3, "rita"), "A `note` | more"),),
    )


def said(done: bool, why: str = "") -> tuple[Outcome, ...]:
    return (Outcome("t1", done, why),)


@pytest.mark.parametrize(
    ("outcomes", "touched", "words", "never"),
    [
        (said(True), "lines", f"Done in {COMMIT}.", "not at these lines"),
        (said(True, "now it does"), "lines", "In the model's words: now it does", ""),
        (said(True), "file", "not at these lines", ""),
        (said(True), "nothing", "but nothing in `src/a.py` was changed", f"Done in {COMMIT}"),
        (said(False, "too much"), "nothing", "Declined, in the model's words: too much", "Done"),
        ((), "lines", "No outcome was given. These lines were changed", "Done in"),
        ((), "file", "Not known to be done", "Done in"),
        ((), "nothing", "Not done: no outcome was given, and nothing was changed here", "Done in"),
    ],
)
def test_a_thread_is_told_by_the_model_and_by_the_trees(
    outcomes: tuple[Outcome, ...], touched: str, words: str, never: str
) -> None:
    run = replace(revising(), outcomes=outcomes)
    told = outcome_words(run, INLINE, touched)
    assert words in told
    assert not never or never not in told


def test_a_run_that_pushed_nothing_did_nothing_whatever_the_model_says() -> None:
    halt = HaltRecord(Reason.SCOPE, "no", "narrow")
    run = replace(revising(State.HALTED, ""), outcomes=said(True), halt=halt)
    told = outcome_words(run, INLINE, "lines")
    assert "Not done" in told and "`scope`" in told and "Done in" not in told
    declined = replace(run, outcomes=said(False, "no need"))
    assert "Declined" in outcome_words(declined, INLINE, "")


def test_the_body_shows_delta_threads_scope_and_people() -> None:
    run = replace(revising(), outcomes=said(True))
    facts = report.Facts(
        commit=COMMIT, deltas=(*SINCE.files, Delta("src/z.py", 0, FILE, 9, 0)), since=SINCE,
        lines={"t1": "lines"},
    )  # fmt: skip
    body = report.pull_body(run, facts)
    for words in (
        "What changed since the previous head", "`tests`: passed → failed",
        "**Newly passing:** `t::new`", "**Newly failing:** `t::old`",
        "What the review asked", "`src/a.py` lines 3-4, by `rita`", f"Done in {COMMIT}",
        "**Scope:** `src/a.py`, `src/b.py`, test files. Opened by words of the comments",
        "Commits by people", "`rita`", "**Changed:** 2 files",
    ):  # fmt: skip
        assert words in body, words
    assert "@everybody" not in body and "<b>" not in body
    assert "Not known to be done" in body  # t2 has no outcome, and stands on no file


def test_without_evidence_about_the_head_the_delta_says_so() -> None:
    moved = replace(revising(), heads=("f" * 40,))
    facts = report.Facts(commit=COMMIT, since=replace(SINCE, known=False))
    body = report.pull_body(moved, facts)
    assert "There is no evidence about that head" in body and "moved 1 time while" in body


def test_the_endings_comment_mentions_who_asked_and_tells_every_thread() -> None:
    run = replace(revising(), outcomes=said(False, "no need"))
    told = report.revised(run, report.Facts(since=SINCE))
    assert f"@{run.requester.login} revised in {COMMIT}" in told
    assert "t1, `src/a.py` lines 3-4: Declined" in told and "t2, in the conversation" in told
    stale = report.revised(
        replace(run, publication=replace(run.publication, overtaken="f" * 40)), report.Facts()
    )
    assert "somebody pushed right after" in stale
    halted = replace(run, state=State.HALTED, halt=HaltRecord(Reason.HEAD_MOVED, "x", "y"))
    assert "after it had pushed" in report.ending(halted)
    labelled = HaltRecord(Reason.SCOPE, "x", "Narrow it. Then label the issue again.")
    advice = report.ending(replace(halted, halt=labelled))
    assert "Narrow it. Then say `/agent revise` again here." in advice and "label" not in advice
    nothing = replace(halted, publication=replace(run.publication, commit=""))
    assert "before anything was pushed" in report.ending(nothing, "--- a\n+++ b\n")


def test_all_who_asked_are_mentioned_once_and_a_bot_is_named() -> None:
    run = revising()
    assert run.contract is not None and run.contract.revision is not None
    askers = (Person(8, "robot[bot]", "Bot"), run.requester, Person(3, "rita"))
    revision = replace(run.contract.revision, askers=askers)
    run = replace(run, contract=replace(run.contract, revision=revision))
    who = f"@{run.requester.login} @rita For `robot[bot]`: "
    assert f"{who}revised in" in report.revised(run, report.Facts())
    halted = replace(run, state=State.HALTED, halt=HaltRecord(Reason.CANCELLED, "x", "y"))
    assert f"{who}this revision stopped" in report.ending(halted)


def test_a_reply_has_its_marker_and_the_verdict() -> None:
    text = report.reply(replace(revising(), outcomes=said(True)), INLINE, "lines")
    assert text.startswith(report.thread_marker(revising().id, "t1"))
    assert "Evidence about that commit: passed" in text


@pytest.mark.parametrize(
    ("title", "passed", "failed"),
    [
        ("Agent fix for #1: add", "Agent fix for #1: add", "[incomplete] Agent fix for #1: add"),
        ("[incomplete] Mine", "Mine", "[incomplete] Mine"),
        ("[not certified] [incomplete] Mine", "Mine", "[incomplete] Mine"),
        ("[draft] [incomplete] Mine", "[draft] Mine", "[draft] [incomplete] Mine"),
        ("Mine [incomplete]", "Mine [incomplete]", "[incomplete] Mine [incomplete]"),
    ],
)
def test_the_title_says_whether_it_is_incomplete_and_keeps_peoples_words(
    title: str, passed: str, failed: str
) -> None:
    run = revising()
    assert run.verdict is not None and run.verdict.result is Result.PASSED
    assert report.renewed_title(run, title) == passed
    partial = replace(run, verdict=replace(run.verdict, result=Result.PARTIAL))
    assert report.renewed_title(partial, title) == failed


def test_the_sticky_comment_and_the_commit_speak_of_the_follow_up() -> None:
    run = revising()
    shown = report.status(run, 61_000, "")
    assert "Revised: passed" in shown and f"Follow-up commit: {COMMIT}" in shown
    assert "Draft pull request" not in shown and "one follow-up commit" in shown
    stopped = replace(run, state=State.HALTED, publication=replace(run.publication, commit=""))
    assert "Revision stopped" in report.status(stopped, 0, "")
    assert report.commit_message(run).startswith("Revise: ")
