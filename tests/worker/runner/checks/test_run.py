"""Certifying: the daemon comes first, the report is a claim, nothing is a pass by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import pytest

from app.domain.check import CheckResult, Comparison, Counts, Outcome, Standing
from app.domain.errors import (
    SERVICE_NOT_READY,
    Fenced,
    Halt,
    IntegrityError,
    Park,
    Reason,
    Refused,
    Unavailable,
    Waiting,
)
from app.domain.ports.sandbox import Job
from app.domain.record import BLOB_CAP, Kept
from app.domain.unread import BROKEN_XML, NO_PLAN, NO_SARIF, UNKNOWN, UNREADABLE
from tests.fakes.hold import FakeHold
from tests.fakes.objects import MemoryObjects
from tests.fakes.sandbox import IMAGE, FakeSandbox, ended
from tests.worker.runner.checks.reports import CHECK, MISSING, junit, ran
from worker.runner.checks.compare import unpacked
from worker.runner.checks.rules import UNUSABLE
from worker.runner.checks.run import FAILURES_KEPT, Certifier, job_of

PASSED, FAILED, UNAVAILABLE = Standing.PASSED, Standing.FAILED, Standing.UNAVAILABLE
GONE = Comparison(gone=("t.py::b",))
PLAIN = replace(CHECK, report="", argv=("./check",))
QUIET = replace(CHECK, report="")  # pytest, without a report


class Bench:
    """A certifier over fakes; the next outcome is settable."""

    def __init__(self) -> None:
        self.hold = FakeHold()
        self.objects = MemoryObjects()
        self.sandbox = FakeSandbox()
        self.base = self.objects.tree({"t.py": b"1", "pkg/own.py": b"2"})
        self.tree = self.objects.tree({"t.py": b"1", "pkg/own.py": b"3"})
        self.certify = Certifier(self.hold, self.objects, self.sandbox)

    def once(self, outcome: Outcome) -> None:
        def acts(_job: Job, _files: Mapping[str, bytes]) -> Outcome:
            return outcome

        self.sandbox.acts = acts

    def on_base(self, outcome: Outcome, check: object = None) -> CheckResult:
        self.once(outcome)
        return self.certify("run1", "baseline", check or CHECK, self.base, IMAGE)  # type: ignore[arg-type]

    def on_candidate(
        self, outcome: Outcome, baseline: CheckResult, check: object = None
    ) -> CheckResult:
        self.once(outcome)
        return self.certify(
            "run1",
            "verify",
            check or CHECK,  # type: ignore[arg-type]
            self.tree,
            IMAGE,
            baseline,
        )


@pytest.fixture
def bench() -> Bench:
    return Bench()


GOOD = ran(0, {"t.py::a": "", "t.py::b": ""})
RED = ran(1, {"t.py::a": "AssertionError: no", "t.py::b": ""})


@pytest.mark.parametrize(
    ("outcome", "standing", "reason"),
    [
        (GOOD, PASSED, ""),
        (RED, FAILED, "exit 1"),
        (ended(0), UNAVAILABLE, f"{UNREADABLE}: there is no such file"),
        (ended(0, report=b"<testsuite"), UNAVAILABLE, f"{UNREADABLE}: {BROKEN_XML}"),
        (ended(0, report=b" \n"), UNAVAILABLE, f"{UNREADABLE}: it is empty"),
        (ended(0, report=b"3 passed"), UNAVAILABLE, f"{UNREADABLE}: {UNKNOWN}"),
        (replace(ended(0), unread="link"), UNAVAILABLE, f"{UNREADABLE}: it is a symbolic link"),
        (replace(ended(0), unread="pipe"), UNAVAILABLE, f"{UNREADABLE}: it is a named pipe"),
        (replace(ended(0), unread="folder"), UNAVAILABLE, f"{UNREADABLE}: it is a folder"),
        (
            replace(ran(0, {"t.py::a": ""}), unread="large", report_size=9_000_000),
            UNAVAILABLE,
            f"{UNREADABLE}: it has 9,000,000 bytes, over 4 MiB",
        ),
        (
            ended(0, report=junit({"t.py::a": ""}).ljust((4 << 20) + 1)),
            UNAVAILABLE,
            f"{UNREADABLE}: it has 4,194,305 bytes, over 4 MiB",
        ),
        (replace(ended(1), unread="link"), FAILED, "exit 1"),
        (ran(0, {"t.py::a": "no"}), UNAVAILABLE, "exit code and report disagree"),
        (ran(3, {"t.py::a": ""}), FAILED, "exit 3 without a failing test"),
        (ended(2, report=b"<testsuite"), FAILED, "exit 2"),
        (ended(0, report=junit({})), FAILED, "no tests ran"),
        (ended(5, report=junit({})), FAILED, "no tests ran"),
        (ran(0, {"t.py::a": "skipped"}), FAILED, "no tests ran"),
        (replace(GOOD, limit="memory"), FAILED, "limit:memory"),
        (replace(GOOD, limit="time", exit_code=137), FAILED, "limit:time"),
        (ended(None, error="no such program"), UNAVAILABLE, "environment"),
        (ended(126), UNAVAILABLE, "environment"),
        (ended(127, stderr=b"sh: npm: not found"), UNAVAILABLE, "environment"),
        (ran(1, {"t.py::a": MISSING}), UNAVAILABLE, "environment"),
        (ran(1, {"t.py::a": MISSING, "t.py::b": "no"}), FAILED, "exit 1"),
        (
            ran(1, {"t.py::a": "ModuleNotFoundError: No module named 'pkg.gone'"}),
            FAILED,
            "exit 1",
        ),
        (ran(1, {"t.py::a": "ImportError: cannot import name 'x'"}), FAILED, "exit 1"),
        (
            ended(1, stderr=b"/usr/bin/python3: No module named pytest\n"),
            UNAVAILABLE,
            "environment",
        ),
        (ended(4, stderr=b"E   ModuleNotFoundError: No module named 'own'\n"), FAILED, "exit 4"),
        (
            ended(2, stderr=b"make: x: No such file\nmake: *** [Makefile:2: test] Error 127\n"),
            UNAVAILABLE,
            "environment",
        ),
    ],
)
def test_the_standing_of_a_baseline(
    bench: Bench, outcome: Outcome, standing: Standing, reason: str
) -> None:
    result = bench.on_base(outcome)
    assert (result.standing, result.reason) == (standing, reason)
    assert result.exit_code == outcome.exit_code


@pytest.mark.parametrize(
    ("before", "after", "standing", "reason"),
    [
        (GOOD, GOOD, PASSED, ""),
        (RED, GOOD, PASSED, ""),
        (GOOD, ran(0, {"t.py::a": ""}), FAILED, "1 tests gone, 0 skipped"),
        (GOOD, ran(0, {"t.py::a": "", "t.py::b": "skipped"}), FAILED, "0 tests gone, 1 skipped"),
        (RED, ran(0, {"t.py::a": "skipped", "t.py::b": ""}), FAILED, "0 tests gone, 1 skipped"),
        (GOOD, replace(GOOD, limit="time"), FAILED, "limit:time"),
        (replace(GOOD, limit="time"), replace(GOOD, limit="time"), UNAVAILABLE, "limit:time"),
        (replace(GOOD, limit="time"), replace(GOOD, limit="memory"), FAILED, "limit:memory"),
        (GOOD, ended(127), FAILED, "exit 127"),
        (ended(127), ended(127), UNAVAILABLE, "environment"),
        (GOOD, ran(1, {"t.py::a": MISSING, "t.py::b": ""}), FAILED, "exit 1"),
        (ran(1, {"t.py::a": MISSING}), ran(1, {"t.py::a": MISSING}), UNAVAILABLE, "environment"),
        (ran(1, {"t.py::a": MISSING}), ran(1, {"t.py::a": "no"}), UNAVAILABLE, UNUSABLE),
        (GOOD, ended(None, error="no"), UNAVAILABLE, "environment"),
        (ended(0), GOOD, UNAVAILABLE, UNUSABLE),
    ],
)
def test_a_candidate_is_excused_only_by_its_baseline(
    bench: Bench, before: Outcome, after: Outcome, standing: Standing, reason: str
) -> None:
    result = bench.on_candidate(after, bench.on_base(before))
    assert (result.standing, result.reason) == (standing, reason)


def test_tests_are_compared_one_by_one_not_by_counts(bench: Bench) -> None:
    before = bench.on_base(ran(1, {"t.py::a": "x", "t.py::b": "x", "t.py::c": ""}))
    result = bench.on_candidate(ran(1, {"t.py::a": "", "t.py::b": "x", "t.py::c": "x"}), before)
    assert result.comparison == Comparison(
        newly_failing=("t.py::c",), fixed=("t.py::a",), already_failing=("t.py::b",)
    )
    assert result.counts == before.counts == Counts(1, 2, 0)


def test_without_a_report_the_exit_code_decides_and_nothing_is_counted(bench: Bench) -> None:
    passed, failed = bench.on_base(ended(0), PLAIN), bench.on_candidate(ended(1), GOOD_BASE, PLAIN)
    assert (passed.standing, passed.counts, passed.cases) == (PASSED, None, "")
    assert (failed.standing, failed.reason, failed.comparison) == (FAILED, "exit 1", None)


GOOD_BASE = Bench().on_base(ended(0), PLAIN)


SKIPPING = b"t.py::a PASSED [ 50%]\nt.py::b SKIPPED [100%]\n= 1 passed, 1 skipped in 0.01s =\n"
VERBOSE = b"t.py::a PASSED [ 50%]\nt.py::b PASSED [100%]\n== 2 passed in 0.01s ==\n"


@pytest.mark.parametrize(
    ("outcome", "standing", "reason"),
    [
        (ended(0, b"..\n2 passed in 0.01s\n"), PASSED, ""),
        (ended(0, VERBOSE), PASSED, ""),
        (ended(0), UNAVAILABLE, "exit 0, but nothing says which tests ran"),
        (ended(0, b"no tests ran in 0.01s\n"), FAILED, "no tests ran"),
        (ended(0, b"1 failed, 1 passed in 0.01s\n"), UNAVAILABLE, "exit code and output disagree"),
        (ended(1, b"1 failed, 1 passed in 0.01s\n"), FAILED, "exit 1"),
        (ended(0, b"1 passed in 0.01s\n"), FAILED, "1 fewer tests ran than on base"),
        (ended(0, SKIPPING), FAILED, "0 tests gone, 1 skipped"),
    ],
)
def test_without_a_report_the_output_is_read_and_is_no_pass_by_default(
    bench: Bench, outcome: Outcome, standing: Standing, reason: str
) -> None:
    base = bench.on_base(ended(0, VERBOSE), QUIET)
    result = bench.on_candidate(outcome, base, QUIET)
    assert (base.standing, base.counts, base.parsed) == (PASSED, Counts(2, 0, 0), "pytest")
    assert (result.standing, result.reason) == (standing, reason)


def test_what_the_output_names_is_compared_test_by_test_and_shown_with_its_lines(
    bench: Bench,
) -> None:
    bench.tree = bench.objects.tree({"t.py": b"def test_b():\n    x = 1\n    assert x == 2\n"})
    text = (
        b"t.py::a PASSED [ 50%]\nt.py::b FAILED [100%]\n"
        b"=================================== FAILURES ===================================\n"
        b"______________________________________ b _______________________________________\n"
        b">       assert x == 2\nE       assert 1 == 2\n\nt.py:3: AssertionError\n"
        b"=========================== short test summary info ============================\n"
        b"FAILED t.py::b - assert 1 == 2\n"
        b"========================= 1 failed, 1 passed in 0.01s ==========================\n"
    )
    result = bench.on_candidate(ended(1, text), bench.on_base(ended(0, VERBOSE), QUIET), QUIET)
    assert result.comparison is not None
    assert result.comparison.newly_failing == ("t.py::b",)
    (failure,) = result.failures
    assert (failure.test, failure.error, failure.file, failure.line) == (
        "t.py::b", "AssertionError", "t.py", 3,
    )  # fmt: skip
    assert failure.context == (
        "  1 | def test_b():",
        "  2 |     x = 1",
        "> 3 |     assert x == 2",
        "  4 | ",
    )


def test_a_broken_report_is_not_replaced_by_words_but_they_say_what_failed(bench: Bench) -> None:
    passed = bench.on_base(ended(0, VERBOSE, report=b"<testsuite"))
    assert (passed.standing, passed.reason) == (UNAVAILABLE, f"{UNREADABLE}: {BROKEN_XML}")
    failed = bench.on_candidate(
        ended(
            1, b"= short test summary info =\nFAILED t.py::b - ValueError: no\n1 failed in 0.1s\n"
        ),
        passed,
    )
    assert [(one.test, one.error) for one in failed.failures] == [("t.py::b", "ValueError")]
    assert (failed.cases, failed.parsed) == ("", "pytest")


SARIF = b'{"version": "2.1.0", "runs": [{"results": [%s]}]}'
RESULT = (
    b'{"ruleId": "R1", "level": "%s", "message": {"text": "bad"}, "locations": '
    b'[{"physicalLocation": {"artifactLocation": {"uri": "t.py"}, "region": {"startLine": 1}}}]}'
)


@pytest.mark.parametrize(
    ("code", "report", "standing", "reason", "counts", "tests"),
    [
        (0, b"TAP version 13\n1..2\nok 1 - a\nok 2 - b\n", PASSED, "", Counts(2, 0, 0), []),
        (1, b"1..1\nnot ok 1 - a\n", FAILED, "exit 1", Counts(0, 1, 0), ["a"]),
        (
            0,
            b"1..1\nnot ok 1 - a\n",
            UNAVAILABLE,
            "exit code and report disagree",
            Counts(0, 1, 0),
            ["a"],
        ),
        (0, b"1..0 # SKIP none\n", FAILED, "no tests ran", Counts(0, 0, 0), []),
        (0, b"ok 1 - a\nok 2 - b\n", UNAVAILABLE, f"{UNREADABLE}: {NO_PLAN}", None, []),
        (0, SARIF % b"", PASSED, "", None, []),
        (0, SARIF % (RESULT % b"note"), PASSED, "", None, []),
        (1, SARIF % (RESULT % b"warning"), FAILED, "exit 1", None, ["t.py: R1"]),
        (
            0,
            SARIF % (RESULT % b"error"),
            UNAVAILABLE,
            "exit code and report disagree",
            None,
            ["t.py: R1"],
        ),
        (0, b'{"runs": []}', UNAVAILABLE, f"{UNREADABLE}: {NO_SARIF}", None, []),
        (
            0,
            (SARIF % (RESULT % b"error"))[:-3],
            UNAVAILABLE,
            f"{UNREADABLE}: {NO_SARIF}",
            None,
            [],
        ),
    ],
)
def test_a_report_may_be_tap_or_sarif(
    bench: Bench,
    code: int,
    report: bytes,
    standing: Standing,
    reason: str,
    counts: Counts | None,
    tests: list[str],
) -> None:
    result = bench.on_base(ended(code, report=report))
    assert (result.standing, result.reason, result.counts) == (standing, reason, counts)
    assert [one.test for one in result.failures] == tests


def test_log_tail_and_cases_are_kept(bench: Bench) -> None:
    outcome = ended(
        1, b"\x1b[31mred\xff\n" + b"x\n" * 5_000, b"caf\xe9\x00", junit({"t.py::a": "no"})
    )
    result = bench.on_base(outcome)
    log = bench.hold.get(result.log)
    assert b"\x1b[31mred\xff" in log
    assert log.index(b"--- stdout ---") < log.index(b"--- stderr ---")
    assert len(result.tail) <= 4_000
    assert result.tail.endswith("caf\ufffd")
    assert [case.id for case in unpacked(bench.hold.get(result.cases))] == ["t.py::a"]


def test_a_log_says_what_was_left_out(bench: Bench) -> None:
    outcome = replace(ended(1, b"head tail"), seen=(300_000_000, 0))
    result = bench.on_base(outcome)
    assert "9 of 300000000 bytes kept" in result.tail
    assert "not started" in bench.on_base(ended(None, error="why"), PLAIN).tail


def test_failures_are_bounded(bench: Bench) -> None:
    result = bench.on_base(ran(1, {f"t.py::t{n}": "no" for n in range(40)}))
    assert len(result.failures) == FAILURES_KEPT
    assert result.counts == Counts(0, 40, 0)


def test_a_report_that_grows_over_an_artifact_is_none(bench: Bench) -> None:
    hidden = "\u00ad" * 48  # two bytes each, eight characters when they are shown
    hostile = "".join(f'<testcase name="{n:05}{hidden}"/>' for n in range(32_000))
    report = f"<testsuite>{hostile}</testsuite>".encode()
    assert len(report) < 4 << 20
    assert BLOB_CAP < 32_000 * 8 * 48
    result = bench.on_base(ended(0, report=report))
    assert (result.standing, result.cases) == (UNAVAILABLE, "")


def test_the_job_is_the_check_and_nothing_else(bench: Bench) -> None:
    bench.on_base(GOOD)
    kind, run, job, files = bench.sandbox.ran[0]
    assert (kind, run, files["t.py"]) == ("certify", "run1", b"1")
    assert job == Job(CHECK.argv, {"A": "1"}, "", "r.xml", 300, name="tests")
    assert job_of(CHECK, ("x",), 5).seconds == 5
    assert job_of(CHECK, ("x",), 500).seconds == 300


def test_a_result_is_recorded_before_it_is_used_and_never_measured_twice(bench: Bench) -> None:
    before = bench.on_base(GOOD)
    first = bench.on_candidate(RED, before)
    entries = [entry for entry in bench.hold.entries() if entry.kind is Kept.CHECK]
    assert [entry.data["phase"] for entry in entries] == ["baseline", "verify"]
    assert msgspec.convert(entries[1].data["result"], CheckResult) == first
    assert bench.on_candidate(GOOD, before) == first  # the sandbox is not asked again
    assert len(bench.sandbox.ran) == 3  # base, candidate, and its new failure once more


def test_another_attempt_tree_image_phase_or_command_is_measured_anew(bench: Bench) -> None:
    before = bench.on_base(GOOD)
    bench.once(GOOD)
    other = "sha256:" + "9" * 64
    bench.sandbox.images["other"] = other
    bench.certify("run1", "verify", CHECK, bench.tree, IMAGE, before)
    bench.certify("run1", "verify", CHECK, bench.tree, IMAGE, before, 1)
    bench.certify("run1", "base-tests", CHECK, bench.tree, IMAGE, before)
    bench.certify("run1", "verify", CHECK, bench.base, IMAGE, before)
    bench.certify("run1", "verify", CHECK, bench.tree, other, before)
    bench.certify("run1", "verify", replace(CHECK, timeout=9), bench.tree, IMAGE, before)
    assert len(bench.sandbox.ran) == 7


def test_a_sandbox_that_is_away_is_waited_for_and_nothing_is_recorded(bench: Bench) -> None:
    bench.sandbox.away = Unavailable("busy", 7.0)
    with pytest.raises(Park) as parked:
        bench.certify("run1", "baseline", CHECK, bench.base, IMAGE)
    assert (parked.value.waiting, parked.value.seconds) == (Waiting.SANDBOX, 7.0)
    bench.sandbox.away = Unavailable("gone")
    with pytest.raises(Park) as parked:
        bench.certify("run1", "baseline", CHECK, bench.base, IMAGE)
    assert parked.value.seconds == 30.0
    assert bench.hold.entries() == []


@pytest.mark.parametrize("error", [Refused("no"), IntegrityError("other profile")])
def test_a_sandbox_that_refuses_ends_the_run_with_its_words(bench: Bench, error: Exception) -> None:
    bench.sandbox.away = error
    with pytest.raises(Halt, match=str(error)) as halt:
        bench.certify("run1", "baseline", CHECK, bench.base, IMAGE)
    assert halt.value.record.reason is Reason.INFRASTRUCTURE


def test_a_service_that_is_never_ready_is_told_at_the_base_and_waited_for_later(
    bench: Bench,
) -> None:
    bench.sandbox.away = Refused("the service 'cache' ended with 1", SERVICE_NOT_READY)
    with pytest.raises(Halt, match="'cache' ended with 1") as halt:
        bench.certify("run1", "baseline", CHECK, bench.base, IMAGE)
    assert halt.value.record.reason is Reason.CHECKS_UNAVAILABLE
    assert "`services`" in halt.value.record.next_step
    bench.sandbox.away = None
    before = bench.on_base(GOOD)
    bench.sandbox.away = Refused("the service 'cache' ended with 1", SERVICE_NOT_READY)
    with pytest.raises(Park, match="'cache' ended with 1") as parked:
        bench.certify("run1", "verify", CHECK, bench.tree, IMAGE, before)
    assert parked.value.waiting is Waiting.SANDBOX


def test_a_lost_lease_is_not_softened(bench: Bench) -> None:
    bench.hold.lost = True
    with pytest.raises(Fenced):
        bench.certify("run1", "baseline", CHECK, bench.base, IMAGE)


def test_a_cancelled_run_ends_in_the_middle_of_a_check(bench: Bench) -> None:
    bench.hold.cancelled = True
    with pytest.raises(Halt) as halt:
        bench.certify("run1", "baseline", CHECK, bench.base, IMAGE)
    assert halt.value.record.reason is Reason.CANCELLED
