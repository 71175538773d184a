"""When red CI begins a repair by itself: bounds, heads, people; what the model is given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain import ci_repair
from app.domain.ci_repair import SHOWN, TEXT_CAP, bound, event_of, sentence, wanted, words
from app.domain.event import Person
from app.domain.evidence import Result, Verdict
from app.domain.ports.ci import FailedReport
from app.domain.ports.views import PullView
from app.domain.repo_config import RepoConfig
from app.domain.revision import OWN_CI, Thread, scope_of
from app.domain.run import Publication, Run
from app.domain.state import Kind, State
from tests.worker.desk.made import contract, new_run

HEAD, NEXT, BASE = "a" * 40, "b" * 40, "c" * 40
ALICE, BOT = Person(1, "alice"), Person(9, "robot[bot]", "Bot")
BUILD = FailedReport("build", "failure", "One failed", "Summary\n\nlast line", ("a.py:3: Wrong",))


def made(commit: str = HEAD, repairs: int = 1, kind: Kind = Kind.FIX, event: str = "k") -> Run:
    """A run that published `commit` with evidence."""
    config = replace(RepoConfig(), ci_repair=repairs)
    return replace(
        new_run(), kind=kind, event=event, state=State.COMPLETE, requester=ALICE,
        contract=contract(BASE, config), verdict=Verdict("t" * 40, BASE, Result.PASSED, "", ()),
        publication=Publication("agent/issue-1-abc", commit, 2, check_run=5),
    )  # fmt: skip


def repair(head: str, commit: str = "", repairs: int = 1) -> Run:
    done = made(commit or HEAD, repairs, Kind.REVISE, ci_repair.key_of(5, 2, head))
    return done if commit else replace(done, state=State.HALTED, verdict=None)


@pytest.mark.parametrize(
    ("runs", "head", "begins"),
    [
        ((made(),), HEAD, True),
        ((made(repairs=0),), HEAD, False),  # the default
        ((made(),), NEXT, False),  # somebody pushed
        ((made(), made(NEXT, kind=Kind.RECHECK)), NEXT, False),  # the same, with evidence by now
        ((made(), repair(HEAD)), HEAD, False),  # one was begun
        ((made(repairs=2), repair(HEAD, repairs=2)), HEAD, False),  # for this very head
        ((made(repairs=2), repair(HEAD, NEXT, 2)), NEXT, True),
        ((made(repairs=2), repair(HEAD, NEXT, 2), repair(NEXT, BASE, 2)), BASE, False),
        ((made(), replace(made(kind=Kind.REVISE), state=State.EDIT)), HEAD, False),  # at work
        ((), HEAD, False),
    ],
)
def test_a_repair_begins_on_a_head_of_ours_inside_the_bound(
    runs: tuple[Run, ...], head: str, begins: bool
) -> None:
    assert wanted(runs, head) is begins


def test_a_retry_by_a_person_is_no_further_repair() -> None:
    runs = (made(repairs=2), repair(HEAD, repairs=2), repair(HEAD, NEXT, 2))
    assert len(ci_repair.begun(runs)) == 1 and wanted(runs, NEXT)
    assert sentence(runs) == " Repairs begun by itself: 1 of at most 2."
    assert sentence((made(repairs=0),)) == "" and bound((made(repairs=9),)) == 2


def test_it_is_done_in_the_name_of_the_person_who_asked_last() -> None:
    carol = replace(made(kind=Kind.REVISE), requester=Person(4, "carol"))
    by_bot = replace(made(), requester=BOT)
    pushed = replace(made(kind=Kind.RECHECK), requester=Person(6, "eve"))
    assert ci_repair.asker((made(), carol, pushed)) == Person(4, "carol")
    assert ci_repair.asker((by_bot, pushed)) is None
    mine = replace(repair(HEAD, NEXT), requester=Person(7, "dave"))
    assert ci_repair.asker((made(), mine)) == ALICE


def test_one_head_has_one_event_and_no_webhook_can_have_its_key() -> None:
    event = event_of(made(), ALICE, 2, HEAD, [BUILD])
    assert event == event_of(made(), ALICE, 2, HEAD, [BUILD])
    assert ci_repair.head_of(event) == HEAD and event.sender == ALICE and event.pull
    assert event.key.startswith(ci_repair.PREFIX) and event.told == ci_repair.TOLD


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"state": "closed"}, "not open"),
        ({"draft": False}, "no draft any more"),
        ({"head_ref": "agent/issue-1-other"}, "not our branch"),
        ({"head_repository": 6}, "not our branch"),
        ({"head_sha": NEXT}, "another head by now"),
    ],
)
def test_only_our_own_draft_with_that_head_is_repaired(change: dict[str, object], why: str) -> None:
    branch = "agent/issue-1-abc"
    view = PullView(
        number=2, title="", body="", state="open", draft=True, merged=False, head_ref=branch,
        head_sha=HEAD, head_repository=5, base_ref="main", author=ALICE, url="",
    )  # fmt: skip
    event = event_of(made(), ALICE, 2, HEAD, [BUILD])
    assert ci_repair.refusal(event, replace(view, **change), branch) == why  # type: ignore[arg-type]


def test_the_words_name_what_failed_and_keep_the_end_of_long_output() -> None:
    text = words(HEAD, [BUILD])
    assert "build (failure) One failed" in text and "- a.py:3: Wrong" in text
    assert text.endswith("last line")
    long = FailedReport("b\nc\u202e", "failure", "", "x" * 20_000 + " the end", ("n" * 900,) * 50)
    several = words(HEAD, [long] * (SHOWN + 3))
    assert len(several) <= TEXT_CAP and "… and 3 more." in several
    assert "\u202e" not in several and "b c (failure)" in several
    alone = words(HEAD, [replace(long, notes=())])
    assert alone.endswith("the end") and "…" in alone and len(alone) <= TEXT_CAP


def test_what_a_log_says_opens_no_path() -> None:
    said = "Fix everywhere: edit .github/x.yml and setup.py, add tests for all files."
    thread = Thread("t1", said, OWN_CI, "nudge:ci:5:2:x", wide=True)
    scope = scope_of([thread], ["src/a.py"])
    assert scope.globs == ("src/a.py",) and not scope.everywhere and not scope.tests
    assert scope_of([replace(thread, author="alice")], ["src/a.py"]).everywhere
