"""Why a run was cancelled: what is kept and what is said of it."""

from __future__ import annotations

import pytest

from app.domain.cancelled import NEXT, OVER, REOPEN, by, halt_of, kept, pull_over
from app.domain.errors import Reason
from app.domain.report_revision import again_here
from app.domain.state import Kind


@pytest.mark.parametrize(
    ("text", "happened", "then"),
    [
        ("Old words.", "Old words.", NEXT),
        ("", "A person cancelled this run.", NEXT),
        (kept("The issue was closed by mona."), "The issue was closed by mona.", NEXT),
        (kept("Two\nlines.", "Do\nthis."), "Two lines.", "Do this."),
        (pull_over(True, "mona"), "The pull request was merged by mona.", OVER),
        (pull_over(False, "ghost"), "The pull request was closed.", REOPEN),
    ],
)
def test_what_was_kept_is_what_is_said(text: str, happened: str, then: str) -> None:
    said = halt_of(text).record
    assert (said.reason, said.message, said.next_step) == (Reason.CANCELLED, happened, then)


def test_another_reason_is_kept() -> None:
    text = kept("The App is suspended.", "Unsuspend it.", Reason.INSTALLATION)
    assert halt_of(text).record.reason is Reason.INSTALLATION
    assert halt_of("a\nb\nno-such-reason").record.reason is Reason.CANCELLED


def test_nobody_is_not_named() -> None:
    assert (by("mona"), by(""), by("ghost")) == (" by mona", "", "")


@pytest.mark.parametrize("then", [OVER, REOPEN])
def test_a_revision_of_a_closed_pull_request_is_not_told_to_go_on_there(then: str) -> None:
    assert again_here(then) == then
    assert again_here(NEXT) == "Say `/agent revise` again here."


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (Kind.REVISE, "revise"),
        (Kind.VERIFY, "verify"),
        (Kind.RECHECK, "verify"),
        (Kind.UPDATE, "update"),
        (Kind.UNHOLD, "ci"),
    ],
)
def test_what_was_closed_is_asked_for_again_by_the_word_that_began_it(
    kind: Kind, word: str
) -> None:
    closed = halt_of(pull_over(False, "mona", kind)).record
    assert closed.message == "The pull request was closed by mona."
    assert closed.next_step == f"Open the pull request again, then say `/agent {word}` once more."
    merged = halt_of(pull_over(True, "", kind)).record
    assert f"`/agent {word}` is for open pull requests." in merged.next_step
