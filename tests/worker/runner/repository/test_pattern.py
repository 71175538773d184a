"""No pattern of a model can keep the runner busy for ever."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.runner.repository.pattern import MAX_LINE, PatternRefused, matcher


@pytest.mark.parametrize(
    ("pattern", "line", "hit"),
    [
        (r"def \w+\(", "def add(a):", True),
        (r"^import (os|sys)\b", "import sys", True),
        (r"^import (os|sys)\b", "import system", False),
        (r"(?i)todo", "# TODO later", True),
        (r"(?:ab){2}", "abab", True),
        (r"[^]a]x", "bx", True),
        (r"[]a]x", "]x", True),
        (r"[\]a]x", "]x", True),
        (r"[(*+]", "a+b", True),
        (r"a{2,3}?b", "aab", True),
        (r"x{", "x{", True),
        (r"x{}", "x{}", True),
        (r"(?<!a)b", "cb", True),
        (r"(?=a)a(?!b)", "ac", True),
        (r"(?P<name>a)", "a", True),
        (r"(?>a+)b", "aab", True),
        (r"(a+)?b", "b", True),
        (r"colou?r", "color", True),
        (r"\(\*\)", "(*)", True),
        (r"a++b", "aab", True),
        (r"\x41\0?", "A", True),
    ],
)
def test_ordinary_expressions_are_searched_for(pattern: str, line: str, hit: bool) -> None:
    test, longest = matcher(pattern, regex=True)
    assert bool(test(line)) is hit
    assert longest > 100


def test_literal_text_is_literal() -> None:
    test, longest = matcher("a.*(", regex=False)
    assert test("x = a.*(b)")
    assert not test("abc(")
    assert longest == MAX_LINE


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+b",
        r"(a*)*b",
        r"(a|b)*c",
        r"(a|aa)+b",
        r"((a+)b)+c",
        r"(?:a?){30}b",
        r"(\w+\s?)*$",
        r"([a-z]+)*=",
        r"(x+x+)+y",
        r"(a)\1",
        r"(?P<n>a)(?P=n)",
        r"(a)(?(1)b|c)",
        r"(?x) a +",
        r"(?#comment)a",
        r".*.*.*.*.*x",
        "a?" * 30 + "a" * 30,
        "(a|b)" * 9,
        r"(a",
        r"*",
        r"[",
        "\\",
        "",
        "a\nb",
        "a" * 301,
    ],
)
def test_what_could_run_away_or_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(PatternRefused):
        matcher(pattern, regex=True)


@pytest.mark.parametrize("pattern", ["", "a\nb", "a" * 301])
def test_literal_text_is_one_short_line(pattern: str) -> None:
    with pytest.raises(PatternRefused):
        matcher(pattern, regex=False)


@pytest.mark.parametrize("pattern", [r".*.*.*x", r"\w*\w*\w*\w*=", r"(.+)(.+)(.+)(.+)#", "a*a*a*b"])
def test_the_more_it_repeats_the_shorter_the_lines(pattern: str) -> None:
    test, longest = matcher(pattern, regex=True)
    assert longest < 700
    start = time.thread_time()
    assert not test("a" * longest)
    assert time.thread_time() - start < 5


PIECES = st.lists(
    st.sampled_from(["a", "b", ".", "(", ")", "|", "*", "+", "?", "[ab]", "{2,3}", "{9,}", "(?:"]),
    min_size=1,
    max_size=10,
).map("".join)


@settings(deadline=None, max_examples=150)
@given(PIECES)
def test_whatever_is_accepted_ends_soon(pattern: str) -> None:
    try:
        test, longest = matcher(pattern, regex=True)
    except PatternRefused:
        return
    start = time.thread_time()
    test("a" * (longest - 1) + "c")
    test("ab" * (longest // 2))
    assert time.thread_time() - start < 10
