"""Real pytest in real containers: honest and dishonest candidates, certified and selected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pytest

from app.domain.check import Check, CheckResult, Counts, Standing
from app.domain.recognise import recognise
from tests.fakes.hold import FakeHold
from tests.fakes.objects import File, MemoryObjects
from tests.worker.sandbox.running import Service, engine_or_skip, service
from worker.runner.checks.run import Certifier
from worker.runner.checks.selected import Selected

pytestmark = pytest.mark.docker

GOOD: dict[str, File] = {
    "src/shop/__init__.py": b"",
    "src/shop/price.py": b"def total(prices):\n    return sum(prices)\n",
    "tests/test_price.py": b"""
import pytest
from shop.price import total

@pytest.mark.parametrize("prices", [[1, 2], [3]])
def test_total(prices):
    assert total(prices) == 3

class TestEmpty:
    def test_nothing(self):
        assert total([]) == 0
""",
}
EMPTY = "tests/test_price.py::TestEmpty::test_nothing"
FIRST = "tests/test_price.py::test_total[prices0]"


@dataclass
class Bench:
    service: Service
    objects: MemoryObjects
    hold: FakeHold

    def check(self) -> Check:
        tree = self.objects.tree(GOOD)
        entries = self.objects.entries(tree)
        return recognise(entries, lambda path: self.objects.read(tree, path)).checks[0]

    def certified(self, changed: Mapping[str, File], check: Check | None = None) -> CheckResult:
        check = check or replace(self.check(), timeout=250)
        certify = Certifier(self.hold, self.objects, self.service.client)
        image = self.service.image
        base = certify("r", "baseline", check, self.objects.tree(GOOD), image)
        assert base.standing is Standing.PASSED, base.tail
        tree = self.objects.tree({**GOOD, **changed})
        return certify("r", "verify", check, tree, image, base)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    engine_or_skip()
    with service(concurrency=2) as started:
        yield Bench(started, MemoryObjects(), FakeHold())


def test_an_honest_candidate_passes_test_by_test(bench: Bench) -> None:
    result = bench.certified({"README.md": b"more\n"})
    assert (result.standing, result.reason, result.exit_code) == (Standing.PASSED, "", 0)
    assert result.counts is not None
    assert (result.counts.passed, result.counts.failed) == (3, 0)
    assert result.comparison is not None
    assert (result.comparison.gone, result.comparison.new) == ((), ())


def test_a_wrong_candidate_fails_with_its_failure_in_structure(bench: Bench) -> None:
    result = bench.certified(
        {"src/shop/price.py": b"def total(prices):\n    return prices[0] + sum(prices[1:])\n"}
    )
    assert (result.standing, result.reason) == (Standing.FAILED, "exit 1")
    assert result.comparison is not None
    assert result.comparison.newly_failing == (EMPTY,)
    (failure,) = result.failures
    assert (failure.test, failure.error, failure.file, failure.line) == (
        EMPTY,
        "IndexError",
        "src/shop/price.py",
        2,
    )


WORDS = Check("words", ("python3", "-m", "pytest", "-v"), {"PYTHONPATH": "src"}, timeout=250)
BROKEN: Mapping[str, File] = {
    "src/shop/price.py": b"def total(prices):\n    return prices[0] + sum(prices[1:])\n"
}
ENDED: Mapping[str, File] = {"src/shop/__init__.py": b"import os\nos._exit(0)\n"}


@pytest.mark.parametrize("check", [WORDS, replace(WORDS, argv=("sh", "-euc", "pytest -v"))])
def test_without_a_report_the_real_output_is_read(bench: Bench, check: Check) -> None:
    good = bench.certified({"README.md": b"more\n"}, check)
    assert (good.standing, good.counts, good.parsed) == (Standing.PASSED, Counts(3, 0, 0), "pytest")
    assert good.comparison is not None and good.cases
    bad = bench.certified(BROKEN, check)
    assert (bad.standing, bad.reason) == (Standing.FAILED, "exit 1")
    assert bad.comparison is not None
    assert bad.comparison.newly_failing == (EMPTY,)
    (failure,) = bad.failures
    assert (failure.file, failure.line, failure.error) == ("src/shop/price.py", 2, "IndexError")
    assert failure.context[1] == "> 2 |     return prices[0] + sum(prices[1:])"
    silent = bench.certified(ENDED, check)
    assert (silent.standing, silent.parsed) == (Standing.UNAVAILABLE, "")
    assert silent.reason == "exit 0, but nothing says which tests ran"


@pytest.mark.parametrize(
    ("changed", "standing", "reason"),
    [
        (
            {"src/shop/__init__.py": b"import os\nos._exit(0)\n"},
            Standing.UNAVAILABLE,
            "exit 0 without a readable report: there is no such file",
        ),
        (
            {"conftest.py": b"import os\nos._exit(127)\n"},
            Standing.FAILED,
            "exit 127",
        ),
        (
            {"tests/test_price.py": b"import pytest\npytest.skip('x', allow_module_level=True)\n"},
            Standing.FAILED,
            "no tests ran",
        ),
        (
            {"tests/test_price.py": b"def test_one():\n    pass\n"},
            Standing.FAILED,
            "3 tests gone, 0 skipped",
        ),
        (
            {
                "conftest.py": b"import atexit, os\n"
                b"def end():\n"
                b"    open('.patchwarrant-junit.xml', 'w').write('<!DOCTYPE a><testsuite/>')\n"
                b"    os._exit(0)\n"
                b"atexit.register(end)\n"
            },
            Standing.UNAVAILABLE,
            "exit 0 without a readable report: it is no JUnit XML: cut off, broken or unsafe",
        ),
        (
            {"src/shop/price.py": b"def total(p):\n    import time\n    time.sleep(999)\n"},
            Standing.FAILED,
            "limit:time",
        ),
        (
            {"src/shop/price.py": b"import nowhere\n"},
            Standing.FAILED,
            "exit 2",
        ),
    ],
)
def test_no_trick_and_no_failure_is_a_pass(
    bench: Bench, changed: dict[str, File], standing: Standing, reason: str
) -> None:
    seconds = 20 if reason == "limit:time" else 250
    result = bench.certified(changed, replace(bench.check(), timeout=seconds))
    assert (result.standing, result.reason) == (standing, reason), result.tail


def test_a_change_of_the_selection_is_run_in_the_kept_container(bench: Bench) -> None:
    base = bench.objects.tree(GOOD)
    wrong = bench.objects.tree({**GOOD, "src/shop/price.py": b"def total(p):\n    return 3\n"})
    client = bench.service.client
    held = Selected("s", bench.service.image, base, bench.hold, bench.objects, client)
    with held as selected:
        result, text = selected.run_selected(bench.check(), [EMPTY, FIRST], base, 250)
        assert (result.standing, result.counts and result.counts.passed) == (Standing.PASSED, 2)
        result, text = selected.run_selected(bench.check(), [EMPTY, FIRST], wrong, 250)
        assert [failure.test for failure in result.failures] == [EMPTY]
        assert "assert 3 == 0" in text
        result, text = selected.run_selected(bench.check(), ["tests/none.py"], base, 250)
        assert result.standing is Standing.FAILED
        assert "file or directory not found" in text
        result, _ = selected.run_selected(bench.check(), [EMPTY], base, 250)
        assert result.standing is Standing.PASSED
