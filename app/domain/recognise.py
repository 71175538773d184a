"""Well-known projects from a tree's paths and small manifests: checks, and what was assumed.

Used only where `.github/agent.yml` names no check. Nothing is run here; what a manifest says
decides between the commands that are written below, it never becomes part of one.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.check import Check
from app.domain.edit import EXECUTABLE, FILE, Entry
from app.domain.repo_config import CONFIG_PATH, TESTS

MANIFEST_CAP = 1 << 20
PYTEST_REPORT = ".patchwarrant-junit.xml"

# One line, so that it is whole wherever a sentence is shown.
SNIPPET = (
    "checks: [{name: tests, run: python3 -m pytest -q --junitxml=report.xml, report: report.xml}]"
)

TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_ASIDE = frozenset({"node_modules", "vendor", "third_party", "venv", ".venv", "site-packages"})
_ELSEWHERE = re.compile(
    r"(?:^|\s)(?:--cov\b|--cov-\S|-n\b|--numprocesses|--dist\b|--black|--flake8|--mypy|--pylint|"
    r"--benchmark|--timeout|--random-order|--isort|--html|--ruff|--doctest-plus|--reruns)"
)
_MAKE_TARGET = re.compile(rb"^(test|check)[ \t]*:(?!=)", re.MULTILINE)


@dataclass(frozen=True)
class Recognised:
    """The checks of a well-known project, and in sentences for people what was assumed."""

    checks: tuple[Check, ...]
    assumed: tuple[str, ...]


def recognise(entries: Sequence[Entry], read: Callable[[str], bytes]) -> Recognised:
    """What the tree looks like; no check where nothing is well known.

    `read` gives the bytes of a regular file that stands in `entries`.
    """
    tree = _Tree({e.path: e for e in entries if e.mode in (FILE, EXECUTABLE)}, read)
    looks = (_pytest, _npm, _go, _cargo, _java, _ruby, _php)
    found = [one for look in looks if (one := look(tree)) is not None]
    if not found and (made := _make(tree)) is not None:
        found = [made]
    return Recognised(
        tuple(check for check, _ in found),
        tuple(said for check, why in found for said in _assumed(check, why, len(found))),
    )


def _assumed(check: Check, why: tuple[str, ...], count: int) -> tuple[str, ...]:
    """That the check is assumed, by its reason, the first of `why`; then the rest of them."""
    words = "python3 -m pytest" if check.name == "pytest" else shlex.join(check.argv)
    words = words.removesuffix(" --silent")
    one = "the check" if count == 1 else f"one of {count} checks"
    return (f"No check is configured; {why[0]}, so `{words}` is {one}.", *why[1:])


@dataclass(frozen=True)
class _Tree:
    files: Mapping[str, Entry]
    read: Callable[[str], bytes]

    def manifest(self, path: str) -> bytes:
        """A small file's bytes, b"" where there is none or it is too large."""
        entry = self.files.get(path)
        return self.read(path) if entry is not None and entry.size <= MANIFEST_CAP else b""


_Found = tuple[Check, tuple[str, ...]]  # why it is assumed, and what else was


def _pytest(tree: _Tree) -> _Found | None:
    options = _pytest_setting(tree, "addopts")
    tests = [path for path in tree.files if TEST_FILE.search(path) and not _set_aside(path)]
    if options is None and not tests:
        return None
    where = "its configuration" if options is not None else f"`{min(tests)}`"
    assumed = [f"{where} looks like pytest"]
    argv = ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1"]
    if _ELSEWHERE.search(options or ""):
        argv += ["-o", "addopts="]
        assumed.append("pytest's `addopts` were set aside: they name plugins that may be missing.")
    argv.append(f"--junitxml={PYTEST_REPORT}")
    env = {"PYTHONDONTWRITEBYTECODE": "1"}
    if any(path.startswith("src/") and path.endswith(".py") for path in tree.files):
        env["PYTHONPATH"] = "src"
        assumed.append("`src` is put on the import path, since the package lies there.")
    return Check("pytest", tuple(argv), env, "", (*argv, TESTS), PYTEST_REPORT), tuple(assumed)


def _pytest_setting(tree: _Tree, key: str) -> str | None:
    """One of pytest's settings as text, "" where it is not set, None where nothing configures
    pytest."""
    configured = _pytest_settings(tree, key)
    return "" if configured is None and "conftest.py" in tree.files else configured


