"""Logs written to hurt: reading stays linear in time and bounded in memory, and never raises."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.runner.checks.parsers.log import HEAD, LINES_MOST, TAIL, log_from, taken
from worker.runner.checks.parsers.read import read
from worker.runner.checks.parsers.tools import TOOLS

MIB = 1 << 20
LINES = {
    "colons": b"::" * 400,
    "spaces": b" " * 990 + b"x",
    "points": b"ok 1 " + b" " * 900 + b"x",
    "directives": b"not ok 1 - " + b"# " * 400,
    "verdicts": b"a::b PASSED (" * 70,
    "sums": b"1 a, " * 190,
    "headings": b"_" * 40 + b" t " + b"_" * 40,
    "rules": b"=" * 70 + b"\nERROR: a (b.c)\n" + b"-" * 70,
    "conftest": b"ImportError while loading conftest 'a.py'.",
    "frames": b"    at f (a.js:1:2) " * 40,
    "places": b"a/b.py:12:3: error: x [y]",
    "rust": b"error: x\n --> a:1:1",
    "panics": b"thread 'x' panicked at '" + b"', " * 300,
    "surefire": b"a(b)  Time elapsed: 1 s  <<< ERROR!",
    "gradle": b"a" + b" > " * 300 + b"b FAILED",
    "events": b'{"Action":"output","Test":"T","Package":"p","Output":"x"}',
    "bullets": "  \u25cf a".encode(),
    "unseen": ("\u200b" * 300).encode(),
}
REPOSITORY = Path(__file__).resolve().parents[5]


def filled(line: bytes, size: int) -> bytes:
    return (line + b"\n") * (size // (len(line) + 1))


@pytest.mark.parametrize("name", LINES)
def test_no_parser_is_quadratic(name: str) -> None:
    """A mebibyte of the worst takes no parser seconds; a quadratic one takes minutes."""
    log = log_from((filled(LINES[name], MIB),), 1, frozenset({"a.py"}))
    for tool in TOOLS:
        begin = time.process_time()
        tool.parse(log)
        assert time.process_time() - begin < 3, tool.name


def test_only_the_start_and_the_end_of_a_stream_are_held() -> None:
    data = filled(b"x" * 60, 50 * MIB) + b"3 passed in 0.01s\n"
    kept, dropped = taken(io.BytesIO(data))
    assert HEAD < len(kept) <= HEAD + TAIL + (1 << 17)
    assert len(kept) + dropped in (len(data), len(data) + 1)
    log = log_from((kept,), 0, left_out=dropped)
    assert len(log.lines) <= LINES_MOST and log.left_out > 40 * MIB
    assert read(log, ("pytest",)).found.ran is True


PROGRAM = """
import pathlib, re, sys
from worker.local import parse
code = parse.main(None, ["auto", "--command", "make check", "--exit", "1", "--root", sys.argv[1]])
peak = re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())
sys.stderr.write(str(int(peak[1]) // 1024))  # getrusage would count the parent before exec
sys.exit(code)
"""


def test_fifty_megabytes_are_read_in_bounded_memory(tmp_path: Path) -> None:
    mixed = b"\n".join(LINES.values())
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        input=filled(mixed, 50 * MIB),
        capture_output=True,
        cwd=REPOSITORY,
        timeout=250,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    assert ran.stdout.startswith(b"as a check: failed")
    assert int(ran.stderr) < 200


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(sorted(LINES.values())) | st.binary(max_size=60), max_size=12))
def test_no_log_makes_a_parser_raise(lines: list[bytes]) -> None:
    log = log_from((b"\n".join(lines),), 1, frozenset({"a.py"}))
    for tool in TOOLS:
        found = tool.parse(log)
        assert len(found.failures) <= 500
