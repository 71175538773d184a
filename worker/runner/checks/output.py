"""Bytes that a check printed, as text that is safe to store, show and match against."""

from __future__ import annotations

from app.domain.check import Outcome
from app.domain.text import printable

TAIL_CAP = 4_000  # characters
LINE_CAP = 300


def readable(data: bytes) -> str:
    """Text without colours and controls, hidden characters shown; never raises."""
    return printable(data)


def cleaned(text: str) -> str:
    """`readable` for text; a lone surrogate becomes `?`."""
    if text.isascii() and text.isprintable():
        return text
    return printable(text.encode("utf-8", "replace"))


def shortened(line: str, cap: int = LINE_CAP) -> str:
    """One line of at most `cap` characters."""
    return line if len(line) <= cap else line[: cap - 1] + "…"


def log_of(outcome: Outcome) -> bytes:
    """Both streams as one log; where the middle of a stream was left out, it says so."""
    parts = []
    for name, data, seen in zip(
        ("stdout", "stderr"), (outcome.stdout, outcome.stderr), outcome.seen, strict=True
    ):
        if not data and not seen:
            continue
        left = f", {len(data)} of {seen} bytes kept" if seen > len(data) else ""
        parts.append(f"--- {name}{left} ---\n".encode() + data)
        if not data.endswith(b"\n"):
            parts.append(b"\n")
    if outcome.error:
        parts.append(f"--- not started ---\n{outcome.error}\n".encode("utf-8", "replace"))
    return b"".join(parts)


def tail_of(outcome: Outcome, cap: int = TAIL_CAP) -> str:
    """The readable end of the log, at most `cap` characters, from the start of a line."""
    text = readable(log_of(outcome)[-4 * cap :]).strip("\n")
    if len(text) <= cap:
        return text
    text = text[-(cap - 2) :]
    return "…\n" + text.partition("\n")[2] if "\n" in text[:-1] else "…\n" + text
