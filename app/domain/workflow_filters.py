"""GitHub's patterns for branches and paths in workflows: the last pattern that fits decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

LONGEST = 400
STARS = 8  # more of them in one pattern would make matching slow


def matches(patterns: Sequence[str], name: str) -> bool:
    """Whether `name` is taken. A pattern that is not understood takes it: deny by default."""
    taken = False
    for pattern in patterns:
        out = pattern.startswith("!")
        found = _compiled(pattern[1:] if out else pattern)
        if found is None:
            taken = True
        elif found.fullmatch(name):
            taken = not out
    return taken


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """None where the pattern is too long or not well-formed."""
    if len(pattern) > LONGEST or pattern.count("*") > 2 * STARS:
        return None
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        mark = pattern[at]
        if pattern.startswith("**", at):
            parts.append("(?:.*/)?" if pattern.startswith("**/", at) else ".*")
            at += 3 if pattern.startswith("**/", at) else 2
            continue
        if mark == "[":
            end = pattern.find("]", at)
            inside = pattern[at + 1 : end]
            if end < 0 or not re.fullmatch(r"[A-Za-z0-9-]+", inside):
                return None
            parts.append(f"[{inside}]")
            at = end + 1
            continue
        if mark == "*":
            parts.append("[^/]*")
        elif mark in "?+":
            if not parts or parts[-1] in ("[^/]*", ".*", "(?:.*/)?"):
                return None
            parts[-1] = f"(?:{parts[-1]}){mark}"
        elif mark == "\\" and at + 1 < len(pattern):
            at += 1
            parts.append(re.escape(pattern[at]))
        else:
            parts.append(re.escape(mark))
        at += 1
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error:
        return None
