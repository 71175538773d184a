"""A set-up is seen while a run is watched: which environment, how made, where its log is."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.record import JournalEntry, Kept
from worker.cli.watch import line

NOTE = {"setup": "d", "key": "k" * 64, "ms": 1500, "reused": False, "log": "l" * 64, "error": ""}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, f"environment {'k' * 12}, made in 1.5 s; log {'l' * 64}"),
        ({"reused": True}, "made before"),
        ({"error": "npm ci ended with [1]"}, "npm ci ended with [1]"),
    ],
)
def test_a_set_up_has_a_line(data: dict[str, Any], said: str) -> None:
    assert said in line(JournalEntry("1-0", Kept.NOTE, {**NOTE, **data}))


def test_other_notes_have_none() -> None:
    assert line(JournalEntry("1-0", Kept.NOTE, {"setup": "d", "image": "i"})) == ""
