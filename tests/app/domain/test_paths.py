"""One canonical form of a path, and nothing invisible in what is written."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.paths import PathRefused, canon, folded, fresh, hidden, like_git, shown

GIT_LOOKALIKES = (
    ".git",
    ".GIT",
    ".Git",
    "git~1",
    "GIT~1",
    "git~27",
    ".git.",
    ".git...",
    ".git::$INDEX_ALLOCATION",
    ".git:x",
    ".git\u200c",
    ".g\u200cit",
    "\ufeff.git",
    ".gi\u2064t",
    "\uff0egit",
)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/etc/passwd",
        "../x",
        "a/../b",
        "..",
        ".",
        "./a",
        "a/./b",
        "a//b",
        "a/",
        "a\\b",
        "..\\x",
        "C:",
        "C:/x",
        "c:x",
        "a\0b",
        "a\nb",
        "a\tb",
        "a\rb",
        "a\x1b[0mb",
        "a\x7fb",
        "a\x85b",
        "a\u202eb",
        "a\u200bb",
        "a\u2028b",
        "a\u2066b",
        "a\ufe0fb",
        "a\u3164b",
        "a\U000e0041b",
        "a\ud800b",
        "a ",
        "a./b",
        "a /b",
        "a\u00a0",
        "cafe\u0301.py",
        "x" * 256,
        "ü" * 128,
        "/".join("d" * 33),
        "/".join(["x" * 250] * 20),
    ],
)
def test_a_path_without_a_canonical_form_is_refused(path: str) -> None:
    with pytest.raises(PathRefused):
        canon(path)


@pytest.mark.parametrize("name", GIT_LOOKALIKES)
@pytest.mark.parametrize("place", ["{}", "{}/config", "a/b/{}", "a/{}/hooks/x"])
def test_what_some_file_system_takes_for_git_s_folder_is_refused_at_any_depth(
    name: str, place: str
) -> None:
    assert like_git(name)
    with pytest.raises(PathRefused):
        canon(place.format(name))


@pytest.mark.parametrize(
    "path",
    [
        "a",
        "a/b.py",
        "-rf",
        "con",
        "café.txt",
        "a b/c d.txt",
        ".gitignore",
        ".github/agent.yml",
        "git~x",
        "legit/.gitkeep",
        "app/[id]/page.tsx",
        "数/文.py",
        "x" * 255,
        "/".join("d" * 32),
        "ab:c",
    ],
)
def test_a_canonical_path_stays_as_it_is(path: str) -> None:
    assert canon(path) == path


@given(st.text(max_size=40) | st.from_regex(r"[a-c./ ~\\-]{1,12}", fullmatch=True))
def test_every_accepted_path_is_its_own_canonical_form_and_stays_inside(path: str) -> None:
    try:
        accepted = canon(path)
    except PathRefused:
        return
    assert accepted == path == canon(accepted) == unicodedata.normalize("NFC", path)
    parts = path.split("/")
    assert not {"", ".", ".."} & set(parts)
    assert not any(like_git(part) for part in parts)
    assert path.encode().decode() == path


@pytest.mark.parametrize(
    "path",
    [
        "-rf",
        "a/-x",
        " a",
        "con",
        "a/NUL.txt",
        "lpt1",
        "ab:c",
        'a"b',
        "a?b",
        "a|b",
        "a*b",
        "<a>",
        "GITHUB~1",
        "a/PROGRA~1/x",
        "SETUP~1.CFG",
        "../x",
        ".git",
    ],
)
def test_a_new_name_keeps_to_more(path: str) -> None:
    with pytest.raises(PathRefused):
        fresh(path)


@pytest.mark.parametrize("path", ["a", "a/b.py", "console.py", "a-b", "backup~", "v1~10x.txt"])
def test_an_ordinary_new_name_is_accepted(path: str) -> None:
    assert fresh(path) == path


def test_folding_makes_twins_equal() -> None:
    assert folded("A/B") == folded("a/b")
    assert folded("STRASSE") == folded("straße")
    assert folded("cafe\u0301") == folded("CAFÉ")


def test_a_shown_path_is_harmless_and_short() -> None:
    assert shown("a\x1b]8;;\u202e") == "'a\\x1b]8;;\\u202e'"
    assert len(shown("x" * 5_000)) < 250


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "tab\tand\fform feed",
        "ümläut 文",
        "👩\u200d💻",
        "❤\ufe0f",
        "❤\ufe0f\u200d🔥",
        "1\ufe0f\u20e3",
        "👍🏽\u200d♂\ufe0f",
        "\u0645\u06cc\u200c\u062e\u0648",
        "\u0915\u094d\u200d\u0937",
        "\u2139\ufe0f",
        "\u0600\u0661",
    ],
)
def test_what_emoji_and_scripts_need_is_not_hidden(text: str) -> None:
    assert hidden(text) == ()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a\u202eb", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("a\u2066b", "U+2066 LEFT-TO-RIGHT ISOLATE"),
        ("a\u200bb", "U+200B ZERO WIDTH SPACE"),
        ("a\u200db", "U+200D ZERO WIDTH JOINER"),
        ("文\u200c", "U+200C ZERO WIDTH NON-JOINER"),
        ("❤\u200c❤", "U+200C ZERO WIDTH NON-JOINER"),
        ("é\u200dé", "U+200D ZERO WIDTH JOINER"),
        ("a\ufe0f", "U+FE0F VARIATION SELECTOR-16"),
        ("\ufe0f", "U+FE0F VARIATION SELECTOR-16"),
        ("❤\ufe0f\ufe0f", "U+FE0F VARIATION SELECTOR-16"),
        ("❤\ufe01", "U+FE01 VARIATION SELECTOR-2"),
        ("a\U000e0041", "U+E0041 TAG LATIN CAPITAL LETTER A"),
        ("a\u00ad", "U+00AD SOFT HYPHEN"),
        ("a\u3164", "U+3164 HANGUL FILLER"),
        ("a\u2800", "U+2800 BRAILLE PATTERN BLANK"),
        ("a\u2028", "U+2028 LINE SEPARATOR"),
        ("a\ufeff", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("a\x1b[31m", "U+001B"),
        ("a\rb", "U+000D"),
        ("a\x7f", "U+007F"),
        ("a\x9b", "U+009B"),
    ],
)
def test_what_a_reviewer_cannot_see_is_named(text: str, named: str) -> None:
    assert hidden(text) == (named,)


def test_each_hidden_character_is_named_once() -> None:
    assert hidden("\u202ea\u202eb\u200b") == (
        "U+200B ZERO WIDTH SPACE",
        "U+202E RIGHT-TO-LEFT OVERRIDE",
    )


def test_a_new_name_holds_nothing_that_could_not_be_read() -> None:
    with pytest.raises(PathRefused, match=r"U\+FFFD"):
        fresh("src/a\ufffd.py")  # a NUL of the model's, as it comes out of the wire
    assert canon("src/a\ufffd.py") == "src/a\ufffd.py"  # what a tree has can be named
