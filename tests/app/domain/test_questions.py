"""The agent's questions as a comment: inert, with defaults, with a way to answer."""

from __future__ import annotations

from dataclasses import replace

from app.domain.errors import Waiting
from app.domain.event import Person, Repository
from app.domain.questions import asked, marker, pending
from app.domain.record import JournalEntry, Kept
from app.domain.run import Run, Wait
from app.domain.state import Kind

RUN = Run(
    "r1", Kind.FIX, "c1", "e", 1, Repository(5, "acme", "widgets"), 1, Person(1, "alice"), 0,
    wait=Wait(Waiting.ANSWER, 0, ""),
)  # fmt: skip


def note(number: int, kind: Kept = Kept.NOTE, **data: object) -> JournalEntry:
    return JournalEntry(f"{number}-0", kind, data)


ASKED = note(1, questions=[{"question": "Which?", "default": "the first"}, "junk"])


def test_the_newest_unanswered_questions_are_pending() -> None:
    assert pending([]) is None
    assert pending([note(1, agent="open"), ASKED, note(2, Kept.TOOL, answer="no")]) is ASKED
    assert pending([ASKED, note(2, answer="yes")]) is None
    assert pending([note(1, answer="yes"), ASKED]) is ASKED
    assert pending([note(1, questions="none")]) is None


def test_the_comment_names_default_and_deadline_and_whom_it_asks() -> None:
    text = asked(RUN, ASKED)
    assert text.startswith(marker("r1", "1-0")) and "@alice" in text
    assert "1. Which?" in text and "Without an answer: the first" in text
    assert "1970-01-01 00:00 UTC" in text and "junk" not in text


def test_without_a_wait_or_a_person_it_still_reads_well() -> None:
    text = asked(replace(RUN, wait=None, requester=Person(1, "x[bot]", "Bot")), ASKED)
    assert "@" not in text and "UTC" not in text
    odd = asked(replace(RUN, requester=Person(1, "a b", "User")), ASKED)
    assert "@" not in odd
