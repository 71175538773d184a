"""Whether repairs get anywhere: failure signatures, fingerprints, and when the loop stops (A21)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence

from app.domain.budget import Limits
from app.domain.check import CheckResult, Standing
from app.domain.run import Attempt

# What differs from run to run although nothing changed; order matters.
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? "
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_ALWAYS = (
    (
        re.compile(
            r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[ ]?[+-]\d\d:?\d\d)?)?"
            rf"|\b(?:{_DAY})?(?:\d{{1,2}} {_MONTH}|{_MONTH} \d{{1,2}},?) \d{{4}}\b"
            r"|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:GMT|UTC|[AP]M))?"
        ),
        "<time>",
    ),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<address>"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b|\b[0-9a-fA-F]{12,64}\b"), "<hex>"),
    (re.compile(r"/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s'\":,)]+"), "<tmp>"),
    (re.compile(r"\btmp[._]?(?=[a-z_]*[A-Z0-9])\w{6,12}\b"), "<tmp>"),
)
_IN_TEXT = (
    (re.compile(r"(?:\b[A-Za-z]:)?(?:[/\\][\w.@+~-]+)+[/\\](?=[\w.@+~-])"), "<path>/"),
    (re.compile(r"\d+(?:\.\d+)?\s*(?:ms|us|ns|s|sec|seconds?|minutes?)\b"), "<duration>"),
    (re.compile(r"\b(line|port|pid|seed|thread|worker)[ =:#]+\d+", re.IGNORECASE), r"<\1>"),
    (re.compile(r":\d+(?::\d+)?\b"), ":<line>"),
    (re.compile(r"\d{5,}"), "<number>"),
    (re.compile(r"\s+"), " "),
)


def steady(text: str) -> str:
    """`text` without what changes from run to run: times, addresses, hashes, folders of absolute
    paths, temporary names, ports, seeds, process ids, line numbers."""
    for pattern, stands_for in (*_ALWAYS, *_IN_TEXT):
        text = pattern.sub(stands_for, text)
    return text.strip()


def steady_id(test: str) -> str:
    """A test's id without what changes from run to run; its numbers tell one test from another."""
    for pattern, stands_for in _ALWAYS:
        test = pattern.sub(stands_for, test)
    return test


def signature(results: Iterable[CheckResult]) -> str:
    """SHA-256 over what failed and how, without volatile parts; "" when nothing failed."""
    told = []
    for result in results:
        if result.standing is Standing.PASSED or result.standing is Standing.SKIPPED:
            continue
        failures = sorted(
            [steady_id(one.test), one.error, steady(one.message[:400])] for one in result.failures
        )
        # Without structured failures the end of the output is all that tells them apart.
        rest = "" if failures else steady(result.tail[-1_000:])
        told.append([result.check, result.standing, result.reason, failures, rest])
    return _digest(sorted(told, key=str)) if told else ""


def fingerprint(tree: str, results: Iterable[CheckResult]) -> str:
    """SHA-256 over one diff (its tree) and its failures (B2)."""
    return _digest([tree, signature(results)])


def stuck(attempts: Sequence[Attempt], limits: Limits) -> str:
    """Why there is no progress, as a clause for people; "" while there is some.

    Stops when `limits.repeats` times in a row the failure signature repeats, or the artifact is
    unchanged, or nothing is newly fulfilled. A different signature alone is no progress.
    """
    last = attempts[-limits.repeats :]
    if len(last) < limits.repeats:
        return ""
    times = f"{limits.repeats} times in a row"
    if len({attempt.tree for attempt in last}) == 1:
        return f"the change was the same {times}"
    if len({signature(attempt.results) for attempt in last}) == 1:
        return f"the checks failed in the same way {times}"
    if not any(_progress(attempts[: index + 1]) for index in _last(attempts, limits.repeats)):
        return f"no check and no test was newly fulfilled {times}"
    return ""


def _last(attempts: Sequence[Attempt], count: int) -> range:
    return range(len(attempts) - count, len(attempts))


def _progress(attempts: Sequence[Attempt]) -> bool:
    """Whether the last attempt fulfils what none before it did, or breaks less than any did.

    The first attempt is measured against the base: it counts when it fulfils anything.
    """
    *before, now = attempts
    done: set[str] = set().union(*(_fulfilled(attempt) for attempt in before))
    if _fulfilled(now) - done:
        return True
    return bool(before) and _broken(now) < min(_broken(attempt) for attempt in before)


def _fulfilled(attempt: Attempt) -> set[str]:
    """Checks that pass, and tests that failed on base and pass now."""
    found: set[str] = set()
    for result in attempt.results:
        if result.standing is Standing.PASSED:
            found.add(f"check {result.check}")
        if result.comparison is not None:
            found.update(f"{result.check} {test}" for test in result.comparison.fixed)
    return found


def _broken(attempt: Attempt) -> int:
    """How many checks fail, and how many tests are worse than on base."""
    total = 0
    for result in attempt.results:
        total += result.standing is Standing.FAILED
        if result.comparison is not None:
            worse = result.comparison
            total += len(worse.newly_failing) + len(worse.gone) + len(worse.newly_skipped)
    return total


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()
