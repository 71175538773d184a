"""What is said about our own pull request when people pushed to it; the table of differences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain import report
from app.domain.check import Comparison, Failure, Standing
from app.domain.ci import Ci
from app.domain.commits import BranchCommit, lines, of_others
from app.domain.contract import Contract
from app.domain.errors import HaltRecord, Reason, Waiting
from app.domain.event import Person
from app.domain.evidence import Result
from app.domain.report_commit import unhold_message, update_message
from app.domain.report_facts import LADDER, Facts
from app.domain.report_follow import delta, ending_on_pull, people, retitled, status_of_following
from app.domain.run import Attempt, Publication, Run, Wait
from app.domain.state import Kind, State
from app.domain.told import skip_directive
from app.domain.two_looks import evidence_of, made_here, two_looks
from tests.app.domain.report_world import passed

SIZES = LADDER[0]
MONA = Person(4, "mona")
EVIL = BranchCommit("b" * 40, Person(0, "ghost"), "Eve <img src=x> @acme/all", 2)


def followed(kind: Kind = Kind.RECHECK, **about: object) -> Run:
    run = passed()
    assert run.contract is not None
    contract: Contract = replace(
        run.contract, head="a" * 40, before="c" * 40, others=(BranchCommit("a" * 40, MONA, "Mona"),)
    )
    there = Publication("agent/issue-7-x", "a" * 40, 9, "https://github.test/pull/9")
    run = replace(
        run, kind=kind, contract=contract, state=State.COMPLETE, publication=there, plan=None,
        grounding=None, requester=MONA,
    )  # fmt: skip
    return replace(run, **about)  # type: ignore[arg-type]


def test_peoples_commits_are_named_as_theirs_and_cannot_break_the_page() -> None:
    run = followed()
    assert run.contract is not None
    evil = replace(run, contract=replace(run.contract, others=(*run.contract.others, EVIL)))
    text = people(evil, SIZES)
    assert "a" * 40 in text and "`mona`" in text and "not made by the agent" in text
    assert "<img" not in text and "@acme" not in text and "a merge" in text
    body = report.pull_body(run, Facts(commit="a" * 40))
    assert "People's commits" in body and "**People's work:** 1 commit of `mona`" in body
    assert "no model took part" in body


def test_only_the_ledger_says_which_commits_are_ours() -> None:
    forged = BranchCommit("d" * 40, Person(900, "patchwarrant[bot]", "Bot"), "patchwarrant[bot]")
    assert of_others((forged, EVIL), {"e" * 40}) == (forged, EVIL)
    assert of_others((forged, EVIL), {"d" * 40}) == (EVIL,)
    assert lines((forged,)) == [f"`{'d' * 40}` by `patchwarrant[bot]`"]


def test_a_rewritten_history_is_said_first() -> None:
    run = followed()
    assert run.contract is not None
    text = people(replace(run, contract=replace(run.contract, rewritten=True)), SIZES)
    assert text.startswith("⚠️ **The branch's history was rewritten:**")


def looked(run: Run, standing: Standing, failing: tuple[str, ...], result: Result) -> Run:
    assert run.candidate is not None and run.verdict is not None
    (one, *rest) = run.results
    seen = Comparison(newly_failing=failing)
    failures = tuple(Failure(test, "E", "no") for test in failing)
    made = replace(one, standing=standing, comparison=seen, failures=failures)
    attempt = Attempt(run.candidate.tree, (made, *rest), "s")
    return replace(run, attempts=(attempt,), verdict=replace(run.verdict, result=result))


@pytest.mark.parametrize(
    ("was", "now", "failing", "mended"),
    [
        ((), (), (), ()),
        ((), ("t1",), ("t1",), ()),
        (("t1",), (), (), ("t1",)),
        (("t1", "t2"), ("t2", "t3"), ("t3",), ("t1",)),
    ],
)
def test_the_difference_is_test_by_test(
    was: tuple[str, ...], now: tuple[str, ...], failing: tuple[str, ...], mended: tuple[str, ...]
) -> None:
    standings = [Standing.FAILED if found else Standing.PASSED for found in (was, now)]
    before = looked(followed(Kind.FIX), standings[0], was, Result.PASSED)
    after = looked(followed(), standings[1], now, Result.FAILED)
    found = two_looks(before, after)
    assert found is not None
    assert (found.failing, found.mended) == (failing, mended)
    assert bool(found.checks) == (bool(was) != bool(now))
    text = delta(found, SIZES)
    assert "passed → failed" in text and all(f"`{test}`" in text for test in failing + mended)


def test_the_same_twice_says_as_before() -> None:
    one = followed()
    found = two_looks(one, one)
    assert found is not None and found.paths == () and "as before" in delta(found, SIZES)
    assert delta(None, SIZES) == "" and two_looks(replace(one, verdict=None), one) is None


def test_evidence_is_the_newest_completed_run_about_the_branch() -> None:
    fix, again = followed(Kind.FIX, id="r1"), followed(id="r2")
    look = followed(Kind.VERIFY, id="r3")
    stopped = followed(id="r4", state=State.HALTED)
    assert evidence_of((fix, again, look, stopped)) == again
    assert evidence_of((look, stopped)) is None
    update = followed(Kind.UPDATE, publication=Publication(commit="f" * 40))
    assert made_here((fix, again, update)) == {"a" * 40, "f" * 40}
    assert made_here((again,)) == frozenset(), "what people pushed is not ours"


@pytest.mark.parametrize("kind", [Kind.RECHECK, Kind.UPDATE])
@pytest.mark.parametrize("state", [State.ADMIT, State.VERIFY, State.COMPLETE, State.HALTED])
def test_the_sticky_comment_tells_each_state(kind: Kind, state: State) -> None:
    halt = HaltRecord(Reason.BASE_LOST, "Gone.", "Mend it.") if state is State.HALTED else None
    run = followed(kind, state=state, halt=halt)
    text = status_of_following(run, "0 min 1 s")
    assert "#9" in text and "no model took part" in text
    assert ("base-lost" in text) == (state is State.HALTED)
    assert report.status(run, 1_000, "").startswith("<!-- patchwarrant:status:")


def test_a_look_without_peoples_commits_or_a_wait_is_told_as_well() -> None:
    run = followed(wait=Wait(Waiting.SANDBOX, 1, "The sandbox is away."), state=State.VERIFY)
    assert run.contract is not None
    bare = replace(run, contract=replace(run.contract, others=()), publication=Publication())
    assert people(bare, SIZES) == "" and people(followed(Kind.FIX), SIZES) == ""
    assert "waiting-sandbox" in status_of_following(bare, "1 s")
    assert "left no verdict" in ending_on_pull(
        replace(followed(Kind.UPDATE), verdict=None), Facts()
    )
    halt = HaltRecord(Reason.SETUP_FAILED, "No.", "", ())
    before = replace(run.contract, before="", head="")
    stopped = followed(halt=halt, state=State.HALTED, contract=before)
    assert "the head that is there now" in ending_on_pull(stopped, Facts())
    assert "evidence before" not in report.not_checked(stopped, "Fix", "e" * 40)[1]
    one, other = looked(followed(Kind.FIX), Standing.PASSED, (), Result.PASSED), followed()
    found = two_looks(one, replace(other, candidate=None))
    assert found is not None and found.paths and "`calc.py`" in delta(found, SIZES)
    assert "calc.py" in ending_on_pull(followed(Kind.UPDATE), Facts(looks=found))


@pytest.mark.parametrize("reason", list(Reason))
def test_every_ending_is_told_on_the_pull_request(reason: Reason) -> None:
    step = "What to do. Then set the label `agent:fix` again."
    halt = HaltRecord(reason, "What happened.", step, ("a.py",))
    for kind in (Kind.RECHECK, Kind.UPDATE):
        text = ending_on_pull(followed(kind, state=State.HALTED, halt=halt), Facts())
        assert "@mona" in text and f"`{reason}`" in text and "What to do." in text
        assert "label" not in text.split("What you can do")[1]
    text = ending_on_pull(followed(Kind.UPDATE), Facts())
    assert "is merged in as" in text and "No model took part" in text


@pytest.mark.parametrize(
    ("title", "prefix", "expected"),
    [
        ("Fix", "", "Fix"),
        ("[incomplete] Fix", "", "Fix"),
        ("[not certified] [incomplete] Fix", "[incomplete] ", "[incomplete] Fix"),
        ("[draft] Fix", "[not certified] ", "[not certified] [draft] Fix"),
        ("Fix [incomplete] ", "", "Fix [incomplete] "),
    ],
)
def test_only_our_own_words_before_a_title_change(title: str, prefix: str, expected: str) -> None:
    assert retitled(title, prefix) == expected


def test_a_body_without_evidence_for_its_head_claims_none() -> None:
    halt = HaltRecord(Reason.SETUP_FAILED, "No.", "Mend it.")
    title, ours = report.not_checked(followed(halt=halt), "Fix", "e" * 40)
    assert title == "[not certified] Fix"
    assert "Not certified" in ours and "setup-failed" in ours and "Closes" not in ours
    assert report.merge_body("mine", ours).endswith("mine")


def test_the_merge_holds_workflows_back_as_any_commit_of_ours() -> None:
    text = update_message(followed(Kind.UPDATE, ci=Ci(held=True)))
    assert text.endswith("\n\n\nAgent-Run: 0a1b2c\nskip-checks: true\n")


def test_the_commit_that_lets_workflows_run_holds_none_back() -> None:
    text = unhold_message(followed(Kind.UNHOLD, ci=Ci(held=True)))
    assert skip_directive(text) == "" and text.rstrip().splitlines()[-1].startswith("Agent-Run: ")


def test_the_merge_commit_says_what_it_is_and_its_trailer_is_last() -> None:
    text = update_message(followed(Kind.UPDATE))
    assert text.startswith("Merge main at ")
    assert text.rstrip().splitlines()[-1].startswith("Agent-Run: ")
    assert all(len(line) <= 72 for line in text.splitlines())
