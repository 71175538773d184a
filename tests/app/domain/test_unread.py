"""Why a report was not read stands wherever the check's result is read, and never makes a pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.check import CheckResult, Outcome, Standing
from app.domain.evidence import Result
from app.domain.gate import Exhibits, judge
from app.domain.plan import Plan
from app.domain.policy import Rules
from app.domain.report import check_output, page, pull_body
from app.domain.run import Attempt, Run
from app.domain.unread import CAUSES, LARGE, UNREADABLE, cause, known, reason
from tests.app.domain.report_world import BASE, BASE_TREE, TREE, check, facts, passed, result
from tests.worker.local.test_table import shown

MOST = 4 << 20


def outcome(report: bytes | None = None, unread: str = "", size: int = 0) -> Outcome:
    return Outcome(0, "", 1, b"", b"", (0, 0), report, unread=unread, report_size=size)


@pytest.mark.parametrize("word", sorted(set(CAUSES) - {LARGE}))
def test_each_word_of_the_container_has_a_sentence(word: str) -> None:
    assert known(word) == word
    assert cause(outcome(unread=word), MOST) == CAUSES[word]


@pytest.mark.parametrize("word", ["", "other", "LINK", None, 3, ["link"]])
def test_a_word_that_nobody_knows_is_none(word: object) -> None:
    assert known(word) == ""


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (outcome(), ""),
        (outcome(b"", size=0), "it is empty"),
        (outcome(b"\xef\xbb\xbf \n"), "it is empty"),
        (outcome(b"\xef\xbb\xbf<a>"), "it is no JUnit XML: cut off, broken or unsafe"),
        (outcome(b"not ok 1"), "it is TAP without a plan, so it was cut off"),
        (outcome(b" {}"), "it is JSON and no SARIF that can be read"),
        (outcome(b"\x89PNG"), "it is neither JUnit XML, TAP nor SARIF"),
        (outcome(b"<a>", "large", 8 << 20), "it has 8,388,608 bytes, over 4 MiB"),
        (outcome(b"x" * (MOST + 1)), "it has 4,194,305 bytes, over 4 MiB"),
    ],
)
def test_a_report_that_came_and_is_none_is_told_by_what_is_in_it(seen: Outcome, words: str) -> None:
    assert cause(seen, MOST) == words


def test_a_sandbox_that_says_no_cause_leaves_the_reason_as_it_was() -> None:
    assert reason(cause(outcome(), MOST)) == UNREADABLE


def judged(after: CheckResult, before: CheckResult) -> Run:
    """A run whose verdict is the gate's own about these results."""
    run = passed()
    assert run.contract is not None
    verdict = judge(
        Exhibits(
            tree=TREE,
            base_commit=BASE,
            plan=Plan("s", (), (), (), (), 1),
            deltas=facts().deltas,
            rules=Rules(),
            limits=run.contract.limits,
            checks=(check(),),
            results=(after,),
            baseline=(before,),
        )
    )
    attempt = Attempt(TREE, (after,), "x")
    return replace(run, attempts=(attempt,), baseline=(before,), verdict=verdict)


@pytest.mark.parametrize("on_base", [False, True], ids=["on the change", "on the base"])
@pytest.mark.parametrize("word", sorted(CAUSES))
def test_pull_request_check_run_page_and_terminal_tell_the_cause(word: str, on_base: bool) -> None:
    words = cause(outcome(unread=word, size=5_000_000), MOST)
    unread = replace(
        result(TREE, Standing.UNAVAILABLE), exit_code=0, counts=None, reason=reason(words)
    )
    unusable = replace(unread, reason="baseline unusable")
    base = replace(unread, tree=BASE_TREE)
    run = judged(unusable, base) if on_base else judged(unread, result(BASE_TREE))
    assert run.verdict is not None and run.verdict.result is not Result.PASSED
    title, summary, text = check_output(run, facts())
    places = (pull_body(run, facts()), summary + text, page(run, facts()), shown(run))
    for place in places:
        assert f"{UNREADABLE}: {words}" in place, title
