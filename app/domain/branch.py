"""How the branch of a Change is called: a fixed part that fences and finds it, and a tail.

`agent/issue-<number>-<change>`, and where the repository wants one a tail: `-<words>`. Rulesets
fence `agent/**`, and a Change is found again by the part before the next `-`. The tail is made of
letters, digits, `_` and single `-` alone, so that a name is a legal ref and harmless in a shell
whatever a title holds. It is settled in the contract, once, and never computed again from what is
live (design, section 7).
"""

from __future__ import annotations

import re
import unicodedata

TITLE = "{title}"  # stands for the words of the issue's title
TAIL = 60  # characters of the tail
SLUG = 40  # of these from the title

BRANCH = re.compile(
    r"agent/issue-(?P<issue>[1-9][0-9]{0,9})-(?P<change>[A-Za-z0-9][A-Za-z0-9_]{0,63})"
    r"(?:-(?P<tail>[A-Za-z0-9](?:[A-Za-z0-9_-]{0,58}[A-Za-z0-9])?))?"
)
_EDGES = "-_"


def branch_name(issue: int, change: str, tail: str = "") -> str:
    """The only branch that a Change may have."""
    name = f"agent/issue-{issue}-{change}"
    return f"{name}-{tail}" if tail else name


def tail_of(pattern: str, title: str) -> str:
    """What follows the fixed part by a repository's pattern, "" for nothing (no pattern, or a title
    without a letter or digit that ASCII has)."""
    filled = re.sub(r"-{2,}", "-", pattern.replace(TITLE, slug(title)))
    return filled.strip(_EDGES)[:TAIL].rstrip(_EDGES)


def slug(title: str) -> str:
    """Lower-case words of a title joined by `-`, at most `SLUG` characters, whole words where it
    has several; accents are taken off, and what ASCII has not is left out."""
    plain = unicodedata.normalize("NFKD", title).casefold()
    bare = "".join(one for one in plain if not unicodedata.combining(one))
    words = re.sub(r"[^a-z0-9]+", "-", bare).strip("-")
    if len(words) <= SLUG:
        return words
    cut = words[: SLUG + 1].rpartition("-")[0] or words[:SLUG]
    return cut.strip("-")
