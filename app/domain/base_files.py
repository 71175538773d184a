"""The base's tree as rules look at it: which file a word, a module or a glob of the base means."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from app.domain.glob import match

MOUNT = "/workspace/"  # where a check sees the tree
SUFFIXES = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx", ".json")
_VARIABLE = re.compile(r"^.*(?:\$\{[^}]*\}|\$\([^)]*\)|\$\w+|\$[@*#?$!]|`[^`]*`|<rootDir>)")
_INNER = re.compile(r"\$\([^()]*\)")
_QUOTES = "\"'`,;"


@dataclass(frozen=True)
class BaseFiles:
    """`paths` are the base's, `changed` those of the change (new ones, too); `read` gives the text
    of a regular file of the base, "" for anything else or for what is too large. `links` are the
    base's links with the path that each leads to."""

    paths: frozenset[str]
    changed: frozenset[str]
    read: Callable[[str], str]
    links: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def every(self) -> frozenset[str]:
        return self.paths | self.changed

    @cached_property
    def _by_name(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(self.every):
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    def meant(self, word: str, folders: Iterable[str] = ("",)) -> tuple[str, ...]:
        """The files that `word` names from one of `folders`, with a suffix left out or a link
        followed; where it begins with a variable, those whose path ends like it."""
        text = word.strip(_QUOTES).removeprefix("file:").removeprefix(MOUNT)
        text = _INNER.sub("$X", text)
        bare = _VARIABLE.sub("", text)
        if bare != text:
            tail = normal(bare.lstrip("/"))
            known = self._by_name.get(tail.rpartition("/")[2], ()) if tail else ()
            return tuple(path for path in known if path == tail or path.endswith(f"/{tail}"))
        if not text or len(text) > 300 or "\n" in text:
            return ()
        for folder in dict.fromkeys(folders):
            path = normal(posixpath.join(folder, text))
            for one in (path, *(f"{path}{end}" for end in SUFFIXES), f"{path}/index.js"):
                if one in self.every:
                    return (one, *self._behind(one))
        return ()

    def module(self, name: str, places: Iterable[str]) -> tuple[str, ...]:
        """The files of the Python module `name`, seen from one of `places`."""
        inner = name.replace(".", "/")
        for place in dict.fromkeys(("", *places)):
            start = posixpath.join(place, inner) if place else inner
            ends = (f"{start}.py", f"{start}/__init__.py", f"{start}/__main__.py")
            found = tuple(end for end in ends if end in self.every)
            if found:
                return found
        return ()

    def matching(self, glob: str, folders: Iterable[str] = ("",)) -> tuple[str, ...]:
        """The changed paths that a glob, as a shell or a test runner takes it, can mean."""
        text = glob.strip(_QUOTES).removeprefix("<rootDir>/").removeprefix("./")
        globs = {normal(posixpath.join(one, text)) for one in folders} | {text.lstrip("/")}
        return tuple(p for p in self.changed if any(match(one, p) for one in globs))

    def _behind(self, path: str) -> tuple[str, ...]:
        target = self.links.get(path, "")
        return (target,) if target in self.every else ()


def normal(path: str) -> str:
    """`path` without `.` and `..`; "" for the root and for what lies outside of it."""
    short = posixpath.normpath(path) if path else ""
    return "" if short in (".", "..") or short.startswith(("/", "../")) else short
