"""What changed since the previous head: files, checks, and tests by their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.check import CaseStatus, CheckResult
from app.domain.edit import Delta

MOST_IDS = 200

Cases = Mapping[str, CaseStatus]  # test id -> how it ended


@dataclass(frozen=True)
class Since:
    """The delta against `head`, the commit that the follow-up stands on.

    `files` are the follow-up's own differences. `known` says whether there was evidence about that
    head; without it nothing is said of checks. `checks` are (name, standing before, standing now).
    Lists of tests are ids, sorted and capped, over all checks that name their tests.
    """

    head: str
    files: tuple[Delta, ...]
    known: bool = False
    checks: tuple[tuple[str, str, str], ...] = ()
    passing: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


def since(
    head: str,
    files: Sequence[Delta],
    before: Sequence[CheckResult] | None,
    after: Sequence[CheckResult],
    cases: Mapping[str, tuple[Cases, Cases]],
) -> Since:
    """The delta; `before` is None without evidence about `head`. `cases` maps a check's digest to
    (test by test before, test by test now), where both named their tests."""
    if before is None:
        return Since(head, tuple(files))
    standing = {one.digest: str(one.standing) for one in before}
    checks = tuple(
        (one.check, standing.get(one.digest, "not run"), str(one.standing)) for one in after
    )
    passing, failing, gone, new = set[str](), set[str](), set[str](), set[str]()
    for old, now in cases.values():
        for test, status in now.items():
            was = old.get(test)
            if status is CaseStatus.PASSED and was is not CaseStatus.PASSED:
                passing.add(test)
            if status is CaseStatus.FAILED and was is not CaseStatus.FAILED:
                failing.add(test)
        gone |= old.keys() - now.keys()
        new |= now.keys() - old.keys()
    lists = (tuple(sorted(one)[:MOST_IDS]) for one in (passing, failing, gone, new))
    return Since(head, tuple(files), True, checks, *lists)


def note_of(told: Since) -> dict[str, Any]:
    """The journal note with the delta."""
    rows = [[d.path, d.old_mode, d.new_mode, d.added, d.removed] for d in told.files]
    return {
        "since": told.head,
        "files": rows,
        "known": told.known,
        "checks": [list(one) for one in told.checks],
        "passing": list(told.passing),
        "failing": list(told.failing),
        "gone": list(told.gone),
        "new": list(told.new),
    }


def of_note(data: Mapping[str, Any]) -> Since | None:
    """The delta that `note_of` wrote, None for any other note."""
    if not isinstance(data.get("since"), str):
        return None
    return Since(
        head=data["since"],
        files=tuple(Delta(str(one[0]), *(int(part) for part in one[1:5])) for one in data["files"]),
        known=bool(data["known"]),
        checks=tuple((str(a), str(b), str(c)) for a, b, c in data["checks"]),
        passing=tuple(data["passing"]),
        failing=tuple(data["failing"]),
        gone=tuple(data["gone"]),
        new=tuple(data["new"]),
    )
