"""One table of how a command can seem to be given, and whether it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.commands import BODY_CAP, HELP, Word, command_of, help_text

GIVEN = [
    ("/agent fix", Word.FIX, ""),
    ("/agent fix the first case only", Word.FIX, "the first case only"),
    ("/agent   fix\tnow", Word.FIX, "now"),
    ("\n\n  \n/agent fix\n", Word.FIX, ""),
    ("   /agent fix", Word.FIX, ""),
    ("/agent fix\r\nfirst\r\nsecond\r\n", Word.FIX, "first\nsecond"),
    ("/agent fix\rfirst", Word.FIX, "first"),
    ("/Agent Fix", Word.FIX, ""),  # as a phone's keyboard writes it
    ("/agent stop", Word.CANCEL, ""),
    ("/agent cancel.", Word.CANCEL, ""),
    ("/agent fix: use the second way", Word.FIX, "use the second way"),
    ("/agent approve 0123abcd", Word.APPROVE, "0123abcd"),
    ("> what somebody said\n\n/agent status", Word.STATUS, ""),
    ("> /agent cancel\n\n/agent status", Word.STATUS, ""),
    ("> one\n> two\n\n> three\n\n/agent status", Word.STATUS, ""),
    ("<!-- a note -->\n/agent status", Word.STATUS, ""),
    ("<!--\n/agent cancel\n-->\n/agent status", Word.STATUS, ""),
    ("/agent status <!-- /agent cancel -->", Word.STATUS, ""),
    ("/agent fix\n\n```\n-- \n> kept\n```", Word.FIX, "```\n-- \n> kept\n```"),
    ("/agent fix a\n\nOn Mon, 30 Nov 2026, Mona wrote:\n> /agent cancel", Word.FIX, "a"),
    ("/agent fix a\n\n-- \nMona\nAcme", Word.FIX, "a"),
    ("/agent fix a\n\nSent from my phone", Word.FIX, "a"),
    ("/agent fix a\n\n-----Original Message-----\nmore", Word.FIX, "a"),
    ("/agent fix a\n\n> quoted\n\nb", Word.FIX, "a\n\n\nb"),
    ("/agent fix\n/agent cancel", Word.FIX, "/agent cancel"),  # the first one counts
    ("/agent fix;", Word.FIX, ""),
    ("/agent fix!!", Word.FIX, ""),
    # What stands in code, a list or a table below makes nothing of the command's own line.
    ("/agent fix\n```\nkey: 1\n---\nb: 2\n```", Word.FIX, "```\nkey: 1\n---\nb: 2\n```"),
    ("/agent fix\n| a |\n|---|\n| 1 |", Word.FIX, "| a |\n|---|\n| 1 |"),
    ("/agent fix\n- a\n- b\n---\nmore", Word.FIX, "- a\n- b\n---\nmore"),
    # A sentence that begins like a mail's last lines is none of them.
    ("/agent fix\nOn no input it wrote nothing\nb", Word.FIX, "On no input it wrote nothing\nb"),
    ("/agent fix\nOn 2 inputs it wrote:\nb", Word.FIX, "On 2 inputs it wrote:\nb"),
    ("/agent fix\nSent from my call it fails\nb", Word.FIX, "Sent from my call it fails\nb"),
    ("/agent fix\nFrom: add <a@b> must return", Word.FIX, "From: add <a@b> must return"),
    ("/agent fix a\n\nFrom: M <m@x.org>\nSent: Monday\n\nold", Word.FIX, "a"),
    ("/agent fix a\n\nSent from my phone\n\nOn 3 May, Mona wrote:\n> old", Word.FIX, "a"),
    ("/agent fix\n- one\n- two", Word.FIX, "- one\n- two"),
    ("/agent fix a\u200bb", Word.FIX, None),  # see below: hidden text in the line
]
NOT_GIVEN = {
    "nothing": "",
    "blank": " \n\t\n",
    "talk": "please do /agent fix",
    "talk before": "Yes.\n\n/agent fix",
    "a mention before": "@patchwarrant /agent fix",
    "quote": "> /agent fix",
    "quote in a quote": "> > /agent fix",
    "quote without a blank": ">/agent fix",
    "lazy line of a quote": "> what somebody said\n/agent fix",
    "an alert": "> [!NOTE]\n> /agent fix",
    "code by indent": "    /agent fix",
    "code by tab": "\t/agent fix",
    "code by blank and tab": "  \t/agent fix",
    "code span": "`/agent fix`",
    "code span over lines": "`\n/agent fix\n`",
    "fence": "```\n/agent fix\n```",
    "fence of tildes": "~~~\n/agent fix\n~~~",
    "fence that never ends": "```\n\n/agent fix",
    "suggestion": "```suggestion\n/agent fix\n```",
    "words below a fence": "```\nx\n```\n/agent fix",
    "indented code first": "    code\n\n/agent fix",
    "hidden comment": "<!-- /agent fix -->",
    "hidden comment over lines": "<!--\n/agent fix\n-->",
    "hidden comment that never ends": "<!--\n\n/agent fix",
    "behind a hidden comment in its line": "<!-- x --> /agent fix",
    "a second comment opened in the line": "<!-- a --><!--\n/agent fix",
    "HTML": "<b>/agent fix</b>",
    "HTML block": "<details>\n\n/agent fix\n\n</details>",
    "HTML that hides": "<div hidden>\n/agent fix\n</div>",
    "keyboard": "<kbd>/agent fix</kbd>",
    "heading": "# /agent fix",
    "heading by underline": "/agent fix\n===",
    "second heading by underline": "/agent fix\n---",
    "heading of two lines": "/agent fix\nmore\n-----",
    "underline with blanks": "/agent fix\n   --  ",
    "table head": "/agent fix | b\n--- | ---",
    "table head of one column": "/agent fix\n:-:",
    "table": "| /agent fix |\n| --- |",
    "list": "- /agent fix",
    "numbered list": "1. /agent fix",
    "task": "- [ ] /agent fix",
    "bold": "**/agent fix**",
    "struck": "~~/agent fix~~",
    "link": "[/agent fix](https://example.com)",
    "image": "![/agent fix](https://example.com/x.png)",
    "footnote": "[^1]: /agent fix",
    "link definition": "[x]: /agent fix",
    "escaped": "\\/agent fix",
    "entity": "&#47;agent fix",
    "mail's attribution": "On Mon, Mona wrote:\n> /agent fix",
    "mail, answered below": "On Mon, Mona wrote:\n> old\n\n/agent fix",
    "forwarded": "---------- Forwarded message ----------\n/agent fix",
    "mail header": "Subject: /agent fix",
    "maths": "$$\n/agent fix\n$$",
    "another word": "/agents fix",
    "joined": "/agent-fix",
    "joined by a slash": "/agent/fix",
    "path": "/agentfix",
    "twice": "//agent fix",
    "Cyrillic letter": "/аgent fix",  # noqa: RUF001
    "full-width slash": "／agent fix",  # noqa: RUF001
    "fraction slash": "⁄agent fix",  # noqa: RUF001
    "hidden inside": "/ag\u200bent fix",
    "hidden before": "\u200b/agent fix",
    "byte order mark": "\ufeff/agent fix",
    "right to left": "\u202e/agent fix",
    "tag characters": "/agent fix\U000e0061\U000e0062",
    "no-break space": "/agent\u00a0fix",
    "long s": "/agent ſtatus\u200b",  # noqa: RUF001
    "terminal": "\x1b[2K/agent fix",
    "NUL": "/agent fix\0",
    "too long": "/agent fix " + "x" * BODY_CAP,
}


@pytest.mark.parametrize(("body", "word", "text"), [row for row in GIVEN if row[2] is not None])
def test_a_command_that_is_given(body: str, word: Word, text: str) -> None:
    found = command_of(body)
    assert found is not None
    assert (found.word, found.text) == (word, text)


@pytest.mark.parametrize("name", list(NOT_GIVEN))
def test_what_only_looks_like_a_command(name: str) -> None:
    assert command_of(NOT_GIVEN[name]) is None


def test_hidden_text_in_the_commands_line_makes_it_none() -> None:
    assert command_of("/agent fix a\u200bb") is None


def test_hidden_text_below_goes_and_is_counted() -> None:
    found = command_of("/agent fix\nkeep\u200b this <!-- widen --> too")
    assert found is not None
    assert (found.text, found.hidden) == ("keep this  too", len("\u200b<!-- widen -->"))


@pytest.mark.parametrize("word", [*Word, "stop"])
def test_every_word_is_known(word: str) -> None:
    found = command_of(f"/agent {word} x")
    assert found is not None and found.word is (Word.CANCEL if word == "stop" else Word(word))


@pytest.mark.parametrize(
    ("body", "said"),
    [("/agent", ""), ("/agent dance", "dance"), ("/agent fix,it", "fix,it"), ("/agent 7", "7"),
     ("/agent Fïx", "Fïx"), ("/agent plz fix", "plz"), ("/agent\nfix", "")],
)  # fmt: skip
def test_an_unknown_word_is_a_command_all_the_same(body: str, said: str) -> None:
    found = command_of(body)
    assert found is not None and found.word is None and found.said == said


def test_help_names_only_words_that_exist_and_cannot_wake_us() -> None:
    for say, _ in HELP:
        assert say.split()[0] in set(Word)
    assert command_of(help_text()) is None
    assert command_of(help_text("`dance`")) is None


@given(st.text(alphabet="/agent fix>`-=|<!\n\r\t *#\u200b", max_size=60))
def test_no_text_is_a_crash_and_a_quoted_one_never_a_command(text: str) -> None:
    command_of(text)
    quoted = "\n".join(f"> {line}" for line in text.replace("\r", "\n").split("\n"))
    assert command_of(quoted) is None
