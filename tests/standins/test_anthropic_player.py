"""The patch player: a diff becomes a conversation whose edits give exactly that diff's tree."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.edit import EditRefused, apply, parse
from app.domain.tool import BY_NAME, check_arguments
from tests.standins.anthropic import AnthropicStandin, StandinRefused, diffs
from tests.standins.anthropic.hunks import replacements

Files = dict[str, bytes]

BASE: Files = {
    "pkg/a.py": b"def f():\n    return 1\n\n\ndef g():\n    return 1\n",
    "pkg/crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "pkg/end.txt": b"no newline at the end",
    "gone.txt": b"bye\n",
    "with space/ü.txt": b"x\n",
    "empty.txt": b"",
}


def git(folder: Path, *words: str) -> bytes:
    settings_ = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.autocrlf=false"]
    done = subprocess.run(["git", *settings_, *words], cwd=folder, capture_output=True, check=True)
    return done.stdout


def lay(folder: Path, files: Files) -> None:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    lay(tmp_path, BASE)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "base")
    return tmp_path


@pytest.fixture
def diff_to(repository: Path) -> Callable[[dict[str, bytes | None]], str]:
    """The git diff from HEAD to HEAD with these changes; HEAD's files are put back."""

    def make(changes: dict[str, bytes | None]) -> str:
        for path, data in changes.items():
            if data is None:
                (repository / path).unlink()
            else:
                lay(repository, {path: data})
        git(repository, "add", "-A")
        text = git(repository, "diff", "--cached", "-M", "HEAD").decode()
        git(repository, "reset", "-q", "--hard")
        return text

    return make


@pytest.fixture(scope="module")
def model() -> Iterator[AnthropicStandin]:
    with AnthropicStandin() as running:
        yield running


class Harness:
    """A tiny stand-in of our agent: answers the tools from a dictionary of files."""

    def __init__(self, model: AnthropicStandin, files: Files) -> None:
        self.model, self.files = model, files
        self.called: list[tuple[str, Any]] = []

    def converse(self, opening: str) -> list[str]:
        """Play until the reply calls no tool or finishes after an edit; the tools' names."""
        messages: list[Any] = [{"role": "user", "content": opening}]
        names: list[str] = []
        for _ in range(30):
            content = self.reply(messages)
            calls = [block for block in content if block["type"] == "tool_use"]
            names += [call["name"] for call in calls]
            over = not calls or (names[-1] == "finish" and ("edit" in names or len(names) == 1))
            if over and not (opening == "fix" and len(names) == 1):
                return names
            results = [self.result(call) for call in calls]
            messages += [
                {"role": "assistant", "content": content},
                {"role": "user", "content": results},
            ]
        raise AssertionError(f"the conversation does not end: {names}")

    def reply(self, messages: list[Any]) -> list[Any]:
        answer = httpx.post(
            f"{self.model.url}/v1/messages",
            json={"model": "claude-sonnet-5-5", "max_tokens": 1000, "messages": messages},
            headers={"x-api-key": self.model.key, "anthropic-version": "2026-10-21"},
        )
        assert answer.status_code == 200, answer.text
        content: list[Any] = answer.json()["content"]
        return content

    def result(self, call: Any) -> dict[str, Any]:
        name, given_ = call["name"], call["input"]
        check_arguments(BY_NAME[name], given_)
        self.called.append((name, given_))
        text, error = "ok", False
        if name == "read":
            data = self.files[given_["path"]]
            sha = hashlib.sha256(data).hexdigest()
            text = f"path: {given_['path']}  sha256: {sha}  lines: 1-1 of 1\n     1\tx"
        elif name == "edit":
            try:
                self.edit(given_)
            except EditRefused as refused:
                text, error = str(refused), True
        return {
            "type": "tool_result",
            "tool_use_id": call["id"],
            "content": text,
            "is_error": error,
        }

    def edit(self, arguments: dict[str, Any]) -> None:
        """The product's own rules decide whether the edits are good."""

        def read(path: str) -> tuple[bytes, int] | None:
            return (self.files[path], 0o100644) if path in self.files else None

        for path, (_mode, data) in apply(parse(arguments), read).items():
            if data is None:
                del self.files[path]
            else:
                self.files[path] = data


CHANGES: dict[str, dict[str, bytes | None]] = {
    "a line that occurs twice": {"pkg/a.py": BASE["pkg/a.py"][:-2] + b"2\n"},
    "both ends": {"pkg/a.py": b"import x\n" + BASE["pkg/a.py"] + b"\nlast\n"},
    "CRLF": {"pkg/crlf.txt": b"one\r\n2\r\nand more\r\nthree\r\n"},
    "no newline at the end": {"pkg/end.txt": b"still no newline"},
    "newline added": {"pkg/end.txt": b"no newline at the end\n"},
    "new, deleted and renamed": {
        "new/b.py": b"x = 1\n",
        "gone.txt": None,
        "pkg/crlf.txt": None,
        "moved.txt": BASE["pkg/crlf.txt"],
    },
    "odd name": {"with space/ü.txt": b"y\n"},
    "empty file filled": {"empty.txt": b"full\n"},
    "file emptied": {"gone.txt": b""},
}


