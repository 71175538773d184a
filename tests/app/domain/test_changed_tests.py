"""A test counts as changed when its own code does."""

from __future__ import annotations

import pytest

from app.domain.changed_tests import changed_tests

OLD = """import x


def test_a():
    assert x.a == 1


class TestB:
    def test_b(self):
        assert x.b == 1
"""
IDS = ("t.py::test_a", "t.py::TestB::test_b[1]", "t.py::TestB::test_b[2]", "other.py::test_a")
BOTH = ("t.py::TestB::test_b[1]", "t.py::TestB::test_b[2]")


@pytest.mark.parametrize(
    ("new", "found"),
    [
        (OLD.replace("x.b == 1", "x.b == 2"), BOTH),
        (OLD.replace("x.a == 1", "x.a  ==  1"), ()),
        (OLD.replace("def test_a", "@mark\ndef test_a"), ("t.py::test_a",)),
        (OLD.replace("import x", "import x, y"), ()),
        (OLD + "\nVALUE = 3\n", (*BOTH, "t.py::test_a")),
        ("def broken(", (*BOTH, "t.py::test_a")),
    ],
)
def test_in_python_by_function(new: str, found: tuple[str, ...]) -> None:
    assert changed_tests("t.py", OLD, new, IDS) == found


def test_a_new_file_and_other_languages_by_file() -> None:
    assert changed_tests("t.py", None, OLD, IDS) == (*BOTH, "t.py::test_a")
    ids = ("a.test.js::x", "b.test.js::y")
    assert changed_tests("a.test.js", "old", "new", ids) == ("a.test.js::x",)


def test_hostile_sources_are_no_error() -> None:
    for text in ("\0", "(" * 5_000, "-" * 50_000 + "1", "1+" * 3_000 + "1", "a = 1\n" * 400_000):
        assert changed_tests("t.py", OLD, text, IDS) == (*BOTH, "t.py::test_a")
    assert changed_tests("t.py", OLD, OLD + "\na = '\\d'\n", IDS)  # an odd escape is no error
