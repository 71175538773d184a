"""Which paths a review comment opens, and what counts as an outcome."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.policy import rules_of
from app.domain.repo_config import PathRules, RepoConfig
from app.domain.revision import (
    Outcome,
    OutcomesRefused,
    Scope,
    Thread,
    merged,
    outcomes_of,
    scope_of,
)

FILES = ("src/a.py", "src/b.py")


def thread(text: str, path: str = "src/a.py", wide: bool = False, name: str = "t1") -> Thread:
    return Thread(name, text, "mona", "comment:1", path="" if wide else path, wide=wide)


@pytest.mark.parametrize(
    ("text", "opened", "closed"),
    [
        ("Say what it gives.", ["src/a.py"], ["src/b.py", "tests/test_a.py", "a.py"]),
        ("Move it to `src/c.py`.", ["src/a.py", "src/c.py"], ["src/b.py"]),
        ("Do the same in b.py, please.", ["src/b.py", "b.py", "x/b.py"], ["src/bb.py"]),
        ("Move it below src/deep/.", ["src/deep/x.py", "src/deep/y/z.py"], ["src/x.py"]),
        ("Rename it everywhere.", ["src/b.py", "docs/x.md", "tests/test_a.py"], []),
        ("Rename it in all files of it.", ["src/b.py"], []),
        ("Change that across the codebase", ["docs/x.md"], []),
        ("Not everywhere, only here.", ["src/a.py"], ["src/b.py"]),
        ("Don't touch src/b.py for it.", ["src/a.py"], ["src/b.py"]),
        ("Do it without changing b.py; but mend src/c.py.", ["src/c.py"], ["src/b.py"]),
        ("Please add a test.", ["src/a.py", "tests/test_a.py"], ["src/b.py"]),
        ("Write one more unit test for this", ["tests/test_a.py"], []),
        ("The test fails for me.", ["src/a.py"], ["tests/test_a.py"]),
        ("Do not add a test.", ["src/a.py"], ["tests/test_a.py"]),
        ("See https://example.org/src/b.py and say it.", ["src/a.py"], ["src/b.py"]),
        ("Use sums.add here, e.g. as below.", ["src/a.py"], ["src/b.py", "sums.py"]),
        ("Write to mona@src/b.py", ["src/a.py"], []),
    ],
)
def test_a_comment_on_a_file_opens_it_and_what_its_words_name(
    text: str, opened: list[str], closed: list[str]
) -> None:
    rules = rules_of(RepoConfig(), scope_of([thread(text)], FILES))
    assert [path for path in opened if not rules.in_scope(path)] == []
    assert [path for path in closed if rules.in_scope(path)] == []


def test_a_wide_comment_opens_the_pull_requests_files_and_the_original_list() -> None:
    scope = scope_of([thread("Mend it.", wide=True)], FILES, ["docs/a.md"])
    assert scope == Scope(("src/a.py", "src/b.py", "docs/a.md"))
    general = Thread("t1", "All of these.", "mona", "review:5:1")
    narrow = scope_of([general, thread("Say it.", name="t2")], FILES)
    assert narrow.globs == ("src/a.py",)


def test_several_comments_open_their_union_and_their_words_are_kept() -> None:
    scope = scope_of([thread("Add a test"), thread("As in src/z.py", "src/b.py")], FILES)
    assert scope.tests and scope.globs == ("src/a.py", "src/b.py", "src/z.py", "src/z.py/**")
    assert scope.words == ("Add a test", "src/z.py")


def test_a_name_with_special_characters_names_itself_alone() -> None:
    scope = scope_of([thread("x", "src/[*].py")], ())
    assert scope.opens("src/[*].py", False) and not scope.opens("src/[**].py", False)


def test_what_a_repository_does_not_allow_no_comment_opens() -> None:
    config = RepoConfig(paths=PathRules(allow=("src/**",)))
    rules = rules_of(config, scope_of([thread("Everywhere, and in docs/x.md")], FILES))
    assert rules.in_scope("src/z.py") and not rules.in_scope("docs/x.md")
    assert rules_of(RepoConfig()).in_scope("anything")


def given(*rows: tuple[str, str, str]) -> list[dict[str, Any]]:
    return [{"thread": a, "outcome": b, "why": c} for a, b, c in rows]


THREADS = (thread("a"), thread("b", name="t2"))


def test_outcomes_are_taken_for_known_threads_alone() -> None:
    found = outcomes_of(given(("t2", "declined", " no\n need\u200b "), ("t1", "done", "")), THREADS)
    assert found == (Outcome("t2", False, "no need"), Outcome("t1", True, ""))
    assert outcomes_of([{"thread": "t1", "outcome": "done"}], THREADS) == (Outcome("t1", True, ""),)
    assert outcomes_of([], THREADS) == ()


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([("t9", "done", "")], "there are: t1, t2"),
        ([("t1", "done", ""), ("t1", "declined", "x")], "given twice"),
        ([("t1", "declined", "\u200b ")], "without a reason"),
    ],
)
def test_outcomes_that_do_not_fit_are_refused(rows: list[tuple[str, str, str]], why: str) -> None:
    with pytest.raises(OutcomesRefused, match=why):
        outcomes_of(given(*rows), THREADS)
    with pytest.raises(OutcomesRefused, match="there are: none"):
        outcomes_of(given(("t1", "done", "")), ())


def test_the_newest_outcome_of_a_thread_counts() -> None:
    first, second = Outcome("t1", True, ""), Outcome("t2", True, "")
    later = Outcome("t1", False, "after all not")
    assert merged((first, second), (later,)) == (later, second)
