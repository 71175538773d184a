"""Review comments as threads: what one event asks for, read live but for what GitHub signed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.domain.ci_repair import TOLD as RED
from app.domain.commands import Word, command_of
from app.domain.event import Event, EventKind
from app.domain.ports.reader import GitHubReader
from app.domain.ports.views import InlineView, ReviewView
from app.domain.revision import OWN_CI, Thread
from app.domain.text import clean

TEXT_CAP = 8_000  # characters of one thread


@dataclass(frozen=True)
class Talk:
    """What is said on a pull request now."""

    reviews: Sequence[ReviewView]
    inline: Sequence[InlineView]

    @classmethod
    def of(cls, reader: GitHubReader, pull: int) -> Talk:
        return cls(reader.reviews(pull), reader.inline_comments(pull))


def threads_of(event: Event, talk: Talk) -> tuple[Thread, ...]:
    """What the event asks for, in the order of the comments; ids are given later.

    A review whose own text is the command means all of its inline comments; else those of them that
    are commands themselves. Only comments of the person who gave the command count.
    """
    if event.told == RED:
        text, hidden = clean(event.text)
        return _kept([Thread("", text, OWN_CI, event.key, wide=True, hidden=hidden)])
    if event.kind is EventKind.COMMENT:
        return _kept([_general(event, wide=True)])
    number = event.key.rpartition(":")[2]
    if event.key.startswith("inline:"):
        mine = [one for one in talk.inline if one.id == event.comment]
        return _kept(_of_inline(event, one, talk) for one in mine or [_signed(event)])
    review = next((one for one in talk.reviews if str(one.id) == number), None)
    mine = [
        one for one in talk.inline if str(one.review) == number and one.author.id == event.sender.id
    ]
    whole = _own_text(event, review)
    if whole is not None:
        general = replace(event, text=whole)
        threads = [_of_inline(event, one, talk) for one in mine]
        return _kept([_general(general, wide=not mine), *threads])
    if not any(one.id == event.comment for one in mine):
        mine.append(_signed(event))
    said = [one for one in mine if _asks(event.text if one.id == event.comment else one.body)]
    return _kept(_of_inline(event, one, talk) for one in said)


def _own_text(event: Event, review: ReviewView | None) -> str | None:
    """The review's own text where that is the command, as signed if it was the one signed."""
    if event.kind is EventKind.REVIEW:
        return event.text
    if review is None or review.author.id != event.sender.id or not _asks(review.body):
        return None
    return review.body


def _asks(text: str) -> bool:
    command = command_of(text)
    return command is not None and command.word is Word.REVISE


def _general(event: Event, *, wide: bool) -> Thread:
    text, hidden = _words(event.text)
    return Thread("", text, event.sender.login, event.key, wide=wide, hidden=hidden)


def _of_inline(event: Event, one: InlineView, talk: Talk) -> Thread:
    text, hidden = _words(event.text if one.id == event.comment else one.body)
    author = one.author.login
    if not text and one.root != one.id:  # `/agent revise` alone, under somebody's comment: adopted
        root = next((each for each in talk.inline if each.id == one.root), None)
        if root is not None:
            text, more = _words(root.body)
            author, hidden = f"{root.author.login}, adopted by {author}", hidden + more
    place = one.root, one.path, one.line, one.start
    return Thread("", text, author, event.key, *place, hidden=hidden)


def _signed(event: Event) -> InlineView:
    """The inline comment as GitHub signed it, where it cannot be read any more."""
    return InlineView(
        event.comment, 0, event.comment, event.text, event.sender, event.path, event.line,
        event.line,
    )  # fmt: skip


def _words(text: str) -> tuple[str, int]:
    """(a comment's own words, without the command's word if it is one; characters removed)."""
    command = command_of(text)
    known = command is not None and command.word is not None
    said, hidden = (command.text, command.hidden) if command and known else clean(text)
    return said.strip()[:TEXT_CAP], hidden


def _kept(threads: Iterator[Thread] | Sequence[Thread]) -> tuple[Thread, ...]:
    return tuple(one for one in threads if one.text)


def numbered(threads: Sequence[Thread]) -> tuple[Thread, ...]:
    """The threads with their names, `t1` first."""
    return tuple(replace(one, id=f"t{at}") for at, one in enumerate(threads, 1))
