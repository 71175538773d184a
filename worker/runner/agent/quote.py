"""Untrusted text as the model may see it: visible, capped, inside a frame that it cannot close.

Nothing depends on the model obeying the frame; it only makes it easy to tell data from orders.
"""

from __future__ import annotations

import unicodedata

from app.domain.text import reveal

LINE_CAP = 2_000  # characters of one line
EMPTY = "(no output)"


def framed(kind: str, text: str, delimiter: str) -> str:
    """`text` as a typed block. The delimiter is random and, should the text hold it by whatever
    means, taken out of it first."""
    inside = text.replace(delimiter, "…") or EMPTY
    return f"<<{kind} {delimiter}\n{inside}\n{delimiter}>>"


def visible(text: str) -> str:
    """A file's text with every hidden character written as `<U+XXXX>`; nothing is taken away, so
    that what can be seen can be quoted in an edit."""
    return text if text.isascii() and text.isprintable() else reveal(text)[0]


def one_line(text: str, cap: int = LINE_CAP) -> str:
    """One line of a file, visible, cut at `cap` characters with the rest counted."""
    shown = visible(text)
    if len(shown) <= cap:
        return shown
    return f"{shown[:cap]}… ({len(shown) - cap} more characters)"


def capped(text: str, cap: int) -> str:
    """The beginning and the end of `text` within `cap` characters; the cut says its size."""
    if len(text) <= cap:
        return text
    head = cap * 2 // 3
    tail = cap - head
    cut = len(text) - head - tail
    return f"{text[:head]}\n… ({cut} characters left out) …\n{text[-tail:]}"


def named(path: str) -> str:
    """A path for a header line: as it is when it is plain, else quoted with escapes."""
    if path.isprintable() and not any(unicodedata.category(c) == "Cf" for c in path):
        return path
    return ascii(path)
