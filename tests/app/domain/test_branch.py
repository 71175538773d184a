"""Names of branches: legal whatever a title holds, found again by their fixed part."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.branch import BRANCH, TAIL, branch_name, slug, tail_of
from app.domain.pull_request_config import read_pull_request

HOSTILE = [
    "a..b", "x.lock", "main@{1}", "@", "HEAD", "-rf", "--", "refs/heads/main", "../../main",
    "a\0b", "a\nb\tc", "\u202eevil\u2066", "\u200b\ufeff", "💥" * 300, "日本語のみ",
    "a" * 5_000, "word " * 900, "$(id)", "`id`; rm -rf / && \\", "~^:?*[", "%2e%2e", "[skip ci]",
    "\U0001d49cdd \U0001d7d9", "",
]  # fmt: skip
titles = st.one_of(st.text(max_size=400), st.sampled_from(HOSTILE))
patterns = st.lists(st.sampled_from(["{title}", *"aZ09_-"]), max_size=9).map("".join)
changes = st.text("0aZ9", min_size=1, max_size=64)


@pytest.mark.parametrize(
    ("pattern", "title", "tail"),
    [
        ("", "add is wrong", ""),
        ("{title}", "add is wrong", "add-is-wrong"),
        ("{title}", "Überprüfung: naïve Größe!", "uberprufung-naive-grosse"),
        ("{title}", "日本語のみ", ""),
        ("fix-{title}", "日本語のみ", "fix"),
        ("{title}-agent", "", "agent"),
        ("OPS_{title}", "Don't `rm -rf /`", "OPS_don-t-rm-rf"),
        ("{title}", "-a..b.lock@{0}-", "a-b-lock-0"),
        ("{title}", "mean of an empty list raises ZeroDivision", "mean-of-an-empty-list-raises"),
        ("{title}", "x" * 300, "x" * 40),
        ("{title}-{title}", "ab", "ab-ab"),
        ("__--{title}--__", "ab", "ab"),
        ("a" * 60, "ab", "a" * 60),
    ],
)  # fmt: skip
def test_the_tail_follows_the_pattern(pattern: str, title: str, tail: str) -> None:
    assert tail_of(pattern, title) == tail


@given(st.integers(1, 10**10 - 1), changes, patterns, titles)
def test_every_name_fits_and_gives_its_change_back(
    issue: int, change: str, pattern: str, title: str
) -> None:
    tail = tail_of(pattern, title)
    name = branch_name(issue, change, tail)
    found = BRANCH.fullmatch(name)
    assert found is not None and len(tail) <= TAIL
    assert (found["issue"], found["change"], found["tail"] or "") == (str(issue), change, tail)
    assert found["change"] == name.removeprefix(f"agent/issue-{issue}-").split("-")[0]
    assert name.startswith("agent/") and name.count("/") == 1 and name.isascii()
    assert tail_of(pattern, title) == tail


@pytest.mark.parametrize("title", HOSTILE)
def test_git_takes_the_name_that_a_hostile_title_makes(title: str) -> None:
    for pattern in ("{title}", "x-{title}", "{title}_x"):
        name = branch_name(7, "0a1b2c3d4e5f", tail_of(pattern, title))
        words = ["git", "check-ref-format", "--branch", name]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.strip()) == (0, name)


@given(titles)
def test_a_slug_is_words_and_nothing_else(title: str) -> None:
    words = slug(title)
    assert len(words) <= 40 and (not words or all(words.split("-")))
    assert set(words) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


@given(patterns)
def test_what_the_pattern_means_is_what_the_configuration_takes(pattern: str) -> None:
    assert read_pull_request({"branch": pattern}).branch == pattern


@pytest.mark.parametrize(
    "name",
    [
        "main", "agent/x", "agent/issue-0-a", "agent/issue-7-", "agent/issue-7-a-",
        "agent/issue-7-a-b-", "agent/issue-7-a/b", "agent/issue-7-a-b/c", "agent/issue-7-a-b..c",
        "agent/issue-7-a-b.lock", "agent/issue-7--b", "Agent/issue-7-a", "agent/issue-7-a-\u00fc",
        "agent/issue-7-a-b\n", "agent/issue-7-a-" + "b" * 61, "refs/heads/agent/issue-7-a",
    ],
)  # fmt: skip
def test_what_is_no_name_of_ours(name: str) -> None:
    assert BRANCH.fullmatch(name) is None
