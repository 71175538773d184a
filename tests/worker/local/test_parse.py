"""The word `parse` shows what the certifying code makes of a log."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from worker import settings
from worker.local.parse import main

LOG = (
    "t.py:1: in <module>\nF\n"
    "=================================== FAILURES ===================================\n"
    "____________________________________ test_b ____________________________________\n"
    ">       assert x == 2\nE       assert 1 == 2\n\nt.py:2: AssertionError\n"
    "=========================== short test summary info ============================\n"
    "FAILED t.py::test_b - assert 1 == 2\n1 failed, 2 passed in 0.01s\n"
)
REPORT = '<testsuite><testcase file="t.py" name="a"/></testsuite>'


class Stdin:
    """Standard input as bytes."""

    def __init__(self, text: str) -> None:
        self.buffer = io.BytesIO(text.encode())


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "t.py").write_text("x = 1\nassert x == 2\n")
    (tmp_path / "junit.xml").write_text(REPORT)
    return tmp_path


def said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], log: str, *words: str
) -> tuple[int, str]:
    monkeypatch.setattr("sys.stdin", Stdin(log))
    code = main(settings.Door({}), list(words))
    return code, capsys.readouterr().out


def test_text(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = said(monkeypatch, capsys, LOG, "pytest", "--exit", "1", "--root", str(tree))
    assert code == 0
    assert out.splitlines()[:3] == [
        "as a check: failed (exit 1)",
        "understood: pytest",
        "tests: 2 passed, 1 failed, 0 skipped; not each named",
    ]
    assert "FAILED t.py::test_b\n  at t.py:2\n  AssertionError: assert 1 == 2\n" in out
    assert "    > 2 | assert x == 2" in out


def test_json_report_and_unknown_output(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = str(tree / "junit.xml")
    words = ("auto", "--root", str(tree), "--json")
    _, out = said(monkeypatch, capsys, "", *words, "--exit", "0", "--junit", report)
    told = json.loads(out)
    assert (told["standing"], told["by"], told["tests"]) == ("passed", "report", 1)
    _, out = said(monkeypatch, capsys, "hm\n", *words, "--exit", "3", "--command", "./run")
    told = json.loads(out)
    assert (told["standing"], told["reason"], told["by"]) == ("failed", "exit 3", "")
    _, out = said(monkeypatch, capsys, "", *words, "--exit", "0", "--command", "pytest")
    assert json.loads(out)["standing"] == "unavailable"


def test_what_cannot_be_read_is_told(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tree / "none.xml")
    assert said(monkeypatch, capsys, "", "auto", "--exit", "0", "--junit", missing)[0] == 1
    with pytest.raises(SystemExit):
        main(settings.Door({}), ["nothing-like-it", "--exit", "0"])
