"""The gate after publishing, as a table: what stops it, in which order, with which reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain import approval
from app.domain.approval import Proof
from app.domain.evidence import Result
from app.domain.merge_gate import Ci, Facts, Why, gate, output, own_ci
from app.domain.ports.ci import Report
from app.domain.repo_config import Approval

HEAD = "a" * 40
PROOF = Proof("r1", HEAD, "t" * 40, "main", "b" * 40, Result.PASSED, "", "2026-11-30T10:00:00Z")
ABOUT = approval.Facts("open", HEAD, "main", Approval.NOT_REQUESTER, "write", PROOF)
BUILD, OK, BAD = Report("build", ""), Report("lint", "success"), Report("test", "failure")


@pytest.mark.parametrize(
    ("about", "why", "part"),
    [
        ({"state": "closed"}, Why.CLOSED, "closed"),
        ({"state": "merged"}, Why.CLOSED, "merged"),
        ({"proof": None}, Why.EVIDENCE, "no evidence"),
        ({"head": "c" * 40}, Why.EVIDENCE, "somebody pushed"),
        ({"proof": replace(PROOF, result=Result.PARTIAL, wall="Two.")}, Why.EVIDENCE, "Two."),
        ({"proof": replace(PROOF, since="")}, Why.EVIDENCE, "not on this head"),
        ({"amiss": "403"}, Why.EVIDENCE, "403"),
        ({"held": "skip-checks: true"}, Why.HELD, "/agent ci"),
        ({}, Why.PASSED, "Not reviewed by a critic"),
    ],
)
def test_evidence_comes_first(about: dict[str, object], why: Why, part: str) -> None:
    facts = Facts(replace(ABOUT, **about), reports=(OK,))  # type: ignore[arg-type]
    found = gate(facts)
    assert found.why is why and part in found.steps[-1].sentence
    assert found.passed is (why is Why.PASSED)
    assert [one.passed for one in found.steps[:-1]] == [True] * (len(found.steps) - 1)


@pytest.mark.parametrize(
    ("facts", "ci", "why", "part"),
    [
        ({}, Ci.NONE, Why.PASSED, "Nothing reports"),
        ({"started": ("ci.yml",)}, Ci.PENDING, Why.PENDING, "`ci.yml`"),
        ({"started": ("ci.yml",), "reports": (OK,)}, Ci.GREEN, Why.PASSED, "`lint`"),
        ({"reports": (OK, BUILD)}, Ci.PENDING, Why.PENDING, "`build`"),
        ({"reports": (BUILD, BAD)}, Ci.RED, Why.RED, "`test (failure)`"),
        ({"reports": (replace(OK, conclusion="timed_out"),)}, Ci.RED, Why.RED, "timed_out"),
        ({"reports": (replace(OK, conclusion="cancelled"),)}, Ci.RED, Why.RED, "cancelled"),
        ({"reports": (replace(OK, conclusion="unheard of"),)}, Ci.RED, Why.RED, "unheard of"),
        ({"reports": (replace(OK, conclusion="skipped"),)}, Ci.GREEN, Why.PASSED, "`lint`"),
        ({"required": frozenset({"deploy"})}, Ci.PENDING, Why.PENDING, "`deploy`"),
        ({"required": frozenset({approval.CHECK})}, Ci.NONE, Why.PASSED, "Nothing reports"),
        ({"reports": (OK,), "amiss": "no"}, Ci.UNREADABLE, Why.UNREADABLE, "no"),
    ],
)
def test_then_the_repositorys_own_ci(facts: dict[str, object], ci: Ci, why: Why, part: str) -> None:
    made = Facts(ABOUT, **facts)  # type: ignore[arg-type]
    state, sentence = own_ci(made)
    assert (state, gate(made).why) == (ci, why) and part in sentence


def test_a_name_of_a_check_is_shown_as_text() -> None:
    found = gate(Facts(ABOUT, reports=(Report("`[x](https://a.test)` @mona", "failure"),)))
    title, summary = output(found)
    assert title == "The repository's own CI failed"
    assert "<!-- patchwarrant:approval:" in summary and summary.count("❌") == 1
