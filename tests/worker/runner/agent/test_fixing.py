"""What a fixer changed is proposed like an edit: the same gates, the plan's files, nothing else."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.budget import Limits
from app.domain.edit import EXECUTABLE, FILE, LINK
from app.domain.environment_config import FixerConfig
from app.domain.errors import SERVICE_NOT_READY, Halt, Refused, Unavailable
from app.domain.ports.sandbox import Job
from app.domain.record import Kept
from app.domain.state import State
from tests.fakes.sandbox import ended
from tests.worker.runner.agent.test_tools import Stage
from tests.worker.runner.agent.world import CALC, World, plan_of, world
from worker.runner.agent.tools.fixing import COLLECT, BadFrames, frames_of, job_of

FIXER = FixerConfig("format", "fmt .", paths=("*.py", "new/**", "run.sh", "other.py", ".env"))
GOOD = CALC.replace(b"a - b", b"a + b")


def frame(path: str, data: bytes, mode: int = FILE) -> dict[str, Any]:
    return {"path": path, "mode": mode, "data": base64.b64encode(data).decode()}


def stage(place: Path, *frames: Mapping[str, Any], code: int = 0, **more: Any) -> Stage:
    w: World = world(place)
    report = json.dumps({"frames": frames, "gone": [], **more}).encode()
    w.sandbox.acts = lambda _job, _files: ended(code, b"formatted", report=report)
    run = w.run(fixers=(FIXER,))
    planned = Stage(w, State.PLAN, run)
    wanted = plan_of(("calc.py", "edit", 10), ("new/mod.py", "create", 9), ("run.sh", "edit", 2))
    made = planned("submit_plan", **wanted)
    assert not made.error, made.text
    found = Stage(w, State.EDIT, run)
    found.note(
        Kept.TOOL,
        {
            "conversation": 0, "use": "p", "name": "submit_plan", "key": "k", "text": "",
            "error": False, "bad": False, "effect": {"plan": made.effect["plan"]},
        },
    )  # fmt: skip
    return found


def test_changed_files_of_the_plan_become_the_candidate(tmp_path: Path) -> None:
    change = stage(tmp_path, frame("calc.py", GOOD), frame("new/mod.py", b"x = 1\n"))
    made = change("run_fixer", name="format")
    assert not made.error, made.text
    candidate = change.tally.candidate
    assert candidate is not None
    assert [one.path for one in candidate.changes] == ["calc.py", "new/mod.py"]
    assert change.w.read(candidate.tree, "calc.py") == GOOD
    assert change.tally.turns == 1
    assert change.w.sandbox.boxes[0].closed


def test_files_outside_the_plan_are_left_out_and_named(tmp_path: Path) -> None:
    change = stage(
        tmp_path,
        frame("calc.py", GOOD),
        frame("other.py", b"x\n"),
        frame("README.md", b"# no\n"),
        frame(".env", b"TOKEN=1\n"),
        frame("../up.py", b"x\n"),
        frame("run.sh", b"#!/bin/sh\nexit 1\n", FILE),
    )
    made = change("run_fixer", name="format")
    assert not made.error
    assert "Left out" in made.text
    candidate = change.tally.candidate
    assert candidate is not None
    assert [one.path for one in candidate.changes] == ["calc.py"]
    assert change.tally.outside == {}


@pytest.mark.parametrize(
    ("frames", "code", "said"),
    [
        ([frame("calc.py", GOOD)], 1, "failed (exit code 1)"),
        ([], 0, "changed no file of the plan"),
        ([frame("calc.py", b"\0")], 0, "binary"),
        ([frame("calc.py", b"x\n" * 600_000)], 0, "bytes"),
        ([frame("calc.py", GOOD, LINK)], 0, "not_a_file"),
        ([frame("calc.py", b"a = '\xe2\x80\xae'\n")], 0, "cannot see"),
    ],
)
def test_what_no_edit_may_do_no_fixer_does(
    tmp_path: Path, frames: list[dict[str, Any]], code: int, said: str
) -> None:
    change = stage(tmp_path, *frames, code=code)
    made = change("run_fixer", name="format")
    assert made.error
    assert said.replace("not_a_file", "something else than a regular file") in made.text
    assert change.tally.candidate is None


def test_a_service_that_is_not_ready_for_a_fixer_is_the_machines_fault(tmp_path: Path) -> None:
    change = stage(tmp_path, frame("calc.py", GOOD))
    change.w.sandbox.away = Refused("the service 'cache' ended with 1", SERVICE_NOT_READY)
    with pytest.raises(Unavailable, match="'cache' ended with 1"):
        change("run_fixer", name="format")
    assert change.tally.turns == 0


def test_an_unknown_fixer_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    made = stage(tmp_path)("run_fixer", name="lint")
    assert made.error
    assert "configured are: format" in made.text


def test_a_fixer_uses_a_turn_and_needs_one(tmp_path: Path) -> None:
    change = stage(tmp_path, frame("calc.py", GOOD))
    change.tally = replace(change.tally, turns=Limits().turns)
    with pytest.raises(Halt, match="budget-turns"):
        change("run_fixer", name="format")


@pytest.mark.parametrize(
    "report",
    [
        None,
        b"",
        b"[]",
        b'{"frames": [{"path": "a"}]}',
        b'{"frames": [{"path": "a", "mode": 33188, "data": "%%%"}]}',
        b'{"frames": {"a": 1}}',
        b"x" * (5 << 20),
        b"[" * 100_000,
    ],
)
def test_frames_that_are_none_are_refused(report: bytes | None) -> None:
    with pytest.raises(BadFrames):
        frames_of(report)


def test_the_collector_tells_changed_and_new_regular_files(tmp_path: Path) -> None:
    top = tmp_path / "workspace"
    (top / "sub").mkdir(parents=True)
    (top / "same.py").write_text("same")
    (top / "sub" / "old.py").write_text("old")
    (top / "run.sh").write_text("x")
    job: Job = job_of(
        replace(FIXER, run="echo new > old.py; echo n > n.py; ln -s n.py l", workdir="sub")
    )
    assert job.argv[3] == COLLECT
    words = [sys.executable, *job.argv[1:4], str(top), *job.argv[5:]]
    done = subprocess.run(words, check=False)
    assert done.returncode == 0
    found = frames_of((top / ".patchwarrant-fixer").read_bytes())
    assert {(one.path, one.mode, one.data) for one in found.files} == {
        ("sub/n.py", FILE, b"n\n"),
        ("sub/old.py", FILE, b"new\n"),
    }
    assert EXECUTABLE not in {one.mode for one in found.files}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"left": [["calc.py", 3_000_000]], "lefts": 1}, "calc.py (3,000,000 bytes) is too large"),
        ({"gone": ["run.sh"], "gones": 1}, "deleted run.sh"),
    ],
)
def test_a_file_of_the_plan_is_taken_whole_or_nothing_is(
    tmp_path: Path, more: dict[str, Any], said: str
) -> None:
    change = stage(tmp_path, frame("new/mod.py", b"x = 1\n"), **more)
    made = change("run_fixer", name="format")
    assert made.error
    assert said in made.text.replace("`", "")
    assert change.tally.candidate is None


def test_what_does_not_come_along_is_named_with_its_number(tmp_path: Path) -> None:
    left = [[f"gen/{n}.py", 9] for n in range(20)]
    more = {"left": left, "lefts": 333, "gone": ["old.py"], "gones": 1}
    made = stage(tmp_path, frame("calc.py", GOOD), **more)("run_fixer", name="format")
    assert not made.error, made.text
    assert "and 323 more" in made.text
    assert "Deleted by it, which is not taken" in made.text
    assert "old.py" in made.text


def test_the_collector_brings_the_plans_files_first_and_none_in_part(tmp_path: Path) -> None:
    top = tmp_path / "workspace"
    top.mkdir()
    (top / "old.py").write_text("old")
    write = "for n in $(seq 1 300); do echo $n > a$n; done; echo z > zz.py; rm old.py; "
    write += "head -c 3000000 /dev/zero > big.py"
    job: Job = job_of(replace(FIXER, run=write, workdir=""), ["zz.py", "big.py"])
    subprocess.run([sys.executable, *job.argv[1:4], str(top), *job.argv[5:]], check=True)
    found = frames_of((top / ".patchwarrant-fixer").read_bytes())
    assert found.files[0].path == "zz.py"
    assert (len(found.files), found.lefts) == (200, 102)
    assert found.left[0] == ("big.py", 3_000_000)
    assert (found.gone, found.gones) == (("old.py",), 1)
