"""The tests' own patience: it ends, and says what it waited for."""

from __future__ import annotations

import pytest

from tests.patience import until


def test_what_comes_to_hold_is_waited_for() -> None:
    looks = iter((0, "", [1]))
    until(lambda: next(looks), 5)
    assert next(looks, None) is None


def test_what_never_holds_is_told_by_its_words() -> None:
    count = 3
    with pytest.raises(AssertionError, match=r"not within 0\.01 seconds: .*count == 4"):
        until(lambda: count == 4, 0.01)
    with pytest.raises(AssertionError, match=r"str\.isupper"):
        until("low".isupper, 0.01)
