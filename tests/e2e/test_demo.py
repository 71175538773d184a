"""The demo refuses what it cannot play before anything starts, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.shared_data import REPOSITORY
from tests.stack import descendants

DIFF = (REPOSITORY / "tests/demo/first.diff").read_text(encoding="utf-8")
BAD = {
    "no diff": ("--patch", "This fixes it, I think.\n"),
    "does not fit": ("--patch", DIFF.replace("\n-", "\n-x")),
    "no JSON": ("--script", "conversations: none\n"),
    "another shape": ("--script", '["a"]'),
    "no reply": ("--script", '{"conversations": [[{"content": "x"}]]}'),
}


def environment(folder: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k != "ANTHROPIC_API_KEY"}
    return {**kept, "TMPDIR": str(folder), "COLUMNS": "1000"}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_played_is_one_line_and_starts_nothing(name: str, tmp_path: Path) -> None:
    option, text = BAD[name]
    (tmp_path / "given").write_text(text, encoding="utf-8")
    words = [sys.executable, "-m", "tests.demo", option, str(tmp_path / "given")]
    done = subprocess.run(
        words, cwd=REPOSITORY, env=environment(tmp_path), capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    assert done.returncode == 2, said
    assert said.startswith("demo: ") and said.count("\n") == 1, said


def test_good_words_are_told_apart_without_a_start(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.demo", "--words"]
    done = subprocess.run(words, cwd=REPOSITORY, env=environment(tmp_path), capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.docker
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_demo_that_is_ended_leaves_no_process(number: signal.Signals) -> None:
    with tempfile.TemporaryDirectory(prefix="pw-", dir="/tmp") as folder:
        demo = subprocess.Popen(
            [sys.executable, "-u", "-m", "tests.demo", "--keep"],
            cwd=REPOSITORY,
            env=environment(Path(folder)),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert demo.stdout is not None
        while "start runner" not in (line := demo.stdout.readline()):
            assert line, f"it ended by itself: {demo.wait(60)}"
        below = {pid: started(pid) for pid in descendants(demo.pid)}
        assert len(below) >= 6
        demo.send_signal(number)
        demo.wait(120)
        demo.stdout.close()
        ends = time.monotonic() + 120
        while left := [pid for pid, when in below.items() if started(pid) == when]:
            assert time.monotonic() < ends, f"still there: {left}"
            time.sleep(0.1)
        if number == signal.SIGTERM:
            assert list(Path(folder).iterdir()) == []


def started(pid: int) -> str:
    """When a process began, "" once it is gone or nobody's."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if words[0] == "Z" else words[19]


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_the_tour_ends_with_a_change_that_a_second_person_approved(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.demo", "--tour"],
        cwd=REPOSITORY, env=environment(tmp_path), capture_output=True, text=True, timeout=840,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    for part in (
        "needs-info", "was not done", "waits for /agent approve", "opens the draft #",
        "success: Ready for review; the draft is made ready", "a review is asked of mona",
        "Done in", "checks that head without a model: passed",
        "action_required: Approved by somebody who took part", "success: Approved by carol",
    ):  # fmt: skip
        assert part in said, (part, said)
