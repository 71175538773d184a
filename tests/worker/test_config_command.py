"""`patchwarrant config`: files in, text out; what it writes can be read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.config_values import CONFIG_PATH
from worker.cli.config import main
from worker.config_file import config_of
from worker.settings.door import Door

WORKFLOW = """
name: Copilot Setup Steps
on: workflow_dispatch
jobs:
  copilot-setup-steps:
    runs-on: ubuntu-latest
    env: {CI: true, TOKEN: "${{ secrets.X }}"}
    services:
      postgres:
        image: postgres:16
        env: {POSTGRES_PASSWORD: test}
        ports: ["5432:5432"]
      odd: {image: x}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with: {node-version: "20"}
      - uses: some/action@v1
      - name: system
        run: |
          sudo apt-get update
          sudo apt-get install -y libpq-dev
      - name: deps
        working-directory: web
        run: npm ci
      - run: echo ${{ github.sha }}
"""


def config(*words: str) -> int:
    return main(Door({}), list(words))


def test_a_set_up_workflow_becomes_keys_and_says_what_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "copilot-setup-steps.yml"
    file.write_text(WORKFLOW)
    assert config("import", str(file)) == 0
    said = capsys.readouterr().out
    read = config_of(said.encode())
    assert read.setup is not None
    assert read.setup.packages == ("nodejs", "npm", "libpq-dev")
    assert read.setup.run == ("cd web\nnpm ci",)
    assert read.setup.env == {"CI": "true"}
    (service,) = read.services
    assert (service.name, service.port, service.env) == (
        "postgres",
        5432,
        {"POSTGRES_PASSWORD": "test"},
    )
    for lost in ("node-version: 20", "some/action", "service odd", "env.TOKEN", "expression"):
        assert lost in said
    assert "secrets.X" not in said


STEPS = """
jobs:
  copilot-setup-steps:
    steps:
      - name: apt
        run: sudo apt-get update && sudo apt-get install -y libpq-dev && ldconfig
      - name: build
        env: {MODE: "a b", TOKEN: "${{ secrets.TOKEN }}"}
        run: ./scripts/setup.sh && make deps
"""


def test_nothing_of_a_workflow_is_lost_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "steps.yml"
    file.write_text(STEPS)
    assert config("import", str(file)) == 0
    said = capsys.readouterr().out
    read = config_of(said.encode())
    assert read.setup is not None and read.setup.packages == ("libpq-dev",)
    wanted = "export MODE='a b'\n./scripts/setup.sh && make deps"
    assert read.setup.run == ("ldconfig", wanted)
    assert "build: env.TOKEN" in said
    assert "name `scripts/setup.sh` under `setup.files`" in said


def test_init_prints_what_is_recognised_and_never_overwrites(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    assert config("init", str(tmp_path)) == 0
    assert config_of(capsys.readouterr().out.encode()).checks[0].name == "pytest"
    assert config("init", str(tmp_path), "--write") == 0
    assert config("init", str(tmp_path), "--write") == 1
    assert config("check", str(tmp_path)) == 0
    assert "check: pytest" in capsys.readouterr().out


def test_folders_with_tests_that_no_check_runs_are_shown_with_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "package.json").write_text('{"scripts": {"test": "vitest run"}}')
    line = "{name: npm test in web, run: CI=true npm test --silent, workdir: web}"
    assert config("check", str(tmp_path)) == 1
    assert line in capsys.readouterr().out
    assert config("init", str(tmp_path)) == 1
    assert line in capsys.readouterr().out
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    assert config("init", str(tmp_path), "--write") == 0
    assert "# `web/package.json` has a test script, which no check runs" in (
        (tmp_path / CONFIG_PATH).read_text()
    )
    capsys.readouterr()
    assert config("check", str(tmp_path)) == 0
    assert line not in capsys.readouterr().out  # the file says what is checked


def test_check_shows_set_up_and_names_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "requirements.txt").write_text("six\n")
    (tmp_path / "Makefile").write_text("test:\n\ttrue\n")
    assert config("check", str(tmp_path)) == 0
    said = capsys.readouterr().out
    assert "set-up: pip install requirements.txt" in said
    assert "set-up sees: requirements.txt" in said
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "agent.yml").write_text("setpu: []\n")
    assert config("check", str(tmp_path)) == 1
    assert "did you mean `setup`?" in capsys.readouterr().err


def test_a_folder_in_which_nothing_is_recognised_gets_an_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert config("init", str(tmp_path)) == 1
    assert "checks:" in capsys.readouterr().out


@pytest.mark.parametrize("words", [(), ("import",), ("frob",), ("check", "a", "b")])
def test_wrong_words_are_answered_with_the_usage(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert config(*words) == 2
    assert "usage: patchwarrant config" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[]", "jobs: {}", "a: [", "jobs: {x: {steps: 1}}"])
def test_what_is_no_workflow_is_said(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "w.yml"
    file.write_text(text)
    assert config("import", str(file)) == 1
    assert "patchwarrant config:" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["checks: [\n", "checks: [{nam: x}]\n", "colour: 1\n"])
def test_a_wrong_configuration_is_named_by_its_file_once(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ".github" / "agent.yml"
    path.parent.mkdir()
    path.write_text(text)
    assert main(Door({}), ["check", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"patchwarrant config: {path}") and said.count("agent.yml") == 1


def test_a_file_that_is_not_there_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "steps.yml"
    assert main(Door({}), ["import", str(missing)]) == 1
    said = capsys.readouterr().err
    assert f"{missing} cannot be used: No such file" in said and "Errno" not in said


def test_a_file_that_is_there_is_said_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    assert config("init", str(tmp_path), "--write") == 0
    assert config("init", str(tmp_path), "--write") == 1
    said = capsys.readouterr().err
    assert "agent.yml is there already" in said and "move it away" in said and "Errno" not in said


@pytest.mark.parametrize("word", ["check", "init"])
@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_folder_that_is_none_is_one_sentence(
    tmp_path: Path, word: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "x"
    if kind == "file":
        place.write_text("")
    assert config(word, str(place)) == 1
    said = capsys.readouterr()
    assert f"{place} cannot be used: " in said.err and "Name a folder" in said.err
    assert said.out == ""


@pytest.mark.parametrize("words", [("check", "--json"), ("init", "--wirte"), ("import", "-x")])
def test_an_unknown_option_is_no_folder(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert config(*words) == 2
    assert f"there is no option {words[1]}" in capsys.readouterr().err
