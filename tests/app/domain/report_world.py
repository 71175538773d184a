"""Runs for tests of reports and statements: one that passed, and parts to change about it."""

from __future__ import annotations

from dataclasses import replace

from app.domain.budget import Limits, Spend, Usage
from app.domain.check import Check, CheckResult, Comparison, Counts, Failure, Standing
from app.domain.contract import Contract, Criterion, Request
from app.domain.edit import Candidate, Change, Delta
from app.domain.event import Person, Repository
from app.domain.evidence import Finding, Holds, Result, Verdict
from app.domain.plan import Action, Plan, PlannedFile, Step
from app.domain.repo_config import RepoConfig
from app.domain.report import Facts
from app.domain.run import Attempt, Grounding, Run, Snapshot
from app.domain.state import Kind, State

BASE, BASE_TREE, FIRST, TREE, COMMIT = "b0" * 20, "b1" * 20, "f1" * 20, "a1" * 20, "c0" * 20
IMAGE, PROFILE = "sha256:" + "d1" * 32, "e1" * 32
TEST = "tests/test_calc.py::test_mean_of_nothing"


def check(name: str = "tests") -> Check:
    return Check(name=name, argv=("python", "-m", "pytest", "-q"), report="report.xml")


def result(
    tree: str,
    standing: Standing = Standing.PASSED,
    comparison: Comparison | None = None,
    name: str = "tests",
) -> CheckResult:
    failed = standing is Standing.FAILED
    return CheckResult(
        check=name,
        digest=check(name).digest(),
        tree=tree,
        image=IMAGE,
        standing=standing,
        reason="exit 1" if failed else "",
        exit_code=1 if failed else 0,
        ms=1_234,
        counts=Counts(5, 1, 0) if failed else Counts(6, 0, 0),
        failures=(Failure(TEST, "ZeroDivisionError", "division by zero"),) if failed else (),
        log="10" * 32,
        tail="the end of the log",
        comparison=comparison,
    )


def contract(title: str = "mean([]) crashes", body: str = "It should raise ValueError") -> Contract:
    return Contract(
        request=Request(title, body, "9a" * 32, 0, "reporter", "ann", "2026-11-30T10:00:00Z"),
        criteria=(Criterion("mean([]) raises ValueError", "checklist"),),
        base_branch="main",
        base_commit=BASE,
        config=RepoConfig(),
        config_source="77" * 20,
        limits=Limits(),
    )


def plan() -> Plan:
    return Plan(
        summary="Raise ValueError for an empty list.",
        files=(
            PlannedFile("calc.py", Action.EDIT, "the bug is here", 3),
            PlannedFile("tests/test_calc.py", Action.EDIT, "a test for it", 4),
        ),
        tests_must_pass=(TEST,),
        tests_to_write=(),
        steps=(Step("fix", "raise it"),),
        turns=2,
    )


def passed() -> Run:
    """A run whose first attempt failed and whose second passed; it is about to be published."""
    after = result(TREE, comparison=Comparison(fixed=(TEST,)))
    return Run(
        id="0a1b2c",
        kind=Kind.FIX,
        change="0a1b2c",
        event="issue:1:12:5:2026",
        installation=7,
        repository=Repository(1, "acme", "calc"),
        issue=12,
        requester=Person(42, "ann"),
        created=1_000,
        state=State.PUBLISH,
        contract=contract(),
        snapshot=Snapshot(BASE_TREE, IMAGE, PROFILE, (check(),)),
        baseline=(result(BASE_TREE, Standing.FAILED),),
        grounding=Grounding("mean divides by the length", ("calc.py",)),
        plan=plan(),
        candidate=Candidate(TREE, (Change("calc.py", 0o100644, "55" * 32),)),
        attempts=(
            Attempt(FIRST, (result(FIRST, Standing.FAILED),), "one"),
            Attempt(TREE, (after,), "two"),
        ),
        spend=Spend(
            calls=7,
            turns=2,
            repairs=1,
            dollars=31_200,
            usage=Usage(input=10, output=20),
            card="2026-11",
            sandbox_ms=12_000,
            active_ms=34_000,
        ),
        verdict=Verdict(
            TREE,
            BASE,
            Result.PASSED,
            "",
            (Finding("every required check passed on this tree", Holds.HOLDS, ("tests",)),),
        ),
        model="claude-sonnet-5-5",
        prompts="p1",
    )


def failed() -> Run:
    """The same with a last attempt that failed: an incomplete draft."""
    run = passed()
    after = result(TREE, Standing.FAILED, Comparison(newly_failing=(TEST,)))
    verdict = Verdict(
        TREE,
        BASE,
        Result.FAILED,
        "the required check tests failed",
        (
            Finding(
                "every required check passed",
                Holds.FAILS,
                ("tests",),
                (Finding("the base's own tests pass", Holds.UNKNOWN),),
            ),
        ),
    )
    return replace(run, attempts=(run.attempts[0], Attempt(TREE, (after,), "x")), verdict=verdict)


def facts() -> Facts:
    return Facts(
        commit=COMMIT,
        deltas=(
            Delta("calc.py", 0o100644, 0o100644, 2, 0),
            Delta("notes.txt", 0, 0o100644, 1, 0),
        ),
        logs={"tests": "6 passed in 0.01s"},
        statement="ab" * 32,
        key="sha256:" + "cd" * 32,
    )
