"""What supports each acceptance criterion: a test by id, a check, or nothing that was measured.

A word in common is a hint for the reviewer, not a proof; it is said which kind of support it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.contract import Criterion
from app.domain.evidence import Finding, Holds

NOTHING = "no evidence: please review"
MOST = 3  # tests named for one criterion
_CLAIM = 200  # characters of a criterion in a claim

_WORD = re.compile(r"[A-Za-z]+|[0-9]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_CODE = re.compile(r"`([^`\n]{1,200})`|\b([A-Za-z_]\w*(?:[._]\w+)+|\w+(?=\())")
_ALL = re.compile(
    r"\b(?:all|existing|other|full|whole|current)\b.{0,40}\b(?:tests?|suite|checks?)\b"
    r"|\b(?:tests?|suite|checks?)\b.{0,30}\b(?:still\s+)?(?:pass|green|succeed)",
    re.IGNORECASE,
)
_DULL = frozenset(
    _WORD.findall(
        "test tests should must when then that this with from have has been does not the and for "
        "are return returns value values given gives give raise raises works work case cases use "
        "used expected actual passes pass fails fail error none true false python self function"
    )
)


@dataclass(frozen=True)
class Support:
    """What was measured: `red_green` are tests that fail without the change and pass with it,
    `passing` all tests that pass on the candidate, `checks` the names of the checks that passed
    (`all_passed`: every required one did)."""

    red_green: Sequence[str]
    passing: Sequence[str]
    checks: Sequence[str]
    all_passed: bool


def supported(criteria: Sequence[Criterion], support: Support) -> tuple[Finding, ...]:
    """One finding a criterion: it holds where something measured supports it, else unknown."""
    return tuple(_finding(one, support) for one in criteria)


def _finding(criterion: Criterion, support: Support) -> Finding:
    text = " ".join(criterion.text.split())
    claim = f"Criterion: {text if len(text) <= _CLAIM else text[: _CLAIM - 1] + '…'}"
    said = _support(criterion.text, support)
    return Finding(claim, Holds.HOLDS if said else Holds.UNKNOWN, (said or NOTHING,))


def _support(text: str, support: Support) -> str:
    named = [test for test in support.passing if test and _mentions(text, test)]
    if named:
        return f"The criterion names {_listed(named)}, which passes on this tree."
    if support.all_passed and _ALL.search(text):
        return f"Every required check passed: {_listed(support.checks)}."
    for check in support.checks:
        if f"`{check}`" in text:
            return f"The check `{check}` passed on this tree."
    close = _closest(text, support.red_green)
    if close:
        return (
            f"By its name {_listed(close)} is about this: it fails without the change and passes "
            "with it."
        )
    return ""


def _mentions(text: str, test: str) -> bool:
    """Whether the text has the id, or its last part as a word."""
    name = test.rpartition("::")[2].partition("[")[0]
    return test in text or (
        len(name) > 5 and re.search(rf"\b{re.escape(name)}\b", text) is not None
    )


def _closest(text: str, tests: Sequence[str]) -> list[str]:
    """The tests that share a piece of code with the text, else those that share most words."""
    code = {word for found in _CODE.findall(text) for word in _words(found[0] or found[1])}
    words = _words(text)
    scored = []
    for test in tests:
        own = _words(test.partition("[")[0])
        score = 2 * len(own & code) + len(own & words - code)
        if score >= 2:
            scored.append((-score, test))
    best = min(scored)[0] if scored else 0
    return [test for score, test in sorted(scored) if score == best]


def _words(text: str) -> frozenset[str]:
    found = {part.lower() for word in _WORD.findall(text) for part in _CAMEL.findall(word)}
    return frozenset(one for one in found if len(one) > 2) - _DULL


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(f"`{name}`" for name in names[:MOST]) + more
