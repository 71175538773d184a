"""Searching a tree's files line by line, for the model's search tool.

Python's `re` cannot be stopped, so a regular expression is only taken when it cannot backtrack
without end: no group that repeats holds a repetition or alternatives, nothing refers back, and at
most a few unbounded repetitions stand in it; and it only sees lines of at most `MAX_LINE`
characters. What is skipped is counted and said.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from re import _constants as codes  # the parser of patterns is in the standard library only here
from re import _parser as parser
from typing import Any

from app.domain.edit import EXECUTABLE, FILE, Entry
from app.domain.glob import match
from app.domain.ports import Objects

MAX_PATTERN = 300
MAX_LINE = 2_000  # characters
MAX_FILE = 1 << 20  # bytes
MAX_UNBOUNDED = 3  # repetitions without an end in one pattern
MAX_CACHE = 64 << 20  # bytes of decoded text kept
VENDORED = (
    "**/{node_modules,vendor,third_party,dist,.venv,site-packages,__pycache__}/**",
    "**/*.{min.js,min.css,map,lock,svg,snap}",
    "**/{package-lock.json,yarn.lock,pnpm-lock.yaml,go.sum}",
)


class PatternRefused(ValueError):
    """A pattern or glob that is not searched for; the text is the answer to the model."""


@dataclass(frozen=True)
class Hit:
    """One matching line, numbered from 1, cut for showing."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Found:
    """A page of hits. `more` says that another page follows at offset + len(hits). `files` were
    searched; `skipped` were not (binary, too large, generated or vendored), `long` lines neither.
    """

    hits: tuple[Hit, ...]
    more: bool
    files: int
    skipped: int
    long: int


class Searcher:
    """Searches trees of one store; decoded text is kept by blob id, so it is never stale."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._texts: OrderedDict[str, tuple[str, ...] | None] = OrderedDict()
        self._bytes = 0

    def lines(
        self,
        tree: str,
        pattern: str,
        regex: bool = False,
        glob: str = "",
        offset: int = 0,
        cap: int = 100,
        look: Callable[[], None] = lambda: None,
    ) -> Found:
        """Hits `offset` to `offset + cap` of `pattern` in the tree, in the order of paths.

        `glob` narrows by path: without a `/` it is matched against file names, and a glob that
        names vendored or generated files searches them too. `look` is called for each file and may
        raise. Raises `PatternRefused`.
        """
        hit = tester(pattern, regex)
        chosen, skipped = narrowed(self._objects.entries(tree), glob)
        hits: list[Hit] = []
        seen = searched = long = 0
        for entry in chosen:
            look()
            text = self._lines_of(tree, entry)
            if text is None:
                skipped += 1
                continue
            searched += 1
            for number, line in enumerate(text, 1):
                if len(line) > MAX_LINE:
                    long += 1
                elif hit(line):
                    seen += 1
                    if seen > offset + cap:
                        return Found(tuple(hits), True, searched, skipped, long)
                    if seen > offset:
                        hits.append(Hit(entry.path, number, line[:300]))
        return Found(tuple(hits), False, searched, skipped, long)

    def _lines_of(self, tree: str, entry: Entry) -> tuple[str, ...] | None:
        """The lines of a text file, None for what is not searched."""
        if entry.size > MAX_FILE:
            return None
        if entry.oid in self._texts:
            self._texts.move_to_end(entry.oid)
            return self._texts[entry.oid]
        data = self._objects.read(tree, entry.path)
        text = None if b"\0" in data else tuple(data.decode("utf-8", "replace").splitlines())
        self._texts[entry.oid] = text
        self._bytes += len(data)
        while self._bytes > MAX_CACHE:
            _, dropped = self._texts.popitem(last=False)
            self._bytes -= sum(map(len, dropped or ()))
        return text


def narrowed(entries: Sequence[Entry], glob: str) -> tuple[list[Entry], int]:
    """Regular files that `glob` names, and how many were left out as generated or vendored."""
    files = [entry for entry in entries if entry.mode in (FILE, EXECUTABLE)]
    if glob:
        wide = glob if "/" in glob else f"**/{glob}"
        files = [entry for entry in files if match(wide, entry.path)]
    if any(match(one, glob) for one in VENDORED):
        return files, 0
    kept = [e for e in files if not any(match(one, e.path) for one in VENDORED)]
    return kept, len(files) - len(kept)


def tester(pattern: str, regex: bool) -> Callable[[str], Any]:
    """What tells whether a line is a hit. Raises `PatternRefused`."""
    if not pattern or "\n" in pattern or len(pattern) > MAX_PATTERN:
        raise PatternRefused(f"`pattern` must be 1 to {MAX_PATTERN} characters of one line.")
    if not regex:
        return lambda line: pattern in line
    try:
        tree = parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as wrong:
        raise PatternRefused(f"`pattern` is no regular expression: {wrong}.") from None
    unbounded = _weigh(tree, inside=False)
    if unbounded > MAX_UNBOUNDED:
        raise PatternRefused(
            f"`pattern` has {unbounded} unbounded repetitions; at most {MAX_UNBOUNDED} are "
            "searched for. Search for a literal part of it."
        )
    return re.compile(pattern).search


_REPEATS = frozenset({codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT})
_REFUSED = frozenset({codes.GROUPREF, codes.GROUPREF_EXISTS})
_SMALL = 64  # a repetition up to this often is counted as bounded


def _weigh(tree: Any, inside: bool) -> int:
    """How many unbounded repetitions there are. Raises `PatternRefused` for what can run away."""
    count = 0
    for code, argument in tree:
        if code in _REFUSED:
            raise PatternRefused("`pattern` refers back to a group, which is not searched for.")
        if code in _REPEATS:
            low, high, body = argument
            if high == 1 and low <= 1:  # an optional part repeats nothing
                count += _weigh(body, inside)
                continue
            if inside or (high > _SMALL and len(body) != 1):
                raise PatternRefused(
                    "`pattern` repeats something that repeats or a longer group, which could run "
                    "for ever. Write it without."
                )
            count += _weigh(body, inside=True) + (high > _SMALL)
        elif code is codes.BRANCH:
            if inside:
                raise PatternRefused("`pattern` repeats alternatives. Write it without.")
            count += max(_weigh(part, inside) for part in argument[1])
        else:
            for part in _parts(argument):
                count += _weigh(part, inside)
    return count


def _parts(argument: Any) -> list[Any]:
    """Sub-patterns of a group, a look-around or an atomic group."""
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, tuple):
        return [part for part in argument if isinstance(part, parser.SubPattern)]
    return []
