"""`/agent …` in a person's own plain words: which command a comment gives, if any.

A command counts only where GitHub shows it as ordinary text and as the first of the comment's own
words. Quotes before it belong to somebody else and are passed over; anything that makes the words
code, a heading, a table, a list, a link, part of a quote or invisible makes them no command. What
is unclear is no command: saying it again costs less than a run that nobody asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.text import clean, reveal

BODY_CAP = 65_536  # characters of a comment, as GitHub has it
TEXT_CAP = 20_000  # characters that follow the command's word


class Word(StrEnum):
    """What can be asked for."""

    FIX = "fix"
    REVISE = "revise"
    VERIFY = "verify"
    RETRY = "retry"
    CANCEL = "cancel"
    STATUS = "status"
    PLAN = "plan"
    APPROVE = "approve"
    CI = "ci"
    UPDATE = "update"
    PUBLISH = "publish"
    EXPLAIN = "explain"
    HELP = "help"


ALIASES = {"stop": Word.CANCEL}
# Words that a bot may say where it is allowed at all: those that open a run, whose admission asks
# the repository's own configuration. A bot approves, steers and publishes nothing.
FOR_BOTS = frozenset({Word.FIX, Word.PLAN, Word.EXPLAIN, Word.VERIFY, Word.RETRY})
# Words that a person who may triage may say; every other one needs write access.
TRIAGE = frozenset({Word.STATUS, Word.EXPLAIN, Word.HELP})


@dataclass(frozen=True)
class Command:
    """A command as given: `word` is None for one that is unknown, `said` is the word as written,
    `text` what follows it, cleaned of hidden text (`hidden` characters) and of a mail's rest."""

    word: Word | None
    said: str
    text: str
    hidden: int = 0


_HEAD = re.compile(
    r" {0,3}/agent(?:[ \t]+([a-z]{1,20})(?:[.:,;!]{1,3}(?=[ \t]|$))?(?:[ \t]+(.*))?)?[ \t]*",
    re.IGNORECASE | re.ASCII,
)
# Anything else after `/agent ` is a try, too: it is answered with help.
_TRY = re.compile(r" {0,3}/agent[ \t]+(\S{1,40}).*", re.IGNORECASE | re.ASCII)
_QUOTE = re.compile(r" {0,3}>")
_COMMENT = re.compile(r" {0,3}<!--")
# The line below a paragraph that makes all of it a heading (`===`, `---`), and the one that makes
# the line above it a table's head.
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)")
_TABLE = re.compile(r" {0,3}(?=[^\n]*-)[-:|][-:| \t]*")
# What ends a paragraph without a blank line: code, a heading, a quote, a list's item.
_INTERRUPTS = re.compile(r" {0,3}(?:```|~~~|#{1,6}(?:[ \t]|$)|>|(?:[-*+]|1[.)])[ \t]+\S)")
# Where a mail's own words end, whatever follows.
_REST = re.compile(
    r"-- ?|_{5,}|-{2,} ?(?:original message|forwarded message|reply above this line).*",
    re.IGNORECASE,
)
# The line above the mail that was answered; it names a day or an hour.
_WROTE = re.compile(
    r"(?:on|am|le|el) (?=.*\d).{4,200}(?:wrote|schrieb\b.{0,80}|écrit|escribió) ?:", re.IGNORECASE
)
_DEVICE = re.compile(r"sent from (?:my|the) .{1,60}|get outlook for .{1,60}", re.IGNORECASE)
_FROM = re.compile(r"from: .{1,200}<\S+@\S+>.*", re.IGNORECASE)
_FIELD = re.compile(r"(?:sent|date|to|cc|subject):.*", re.IGNORECASE)


def command_of(body: str) -> Command | None:
    """The command that a comment's text gives as its first own words, None where it gives none."""
    if len(body) > BODY_CAP:
        return None
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    at = _first_own(lines)
    if at is None or not _ordinary(lines, at):
        return None
    head = _HEAD.fullmatch(lines[at])
    if head is None:
        tried = _TRY.fullmatch(lines[at])
        return None if tried is None else Command(None, clean(tried[1])[0], "")
    said = (head[1] or "").lower()
    text, hidden = clean("\n".join([head[2] or "", *_own(lines[at + 1 :])]))
    word = ALIASES.get(said) or (Word(said) if said in frozenset(Word) else None)
    return Command(word, said, text.strip()[:TEXT_CAP], hidden)


