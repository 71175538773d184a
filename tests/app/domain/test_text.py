"""What a reader cannot see goes, is counted, and cannot come back."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.text import clean, named, printable, reveal

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f3f3\ufe0f\u200d\U0001f308"


@pytest.mark.parametrize(
    "mark",
    [
        *"\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2064",
        *"\u2066\u2069\u206a\u3164\ufe00\ufe0f\ufeff\uffa0\ufff9\U000e0041\U000e007f\U000e0100",
        *"\x00\x07\x08\x7f\x85\x9b\ud800\udfff",
    ],
    ids=lambda mark: f"{ord(mark):04X}",
)
def test_a_hidden_character_goes_and_is_counted_or_is_revealed(mark: str) -> None:
    if mark == "\x85":  # a line end of its own
        assert clean(f"a{mark}b") == ("a\nb", 0)
        return
    if mark != "\x9b":  # the start of a terminal sequence takes its end along
        assert clean(f"a{mark}b") == ("ab", 1)
    assert reveal(f"a{mark}b") == (f"a<U+{ord(mark):04X}>b", 1)


@pytest.mark.parametrize(
    "text",
    [
        "plain\ttext\n",
        FAMILY,
        FLAG,
        "\u2764\ufe0f",
        "1\ufe0f\u20e3",
        "\U0001f44d\U0001f3fd",
        "日本é",
    ],
    ids=ascii,
)
def test_what_is_seen_stays(text: str) -> None:
    assert clean(text) == reveal(text) == (text, 0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a<!-- x -->b", "ab"),
        ("\ufe0fa", "a"),
        ("a <!--> b <!---> c", "a  b  c"),
        ("<!-<!-- x -->- y -->", "<!- - y -->"),
        ("say `<!--` here", "say `<!--` here"),
        ("seen\n> <!-- the rest is hidden", "seen\n> "),
        ("a<!-\u200b- x -->b", "ab"),
        ("[//]: # (do this)\nseen", "\nseen"),
        ("[x]: <> 'do this'", ""),
        ("[x]: https://example.org", "[x]: https://example.org"),
        ("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07", "red link"),
        ("\x1b]52;c;aGk=\x1b\\x \x1bPdcs\x1b\\y", "x y"),
        ("a\r\nb\rc", "a\nb\nc"),
    ],
)
def test_what_github_would_not_show_goes(text: str, shown: str) -> None:
    assert clean(text)[0] == shown


def test_comments_of_repository_text_stay() -> None:
    assert reveal("<!-- license -->\r\n") == ("<!-- license -->\n", 0)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"ok\n", "ok\n"),
        (b"\xff\xfe half \xe2\x82", "\ufffd\ufffd half \ufffd"),
        (b"10%\r20%\r\ndone", "10%\n20%\ndone"),
        (b"\x1b[1mbold\x1b[0m\x00\x07", "bold"),
        ("right\u202eleft".encode(), "right<U+202E>left"),
        (b"", ""),
    ],
)
def test_bytes_of_a_program_become_text(data: bytes, shown: str) -> None:
    assert printable(data) == shown


MARKS = ["<!--", "-->", "<!", "--", ">", "<", "-", "\n", "> ", "a", " ", "[", "1", "[a]: # (x)"]
CODES = ["\u200d", "\ufe0f", "\u2764", "\u20e3", "\U000e0041", "\x1b", "\x9b", "\r", "]8;;"]
PIECES = st.lists(st.sampled_from([*MARKS, *CODES, "\ud800"])).map("".join)


@settings(max_examples=500, deadline=None)
@given(PIECES | st.text())
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    once, hidden = clean(text)
    assert clean(once) == (once, 0)
    assert hidden >= 0
    once.encode()


@settings(max_examples=200, deadline=None)
@given(st.binary())
def test_printable_text_has_no_control_but_newline_and_tab(data: bytes) -> None:
    assert not [mark for mark in printable(data) if ord(mark) < 32 and mark not in "\n\t"]


@pytest.mark.parametrize(
    "piece", ["<!--", "\x1b[", "\x1b]", "--><!-- ", "[a]: # (", "<!-- x -->", "\u200d", "[a]: # ()"]
)
def test_hostile_text_costs_time_in_proportion(piece: str) -> None:
    def took(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        clean(text)
        printable(text.encode())
        return time.process_time() - start

    took(1_000)
    assert took(400_000) < 60 * max(took(20_000), 0.005)  # 20 times the text; squared would be 400


def test_a_name_is_one_line_and_hides_nothing() -> None:
    assert named("od\nd na\tme.py") == "od\\nd na\\tme.py"
    assert named("a\u2028b\u00a0c\x0bd\u202e") == "a<U+2028>b<U+00A0>c<U+000B>d<U+202E>"
    assert named("plain name.py") == "plain name.py"
