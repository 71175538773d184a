"""The line that says that evidence is about another head: put once, taken back whole."""

from __future__ import annotations

import pytest

from app.domain.report import pull_body
from app.domain.report_facts import BODY_CAP, Facts
from app.domain.report_signed import body_marker
from app.domain.stale import with_banner, without_banner
from tests.app.domain.report_world import facts, passed

OURS = pull_body(passed(), facts())


@pytest.mark.parametrize("around", ["{}", "Mine.\n\n{}\n\nAlso mine.", "{}\nafter"])
def test_it_stands_above_our_part_and_leaves_it_as_it_was(around: str) -> None:
    body = around.format(OURS)
    marked = with_banner(body, "a" * 40, "b" * 40)
    assert marked.count("**Stale:**") == 1 and OURS in marked
    assert marked.index("**Stale:**") < marked.index("patchwarrant:body:")
    assert body_marker(marked) == body_marker(body)
    assert without_banner(marked) == body
    newer = with_banner(marked, "c" * 40, "b" * 40)
    assert newer.count("**Stale:**") == 1 and "c" * 12 in newer and "a" * 12 not in newer
    assert without_banner(newer.replace("\n", "\r\n")) == body


def test_a_body_without_evidence_or_without_room_stays_as_it_is() -> None:
    assert with_banner("Somebody's words", "a" * 40, "b" * 40) == "Somebody's words"
    full = OURS + "x" * (BODY_CAP - len(OURS))
    assert with_banner(full, "a" * 40, "b" * 40) == full
    assert without_banner("no line") == "no line" and Facts().looks is None