@pytest.mark.parametrize("name", CHANGES, ids=str)
def test_acting_out_a_diff_gives_that_diffs_files(
    model: AnthropicStandin,
    repository: Path,
    diff_to: Callable[[dict[str, bytes | None]], str],
    name: str,
) -> None:
    changes = CHANGES[name]
    model.patch([diff_to(changes)], repository)
    harness = Harness(model, dict(BASE))
    names = harness.converse("fix")
    wanted = {**BASE, **changes}
    assert harness.files == {path: data for path, data in wanted.items() if data is not None}
    assert [name for name in names if name != "read"] == ["finish", "submit_plan", "edit", "finish"]
    plan = next(given_ for tool, given_ in harness.called if tool == "submit_plan")
    assert {planned["path"] for planned in plan["files"]} == set(changes)


def test_the_repair_applies_the_next_diff_instead(
    model: AnthropicStandin,
    repository: Path,
    diff_to: Callable[[dict[str, bytes | None]], str],
) -> None:
    wrong: dict[str, bytes | None] = {"pkg/a.py": b"wrong\n", "stray.py": b"z\n"}
    right: dict[str, bytes | None] = {"pkg/a.py": b"right\n", "tests/t.py": b"assert 1\n"}
    model.patch([diff_to(wrong), diff_to(right)], repository)
    harness = Harness(model, dict(BASE))
    harness.converse("fix")
    assert harness.files["pkg/a.py"] == b"wrong\n"
    names = harness.converse("Repair attempt 1\nA check failed.")
    assert [n for n in names if n != "read"] == ["amend_plan", "edit", "finish"]
    assert harness.files == {**BASE, "pkg/a.py": b"right\n", "tests/t.py": b"assert 1\n"}
    assert harness.converse("Repair attempt 2\nIt failed again.") == ["finish"]


def test_a_repair_that_does_something_else_to_a_planned_file_amends_the_plan(
    model: AnthropicStandin,
    repository: Path,
    diff_to: Callable[[dict[str, bytes | None]], str],
) -> None:
    model.patch([diff_to({"gone.txt": b"x\n"}), diff_to({"gone.txt": None})], repository)
    harness = Harness(model, dict(BASE))
    harness.converse("fix")
    assert harness.converse("Repair attempt 1\n") == ["read", "amend_plan", "edit", "finish"]
    amended = next(given_ for tool, given_ in harness.called if tool == "amend_plan")
    assert amended["remove"] == ["gone.txt"]
    assert amended["add"][0]["action"] == "delete"
    assert "gone.txt" not in harness.files


def test_a_refused_edit_is_read_again_and_then_given_up(
    model: AnthropicStandin,
    repository: Path,
    diff_to: Callable[[dict[str, bytes | None]], str],
) -> None:
    model.patch([diff_to({"gone.txt": b"hello\n"})], repository)
    harness = Harness(model, {"gone.txt": b"somebody else wrote this\n"})
    names = harness.converse("fix")
    assert names == ["read", "finish", "submit_plan", "edit", "read", "edit"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sorry, I cannot", "no file"),
        ("@@ -1 +1 @@\n-a\n+b\n", "without a file"),
        ("--- a/gone.txt\n+++ b/gone.txt\n@@ -1 +1 @@\n-other\n+b\n", "does not fit"),
        ("--- a/gone.txt\n+++ b/gone.txt\n@@ -1,3 +1,3 @@\n bye\n", "cut short"),
        ("--- a/none.txt\n+++ b/none.txt\n@@ -1 +1 @@\n-a\n+b\n", "not in the repository"),
        ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 1\n", "binary"),
    ],
)
def test_a_diff_that_cannot_be_played_is_refused_at_once(
    model: AnthropicStandin, repository: Path, text: str, words: str
) -> None:
    with pytest.raises(StandinRefused, match=words):
        model.patch([text], repository)


def test_a_plain_recursive_diff_is_read_too(repository: Path, tmp_path: Path) -> None:
    text = (
        b"diff -ruN old/gone.txt new/gone.txt\n--- old/gone.txt\t2026-01-01\n"
        b"+++ new/gone.txt\t2026-01-02\n@@ -1 +1 @@\n-bye\n+hi\n"
        b"diff -ruN old/n.txt new/n.txt\n--- old/n.txt\t1970-01-01\n+++ new/n.txt\t2026-01-02\n"
        b"@@ -0,0 +1 @@\n+new\n"
    )
    assert diffs.apply(diffs.parse(text), BASE.get) == {"gone.txt": b"hi\n", "n.txt": b"new\n"}


def test_it_starts_by_hand_and_says_what_is_missing(tmp_path: Path) -> None:
    patch = tmp_path / "p.diff"
    patch.write_text("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    command = [sys.executable, "-m", "tests.standins.anthropic", "--patch", str(patch)]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "--repo PATH" in done.stderr


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "long line\n"]), max_size=12)


@settings(max_examples=300, deadline=None)
@given(LINES, LINES, st.sampled_from(["", "tail"]))
def test_replacements_applied_in_order_give_the_new_text(
    old: list[str], new: list[str], tail: str
) -> None:
    before, after = "".join(old) + tail, "".join(new)
    sha256 = hashlib.sha256(before.encode()).hexdigest()
    edits = replacements("f", before.encode(), after.encode(), sha256)
    assert bool(edits) == (before != after)
    if edits:
        written = apply(parse({"edits": edits}), lambda path: (before.encode(), 0o100644))
        assert written == {"f": (0o100644, after.encode())}
