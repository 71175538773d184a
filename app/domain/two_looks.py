"""What differs between two pieces of evidence about one Change: from their records alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.check import CheckResult, Standing
from app.domain.evidence import Result
from app.domain.run import Run
from app.domain.state import Kind, State

# Kinds whose completed runs leave evidence about their Change's branch.
_ABOUT_A_BRANCH = frozenset(Kind) - {Kind.VERIFY, Kind.EXPLAIN}


@dataclass(frozen=True)
class TwoLooks:
    """The evidence before, and what is different now: `checks` are (name, before, now) of those
    whose standing differs, None where there was none; `failing` and `mended` are ids of tests,
    `paths` what the change does otherwise than before, each sorted."""

    commit: str
    tree: str
    base: str
    before: Result
    now: Result
    checks: tuple[tuple[str, Standing | None, Standing | None], ...]
    failing: tuple[str, ...]
    mended: tuple[str, ...]
    paths: tuple[str, ...]


def evidence_of(runs: Sequence[Run]) -> Run | None:
    """The newest of a Change's runs (oldest first) that left evidence about its branch."""
    for run in reversed(runs):
        told = run.verdict is not None and run.contract is not None and run.publication.commit
        if told and run.state is State.COMPLETE and run.kind in _ABOUT_A_BRANCH:
            return run
    return None


def made_here(runs: Sequence[Run]) -> frozenset[str]:
    """The commits on a Change's branch that this app made, by the ledger."""
    ours = (run for run in runs if run.kind in _ABOUT_A_BRANCH - {Kind.RECHECK})
    return frozenset(run.publication.commit for run in ours if run.publication.commit)


def two_looks(before: Run, now: Run) -> TwoLooks | None:
    """What is different; None where one of them has no verdict."""
    if before.verdict is None or now.verdict is None:
        return None
    old, new = _standings(before.results), _standings(now.results)
    was, is_now = _failing(before.results), _failing(now.results)
    seen = frozenset(one.check for one in now.results if one.standing is Standing.PASSED)
    return TwoLooks(
        commit=before.publication.commit,
        tree=before.verdict.tree,
        base=before.verdict.base_commit,
        before=before.verdict.result,
        now=now.verdict.result,
        checks=tuple(
            (name, old.get(name), new.get(name))
            for name in sorted(old.keys() | new.keys())
            if old.get(name) is not new.get(name)
        ),
        failing=tuple(sorted(test for _, test in is_now - was)),
        # A test is mended only where its check ran and says so now.
        mended=tuple(
            sorted(test for check, test in was - is_now if check in seen or _ran(now, check))
        ),
        paths=_paths(before, now),
    )


def _ran(run: Run, check: str) -> bool:
    """Whether a check that failed still told test by test what it saw."""
    found = next((one for one in run.results if one.check == check), None)
    return found is not None and found.comparison is not None


def _standings(results: Sequence[CheckResult]) -> dict[str, Standing]:
    return {one.check: one.standing for one in results}


def _failing(results: Sequence[CheckResult]) -> frozenset[tuple[str, str]]:
    """(check, test) of every test that failed."""
    found: set[tuple[str, str]] = set()
    for one in results:
        named = [failure.test for failure in one.failures if failure.test]
        if one.comparison is not None:
            named += [*one.comparison.newly_failing, *one.comparison.already_failing]
        found |= {(one.check, test) for test in named}
    return frozenset(found)


def _paths(before: Run, now: Run) -> tuple[str, ...]:
    """Paths whose content or mode in the change differs, each against its own base."""
    sides = [
        {one.path: (one.mode, one.blob) for one in run.candidate.changes} if run.candidate else {}
        for run in (before, now)
    ]
    old, new = sides
    return tuple(sorted(p for p in old.keys() | new.keys() if old.get(p) != new.get(p)))
