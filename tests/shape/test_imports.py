"""The import contracts reject a one-line violation, and cover every module that they should."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.shared_data import REPOSITORY

VIOLATIONS = {
    "the domain does no input or output and knows no library": ("app/domain/plan.py", "import os"),
    "the receiver never imports the worker": ("app/signature.py", "import worker.jobs"),
    "the worker takes only the domain from app": ("worker/jobs.py", "import app.settings"),
    "the receiver calls nobody but Redis": ("app/webhook.py", "import httpx"),
    "desk, runner and sandbox are strangers": (
        "worker/desk/tokens.py",
        "import worker.runner.boxes",
    ),
    "what the roles share rests on nothing of theirs": (
        "worker/store/codec.py",
        "import worker.desk.tokens",
    ),
    "in the runner only the wiring sees logic and adapters together": (
        "worker/runner/agent/loop.py",
        "import worker.runner.boxes",
    ),
    "the runner's adapters import only the domain": (
        "worker/runner/boxes.py",
        "import worker.store.ledger",
    ),
    "the desk's adapters import only the domain": (
        "worker/desk/github/reader.py",
        "import worker.store.ledger",
    ),
    "in the desk only the wiring sees logic and adapters together": (
        "worker/desk/stages/admit.py",
        "import worker.desk.github.reader",
    ),
    "stages of the runner do not know each other": (
        "worker/runner/stages/gate.py",
        "import worker.runner.stages.verify",
    ),
    "stages of the desk do not know each other": (
        "worker/desk/stages/admit.py",
        "import worker.desk.stages.publish",
    ),
    "the agent cannot import anything that writes to GitHub or runs a container": (
        "worker/runner/agent/gateway.py",
        "import subprocess",
    ),
    "the model's library has one home": ("worker/runner/agent/loop.py", "import anthropic"),
    "the engine's library has one home": ("worker/runner/boxes.py", "import docker"),
    "GitHub's library has one home": ("worker/runner/wiring.py", "import githubkit"),
    "a person's own commands know no model, engine, ledger or writer to GitHub": (
        "worker/local/check.py",
        "import worker.store.ledger",
    ),
    "git objects have one home": ("worker/runner/stages/edit.py", "import pygit2"),
}


def contracts() -> list[dict[str, object]]:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[dict[str, object]] = settings["tool"]["importlinter"]["contracts"]
    return found


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    for package in ("app", "worker"):
        shutil.copytree(
            REPOSITORY / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return folder


def identifier(name: str) -> str:
    return next(str(c["id"]) for c in contracts() if c["name"] == name)


def lint(folder: Path, *contract: str) -> tuple[int, str]:
    program = Path(sys.executable).with_name("lint-imports")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [program, *contract],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_every_contract_has_a_violation_here() -> None:
    assert {str(contract["name"]) for contract in contracts()} == set(VIOLATIONS)


def test_the_tree_keeps_all_contracts(copy: Path) -> None:
    code, said = lint(copy)
    assert code == 0, said


@pytest.mark.parametrize("name", VIOLATIONS)
def test_one_line_against_each_contract_is_rejected(copy: Path, name: str) -> None:
    file, line = VIOLATIONS[name]
    path = copy / file
    kept = path.read_text(encoding="utf-8")
    path.write_text(kept + f"\n{line}\n", encoding="utf-8")
    try:
        code, said = lint(copy, "--contract", identifier(name))
    finally:
        path.write_text(kept, encoding="utf-8")
    assert code != 0
    assert f"{name} BROKEN" in " ".join(said.split()), said


def test_the_worker_contract_names_every_module_of_app_but_the_domain() -> None:
    named = next(c for c in contracts() if c["name"] == "the worker takes only the domain from app")
    modules = {
        f"app.{path.stem}"
        for path in (REPOSITORY / "app").iterdir()
        if path.name not in {"__init__.py", "domain", "__pycache__", "templates", "static"}
    }
    assert modules == set(named["forbidden_modules"])  # type: ignore[call-overload]
