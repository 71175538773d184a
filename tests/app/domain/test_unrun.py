"""Passes beside the checks that were not run: each is named with its reason, never left out."""

from __future__ import annotations

from app.domain import unrun
from app.domain.check import Standing
from app.domain.evidence import Holds
from app.domain.witness import RedGreen, Sighted
from tests.app.domain.report_world import TREE, check, result

CHECKS = (check("tests"), check("smoke"), check("broken"))
RESULTS = (
    result(TREE, name="tests"),
    result(TREE, name="smoke"),
    result(TREE, Standing.FAILED, name="broken"),
)


def test_a_check_without_sentinels_is_named_unless_it_is_told_about_already() -> None:
    seen = (Sighted("tests", Holds.HOLDS, "As it must be."),)
    (said,) = unrun.sentinels(RESULTS, CHECKS, seen)
    assert "not run in `smoke`" in said
    assert "`tests`" not in said and "`broken`" not in said
    every = (*seen, Sighted("smoke", Holds.UNKNOWN, "None is known."))
    assert unrun.sentinels(RESULTS, CHECKS, every) == ()


def test_what_ran_is_not_named() -> None:
    assert unrun.base_tests(()) == ()
    assert unrun.red_green(RedGreen()) == ()
    assert "touches none of them" in unrun.base_tests(None)[0]
    assert "no new or changed test" in unrun.red_green(None)[0]
    assert all("not run, time is over." in one for one in unrun.neither("time is over"))
