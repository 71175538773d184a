"""Real packages go through the real preparation: set-up, baseline, parsed results.

A slice runs with the other tests; all run with PATCHWARRANT_COMPAT=all (`scripts/test --compat`).
With PATCHWARRANT_COMPAT_TABLE=FILE the rows of docs/compatibility.md are written there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.check import CheckResult, Standing
from tests.compat.fetched import files_of
from tests.compat.packages import PACKAGES, Package
from tests.worker.runner.stages.runs import World
from tests.worker.sandbox.running import engine_or_skip
from tests.worker.sandbox.setting_up import role
from worker.runner.boxes import SandboxClient
from worker.runner.checks.environment import NOTE
from worker.runner.checks.run import Certifier
from worker.runner.stages.prepare import prepare

ALL = os.environ.get("PATCHWARRANT_COMPAT") == "all"
pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxClient]:
    engine_or_skip()
    with role(tmp_path_factory.mktemp("sandbox")) as started:
        yield started


def row(package: Package, world: World, result: CheckResult, seconds: float) -> str:
    note = next(e.data for e in world.hold.journal if NOTE in e.data)
    made = f"{note['ms'] / 1000:.1f} s" if note.get("ms") else "reused" if "key" in note else "none"
    counts = result.counts
    ran = f"{counts.passed} passed, {counts.failed} failed" if counts else "by exit code"
    return (
        f"| {package.ecosystem} | {package.name} {package.version} | {made} | "
        f"`{result.check}`: {result.standing} | {ran} | {result.ms / 1000:.1f} s |"
    )


@pytest.mark.parametrize("package", PACKAGES, ids=lambda one: one.name)
def test_a_real_package_is_set_up_and_its_checks_run(
    package: Package, client: SandboxClient, tmp_path: Path
) -> None:
    if not (ALL or package.quick):
        pytest.skip("not in the slice: scripts/test --compat runs all packages")
    world = World(files=files_of(package, tmp_path))
    certify = Certifier(world.hold, world.objects, client)
    kit = replace(world.kit(), sandbox=client, certify=certify)
    started = time.monotonic()
    run = prepare(kit)(world.run())
    seconds = time.monotonic() - started
    assert run.snapshot is not None
    for result in run.baseline:
        if table := os.environ.get("PATCHWARRANT_COMPAT_TABLE"):
            with Path(table).open("a") as out:
                out.write(row(package, world, result, seconds) + "\n")
        assert result.standing is Standing.PASSED, (result.reason, result.tail)
        if package.tests:
            assert result.counts is not None
            assert result.counts.passed >= package.tests
    assert run.baseline
