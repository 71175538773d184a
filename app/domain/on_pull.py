"""What a person can do next, in words that fit a pull request instead of an issue.

Endings say their next step for the issue that most runs begin on, by its label. A run that a
comment on a pull request began is begun again by a comment there.
"""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"(?<=[.:;])\s+")
# Clauses that only add the label to what else is said: the rest of the sentence is of use.
_BESIDE = re.compile(
    r", then label (?:it |the issue )?again| and label it again"
    r"|, or label the issue for a new start"
)
# Where the label is the whole advice, with its time.
_AGAIN = re.compile(
    r"\b([Ll])abel the issue again(?= (?:tomorrow|when|once|afterwards)\b)"
    r"|(?<=, )()label the issue again(?=\.)"
)
_ISSUE = re.compile(r"\b(the|a narrower) issue\b", re.IGNORECASE)


def unlabelled(step: str) -> str:
    """What a person can do, without the words about labels and issues: for runs that a comment
    asked for. "" where nothing else was said."""
    kept: list[str] = []
    for sentence in _SENTENCE.split(step):
        rest = _AGAIN.sub(_again, _BESIDE.sub("", sentence))
        if "label" in rest.casefold():
            if kept and sentence.endswith("."):
                kept[-1] = f"{kept[-1][:-1]}."  # it was the first half of this one
            continue
        begins = not kept or kept[-1].endswith(".")
        kept.append(rest[:1].upper() + rest[1:] if begins else rest)
    return _ISSUE.sub(_request, " ".join(kept))


def _again(found: re.Match[str]) -> str:
    return "Try again" if found[1] == "L" else "try again"


def _request(found: re.Match[str]) -> str:
    return "your request" if found[1].casefold() == "the" else "a narrower request"