def _first_own(lines: Sequence[str]) -> int | None:
    """Where the comment's own words begin: after blank lines, quotes and whole hidden comments."""
    at, quoted = 0, False
    while at < len(lines):
        line = lines[at]
        if not line.strip(" \t"):
            quoted = False
        elif _QUOTE.match(line):
            quoted = True
        elif quoted:
            return None  # no blank line in between: GitHub shows this as part of the quote
        elif _COMMENT.match(line):
            end = _comment_end(lines, at)
            if end is None:
                return None
            at = end
        else:
            return at
        at += 1
    return None


def _comment_end(lines: Sequence[str], at: int) -> int | None:
    """The last line of a hidden comment that has its lines to itself, else None."""
    start = lines[at].index("<!--")
    for number in range(at, len(lines)):
        line = lines[number][start + 4 :] if number == at else lines[number]
        if "-->" in line:
            return number if not line.partition("-->")[2].strip(" \t") else None
    return None


def _ordinary(lines: Sequence[str], at: int) -> bool:
    """Whether line `at` is shown as plain text of a paragraph, with nothing hidden in it."""
    line = lines[at]
    if reveal(line)[1]:
        return False
    below = lines[at + 1 : at + 2]
    if below and _TABLE.fullmatch(below[0].rstrip()):
        return False
    # The underline that makes a heading may stand below any line of the paragraph.
    for other in lines[at + 1 :]:
        if not other.strip(" \t") or _INTERRUPTS.match(other):
            break
        if _UNDERLINE.fullmatch(other.rstrip()):
            return False
    return True


def _own(lines: Sequence[str]) -> list[str]:
    """The lines that follow, up to a mail's signature or the mail that was answered; quotes go."""
    kept: list[str] = []
    fence = ""
    for at, line in enumerate(lines):
        mark = re.match(r" {0,3}(```+|~~~+)", line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        elif _of_a_mail(lines, at):
            break
        elif _QUOTE.match(line):
            continue
        kept.append(line)
    return kept


def _of_a_mail(lines: Sequence[str], at: int) -> bool:
    """Whether from line `at` on all is a mail's signature or the mail that was answered. A sentence
    that merely begins like one stays: what somebody asks for is not dropped on a likeness."""
    line = lines[at].strip()
    if _REST.fullmatch(line):
        return True
    after = [other.strip() for other in lines[at + 1 :] if other.strip()]
    if _WROTE.fullmatch(line):
        parted = at > 0 and not lines[at - 1].strip()
        return parted or not after or after[0].startswith(">")
    if _DEVICE.fullmatch(line):
        return all(other.startswith(">") or _WROTE.fullmatch(other) for other in after)
    return bool(_FROM.fullmatch(line) and after and _FIELD.fullmatch(after[0]))


def help_text(unknown: str = "") -> str:
    """The short help, in Markdown; `unknown` is safe text that was not understood."""
    said = f"I do not know {unknown}. " if unknown else ""
    return (
        f"{said}A comment that begins with one of these is a command:\n\n"
        "| say | what happens |\n| --- | --- |\n"
        + "\n".join(f"| `/agent {say}` | {what} |" for say, what in HELP)
    )


HELP: tuple[tuple[str, str], ...] = (
    ("fix [text]", "start, like the label `agent:fix`; your text counts as criteria or as answers"),
    ("plan [text]", "start, and stop after the plan to ask"),
    ("approve HASH", "go on with the plan of that hash"),
    ("publish TREE", "open the pull request that waits for this word, with exactly that tree"),
    ("explain [question]", "say where the code is and what would be done; nothing is changed"),
    ("revise WHAT", "on a pull request of mine, one of its lines or in a review: change it so"),
    ("verify", "on any pull request: run the base's checks on it and sign what they show"),
    ("update", "on a pull request of mine: merge the present base into it, and check that"),
    ("ci", "on a pull request of mine whose head is held back: let the workflows run on it"),
    ("status", "tell how it stands"),
    ("retry", "the last request once more"),
    ("cancel", "stop the run; `stop` is the same"),
    ("help", "this list"),
)
