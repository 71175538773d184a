"""Untrusted text inside GitHub's Markdown: it becomes neither markup, nor a link, nor a call.

`inline`, `code` and `fence` each give Markdown that is safe wherever we put it, table cells
included. They clean what they are given, and show nothing that looks like a secret; cutting is
always said.
"""

from __future__ import annotations

import re

from app.domain.redact import without_secrets
from app.domain.text import clean, named, reveal

APART = "&#8203;"  # a zero-width space, written so that the source shows it

_SPAN = re.compile(r"`([^`\n]{1,200})`")
_ACTIVE = re.compile(r"(?i:\bgh)-(?=\d)|(?i:\bwww)\.|://|[&<>|$@#\\*_\[\]~`]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "&#36;"}
_AT_START = re.compile(r"^(?:(\d{1,9})([.)])|[-+=/])")
_COMMAND = re.compile(r"^(\s*)(/[A-Za-z][\w-]*(?:\s|$))", re.MULTILINE)
_MARKER = re.compile(r"<(?=!-- ?/?patchwarrant:)")
_TICKS = re.compile(r"`+")
_MARKS = re.compile(r"[!-,.:-@\[-`{-~]")
LONGEST_TICKS = 20
_LOOK = 4  # times as many characters are looked at as are shown


def cut(text: str, size: int) -> str:
    """At most about `size` characters from the start, saying how many are missing."""
    if len(text) <= size:
        return text
    return f"{text[:size].rstrip()} … ({len(text) - size:,} more characters)"


def tail(text: str, size: int) -> str:
    """At most about `size` characters from the end, saying how many are missing."""
    if len(text) <= size:
        return text
    return f"({len(text) - size:,} earlier characters were cut) …\n{text[len(text) - size :]}"


def _line(text: str, size: int, unseen: int) -> str:
    """`text` in one line, cut; `unseen` more characters were not even looked at if positive."""
    line = " ".join(text.split())
    if unseen <= 0:
        return cut(line, size)
    return f"{line[:size].rstrip()} … ({len(line[size:]) + unseen:,} more characters)"


def inline(text: str, size: int = 300) -> str:
    """One line of prose: markup, HTML, links, mentions and references are inert.

    Pairs of backticks stay code. "" becomes "(nothing)".
    """
    text = without_secrets(text)
    line = _line(clean(text[: _LOOK * size])[0], size, len(text) - _LOOK * size)
    if not line:
        return "(nothing)"
    parts: list[str] = []
    at = 0
    for span in _SPAN.finditer(line):
        parts += (_defused(line[at : span.start()]), code(span.group(1)))
        at = span.end()
    parts.append(_defused(line[at:]))
    return _AT_START.sub(_start, "".join(parts))


def _start(found: re.Match[str]) -> str:
    """What would begin a list, a heading's underline or another bot's command, made ordinary."""
    if found.group(1):
        return rf"{found.group(1)}\{found.group(2)}"
    return f"&#{ord(found.group())};"


def _defused(text: str) -> str:
    return _ACTIVE.sub(_inert, text)


def _inert(found: re.Match[str]) -> str:
    mark = found.group()
    if mark in _ENTITIES:
        return _ENTITIES[mark]
    if mark == "@":
        return f"@{APART}"
    if mark == "#":
        return f"\\#{APART}"
    if len(mark) == 1:
        return f"\\{mark}"
    return f":{APART}//" if mark == "://" else f"{mark[:-1]}{APART}{mark[-1]}"


def code(text: str, size: int = 200) -> str:
    """A name in code style: a path, a test id, a digest. Nothing inside is interpreted, and a
    newline in it is shown as `\\n`."""
    text = without_secrets(text)
    line = _line(named(text[: _LOOK * size]), size, len(text) - _LOOK * size) or "(empty)"
    if not re.search(r"[`|\\<]", line):
        return f"`{line}`"
    return _html_code(line)


def _html_code(line: str) -> str:
    return f"<code>{_MARKS.sub(lambda mark: f'&#{ord(mark.group())};', line)}</code>"


def fence(text: str, language: str = "text", *, exact: bool = False) -> str:
    """A block that its text cannot close. Lines that look like a bot's command get a dot in
    front; `exact` (for patches of our own, which hold no secret) leaves every line."""
    text = text if exact else without_secrets(text)
    shown = _TICKS.sub(lambda run: run.group()[:LONGEST_TICKS], reveal(text)[0])
    shown = _MARKER.sub("<·", shown)  # no text can pretend to be our marker
    if not exact:
        shown = _COMMAND.sub(r"\1·\2", shown)
    longest = max((len(run) for run in _TICKS.findall(shown)), default=0)
    bar = "`" * max(3, longest + 1)
    body = shown.rstrip("\n") or "(empty)"
    return f"{bar}{language}\n{body}\n{bar}"


def details(summary: str, body: str, name: str = "") -> str:
    """Something folded away: `summary` in our own words, `name` from anywhere, `body` safe.

    Inside the summary GitHub reads HTML and no Markdown, so the name comes as entities.
    """
    name = without_secrets(name)
    about = f" {_html_code(_line(named(name[:800]), 200, len(name) - 800))}" if name else ""
    return f"<details><summary>{summary}{about}</summary>\n\n{body}\n\n</details>"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of safe one-line cells."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(lines: list[str], most: int) -> str:
    """Safe one-line texts as a list of at most `most` points, saying how many are missing."""
    shown = [f"- {line}" for line in lines[:most]]
    if len(lines) > most:
        shown.append(f"- … and {len(lines) - most:,} more")
    return "\n".join(shown)
