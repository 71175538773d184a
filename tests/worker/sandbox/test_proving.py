"""`patchwarrant selftest` as an operator types it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.worker.sandbox.running import engine_or_skip
from worker.sandbox import selftest
from worker.sandbox.engine import Engine
from worker.sandbox.versions import judge
from worker.settings.door import Door
from worker.settings.sandbox import sandbox_settings


def typed(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app.cli", "selftest", *words],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )


@pytest.mark.docker
def test_every_possible_finding_is_on_a_line_of_its_own() -> None:
    engine_or_skip()
    done = typed()
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    for sentence in selftest.PROPERTIES:
        assert f"absent  {sentence}" in lines
    assert lines[-1] == f"all {len(selftest.PROPERTIES)} properties hold"


@pytest.mark.docker
def test_what_cannot_be_tried_fails_in_a_sentence() -> None:
    engine_or_skip()
    done = typed(PATCHWARRANT_SANDBOX_RUNTIME="nonesuch")
    assert (done.returncode, done.stdout.count("no runtime 'nonesuch'")) == (1, 1)
    done = typed("--loose")
    assert (done.returncode, "'--loose' is not known" in done.stdout) == (1, True)
    done = typed(PATCHWARRANT_SANDBOX_DISK_FLOOR_MIB="16000000")
    assert (done.returncode, "MiB free" in done.stdout) == (1, True)
    with Engine() as engine:
        known = judge(engine.facts.version, engine.facts.runc, "runc")
    if known:
        assert "--strict refuses this engine" in typed("--strict").stdout


def test_the_settings_of_the_role_have_their_defaults() -> None:
    read = sandbox_settings(Door({}))
    assert (read.runtime, read.strict, read.listen, read.certs) == ("runc", False, "", "")
    assert (read.concurrency, read.total, read.ahead, read.per_run) == (0, 0, 2, 4)
    assert (read.floor, read.image_days, read.image_bytes) == (2 << 30, 14, 20 << 30)
    told = sandbox_settings(
        Door({"PATCHWARRANT_SANDBOX_STRICT": "yes", "PATCHWARRANT_SANDBOX_TOTAL_MIB": "1024"})
    )
    assert (told.strict, told.total) == (True, 1 << 30)
