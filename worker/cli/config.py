"""`patchwarrant config check|init|import`: what a repository's configuration says, or could say.

Nothing is run and nobody is asked: files in, text out. `import` reads the steps that another
agent's set-up workflow (copilot-setup-steps.yml) lists.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from app.domain.config_values import CONFIG_PATH, ConfigError
from app.domain.ecosystems import plan_setup
from app.domain.edit import EXECUTABLE, FILE, Entry
from app.domain.recognise import Recognised, nothing_recognised, recognise
from app.domain.repo_config import RepoConfig
from app.domain.setup import SetupError
from app.domain.text import named
from app.domain.untested import untested
from worker.cli.imported import setup_of
from worker.config_file import config_of, placed
from worker.settings.door import Door

USAGE = """usage: patchwarrant config check [FOLDER]
       patchwarrant config init [FOLDER] [--write]
       patchwarrant config import WORKFLOW

check   what the configuration in FOLDER (default: here) says, and what would be run
init    a first configuration for FOLDER, by what lies in it; --write makes the file
import  one from the steps of another agent's set-up workflow (copilot-setup-steps.yml)

The file is .github/agent.yml; docs/configuration.md has its keys. Nothing is run and nobody
is asked. Exit code: 0 fine, 1 the configuration is wrong or shows nothing, 2 wrong words.
"""
_ASIDE = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", "target"})


def main(_door: Door, arguments: list[str]) -> int:
    """Exit code: 0 fine, 1 the configuration is wrong, 2 wrong words."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(USAGE)
        return 0
    write = "--write" in arguments
    words = [word for word in arguments if word != "--write"]
    odd = [word for word in words if word.startswith("-")]
    if odd:
        sys.stderr.write(f"patchwarrant config: there is no option {odd[0]}\n{USAGE}")
        return 2
    if len(words) not in (1, 2) or words[0] not in ("check", "init", "import"):
        sys.stderr.write(USAGE)
        return 2
    folder = Path(words[1] if len(words) == 2 else ".")
    try:
        if words[0] == "import":
            return _import(folder) if len(words) == 2 else main(_door, [])
        return _check(folder) if words[0] == "check" else _init(folder, write)
    except (ConfigError, SetupError) as error:
        where = words[1] if words[0] == "import" else str(folder / CONFIG_PATH)
        said = placed(ConfigError(str(error)), where)
        sys.stderr.write(f"patchwarrant config: {said}\n")
        return 1
    except FileExistsError as error:
        sys.stderr.write(
            f"patchwarrant config: {error.filename} is there already and is not overwritten. "
            "`patchwarrant config check` says what it holds; move it away for a new one.\n"
        )
        return 1
    except OSError as error:
        named = error.filename or words[-1]
        sys.stderr.write(
            f"patchwarrant config: {named} cannot be used: {error.strerror}. Name "
            f"{'a workflow file' if words[0] == 'import' else 'a folder'} of this user's.\n"
        )
        return 1


def entries_of(folder: Path) -> list[Entry]:
    """Regular files below a folder, as recognition sees a tree. Raises `OSError` where the folder
    is none."""
    os.scandir(folder).close()  # os.walk passes over what it cannot open
    found: list[Entry] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _ASIDE)
        for name in sorted(names):
            path = Path(place) / name
            if path.is_file() and not path.is_symlink():
                facts = path.stat()
                mode = EXECUTABLE if facts.st_mode & 0o100 else FILE
                found.append(Entry(path.relative_to(folder).as_posix(), mode, "", facts.st_size))
    return found


def beside(folder: Path, entries: list[Entry], found: Recognised) -> list[str]:
    """Sentences about folders with tests that no recognised check runs."""
    missed = untested(entries, lambda one: (folder / one).read_bytes(), found.checks)
    return [named(one.said) for one in missed]


def _check(folder: Path) -> int:
    path = folder / CONFIG_PATH
    entries = entries_of(folder)
    config = config_of(path.read_bytes()) if path.exists() else RepoConfig()
    print(f"{CONFIG_PATH}: {'read, nothing is wrong with it' if path.exists() else 'not there'}")
    found = recognise(entries, lambda one: (folder / one).read_bytes())
    for one in () if config.checks else beside(folder, entries, found):
        print(f"not run: {one}")
    for name in [c.name for c in config.checks] or [c.name for c in found.checks]:
        print(f"check: {name}{'' if config.checks else ' (recognised)'}")
    if not config.checks and not found.checks:
        print(nothing_recognised())
    plan = plan_setup(
        entries,
        lambda one: (folder / one).read_bytes(),
        config.setup,
        config.services,
        config.egress,
        default_image=not config.image,
    )
    for step in plan.steps:
        where = f" (in {step.folder})" if step.folder else ""
        print(f"set-up: {step.title}{where}")
    for path_, _ in plan.files:
        print(f"set-up sees: {path_}")
    for service in config.services:
        print(f"service: {service.name} on port {service.port}")
    for fixer in config.fixers:
        print(f"fixer: {fixer.name}")
    return 0 if config.checks or found.checks else 1


def _init(folder: Path, write: bool) -> int:
    entries = entries_of(folder)
    found = recognise(entries, lambda one: (folder / one).read_bytes())
    aside = beside(folder, entries, found)
    if not found.checks:
        print("\n".join((nothing_recognised(), *aside)))
        return 1
    checks: list[dict[str, Any]] = []
    for check in found.checks:
        told: dict[str, Any] = {"name": check.name, "run": list(check.argv)}
        for key, value in (
            ("env", dict(check.env)),
            ("workdir", check.workdir),
            ("selector", list(check.selector)),
            ("report", check.report),
        ):
            if value:
                told[key] = value
        checks.append(told)
    text = "".join(f"# {said}\n" for said in (*found.assumed, *aside))
    text += written({"version": 1, "checks": checks})
    config_of(text.encode())
    if not write:
        sys.stdout.write(text)
        return 0
    path = folder / CONFIG_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8") as out:  # never over a file that is there
        out.write(text)
    print(f"{path} is written; commit it on the default branch")
    return 0


def _import(path: Path) -> int:
    try:
        workflow = yaml.safe_load(path.read_bytes())
    except yaml.YAMLError as error:
        raise ConfigError(f"it cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(workflow, Mapping):
        raise ConfigError("it is no workflow: a mapping with `jobs` is wanted")
    keys, notes = setup_of(workflow)
    text = "".join(f"# {note}\n" for note in notes) + written(keys)
    config_of(text.encode())
    sys.stdout.write(text)
    return 0


def written(value: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True, width=100))
