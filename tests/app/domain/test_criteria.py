"""A criterion is supported by something measured, or says that it is not."""

from __future__ import annotations

import pytest

from app.domain.contract import Criterion
from app.domain.criteria import NOTHING, Support, supported
from app.domain.evidence import Holds

RED = ("tests/test_money.py::test_add_keeps_cents", "tests/test_x.py::TestParse::test_minus[1]")
SUPPORT = Support(RED, (*RED, "tests/test_old.py::test_something_else"), ("tests", "lint"), True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("`add(0.1, 0.2)` keeps the cents", "`tests/test_money.py::test_add_keeps_cents`"),
        ("parse accepts minus signs", "test_minus[1]"),
        ("The test `tests/test_old.py::test_something_else` passes.", "which passes on this tree"),
        ("test_something_else is green", "which passes on this tree"),
        ("All existing tests pass", "Every required check passed: `tests`, `lint`"),
        ("`lint` stays clean", "The check `lint` passed"),
        ("The manual explains it", NOTHING),
        ("It must return the right values", NOTHING),
    ],
)
def test_each_says_what_supports_it(text: str, said: str) -> None:
    (finding,) = supported((Criterion(text, "checklist"),), SUPPORT)
    assert said in finding.exhibits[0]
    assert finding.standing is (Holds.UNKNOWN if said == NOTHING else Holds.HOLDS)
    assert finding.claim == f"Criterion: {text}"


def test_nothing_measured_supports_nothing() -> None:
    none = Support((), (), (), False)
    for text in ("All tests pass", "`add` works", "test_something_else passes", ""):
        (finding,) = supported((Criterion(text, "heading"),), none)
        assert (finding.standing, finding.exhibits) == (Holds.UNKNOWN, (NOTHING,))


def test_a_long_criterion_is_cut_in_its_claim() -> None:
    (finding,) = supported((Criterion("word " * 200, "heading"),), SUPPORT)
    assert len(finding.claim) <= 215
