"""What a reviewer of somebody else's change would not see in the difference, in sentences.

Advice: nothing here decides. Edits of our own cannot hold any of it, they are refused before.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from app.domain.edit import EXECUTABLE, FILE, GITLINK, LINK, Delta
from app.domain.paths import hidden, named

LINES = 3  # of one file that are told
KINDS = 6  # characters of one line that are named
LARGE_FILE = 1_000  # changed lines of one file
LARGE = 2_000  # changed lines of the change, more than a person reads at once
MANY = 100  # files
BOM = "\ufeff"


def strange(
    delta: Delta, added: Iterable[tuple[int, str]], target: str, exists: bool
) -> Iterator[str]:
    """Sentences about one file. `added` are its new lines (number, text); `target` is where a link
    points, "" for what is no link, and `exists` whether there is such a path in the tree."""
    path = delta.path
    odd = hidden(path) + tuple(named(char) for char in "\t\n\f" if char in path)
    if odd:
        yield f"`{path}` has a name that holds {_named(odd)}."
    yield from _mode(delta, target, exists)
    if delta.added == -1 and delta.new_mode in (FILE, EXECUTABLE):
        yield f"`{path}` is binary: what it does cannot be read here."
    if delta.new_mode in (FILE, EXECUTABLE) and delta.added >= 0:
        yield from _unseen(path, added)
    changed = max(delta.added, 0) + max(delta.removed, 0)
    if changed > LARGE_FILE:
        yield f"`{path}` is large: {changed:,} changed lines."


def large(deltas: Sequence[Delta]) -> Iterator[str]:
    """A sentence about the size of the whole change where it is more than a person reads."""
    lines = sum(max(one.added, 0) + max(one.removed, 0) for one in deltas)
    if lines > LARGE or len(deltas) > MANY:
        yield f"The change is large: {lines:,} changed lines in {len(deltas):,} files."


def _mode(delta: Delta, target: str, exists: bool) -> Iterator[str]:
    path, old, new = delta.path, delta.old_mode, delta.new_mode
    if new == LINK:
        how = "is a link now" if old and old != LINK else "is a link" if not old else "links anew"
        yield f"`{path}` {how}, to `{target}`{_outside(path, target, exists)}."
    elif new == GITLINK:
        yield f"`{path}` is a submodule: what is in it was not looked at."
    elif old == LINK and new:
        yield f"`{path}` was a link and is a file now."
    elif old and new and old != new:
        yield f"`{path}` has another mode: {old:o} → {new:o}."
    elif not old and new == EXECUTABLE:
        yield f"`{path}` is new and can be executed."


def _outside(path: str, target: str, exists: bool) -> str:
    whole = aims_at(path, target)
    if target.startswith("/") or whole == ".." or whole.startswith("../"):
        return ", outside the repository"
    return "" if exists else ", which is not there"


def aims_at(path: str, target: str) -> str:
    """The path in the tree that a link means, as far as its words say."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def _unseen(path: str, added: Iterable[tuple[int, str]]) -> Iterator[str]:
    found = 0
    for number, text in added:
        odd = hidden(text.removeprefix(BOM) if number == 1 else text)
        if not odd:
            continue
        found += 1
        if found <= LINES:
            said = f"holds characters that a reviewer cannot see: {_named(odd)}"
            yield f"`{path}` line {number} {said}."
    if found > LINES:
        yield f"`{path}`: {found - LINES} more lines like that."


def _named(odd: Sequence[str]) -> str:
    more = f" and {len(odd) - KINDS} more" if len(odd) > KINDS else ""
    return f"{', '.join(odd[:KINDS])}{more}"
