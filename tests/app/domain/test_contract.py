"""What is said of text in a request that nobody sees."""

from __future__ import annotations

from dataclasses import replace

from app.domain.contract import hidden_words
from tests.app.domain.report_world import contract

ASKED = contract().request


def test_hidden_text_is_told_with_its_count_and_where_it_can_be_seen() -> None:
    assert hidden_words(ASKED, 12) == ()
    (one,) = hidden_words(replace(ASKED, hidden=1), 12)
    assert one.startswith("1 character of hidden text was removed before anything read")
    assert "the source of #12 (“Edit”" in one
    (more,) = hidden_words(replace(ASKED, hidden=1_234, adopted=("#c1",)), 12)
    assert more.startswith("1,234 characters of hidden text were removed")
    assert "the source of #12 and of the comments taken with it (" in more
