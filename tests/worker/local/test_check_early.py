"""`patchwarrant check` says what is wrong with its words and the base before it asks a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worker.local.world import AFTER, Scene, commit, git, scene
from worker.local import check, verify
from worker.local.repository import Repository
from worker.settings.door import Door

NO_ENGINE = {"DOCKER_HOST": "unix:///nowhere"}


@pytest.fixture
def made(tmp_path: Path) -> Scene:
    return scene(tmp_path)


def run(made: Scene, *words: str, **names: str) -> int:
    door = Door({**NO_ENGINE, **names})
    return check.main(door, [*words, "--repo", str(made.place)])


def said(capsys: pytest.CaptureFixture[str]) -> str:
    words = " ".join(capsys.readouterr().out.split())
    assert "starting a sandbox" not in words and "Errno" not in words
    return words


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("checks: [{nam: tests}]\n", "`checks[0].nam` is unknown; did you mean `name`?"),
        ("checks: [\n", ", line 2: "),
        ('setup: {packages: ["-x y"]}\n', "is no name of a distribution package"),
    ],
)
def test_a_wrong_configuration_is_named_with_its_file_and_commit(
    tmp_path: Path, config: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = scene(tmp_path, config)
    assert run(made, "main..fix") == 2
    words = said(capsys)
    assert words.startswith(f".github/agent.yml at the base commit {made.base[:12]}")
    assert why in words and words.count("agent.yml") == 1 and ".." not in words
    assert words.endswith("Correct it in a commit on the base.")


def test_a_base_without_checks_asks_no_sandbox(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "bare"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    base = commit(place, {"notes.txt": "a\n"}, "Begin")
    git(place, "checkout", "-q", "-b", "fix")
    head = commit(place, {"notes.txt": "b\n"}, "More")
    assert check.main(Door({**NO_ENGINE}), ["--repo", str(place)]) == 2
    words = said(capsys)
    assert "No check is configured" in words and base != head


def test_a_sandbox_that_was_named_and_is_not_there_is_not_replaced_by_another(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    socket = str(made.place.parent / "none.sock")
    assert run(made, "main..fix", PATCHWARRANT_SANDBOX=socket) == 2
    words = said(capsys)
    assert f"PATCHWARRANT_SANDBOX={socket}: no sandbox answers there." in words
    assert "or unset that setting" in words


def test_a_rerun_asks_no_sandbox_about_a_base_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = scene(tmp_path, "checks: [{nam: tests}]\n")
    words = [str(made.file), "--repo", str(made.place), "--key", made.key_file(), "--rerun"]
    assert verify.main(Door({**NO_ENGINE}), words) == 2
    shown = said(capsys)
    assert "They cannot be run here: .github/agent.yml at the base commit: `checks[0].nam`" in shown


def test_a_rerun_without_a_sandbox_leaves_what_else_was_found_out(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    door = Door({"PATCHWARRANT_SANDBOX": str(made.place / "none.sock")})
    assert verify.main(door, [str(made.file), "--repo", str(made.place), "--rerun"]) == 2
    shown = said(capsys)
    assert "✔ Both statements are signed by the trusted key" in shown
    assert "They cannot be run here: PATCHWARRANT_SANDBOX=" in shown


@pytest.mark.parametrize(
    ("key", "why"), [("none.pem", "There is no key"), (".", "is a folder, not a key")]
)
def test_a_key_that_is_none_is_said(
    made: Scene, key: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(made, "main..fix", "--key", str(made.place / key)) == 2
    assert why in said(capsys)


def test_what_is_not_committed_is_said_not_to_be_looked_at(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    (made.place / "calc.py").write_text(AFTER + "\n# more\n")
    (made.place / "new.py").write_text("x = 1\n")
    named = {"PATCHWARRANT_SANDBOX": str(made.place / "none.sock")}
    sentence = "The working tree has 1 changed file and 1 file or folder not in git that no check"
    for words in ((), ("main..fix",), ("main..HEAD",), ("fix..fix",)):
        run(made, *words, **named)
        assert sentence in said(capsys), words
    git(made.place, "stash", "-q", "-u")
    run(made, **named)
    assert "working tree" not in said(capsys)


def test_the_working_tree_is_that_of_the_head_alone(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another branch is looked at: what lies here is no part of that question."""
    git(made.place, "checkout", "-q", "-b", "other", "main")
    commit(made.place, {"a.txt": "a\n"}, "Other")
    (made.place / "calc.py").write_text(AFTER)
    run(made, "main..fix", PATCHWARRANT_SANDBOX=str(made.place / "none.sock"))
    assert "working tree" not in said(capsys)


def test_how_many_files_are_not_committed(made: Scene) -> None:
    there = Repository(made.place)
    assert there.uncommitted() == ""
    (made.place / "calc.py").unlink()
    (made.place / "tests" / "test_calc.py").write_text("")
    assert there.uncommitted().startswith("The working tree has 2 changed files that no check sees")
    (made.place / ".gitignore").write_text("*.log\n")
    (made.place / "x.log").write_text("")
    assert "and 1 file or folder not in git that" in there.uncommitted()
    bare = made.place.parent / "bare.git"
    git(made.place, "clone", "-q", "--bare", ".", str(bare))
    assert Repository(bare).uncommitted() == ""


def test_help_says_what_the_exit_codes_mean(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        check.main(Door({}), ["--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "Exit code: 0 passed; 1 another verdict (failed, or partial" in words