def _pytest_settings(tree: _Tree, key: str) -> str | None:
    table = _table(_toml(tree.manifest("pyproject.toml")), ("tool", "pytest", "ini_options"))
    if table is not None:
        return _joined(table.get(key, ""))
    for path, section in (
        ("pytest.ini", "pytest"),
        ("tox.ini", "pytest"),
        ("setup.cfg", "tool:pytest"),
    ):
        if path == "pytest.ini" and path in tree.files:
            return _ini_value(tree.manifest(path), section, key) or ""
        value = _ini_value(tree.manifest(path), section, key)
        if value is not None:
            return value
    return None


def pytest_settings_in(files: Mapping[str, Entry], read: Callable[[str], bytes]) -> bool:
    """Whether a file of this folder, whose paths `files` has from there, configures pytest."""
    return _pytest_settings(_Tree(files, read), "addopts") is not None


def pytest_testpaths(files: Mapping[str, Entry], read: Callable[[str], bytes]) -> tuple[str, ...]:
    """The folders and globs that pytest is told to look into, () where it looks everywhere."""
    return tuple((_pytest_setting(_Tree(files, read), "testpaths") or "").split())


def _ini_value(data: bytes, section: str, key: str) -> str | None:
    """A key's text in one section, "" where it has none, None without the section."""
    text = data.decode("utf-8", "replace")
    parts = re.split(r"^\[([^\]\n]+)\][ \t]*$", text, flags=re.MULTILINE)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        if name.strip() == section:
            match = re.search(rf"^{key}[ \t]*=(.*(?:\n[ \t]+.*)*)", body, flags=re.MULTILINE)
            return match[1] if match else ""
    return None


def _npm(tree: _Tree) -> _Found | None:
    try:
        package = json.loads(tree.manifest("package.json") or b"{}")
    except (ValueError, RecursionError):
        return None
    script = (_table(package, ("scripts",)) or {}).get("test")
    if not isinstance(script, str) or not script.strip() or "no test specified" in script:
        return None
    return (
        Check("npm test", ("npm", "test", "--silent"), {"CI": "true"}),
        ("`package.json` has a test script",),
    )


def _go(tree: _Tree) -> _Found | None:
    if "go.mod" not in tree.files:
        return None
    return (
        Check("go test", ("go", "test", "./..."), {"GOFLAGS": "-mod=mod", "GOPROXY": "off"}),
        ("there is a `go.mod`",),
    )


def _cargo(tree: _Tree) -> _Found | None:
    if "Cargo.toml" not in tree.files:
        return None
    return (
        Check("cargo test", ("cargo", "test", "--offline")),
        ("there is a `Cargo.toml`",),
    )


def _java(tree: _Tree) -> _Found | None:
    for manifest, argv in (
        ("pom.xml", ("mvn", "-o", "-B", "-q", "test")),
        ("build.gradle", ("gradle", "--offline", "--no-daemon", "test")),
        ("build.gradle.kts", ("gradle", "--offline", "--no-daemon", "test")),
    ):
        if manifest in tree.files:
            return _by(f"{argv[0]} test", argv, manifest)
    return None


def _ruby(tree: _Tree) -> _Found | None:
    if "Gemfile" not in tree.files:
        return None
    if any(path.startswith("spec/") and path.endswith("_spec.rb") for path in tree.files):
        return _by("rspec", ("bundle", "exec", "rspec"), "Gemfile")
    if "Rakefile" in tree.files:
        return _by("rake test", ("bundle", "exec", "rake", "test"), "Rakefile")
    return None


def _php(tree: _Tree) -> _Found | None:
    if "composer.json" in tree.files and tree.files.keys() & {"phpunit.xml", "phpunit.xml.dist"}:
        return _by("phpunit", ("vendor/bin/phpunit",), "composer.json")
    return None


def _by(name: str, argv: tuple[str, ...], manifest: str) -> _Found:
    return Check(name, argv), (f"there is a `{manifest}`",)


def _make(tree: _Tree) -> _Found | None:
    for path in ("GNUmakefile", "makefile", "Makefile"):
        if path in tree.files:
            targets = {match.decode() for match in _MAKE_TARGET.findall(tree.manifest(path))}
            for target in ("test", "check"):
                if target in targets:
                    made = Check(f"make {target}", ("make", target))
                    return made, (f"`{path}` has a target `{target}`",)
    return None


def _toml(data: bytes) -> Any:
    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError):
        return {}


def _table(value: Any, names: Iterable[str]) -> Mapping[str, Any] | None:
    """The table at the end of `names`, None where any of them is missing or no table."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else None


def _joined(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _set_aside(path: str) -> bool:
    return not _ASIDE.isdisjoint(path.split("/"))


def nothing_recognised() -> str:
    """The next step for people where no check is known: the lines to add."""
    return f"Add `{CONFIG_PATH}` on the default branch, for example with this line: `{SNIPPET}`"
