"""What could have been run beside the checks and was not, in sentences with the reason.

Silence about an extra pass would read as if it had spoken for the change.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.check import Check, CheckResult, Standing
from app.domain.untested import ONCE, Untested, touched
from app.domain.witness import RedGreen, Sighted

RED_GREEN = "Red to green (the change's tests over the base's sources)"
SENTINELS = "Sentinels (a test that must fail and one that must pass)"
BASE_TESTS = "The base's own tests, put back over the change"


def base_tests(restored: Sequence[CheckResult] | None) -> tuple[str, ...]:
    """None: nothing had to be put back. That they could not be put back is a finding of its own."""
    if restored is not None:
        return ()
    return (f"{BASE_TESTS}: not run, the change touches none of them and none of their settings.",)


def folders(
    found: Sequence[Untested], paths: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sentences about folders with tests that no check runs: of those that a change of these paths
    is in, and of the others."""
    near = touched(found, paths)
    far = tuple(one.said for one in found if one not in near)
    shown = tuple(one.said for one in near)
    return ((*shown, ONCE) if shown else ()), ((*far, ONCE) if far and not shown else far)


def neither(why: str) -> tuple[str, ...]:
    """Both of the passes that run last, for one reason."""
    return (f"{RED_GREEN}: not run, {why}.", f"{SENTINELS}: not run, {why}.")


def red_green(red: RedGreen | None) -> tuple[str, ...]:
    if red is not None:
        return ()
    return (f"{RED_GREEN}: not run, the change brings no new or changed test that ran and passed.",)


def sentinels(
    results: Sequence[CheckResult], required: Sequence[Check], seen: Sequence[Sighted]
) -> tuple[str, ...]:
    """The checks that neither had a sentinel nor are told about for another reason."""
    known = {one.check for one in seen}
    passed = {one.digest for one in results if one.standing is Standing.PASSED}
    names = [one.name for one in required if one.name not in known and one.digest() in passed]
    if not names:
        return ()
    listed = ", ".join(f"`{name}`" for name in names)
    return (f"{SENTINELS}: not run in {listed}, whose output names no test.",)
