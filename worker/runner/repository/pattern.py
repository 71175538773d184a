"""Which regular expressions are searched for, and on how long a line.

Python's `re` can neither be stopped nor promise linear time. A pattern is therefore weighed before
it is used: what could take exponential time is refused, and what takes a power of the line's length
only sees lines that are short enough for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

MAX_PATTERN = 300
MAX_LINE = 2_000  # characters of a line that is searched at all
MAX_UNBOUNDED = 4  # repetitions without a small end
MAX_WAYS = 256  # ways of optional parts and alternatives, multiplied
STEPS = 40_000_000  # that one line may take in the worst case
SMALL = 10  # a repetition up to this often counts as its number of ways

_REPEAT = re.compile(r"[*+?]|\{(\d*)(,?)(\d*)\}")
_GROUP = re.compile(r"\?(?:[:=!>]|<[=!]|P<\w+>|i\)|i:|-i:)")


class PatternRefused(ValueError):
    """A pattern that is not searched for; the text is the answer to the model."""


def matcher(pattern: str, regex: bool) -> tuple[Callable[[str], Any], int]:
    """(what tells whether a line is a hit, the longest line that it may be asked about).

    Raises `PatternRefused`.
    """
    if not pattern or "\n" in pattern or len(pattern) > MAX_PATTERN:
        raise PatternRefused(f"`pattern` must be 1 to {MAX_PATTERN} characters of one line.")
    if not regex:
        return (lambda line: pattern in line), MAX_LINE
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as wrong:
        raise PatternRefused(f"`pattern` is no regular expression: {wrong}.") from None
    return compiled.search, _Weight(pattern).longest()


class _Weight:
    """One pass over a valid pattern: counts what can take time, refuses what can run away."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._unbounded = 0
        self._ways = 1
        self._sequence()

    def longest(self) -> int:
        """The longest line for which the worst case stays within `STEPS`: with k unbounded
        repetitions a line of n characters takes about n^(k+1) / (k+1)! times the ways."""
        if self._unbounded > MAX_UNBOUNDED or self._ways > MAX_WAYS:
            raise PatternRefused(
                "`pattern` has too many repetitions, optional parts or alternatives. Search for a "
                "shorter part of it."
            )
        power = self._unbounded + 1
        steps = STEPS * math.factorial(power) / self._ways
        return min(MAX_LINE, int(steps ** (1 / power)))

    def _sequence(self) -> bool:
        """Read up to the end of a group; whether anything in it repeats or is a choice."""
        moving = False
        choices = 1
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == ")":
                break
            if char == "|":
                choices += 1
                self._at += 1
                continue
            inner = self._item(char)
            moving = self._repeated(inner) or inner or moving
        self._ways *= choices
        return moving or choices > 1

    def _item(self, char: str) -> bool:
        """Step over one item; whether it is a group in which something repeats or is a choice."""
        if char == "(":
            return self._group()
        if char == "\\":
            if self._text[self._at + 1].isdigit() and self._text[self._at + 1] != "0":
                raise PatternRefused("`pattern` refers back to a group; write it without.")
            self._at += 2
        elif char == "[":
            self._class()
        else:
            self._at += 1
        return False

    def _group(self) -> bool:
        self._at += 1
        if self._text.startswith("?", self._at):
            opened = _GROUP.match(self._text, self._at)
            if opened is None:
                raise PatternRefused("`pattern` has a kind of group that is not searched for.")
            self._at = opened.end()
            if opened[0] == "?i)":
                return False
        moving = self._sequence()
        self._at += 1
        return moving

    def _class(self) -> None:
        self._at += 1
        for ahead in "^", "]":  # a bracket that comes first stands for itself
            if self._text.startswith(ahead, self._at):
                self._at += 1
        while self._text[self._at] != "]":
            self._at += 2 if self._text[self._at] == "\\" else 1
        self._at += 1

    def _repeated(self, inner: bool) -> bool:
        """Read the repetition after an item, if there is one; whether there was."""
        found = _REPEAT.match(self._text, self._at)
        if found is None or found[0] == "{}":
            return False
        self._at = found.end()
        if self._text[self._at : self._at + 1] in ("?", "+"):  # lazy or possessive
            self._at += 1
        if found[0] == "?":
            self._ways *= 2
            return True
        if inner:
            raise PatternRefused(
                "`pattern` repeats a group in which something repeats or is a choice, which could "
                "run for ever. Write it without."
            )
        low = int(found[1] or 0)
        high = math.inf if found[0][0] in "*+" else _high(found, low)
        if high > SMALL:
            self._unbounded += 1
        else:
            self._ways *= int(high) - low + 1
        return True


def _high(found: re.Match[str], low: int) -> float:
    if not found[2]:
        return low
    return int(found[3]) if found[3] else math.inf
