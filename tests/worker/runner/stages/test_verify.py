"""Verify measures, records, then decides: gate, repair, or an ending; never a pass by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from app.domain.budget import Limits
from app.domain.check import Outcome, Standing
from app.domain.errors import Halt, Park, Reason, Unavailable
from app.domain.ports.sandbox import Job
from app.domain.repo_config import CONFIG_PATH
from app.domain.run import Run
from app.domain.state import State
from tests.fakes.sandbox import ended
from tests.worker.runner.checks.reports import ran
from tests.worker.runner.stages.runs import FILES, World
from worker.runner.stages.verify import verify

A, B = "tests/test_a.py::test_a", "tests/test_a.py::test_b"
GOOD = ran(0, {A: ""})
BAD = ran(1, {A: "ValueError: no"})


def by_content(files: Mapping[str, bytes]) -> Outcome:
    """The suite passes once the file says two; the message tells the files apart."""
    text = files["pkg/a.py"].decode().strip()
    return GOOD if text == "two" else ran(1, {A: f"ValueError: {text}"})


@pytest.fixture
def world() -> World:
    made = World()
    made.says(by_content)
    return made


def twice(world: World, run: Run) -> Run:
    """Both visits: measured and recorded, then decided."""
    stage = verify(world.kit())
    measured = stage(run)
    assert measured.state is State.VERIFY
    assert measured.results != ()
    return stage(measured)


def test_passing_checks_lead_to_the_gate(world: World) -> None:
    run = twice(world, world.changed(world.prepared(), pkg__a_py=b"two\n"))
    assert run.state is State.GATE
    (attempt,) = run.attempts
    assert attempt.results[0].standing is Standing.PASSED
    assert attempt.results[0].comparison is not None
    assert attempt.results[0].comparison.fixed == (A,)
    assert run.spend.repairs == 0
    assert run.spend.sandbox_ms > 0


def test_a_failure_is_repaired_and_charged_once(world: World) -> None:
    run = twice(world, world.changed(world.prepared(), pkg__a_py=b"three\n"))
    assert (run.state, run.spend.repairs) == (State.PLAN, 1)
    again = replace(run, state=State.VERIFY)
    done = twice(world, world.changed(again, pkg__a_py=b"two\n"))
    assert (done.state, done.spend.repairs, len(done.attempts)) == (State.GATE, 1, 2)
    assert done.attempts[0].results[0].standing is Standing.FAILED


def test_the_same_tree_after_a_repair_is_measured_again(world: World) -> None:
    run = twice(world, world.changed(world.prepared(), pkg__a_py=b"three\n"))
    again = twice(world, replace(run, state=State.VERIFY))
    assert (again.state, len(again.attempts)) == (State.PLAN, 2)
    assert len(world.sandbox.ran) == 3


def test_no_progress_ends_the_loop_with_the_attempt_kept(world: World) -> None:
    run = world.changed(world.prepared(limits=Limits(repairs=9)), pkg__a_py=b"three\n")
    run = replace(twice(world, run), state=State.VERIFY)
    run = replace(twice(world, run), state=State.VERIFY)
    measured = verify(world.kit())(run)
    assert len(measured.attempts) == 3
    with pytest.raises(Halt) as halt:
        verify(world.kit())(measured)
    assert halt.value.record.reason is Reason.NO_PROGRESS
    assert halt.value.record.details == ("tests: exit 1",)


def test_used_repairs_end_the_loop(world: World) -> None:
    run = world.changed(world.prepared(limits=Limits(repairs=0)), pkg__a_py=b"three\n")
    measured = verify(world.kit())(run)
    with pytest.raises(Halt) as halt:
        verify(world.kit())(measured)
    assert halt.value.record.reason is Reason.BUDGET_REPAIRS


def test_what_could_not_run_is_not_charged(world: World) -> None:
    run = world.changed(world.prepared(), pkg__a_py=b"two\n")
    world.says(lambda _files: ended(0))
    done = twice(world, run)
    assert (done.state, done.spend.repairs) == (State.GATE, 0)
    assert done.results[0].standing is Standing.UNAVAILABLE


def test_an_away_sandbox_parks_without_an_attempt(world: World) -> None:
    run = world.changed(world.prepared(), pkg__a_py=b"two\n")
    world.sandbox.away = Unavailable("busy")
    with pytest.raises(Park):
        verify(world.kit())(run)


def test_a_restart_between_the_visits_measures_nothing_twice(world: World) -> None:
    run = world.changed(world.prepared(), pkg__a_py=b"three\n")
    first = verify(world.kit())(run)
    assert verify(world.kit())(run) == first  # the row was not saved, the journal was
    assert len(world.sandbox.ran) == 2


def test_quick_checks_run_first_and_paths_skip() -> None:
    config = (
        b"checks:\n- {name: tests, run: x, report: r.xml}\n- {name: quick, run: y, tier: quick}\n"
        b"- {name: docs, run: z, paths: ['docs/**']}\n"
    )
    world = World({**FILES, CONFIG_PATH: config})
    world.says(by_content)
    run = twice(world, world.changed(world.prepared(), pkg__a_py=b"two\n"))
    assert [(one.check, one.standing) for one in run.results] == [
        ("quick", Standing.PASSED),
        ("tests", Standing.PASSED),
        ("docs", Standing.SKIPPED),
    ]
    assert run.results[2].reason == "paths"
    assert run.state is State.GATE


QUICK = b"checks:\n- {name: tests, run: x, report: r.xml}\n- {name: lint, run: y, tier: quick}\n"


def linted(world: World, base: Outcome, candidate: Outcome) -> Run:
    """The run after its verify stage, where the quick check ends like this."""

    def acts(job: Job, files: Mapping[str, bytes]) -> Outcome:
        if job.report:
            return by_content(files)
        return candidate if files["pkg/a.py"] == b"two\n" else base

    world.sandbox.acts = acts
    return verify(world.kit())(world.changed(world.prepared(), pkg__a_py=b"two\n"))


def test_a_quick_check_that_fails_keeps_the_slow_ones_from_running() -> None:
    run = linted(World({**FILES, CONFIG_PATH: QUICK}), ended(0), ended(1))
    assert [(one.check, one.standing, one.reason) for one in run.results] == [
        ("lint", Standing.FAILED, "exit 1"),
        ("tests", Standing.SKIPPED, "quick check lint failed"),
    ]


ONE = b"pkg/a.py:1:1: F401 `os` imported but unused\nFound 1 error.\n"
TWO = ONE.replace(b"Found 1 error", b"pkg/a.py:2:1: F401 `re` imported but unused\nFound 2 errors")


def test_a_quick_check_that_fails_on_more_lines_than_on_the_base_stops_the_others() -> None:
    config = QUICK.replace(b"run: y", b"run: ruff check")
    run = linted(World({**FILES, CONFIG_PATH: config}), ended(1, ONE), ended(1, TWO))
    assert [one.standing for one in run.results] == [Standing.FAILED, Standing.SKIPPED]


@pytest.mark.parametrize("log", [b"", ONE])
def test_a_quick_check_that_fails_on_the_base_stops_nothing_and_is_not_repaired(
    log: bytes,
) -> None:
    config = QUICK.replace(b"run: y", b"run: ruff check") if log else QUICK
    world = World({**FILES, CONFIG_PATH: config})
    run = linted(world, ended(1, log), ended(1, log))
    assert [(one.check, one.standing) for one in run.results] == [
        ("lint", Standing.FAILED),
        ("tests", Standing.PASSED),
    ]
    assert verify(world.kit())(run).state is State.GATE


def base_red(world: World) -> None:
    """Both tests fail on base; the change mends the first."""

    def says(files: Mapping[str, bytes]) -> Outcome:
        mended = files["pkg/a.py"] == b"two\n"
        return ran(1, {A: "" if mended else "no", B: "other"})

    world.says(says)


def test_what_was_broken_before_is_shown_but_no_repair_is_spent_on_it(world: World) -> None:
    base_red(world)
    run = twice(world, world.changed(world.prepared(), pkg__a_py=b"two\n"))
    assert (run.state, run.spend.repairs) == (State.GATE, 0)
    assert run.results[0].standing is Standing.FAILED
    assert run.results[0].comparison is not None
    assert run.results[0].comparison.already_failing == (B,)


@pytest.mark.parametrize("wanted", [B, "tests/test_a.py", "test_b"])
def test_a_planned_test_that_still_fails_is_repaired(world: World, wanted: str) -> None:
    base_red(world)
    run = world.changed(world.prepared(), pkg__a_py=b"two\n")
    run = world.planned(run, "pkg/a.py", must_pass=(wanted,))
    assert twice(world, run).state is State.PLAN


def test_nothing_mended_is_repaired_although_all_of_it_was_broken_before(world: World) -> None:
    base_red(world)
    run = twice(world, world.changed(world.prepared(), pkg__a_py=b"three\n"))
    assert run.state is State.PLAN


def test_a_new_failure_beside_old_ones_is_repaired(world: World) -> None:
    def says(files: Mapping[str, bytes]) -> Outcome:
        base = files["pkg/a.py"] == b"one\n"
        return ran(1, {A: "no" if base else "", B: "no", "tests/test_a.py::c": "" if base else "x"})

    world.says(says)
    assert twice(world, world.changed(world.prepared(), pkg__a_py=b"2\n")).state is State.PLAN


def test_a_run_that_lacks_its_ground_is_a_bug(world: World) -> None:
    with pytest.raises(LookupError):
        verify(world.kit())(world.run(State.VERIFY))
    run = world.changed(world.prepared(), pkg__a_py=b"three\n")
    measured = verify(world.kit())(run)
    with pytest.raises(LookupError):
        verify(world.kit())(replace(measured, contract=None))
