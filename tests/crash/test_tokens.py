"""Tokens that end too early: asked for anew, with the same scope, and nothing is doubled."""

from __future__ import annotations

import pytest

from tests.crash.case import Bench, Case
from tests.crash.points import BEFORE, Point


@pytest.mark.parametrize(
    ("state", "effect"),
    [
        ("admit", "github.POST /issues/*/comments"),
        ("prepare", "git.fetch"),
        ("publish", "github.POST /git/refs"),
        ("publish", "github.POST /pulls"),
    ],
)
def test_a_token_that_ends_in_mid_phase_is_asked_for_again_and_nothing_is_doubled(
    made: Bench, state: str, effect: str
) -> None:
    verdict = made.run(Case("fix", "token-expire", Point(state, effect, 1, BEFORE)))
    assert verdict.broken == (), verdict.log
