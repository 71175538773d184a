"""Searching a tree's files line by line, for the model's search tool; what is skipped is said."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.edit import EXECUTABLE, FILE, Entry
from app.domain.glob import match
from worker.runner.repository.pattern import PatternRefused, matcher

__all__ = ["Found", "Hit", "PatternRefused", "Searcher", "narrowed"]

MAX_FILE = 1 << 20  # bytes
SECONDS = 10.0  # that one search may take
SHOWN = 300  # characters of a hit
MAX_KEPT = 64 << 20  # bytes of decoded lines kept
VENDORED_FOLDERS = frozenset(
    ("node_modules", "vendor", "third_party", "dist", ".venv", "site-packages", "__pycache__")
)
GENERATED = (".min.js", ".min.css", ".map", ".lock", ".svg", ".snap", "-lock.json", "-lock.yaml")


class Blobs(Protocol):
    """What is searched: `ports.Objects` has the first, a store also the second."""

    def entries(self, tree: str) -> tuple[Entry, ...]: ...

    def blob(self, oid: str) -> bytes: ...


@dataclass(frozen=True)
class Hit:
    """One matching line, numbered from 1, cut for showing."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Found:
    """A page of hits. `more` says that another page follows at offset + len(hits). `files` were
    searched; `skipped` were not (binary, too large, generated or vendored), `long` lines neither;
    `stopped` when the time was over.
    """

    hits: tuple[Hit, ...]
    more: bool
    files: int
    skipped: int = 0
    long: int = 0
    stopped: bool = False

    @property
    def note(self) -> str:
        """What was left out, in words; "" when nothing was."""
        said = []
        if self.skipped:
            said.append(f"{self.skipped} binary, large, generated or vendored files not searched.")
        if self.long:
            said.append(f"{self.long} long lines not searched.")
        if self.stopped:
            said.append(f"Stopped after {self.files} files: narrow the glob or the pattern.")
        return " ".join(said)


class Searcher:
    """Searches trees of one store; decoded text is kept by blob id, so it is never stale."""

    def __init__(self, objects: Blobs, clock: Callable[[], float] = time.monotonic) -> None:
        self._objects = objects
        self._clock = clock  # seconds
        self._texts: OrderedDict[str, tuple[str, ...] | None] = OrderedDict()
        self._kept = 0

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
        hit, longest = matcher(pattern, regex)
        chosen, skipped = narrowed(self._objects.entries(tree), glob)
        end = self._clock() + SECONDS
        hits: list[Hit] = []
        seen = searched = long = 0
        for entry in chosen:
            look()
            text = self._lines_of(entry)
            if text is None:
                skipped += 1
                continue
            searched += 1
            for number, line in enumerate(text, 1):
                if len(line) > longest:
                    long += 1
                elif hit(line):
                    seen += 1
                    if seen > offset + cap:
                        return Found(tuple(hits), True, searched, skipped, long)
                    if seen > offset:
                        hits.append(Hit(entry.path, number, line[:SHOWN]))
                if regex and self._clock() > end:
                    return Found(tuple(hits), False, searched, skipped, long, stopped=True)
        return Found(tuple(hits), False, searched, skipped, long)

    def _lines_of(self, entry: Entry) -> tuple[str, ...] | None:
        """The lines of a text file, None for what is not searched."""
        if entry.size > MAX_FILE:
            return None
        if entry.oid in self._texts:
            self._texts.move_to_end(entry.oid)
            return self._texts[entry.oid]
        data = self._objects.blob(entry.oid)
        text: tuple[str, ...] | None = None
        if b"\0" not in data:
            lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
            text = tuple(lines if lines[-1] else lines[:-1])
        self._texts[entry.oid] = text
        self._kept += _weight(text)
        while self._kept > MAX_KEPT:
            self._kept -= _weight(self._texts.popitem(last=False)[1])
        return text


def _weight(text: tuple[str, ...] | None) -> int:
    """Roughly the bytes that lines take in memory."""
    return 64 + sum(map(len, text)) + 60 * len(text) if text else 64


def narrowed(entries: Sequence[Entry], glob: str) -> tuple[list[Entry], int]:
    """Regular files that `glob` names, and how many were left out as generated or vendored."""
    files = [entry for entry in entries if entry.mode in (FILE, EXECUTABLE)]
    if glob:
        wide = glob if "/" in glob else f"**/{glob}"
        files = [entry for entry in files if match(wide, entry.path)]
    if _vendored(glob):
        return files, 0
    kept = [entry for entry in files if not _vendored(entry.path)]
    return kept, len(files) - len(kept)


def _vendored(path: str) -> bool:
    """Whether `path` (or a glob) names what nobody edits: vendored folders, generated files."""
    return path.endswith(GENERATED) or not VENDORED_FOLDERS.isdisjoint(path.split("/"))
