"""A measured peak is the process's own, whatever started it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.bench.memory import peak_mib
from tests.shared_data import REPOSITORY

SMALL = """
from tests.bench.memory import peak_mib
print(peak_mib(open("/proc/self/status").read()))
"""
LARGE = """
import subprocess, sys
held = bytearray(b"x") * (150 << 20)
print(subprocess.run([sys.executable, "-c", sys.argv[1]], capture_output=True, text=True).stdout)
"""


def test_a_large_parent_is_not_counted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LARGE, SMALL],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert 1 < float(done.stdout) < 100


def test_what_a_process_holds_itself_is_counted() -> None:
    code = 'held = bytearray(b"x") * (150 << 20)' + SMALL
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) > 150


def test_no_measure_is_said() -> None:
    with pytest.raises(ValueError, match="VmHWM"):
        peak_mib("Name: python3\n")
