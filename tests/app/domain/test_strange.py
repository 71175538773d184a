"""What the difference does not show a reviewer is said in words."""

from __future__ import annotations

import pytest

from app.domain.edit import EXECUTABLE, FILE, GITLINK, LINK, Delta
from app.domain.strange import large, strange


def said(delta: Delta, text: str = "", target: str = "", exists: bool = True) -> str:
    return " ".join(strange(delta, list(enumerate(text.split("\n"), 1)), target, exists))


@pytest.mark.parametrize("char", ["\u202e", "\u2066", "\u200b", "\U000e0041", "\ufeff", "\x1b"])
def test_hidden_characters_are_named_with_their_line(char: str) -> None:
    words = said(Delta("a.py", FILE, FILE, 2, 0), f"x = 1\ny = '{char}'")
    assert words.startswith("`a.py` line 2 holds characters that a reviewer cannot see: U+")
    assert f"U+{ord(char):04X}" in words and char not in words
    assert f"U+{ord(char):04X}" in said(Delta(f"a{char}.py", FILE, FILE, 0, 0))


def test_ordinary_files_are_not_spoken_of() -> None:
    for text in ("x = 1", "\ufeffx = 1", "é 👩\u200d🔬 ❤\ufe0f\ttab"):
        assert said(Delta("a.py", FILE, FILE, 1, 1), text) == ""
        assert said(Delta("a.py", 0, FILE, 1, 0), text) == ""
    assert said(Delta("a.py", FILE, 0, 0, 9)) == ""
    assert not list(large([Delta("a.py", FILE, FILE, 30, 3)]))


@pytest.mark.parametrize(
    ("delta", "target", "exists", "words"),
    [
        (Delta("l", 0, LINK, 1, 0), "/etc/passwd", False, "to `/etc/passwd`, outside the rep"),
        (Delta("a/l", 0, LINK, 1, 0), "../../x", False, "`../../x`, outside the repository"),
        (Delta("a/l", 0, LINK, 1, 0), "../x", True, "`a/l` is a link, to `../x`."),
        (Delta("l", 0, LINK, 1, 0), "gone", False, "which is not there"),
        (Delta("l", FILE, LINK, 1, 1), "x", True, "is a link now"),
        (Delta("m", 0, GITLINK, 0, 0), "", False, "is a submodule"),
        (Delta("a.sh", FILE, EXECUTABLE, 0, 0), "", False, "another mode: 100644 → 100755"),
        (Delta("a.sh", 0, EXECUTABLE, 1, 0), "", False, "is new and can be executed"),
        (Delta("a.png", FILE, FILE, -1, -1), "", False, "is binary"),
        (Delta("a.py", 0, FILE, 5000, 0), "", False, "is large: 5,000 changed lines"),
    ],
)
def test_links_binaries_modes_and_size_are_named(
    delta: Delta, target: str, exists: bool, words: str
) -> None:
    assert words in said(delta, target=target, exists=exists)


def test_a_change_that_nobody_reads_at_once_is_called_large() -> None:
    (words,) = large([Delta(f"{n}.py", 0, FILE, 1, 0) for n in range(150)])
    assert words == "The change is large: 150 changed lines in 150 files."
