"""What fails newly is seen twice; what differs is flaky: neither a failure nor a pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from app.domain.check import CheckResult, Comparison, Outcome, Standing
from app.domain.ports.sandbox import Job
from tests.fakes.hold import FakeHold
from tests.fakes.objects import MemoryObjects
from tests.fakes.sandbox import IMAGE, FakeSandbox, ended
from tests.worker.runner.checks.reports import CHECK, ran
from worker.runner.checks.again import differing
from worker.runner.checks.compare import subset_of, unpacked
from worker.runner.checks.narrow import amiss, selectable
from worker.runner.checks.run import Certifier

A, B, C = "t.py::a", "t.py::b", "t.py::c"


@dataclass
class Bench:
    """A certifier whose sandbox gives the outcomes of a list, one after the other."""

    hold: FakeHold = field(default_factory=FakeHold)
    objects: MemoryObjects = field(default_factory=MemoryObjects)
    sandbox: FakeSandbox = field(default_factory=FakeSandbox)

    def __post_init__(self) -> None:
        self.base = self.objects.tree({"t.py": b"1"})
        self.tree = self.objects.tree({"t.py": b"2"})
        self.certify = Certifier(self.hold, self.objects, self.sandbox)

    def gives(self, *outcomes: Outcome) -> None:
        waiting = list(outcomes)

        def acts(_job: Job, _files: Mapping[str, bytes]) -> Outcome:
            return waiting.pop(0)

        self.sandbox.acts = acts

    def candidate(self, *outcomes: Outcome, base: Outcome | None = None) -> CheckResult:
        self.gives(base or ran(0, {A: "", B: ""}), *outcomes)
        before = self.certify("r", "baseline", CHECK, self.base, IMAGE)
        return self.certify("r", "verify", CHECK, self.tree, IMAGE, before)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_failure_that_passes_the_second_time_is_flaky_and_blames_nobody(bench: Bench) -> None:
    result = bench.candidate(ran(1, {A: "no", B: ""}), ran(0, {A: ""}))
    assert (result.standing, result.reason) == (Standing.UNAVAILABLE, "flaky: 1 test")
    assert result.comparison == Comparison(flaky=(A,))
    assert result.exit_code == 1
    assert bench.sandbox.ran[-1][2].argv == ("python3", "-m", "pytest", A)


def test_a_failure_that_stays_is_a_failure(bench: Bench) -> None:
    result = bench.candidate(ran(1, {A: "no", B: ""}), ran(1, {A: "no"}))
    assert (result.standing, result.reason) == (Standing.FAILED, "exit 1")
    assert result.comparison == Comparison(newly_failing=(A,))


def test_beside_a_real_failure_a_flaky_one_is_only_named(bench: Bench) -> None:
    result = bench.candidate(ran(1, {A: "no", B: "no"}), ran(1, {A: "no", B: ""}))
    assert (result.standing, result.comparison) == (
        Standing.FAILED,
        Comparison(newly_failing=(A,), flaky=(B,)),
    )


def test_a_second_run_that_tells_nothing_changes_nothing(bench: Bench) -> None:
    result = bench.candidate(ran(1, {A: "no", B: ""}), ended(1))
    assert (result.standing, result.reason) == (Standing.FAILED, "exit 1")


@pytest.mark.parametrize(
    ("base", "candidate"),
    [
        (ran(1, {A: "no", B: ""}), ran(1, {A: "no", B: ""})),
        (ran(1, {A: "no", B: ""}), ran(0, {A: "", B: ""})),
        (ran(0, {A: "", B: ""}), replace(ran(1, {A: "no", B: ""}), limit="memory")),
    ],
    ids=["failed before", "passes", "limit"],
)
def test_without_a_new_failure_one_run_is_enough(
    bench: Bench, base: Outcome, candidate: Outcome
) -> None:
    bench.candidate(candidate, base=base)
    assert len(bench.sandbox.ran) == 2


def test_ids_that_cannot_stand_in_a_command_run_the_whole_check(bench: Bench) -> None:
    odd = "--pwned"
    bench.candidate(ran(1, {A: "", odd: "no"}), ran(1, {A: "", odd: "no"}))
    assert bench.sandbox.ran[-1][2].argv == CHECK.argv
    assert amiss("../x.py") != ""
    assert selectable([f"t.py::t{n}" for n in range(41)]) == ()


def test_a_baseline_is_measured_once_for_all_runs(bench: Bench) -> None:
    first = bench.candidate(ran(0, {A: "", B: ""}))
    other = Bench(hold=FakeHold(memory=bench.hold.memory, blobs=bench.hold.blobs))
    other.gives(ran(1, {A: "no", B: ""}))  # would be the baseline, were it measured
    again = other.certify("r2", "baseline", CHECK, other.base, IMAGE)
    assert other.sandbox.ran == []
    assert again.cached
    assert not first.cached
    assert again == replace(bench.certify("r", "baseline", CHECK, bench.base, IMAGE), cached=True)


def test_a_baseline_that_another_parser_read_is_measured_again(bench: Bench) -> None:
    bench.candidate(ran(0, {A: "", B: ""}))
    other = Bench(hold=FakeHold(memory=bench.hold.memory, blobs=bench.hold.blobs))
    other.gives(ran(1, {A: "no", B: ""}))
    read_otherwise = replace(CHECK, parser="pytest")
    assert read_otherwise.digest() == CHECK.digest()
    again = other.certify("r2", "baseline", read_otherwise, other.base, IMAGE)
    assert not again.cached and len(other.sandbox.ran) == 1
    assert other.hold.entries() != []  # this run's journal has it, too


@pytest.mark.parametrize("what", ["tree", "image", "command", "phase", "artifact"])
def test_a_baseline_of_anything_else_is_not_taken(bench: Bench, what: str) -> None:
    bench.candidate(ran(0, {A: "", B: ""}))
    blobs = {} if what == "artifact" else bench.hold.blobs
    other = Bench(hold=FakeHold(memory=bench.hold.memory, blobs=blobs))
    image = "sha256:" + "9" * 64 if what == "image" else IMAGE
    other.sandbox.images["other"] = "sha256:" + "9" * 64
    other.gives(ran(0, {A: ""}))
    other.certify(
        "r2",
        "verify" if what == "phase" else "baseline",
        replace(CHECK, timeout=9) if what == "command" else CHECK,
        other.tree if what == "tree" else other.base,
        image,
    )
    assert len(other.sandbox.ran) == 1


@pytest.mark.parametrize(
    "outcome",
    [ended(127), replace(ended(137), limit="time"), ended(None, error="x"), ended(0)],
    ids=["environment", "limit", "not started", "no report"],
)
def test_what_might_go_otherwise_next_time_is_not_kept(bench: Bench, outcome: Outcome) -> None:
    bench.gives(outcome)
    bench.certify("r", "baseline", CHECK, bench.base, IMAGE)
    assert bench.hold.memory == {}


def test_a_run_cut_by_time_says_which_part_ran(bench: Bench) -> None:
    cut = replace(ended(137, b"t.py .F                    [ 50%]\n.", b""), limit="time")
    result = bench.candidate(cut, base=ran(0, {A: "", B: "", C: "", "t.py::d": ""}))
    assert (result.standing, result.reason) == (Standing.FAILED, "limit:time")
    assert result.subset == (3, 4)


def test_a_whole_run_is_no_subset_and_a_silent_one_showed_nothing() -> None:
    known = unpacked(b'[["t.py::a","passed"],["t.py::b","passed"]]')
    assert subset_of(ended(0), known, known) is None
    cut = replace(ended(137, b"starting\nwaiting for the server ...\n", b""), limit="time")
    assert subset_of(cut, None, known) == (0, 2)
    assert subset_of(cut, known[:1], known) == (1, 2)
    assert subset_of(cut, None, None) is None


def test_two_runs_on_one_tree_differ_where_one_passed_and_one_failed() -> None:
    first = unpacked(b'[["a","passed"],["b","failed"],["c","skipped"],["d","passed"]]')
    second = unpacked(b'[["a","failed"],["b","passed"],["c","failed"],["e","failed"]]')
    assert differing(first, second) == ("a", "b")
