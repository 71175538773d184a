"""Title and commit message: the model's and the issue's words can neither call nor command."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.event import Person
from app.domain.report import commit_message, pull_title
from app.domain.run import Run
from tests.app.domain.report_world import TREE, contract, failed, passed


def saying(title: str, summary: str) -> Run:
    run = passed()
    assert run.plan is not None
    return replace(run, contract=contract(title), plan=replace(run.plan, summary=summary))


def trailers(message: str) -> list[str]:
    done = subprocess.run(
        ["git", "interpret-trailers", "--parse"],
        input=message,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


OURS = ["Co-authored-by: ann <42+ann@users.noreply.github.com>", "Agent-Run: 0a1b2c"]


def test_the_message_says_what_was_checked_and_ends_with_our_trailers() -> None:
    message = commit_message(passed())
    assert message.splitlines()[0] == "mean([]) crashes (for #12)"
    assert f"passed on tree {TREE}" in message
    assert message.endswith("Agent-Run: 0a1b2c\n")
    assert trailers(message) == OURS


@pytest.mark.parametrize(
    "words",
    [
        "Co-authored-by: Eve <eve@example.org>",
        "text\n\nSigned-off-by: Eve <e@x>\nskip-checks: true",
        "[skip ci] [ci skip] [no ci] [skip actions] [actions skip] ***NO_CI***",
        "[skip [skip ci] ci] skip-skip-checks:checks: true",
        "Fixes #3, closes acme/calc#4, resolves GH-5, fixes https://github.com/a/b/issues/6",
        "thanks @org/team",
        "Agent-Run: other",
        "# a comment of git\n#x",
        "Co-authored-by\u200b: x <x@y>",
    ],
)
def test_directives_trailers_references_and_mentions_are_taken_out(words: str) -> None:
    run = saying(words, words)
    for text in (commit_message(run), pull_title(run)):
        rest = text.replace(OURS[0], "").replace("#12", "")
        assert not re.search(r"(?i)\[[^\]]*(skip|no)[ -]+ci|\[ci skip|skip-checks|no_ci", rest)
        assert not re.search(r"(?i)#\w|gh-\d|://|@\w", rest)
        assert not re.search(r"(?im)^(co-authored-by|signed-off-by):", rest)
        assert not any(line.startswith("#") for line in rest.splitlines())
    assert trailers(commit_message(run)) == OURS


@settings(max_examples=200, deadline=None)
@given(st.text(), st.text())
def test_any_words_make_a_subject_and_lines_that_git_takes(title: str, summary: str) -> None:
    run = saying(title, summary)
    message = commit_message(run)
    assert len(message.splitlines()[0]) <= 72
    assert message.split("\n\n")[-1].splitlines() == OURS
    assert "\x00" not in message
    message.encode()
    assert "\n" not in pull_title(run)
    assert len(pull_title(run)) <= 200


def test_only_a_person_with_a_real_login_is_a_co_author() -> None:
    for person in (Person(1, "helper[bot]", "Bot"), Person(1, "x>\nSigned-off-by: y")):
        message = commit_message(replace(passed(), requester=person))
        assert trailers(message) == ["Agent-Run: 0a1b2c"]


def test_an_incomplete_draft_says_so_in_its_title() -> None:
    assert pull_title(passed()) == "Agent fix for #12: mean([]) crashes"
    assert pull_title(failed()) == "[incomplete] Agent fix for #12: mean([]) crashes"
    bare = replace(passed(), contract=None, plan=None, verdict=None)
    assert pull_title(bare) == "[incomplete] Agent fix for #12: as asked in the issue"
    assert "Nothing was shown about this change." in commit_message(bare)
    assert commit_message(bare).startswith("Change as asked in the issue (for #12)\n")
