"""Makes JUnit reports and outcomes for the tests of this folder and of the stages."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

from app.domain.check import Check, Outcome
from tests.fakes.sandbox import ended

REPORT = "r.xml"
CHECK = Check(
    "tests",
    ("python3", "-m", "pytest"),
    {"A": "1"},
    "",
    ("python3", "-m", "pytest", "{tests}"),
    REPORT,
)
MISSING = "ModuleNotFoundError: No module named 'requests'"


def junit(cases: Mapping[str, str]) -> bytes:
    """A report: id -> "" (passed), "skipped", or the message of its failure."""
    told = []
    for test, what in cases.items():
        file, _, name = test.partition("::")
        inside = ""
        if what == "skipped":
            inside = "<skipped/>"
        elif what:
            inside = f"<failure message={quoteattr(what)}/>"
        told.append(
            f"<testcase file={quoteattr(file)} classname={quoteattr(file[:-3].replace('/', '.'))} "
            f"name={quoteattr(name)}>{inside}</testcase>"
        )
    return f"<testsuite>{''.join(told)}</testsuite>".encode()


def ran(code: int, cases: Mapping[str, str]) -> Outcome:
    """An outcome of a test command that wrote a report."""
    return ended(code, b"output\n", b"", junit(cases))
