"""The word `parse` shows what the certifying code makes of a log."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from app.domain.check import PARSERS
from worker.local.parse import main
from worker.settings.door import Door

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
    code = main(Door({}), list(words))
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


def test_what_cannot_be_read_is_told_in_one_sentence(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Stdin(""))
    for words, why in (
        (["--junit", str(tree / "none.xml")], "There is no report"),
        (["--junit", str(tree)], "is a folder, not a report"),
        (["--root", str(tree / "none")], "is no folder: --root"),
    ):
        assert main(Door({}), ["auto", "--exit", "0", *words]) == 2
        said_there = capsys.readouterr().err
        assert why in said_there and "Errno" not in said_there and said_there.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "why"), [("pytset", "did you mean pytest?"), ("colour", "TOOL is one of")]
)
def test_a_tool_that_is_none_is_named_with_the_nearest(
    name: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(Door({}), [name, "--exit", "0"])
    assert why in capsys.readouterr().err


def test_help_says_formats_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(Door({}), ["--help"])
    words = capsys.readouterr().out
    for name in ("auto", *PARSERS, "JUnit XML, TAP or SARIF", "< LOG", "examples", "Exit code: 0"):
        assert name in words, name


def test_a_failure_that_the_exit_code_tells_too_is_no_doubt(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Log and exit code agree: there is nothing to doubt; at exit 0 there is."""
    for code, doubt in (("1", ""), ("0", "exit code and output disagree")):
        words = ("pytest", "--json", "--exit", code, "--root", str(tree))
        _, out = said(monkeypatch, capsys, LOG, *words)
        assert json.loads(out)["doubt"] == doubt
