"""One meaning of a glob, and none that can run away."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.glob import MAX_ALTERNATIVES, MAX_GLOB, literally, match


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("a.py", "a.py"),
        ("*.py", "a.py"),
        ("*.py", ".py"),
        ("?.py", "a.py"),
        ("**", "a"),
        ("**", "a/b/c"),
        ("**/", "a/b"),
        ("src/", "src/a/b.py"),
        ("src/**", "src/a/b.py"),
        ("**/*.py", "a.py"),
        ("**/*.py", "x/y/a.py"),
        ("a/**/b", "a/b"),
        ("a/**/b", "a/x/y/b"),
        ("**/a/**/b/*.c", "q/a/a/b/z/a/b/y.c"),
        ("a/**/**/b", "a/b"),
        ("*a*b*c", "xxaxxbxbxc"),
        ("a*a", "aa"),
        ("a***b", "axb"),
        ("*.{ts,tsx}", "a.tsx"),
        ("{src,lib}/**/*.{js,ts}", "lib/x/y.ts"),
        ("{a,}b", "b"),
        ("{a}", "{a}"),
        ("app/[id]/*.tsx", "app/[id]/page.tsx"),
        ("a+b(c)$.^|", "a+b(c)$.^|"),
        ("ü*", "über"),
        ("a*c", "a\nc"),
    ],
)
def test_a_glob_names(glob: str, path: str) -> None:
    assert match(glob, path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*.py", "x/a.py"),
        ("*.py", "a.pyc"),
        ("?.py", "ab.py"),
        ("a?b", "a/b"),
        ("a*b", "a/b"),
        ("src/**", "src"),
        ("src/", "src"),
        ("src/**", "lib/src/a"),
        ("a/**/b", "ab"),
        ("a/**/b", "a/xb"),
        ("A.py", "a.py"),
        ("*a*b*c", "xxbxac"),
        ("a*a", "a"),
        ("a/**x/b", "a/y/x/b"),
        ("", ""),
        ("", "a"),
        ("*" * (MAX_GLOB + 1), "a"),
        ("a.py", "axpy"),
        ("a", "a\n"),
    ],
)
def test_a_glob_does_not_name(glob: str, path: str) -> None:
    assert not match(glob, path)


def test_too_many_alternatives_are_taken_literally() -> None:
    glob = "{a,b}" * 7  # 128
    assert MAX_ALTERNATIVES < 2**7
    assert not match(glob, "abababa")
    assert match("{a,b}" * 6, "ababab")


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*a" * 200 + "b", "a" * 4_000),
        ("**/a/" * 80 + "b", "a/" * 2_000 + "c"),
        ("**/*a*a*a*b/" * 20 + "b", ("a" * 40 + "/") * 100 + "c"),
    ],
)
def test_no_glob_runs_away(glob: str, path: str) -> None:
    start = time.thread_time()
    assert not match(glob, path)
    assert time.thread_time() - start < 1


@given(st.from_regex(r"[a-c*{},?/]{1,12}", fullmatch=True))
def test_a_literal_glob_names_its_path(path: str) -> None:
    if not path.endswith("/") and "**" not in path:
        assert match(literally(path), path)


NAMES = st.sampled_from(["a", "b", "ab"])
PARTS = st.sampled_from(["a", "*", "a*", "*b", "?", "**"])


def _slow(parts: list[str], names: list[str]) -> bool:
    """The plain recursive meaning of a glob, to compare with."""
    if not parts:
        return not names
    if parts[0] == "**":
        if len(parts) == 1:
            return bool(names)
        return any(_slow(parts[1:], names[n:]) for n in range(len(names) + 1))
    return bool(names) and _name(parts[0], names[0]) and _slow(parts[1:], names[1:])


def _name(part: str, name: str) -> bool:
    if not part:
        return not name
    if part[0] == "*":
        return any(_name(part[1:], name[n:]) for n in range(len(name) + 1))
    return bool(name) and part[0] in ("?", name[0]) and _name(part[1:], name[1:])


@given(st.lists(PARTS, min_size=1, max_size=6), st.lists(NAMES, min_size=1, max_size=6))
def test_leftmost_places_are_as_good_as_trying_all(parts: list[str], names: list[str]) -> None:
    assert match("/".join(parts), "/".join(names)) is _slow(parts, names)
