"""Evidence stays linear: a long log, a large report, and how often the suite runs for a change."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace

from app.domain.check import Outcome, Standing
from app.domain.ports.sandbox import Job
from app.domain.report import check_output, pull_body, remarks
from app.domain.run import Attempt
from app.domain.state import State
from tests.app.domain.report_world import TREE, facts, failed, result
from tests.fakes.hold import FakeHold
from tests.fakes.sandbox import ended
from tests.shared_data import REPOSITORY
from tests.worker.runner.stages.runs import World, with_sentinels
from worker.attest.attestation import statements
from worker.runner.checks.compare import compare, counts_of
from worker.runner.checks.parsers.junit import parse
from worker.runner.stages.gate import gate
from worker.runner.stages.verify import verify

LOG_BYTES = 50_000_000
TESTS = 10_000
CHANGES = 4
PARSE = """
import json, sys, time
from tests.bench.memory import peak_mib
from worker.runner.checks.parsers.log import log_from, taken
from worker.runner.checks.parsers.read import read
began = time.perf_counter()
data, left = taken(sys.stdin.buffer)
parsed = read(log_from([data], 1, left_out=left), ["python3", "-m", "pytest"])
took = time.perf_counter() - began
peak = peak_mib(open("/proc/self/status").read())
print(json.dumps({"s": took, "mib": peak, "failures": len(parsed.failures)}))
"""
Cases = Mapping[str, str]


def run() -> dict[str, float]:
    """Seconds, MiB of a process that does nothing else, seconds, and runs of the suite."""
    log = _log()
    return {
        "log_50mb_s": log["s"],
        "log_50mb_mib": log["mib"],
        "report_10k_s": _report(),
        "suite_runs_per_change": _suite_runs(),
    }


def _log() -> dict[str, float]:
    """A pytest log of 50 MB with a failure at its end, through the reader of every log."""
    line = b"tests/test_many.py::test_one PASSED and some more words that nobody reads     [ 50%]\n"
    end = (
        b"=================================== FAILURES ===================================\n"
        b"___________________________________ test_add ___________________________________\n\n"
        b"    def test_add():\n>       assert add(2, 2) == 4\nE       assert 0 == 4\n\n"
        b"tests/test_sums.py:5: AssertionError\n"
        b"=========================== short test summary info ============================\n"
        b"FAILED tests/test_sums.py::test_add - assert 0 == 4\n"
        b"1 failed, 9 passed in 1.00s\n"
    )
    data = line * (LOG_BYTES // len(line)) + end
    done = subprocess.run(
        [sys.executable, "-c", PARSE],
        input=data,
        capture_output=True,
        check=True,
        cwd=REPOSITORY,
    )
    told: dict[str, float] = json.loads(done.stdout)
    if told["failures"] != 1:
        raise RuntimeError(f"the failure of the long log was not found: {told}")
    return told


def _report() -> float:
    """From a JUnit report of 10,000 tests, every fourth failing, to body, check run, statements."""
    cases = "".join(
        f'<testcase classname="tests.test_{n % 100}" name="test_{n}">'
        + ('<failure message="assert 1 == 2">E</failure>' if n % 4 == 0 else "")
        + "</testcase>"
        for n in range(TESTS)
    )
    xml = f'<testsuites><testsuite name="s">{cases}</testsuite></testsuites>'.encode()
    paths = frozenset(f"tests/test_{n}.py" for n in range(100))
    began = time.perf_counter()
    report = parse(xml, paths)
    if report is None or len(report.cases) != TESTS:
        raise RuntimeError("the large report was not read")
    found = replace(
        result(TREE, Standing.FAILED, compare((), report.cases)),
        counts=counts_of(report.cases),
        failures=tuple(report.failures),
    )
    made = replace(failed(), attempts=(Attempt(TREE, (found,), "x"),))
    pull_body(made, facts())
    check_output(made, facts())
    remarks(made, facts())
    statements(made, "c0" * 20)
    return time.perf_counter() - began


def _suite_runs() -> float:
    """Containers that run the suite for one change, over a few changes on one base that touch no
    test: baseline (once for all), after, and the run with sentinels."""
    hold, ran = FakeHold(), 0
    for number in range(CHANGES):
        world = World(hold=replace(hold, journal=[]))
        world.hold.memory = hold.memory
        world.hold.blobs = hold.blobs
        world.sandbox.acts = _honest
        kit = world.kit()
        run = world.prepared(State.VERIFY)
        run = world.planned(world.changed(run, pkg__a_py=b"two %d\n" % number), "pkg/a.py")
        while run.state in (State.VERIFY, State.GATE):
            run = (verify if run.state is State.VERIFY else gate)(kit)(run)
        ran += len(world.sandbox.ran)
    return ran / CHANGES


def _honest(_job: Job, files: Mapping[str, bytes]) -> Outcome:
    cases = with_sentinels(files, {"tests/test_a.py::test_a": ""})
    body = "".join(
        f'<testcase classname="{name.partition("::")[0]}" name="{name.partition("::")[2]}">'
        + (f"<failure>{why}</failure>" if why else "")
        + "</testcase>"
        for name, why in cases.items()
    )
    xml = f"<testsuites><testsuite>{body}</testsuite></testsuites>".encode()
    return ended(1 if any(cases.values()) else 0, report=xml)
