"""The delta against the previous head, test by test."""

from __future__ import annotations

from dataclasses import replace

from app.domain.check import CaseStatus, CheckResult, Standing
from app.domain.edit import FILE, Delta
from app.domain.since import Since, note_of, of_note, since
from tests.worker.desk.made import result

HEAD = "a" * 40
FILES = (Delta("a.py", FILE, FILE, 3, 1),)
P, F, S = CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.SKIPPED


def checked(standing: Standing = Standing.PASSED, name: str = "tests") -> CheckResult:
    return replace(result("1" * 40, standing), check=name, digest=name)


def test_each_test_is_compared_by_its_id() -> None:
    old = {"kept": P, "broken": P, "mended": F, "gone": P, "still": F, "woken": S}
    now = {"kept": P, "broken": F, "mended": P, "new": P, "bad": F, "still": F, "woken": P}
    told = since(HEAD, FILES, [checked()], [checked(Standing.FAILED)], {"tests": (old, now)})
    assert told.passing == ("mended", "new", "woken")
    assert told.failing == ("bad", "broken")
    assert told.gone == ("gone",) and told.new == ("bad", "new")
    assert told.checks == (("tests", "passed", "failed"),)
    assert told.known and told.files == FILES


def test_without_evidence_about_the_head_nothing_is_said_of_checks() -> None:
    told = since(HEAD, FILES, None, [checked()], {})
    assert told == Since(HEAD, FILES)
    assert not told.known and told.checks == ()


def test_a_check_that_did_not_run_before_says_so() -> None:
    told = since(HEAD, FILES, [checked(name="other")], [checked()], {})
    assert told.checks == (("tests", "not run", "passed"),)


def test_the_note_is_read_back_as_it_was_and_no_other_note_is_one() -> None:
    told = since(HEAD, FILES, [checked()], [checked()], {"tests": ({"a": F}, {"a": P})})
    assert of_note(note_of(told)) == told
    assert of_note({"deltas": []}) is None and of_note({"since": 1}) is None
