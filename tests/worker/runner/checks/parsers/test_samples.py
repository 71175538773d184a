"""Real outputs of real tools: what failed is found, a decoy is not, nothing red is passed."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.check import PARSERS, Counts
from tests.shared_data import shared_dir
from tests.worker.runner.checks.parsers.samples import Sample, matched, sample, samples
from worker.runner.checks.parsers.tools import TOOLS

OURS = Path(__file__).resolve().parents[4] / "data" / "outputs"
NAMES = sorted(each.parent.name for each in OURS.glob("*/expected.json"))
ENOUGH = 0.95
# Words of a decoy as the recorded samples describe them; none of it may be in a failure's name.
DECOYS = {
    "pytest-plain": ("test_other", "test_fake"),
    "rspec-fail": ("ships",),
    "make-keepgoing": ("three", "printed"),
    "nodetest-spec": ("todo item",),
    "shellcheck-gcc": ("SC1009",),
    "mypy-errors": ("Revealed type", "Left operand"),
}


def table(found: list[tuple[Sample, int, int, int]]) -> tuple[float, float]:
    """(recall, precision), with a row for each sample on standard output."""
    print(f"\n{'sample':26}{'wanted':>8}{'made':>6}{'right':>7}")
    for one, wanted, made, right in found:
        print(f"{one.folder.name:26}{wanted:>8}{made:>6}{right:>7}")
    wanted, made, right = (sum(row[n] for row in found) for n in (1, 2, 3))
    print(f"{'all':26}{wanted:>8}{made:>6}{right:>7}  {right / wanted:.3f} {right / made:.3f}")
    return right / wanted, right / made


def measured(root: Path) -> tuple[float, float]:
    rows = []
    for one in samples(root):
        made = one.made()
        rows.append((one, len(one.failures), len(made), matched(made, one.failures)))
    return table(rows)


def test_recall_and_precision_on_the_shared_outputs() -> None:
    recall, precision = measured(shared_dir() / "data" / "outputs")
    assert recall >= ENOUGH and precision >= ENOUGH


def test_recall_and_precision_on_our_own_outputs() -> None:
    recall, precision = measured(OURS)
    assert recall >= ENOUGH and precision >= ENOUGH


@pytest.mark.parametrize("name", sorted(DECOYS))
def test_no_shared_decoy_is_taken_for_a_failure(name: str) -> None:
    one = sample(shared_dir() / "data" / "outputs" / name)
    for failure in one.made():
        told = f"{failure.test} {failure.error} {failure.message}"
        assert not any(decoy in told for decoy in DECOYS[name])


def test_no_failing_shared_output_would_be_a_pass_with_exit_code_0() -> None:
    """A swallowed exit code: whoever runs tests says so, by its counts or by their absence."""
    for one in samples(shared_dir() / "data" / "outputs"):
        assert one.exit_code != 0
        if one.expected["kind"] == "test" and one.folder.name != "tox-two-envs":
            assert one.parsed(0).doubt(), one.folder.name


@pytest.mark.parametrize("name", NAMES)
def test_our_own_outputs_are_read_as_they_are(name: str) -> None:
    one = sample(OURS / name)
    parsed, expected = one.parsed(), one.expected
    assert list(parsed.tools) == expected["tools"]
    wanted = expected["counts"]
    assert parsed.found.counts == (Counts(**wanted) if wanted else None)
    assert matched(one.made(), one.failures) == len(one.failures) == len(one.made())
    passes = one.exit_code == 0 and not parsed.doubt()
    assert passes == (expected["verdict"] == "passed")
    for failure in one.made():
        assert not any(decoy in failure.test for decoy in expected.get("decoys", ()))


@pytest.mark.parametrize("name", NAMES)
def test_a_failing_test_run_is_no_pass_where_its_exit_code_was_swallowed(name: str) -> None:
    one = sample(OURS / name)
    counts = one.expected["counts"]
    if counts and counts["failed"]:
        assert one.parsed(0).doubt()


def test_each_tool_has_a_name_of_its_own_and_a_way_to_be_found() -> None:
    assert tuple(tool.name for tool in TOOLS) == PARSERS[1:]
    for tool in TOOLS:
        assert tool.words or tool.marks or tool.name == "lines"
