"""What is run again comes from signed digests alone, and every difference is named."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.check import CheckResult, Counts, Standing
from app.domain.evidence import Holds
from tests.app.domain.report_world import check, result
from tests.worker.local.world import SIGNER, Scene, scene
from worker.attest import examine
from worker.attest.examine import Signed
from worker.attest.verify import public_key
from worker.local import evidence, table
from worker.local.evidence import Evidence
from worker.local.rerun import Again, Ground, _compared, _difference, again


@pytest.fixture
def made(tmp_path: Path) -> Scene:
    return scene(tmp_path)


def opened(made: Scene) -> tuple[Signed, Evidence]:
    shown = evidence.of_file(made.file, None, "")
    _, signed = examine.signatures(shown.envelopes, public_key(SIGNER.public_pem))
    assert signed is not None
    return signed, shown


def other(signed: Signed, change: Any) -> Signed:
    told = copy.deepcopy(dict(signed.evidence))
    change(told["checks"][0])
    return replace(signed, evidence=told)


def test_commands_come_from_the_statement(made: Scene) -> None:
    signed, shown = opened(made)
    (one,), missing = again(signed, replace(shown, bundle=None))
    assert one.check == check() and not missing


def test_commands_too_long_for_it_come_from_the_bundle_where_their_digest_is_signed(
    made: Scene,
) -> None:
    signed, shown = opened(made)
    short = other(signed, lambda one: one["command"].pop("argv"))
    (one,), missing = again(short, shown)
    assert one.check == check() and not missing
    found, missing = again(short, replace(shown, bundle=None))
    assert not found and "`tests`: its command is not in the evidence" in missing[0]
    assert shown.bundle is not None
    evil = {**shown.bundle.parts, "checks": [{"name": "tests", "argv": ["true"]}]}
    found, missing = again(short, replace(shown, bundle=replace(shown.bundle, parts=evil)))
    assert not found and missing


def test_a_command_that_is_not_the_signed_one_is_not_run(made: Scene) -> None:
    signed, shown = opened(made)
    bare = replace(shown, bundle=None)
    for change in (
        lambda one: one["command"].update(argv=["true"]),
        lambda one: one["command"].update(env={"A": "b"}),
        lambda one: one["command"].update(tier="odd"),
        lambda one: one["command"].pop("workdir"),
    ):
        found, missing = again(other(signed, change), bare)
        assert not found and missing


def test_a_check_without_a_result_is_not_repeated(made: Scene) -> None:
    signed, shown = opened(made)
    for change in (
        lambda one: one.update(after=None),
        lambda one: one.update(command=None),
        lambda one: one["after"].update(exitCode=None),
    ):
        assert again(other(signed, change), shown) == ([], ())


@pytest.mark.parametrize(
    ("here", "words"),
    [
        (result("t"), ""),
        (replace(result("t"), exit_code=1), "here exit 1"),
        (replace(result("t"), counts=Counts(5, 1, 0)), "5 passed, 1 failed"),
        (replace(result("t"), counts=None), "tests not counted"),
        (replace(result("t"), standing=Standing.FAILED), ""),  # it may need the baseline
    ],
)
def test_exit_code_and_tests_are_compared(here: CheckResult, words: str) -> None:
    signed = {"exitCode": 0, "counts": {"passed": 6, "failed": 0, "skipped": 0}}
    said = _difference(check(), signed, here)
    assert words in said
    assert bool(said) is bool(words)
    if said:
        assert "signed was exit 0, 6 passed, 0 failed, 0 skipped" in said


def compared(base_exit: int, image: str = "elsewhere") -> Any:
    """What is said where the change fails here and passed there; the base ended with 1 there."""
    counts = {"passed": 6, "failed": 0, "skipped": 0}
    one = Again(check(), {"exitCode": 0, "counts": counts}, {"exitCode": 1, "counts": counts})

    def certify(_run: str, _phase: str, _check: Any, tree: str, _image: str) -> CheckResult:
        return replace(result(tree), exit_code=base_exit if tree == "base" else 1)

    signed = Signed("head", "c" * 40, {"configuration": {"image": "there"}}, {})
    return _compared(signed, [one], (), Ground(certify, image, "base"), table.console())


def test_a_difference_is_held_against_the_evidence_where_the_environment_is_the_same() -> None:
    assert compared(1).standing is Holds.FAILS  # the base says what was signed of it
    assert compared(9, "there").standing is Holds.FAILS  # the very image
    found = compared(9)
    assert found.standing is Holds.UNKNOWN
    assert "differs on the base, too: another environment." in " ".join(found.exhibits)
