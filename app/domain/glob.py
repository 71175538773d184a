"""The one meaning of a glob, shared by the configuration and by the model's tools.

A glob is matched against the whole path from the repository's root: `*` and `?` stay inside one
name, a whole component `**` stands for any number of folders (a final one: for everything below),
`{a,b}` are alternatives, a final `/` means everything below. Every other character is itself.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_GLOB = 500
MAX_ALTERNATIVES = 64

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def match(glob: str, path: str) -> bool:
    """Whether `path` is one of those that `glob` names. Case counts. An empty glob or one longer
    than `MAX_GLOB` names nothing."""
    return any(pattern.fullmatch(path) is not None for pattern in _compiled(glob))


def literally(path: str) -> str:
    """A glob that names `path` (and nothing shorter or longer): special characters become `?`."""
    return re.sub(r"[*{}]", "?", path)


@lru_cache(maxsize=512)
def _compiled(glob: str) -> tuple[re.Pattern[str], ...]:
    if not glob or len(glob) > MAX_GLOB:
        return ()
    return tuple(re.compile(_pattern(one), re.DOTALL) for one in _alternatives(glob))


def _alternatives(glob: str) -> tuple[str, ...]:
    """`glob` with its braces multiplied out; as it is where that would be too many."""
    done: list[str] = []
    waiting = [glob]
    while waiting:
        one = waiting.pop()
        found = _BRACES.search(one)
        if found is None:
            done.append(one)
        else:
            before, after = one[: found.start()], one[found.end() :]
            waiting.extend(before + part + after for part in found[1].split(","))
        if len(done) + len(waiting) > MAX_ALTERNATIVES:
            return (glob,)
    return tuple(done)


def _pattern(glob: str) -> str:
    """A regular expression without backtracking into what was matched: each run of fixed
    components after a `**` takes its leftmost place for good, which is enough because what follows
    is another `**` or the end."""
    parts = glob.split("/")
    if parts[-1] == "":
        parts[-1] = "**"
    blocks: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            blocks.append([])
        else:
            blocks[-1].append(_name(part))
    first, rest = blocks[0], blocks[1:]
    if not rest:
        return "/".join(first)
    text = "".join(f"{name}/" for name in first)
    for block in rest[:-1]:
        if block:
            text += "(?>(?:[^/]+/)*?" + "".join(f"{name}/" for name in block) + ")"
    return text + ("(?:[^/]+/)*" + "/".join(rest[-1]) if rest[-1] else ".+")


def _name(part: str) -> str:
    """One component. Between stars each fixed piece takes its leftmost place for good."""
    pieces = [
        "".join("[^/]" if char == "?" else re.escape(char) for char in piece)
        for piece in re.split(r"\*+", part)
    ]
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1] if piece)
    return f"{pieces[0]}{middle}[^/]*{pieces[-1]}"
