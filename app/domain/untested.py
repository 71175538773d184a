"""Folders of a tree that seem to have tests which none of the recognised checks runs.

Advice, from paths and small manifests alone, for people whose repository configures no check: each
comes with the line that would make a check of it. Set-up installs what these folders need already
(`ecosystems`), so that such a check can run.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.check import Check
from app.domain.ecosystems import ASIDE, members
from app.domain.edit import Entry
from app.domain.glob import match
from app.domain.recognise import (
    PYTEST_REPORT,
    TEST_FILE,
    pytest_settings_in,
    pytest_testpaths,
    recognise,
)
from app.domain.repo_config import CONFIG_PATH
from app.domain.setup import Sight

MOST = 12  # folders that are told
FOLDERS = 40  # that are looked into
SOURCES = 80  # files of Rust that are read to find a test
TEXT = 200_000  # characters of a root's file that are looked at
SCRIPT = 4_000  # and of its test script

MANIFESTS: dict[str, str] = {
    "package.json": "npm",
    "go.mod": "go",
    "Cargo.toml": "cargo",
    "pom.xml": "java",
    "build.gradle": "java",
    "build.gradle.kts": "java",
    "Gemfile": "ruby",
    "composer.json": "php",
    "pytest.ini": "pytest",
    "tox.ini": "pytest",
    "setup.cfg": "pytest",
    "pyproject.toml": "pytest",
    "GNUmakefile": "make",
    "makefile": "make",
    "Makefile": "make",
}
# What a recognised check is of, by its program.
_OF = {"python3": "pytest", "mvn": "java", "gradle": "java", "bundle": "ruby"}
# A script that goes into other folders by itself.
_FANS = re.compile(
    r"workspace|(?:^|\s)-ws\b|--recursive|\bpnpm\b.*\s-r\b|\bforeach\b|\b(?:lerna|turbo|nx|rush|moon)\b"
)
_ONE_FOR_ALL = re.compile(r"\b(?:jest|vitest|mocha|ava|tap)\b|--test\b")  # runs its members' tests
_PLAIN = re.compile(
    r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[A-Za-z][\w ./=*-]*(?<! )", re.I | re.A
)
_ODD = re.compile(r"[^A-Za-z0-9._ -]")
_RUST_TEST = re.compile(rb"#\[(?:\w+::)*test\b")
_JAVA_TESTS = re.compile(r"(?:^|/)src/(?:\w*[tT]est\w*)/")
_RUBY_TESTS = re.compile(r"^(?:spec|test)/.+\.rb$")

ONCE = (
    f"With `checks` in `{CONFIG_PATH}` nothing is recognised any more: `patchwarrant config init` "
    "writes the checks of today, which go there as well."
)


@dataclass(frozen=True)
class Untested:
    """A folder below the root, and the sentence about the tests in it that no check runs."""

    folder: str
    said: str


def untested(
    entries: Sequence[Entry], read: Callable[[str], bytes], checks: Sequence[Check]
) -> tuple[Untested, ...]:
    """At most `MOST` folders, the outer ones first. `checks` are those that were recognised at the
    root; `read` gives the bytes of a regular file that stands in `entries`."""
    root = _Root(Sight.of(entries, read), frozenset(map(_kind, checks)))
    found: list[Untested] = []
    told: set[tuple[str, str]] = set()
    for folder in _folders(root.sight):
        below = _Below.of(root.sight, folder)
        for check in recognise(below.entries, below.read).checks:
            kind = _kind(check)
            if any(one == kind and _is_below(folder, outer) for one, outer in told):
                continue
            said = _sentence(root, below, kind, check)
            if said:
                told.add((kind, folder))
                found.append(Untested(folder, said))
    return tuple(found[:MOST])


def touched(found: Sequence[Untested], paths: Sequence[str]) -> tuple[Untested, ...]:
    """Those whose folder a change of these paths is in."""
    return tuple(one for one in found if any(_is_below(path, one.folder) for path in paths))


@dataclass(frozen=True)
class _Root:
    sight: Sight
    kinds: frozenset[str]  # of the checks at the root

    def text(self, path: str) -> str:
        return self.sight.bytes_of(path).decode("utf-8", "replace")[:TEXT]

    def script(self) -> str:
        """The root's test script, where that is a check."""
        if "npm" not in self.kinds:
            return ""
        scripts = _json(self.text("package.json")).get("scripts")
        return str(scripts.get("test", ""))[:SCRIPT] if isinstance(scripts, Mapping) else ""

    def spoken(self) -> str:
        """All that the root's own scripts say."""
        makefiles = ("GNUmakefile", "makefile", "Makefile") if "make" in self.kinds else ()
        return "\n".join((self.script(), *map(self.text, makefiles)))


@dataclass(frozen=True)
class _Below:
    """One folder as if it were a root."""

    folder: str
    entries: tuple[Entry, ...]
    read: Callable[[str], bytes]

    @classmethod
    def of(cls, sight: Sight, folder: str) -> _Below:
        start = f"{folder}/"
        entries = tuple(
            replace(entry, path=path.removeprefix(start))
            for path, entry in sight.files.items()
            if path.startswith(start)
        )
        return cls(folder, entries, lambda path: sight.bytes_of(start + path))

    def paths(self) -> Iterator[str]:
        return (entry.path for entry in self.entries)

    def manifest(self, kind: str) -> str:
        """The whole path of the file that makes the folder a project of this kind."""
        there = set(self.paths())
        name = next((one for one, of in MANIFESTS.items() if of == kind and one in there), "")
        return f"{self.folder}/{name}" if name else self.folder


def _kind(check: Check) -> str:
    program = posixpath.basename(check.argv[0])
    return "php" if program == "phpunit" else _OF.get(program, program)


def _folders(sight: Sight) -> list[str]:
    """Folders below the root that hold a manifest; test data and vendored code are no projects."""
    found = {
        posixpath.dirname(path)
        for path in sight.files
        if posixpath.basename(path) in MANIFESTS and ASIDE.isdisjoint(path.split("/")[:-1])
    } - {""}
    return sorted(found, key=lambda folder: (folder.count("/"), folder))[:FOLDERS]


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _sentence(root: _Root, below: _Below, kind: str, check: Check) -> str:
    """What is said of one folder's tests, "" where there seem to be none, or a check runs them."""
    if not _has_tests(below, kind) or _mentioned(root.spoken(), below.folder):
        return ""
    manifest = f"`{below.manifest(kind)}`"
    line = f"`{_line(check, kind, below.folder)}` under `checks` in `{CONFIG_PATH}`."
    if kind == "pytest" and "pytest" in root.kinds:
        return _of_pytest(root, below, manifest, line)
    if kind in root.kinds and _RUN_BY_ROOT[kind](root, below.folder):
        return ""
    what = {
        "npm": f"{manifest} has a test script",
        "make": f"{manifest} has a target for tests",
        "go": f"{manifest} is a module of its own with tests",
    }.get(kind, f"{manifest} is a project of its own with tests")
    return f"{what}, which no check runs. To have it run, put {line}"


def _of_pytest(root: _Root, below: _Below, manifest: str, line: str) -> str:
    """At the root `pytest` collects what lies in folders, too, by the root's settings alone."""
    tests = [f"{below.folder}/{path}" for path in below.paths() if TEST_FILE.search(path)]
    wanted = pytest_testpaths(root.sight.files, root.sight.bytes_of)
    if wanted and not any(match(f"{one}/**", test) for one in wanted for test in tests):
        return (
            f"`{below.folder}` has tests outside of the `testpaths` of pytest, which no check "
            f"runs. To have them run, put {line}"
        )
    files = {entry.path: entry for entry in below.entries}
    if not pytest_settings_in(files, below.read):
        return ""
    return (
        f"{manifest} has settings for pytest, which the check `pytest` does not read. To have "
        f"them read, put {line}"
    )


def _has_tests(below: _Below, kind: str) -> bool:
    if kind == "pytest":
        return any(TEST_FILE.search(path) for path in below.paths())
    if kind == "go":
        return any(path.endswith("_test.go") for path in below.paths())
    if kind == "java":
        return any(_JAVA_TESTS.search(path) for path in below.paths())
    if kind == "ruby":
        return any(_RUBY_TESTS.search(path) for path in below.paths())
    if kind == "cargo":
        sources = [path for path in below.paths() if path.endswith(".rs")]
        return any(path.startswith("tests/") for path in sources) or any(
            _RUST_TEST.search(below.read(path)) for path in sorted(sources)[:SOURCES]
        )
    return True  # a test script, a target, phpunit's own configuration


def _mentioned(text: str, folder: str) -> bool:
    """Whether a script names the folder, or all that lie where it does."""
    parent = posixpath.dirname(folder)
    if parent and f"{parent}/*" in text:
        return True
    return re.search(rf"(?<![\w-]){re.escape(folder)}(?![\w-])", text) is not None


# -- what the root's own check of the same kind runs of a folder ----------------------------------


def _npm_runs(root: _Root, folder: str) -> bool:
    script = root.script()
    if _FANS.search(script):
        return True
    inside = members(root.sight, "", _json(root.text("package.json")))
    return folder in inside and _ONE_FOR_ALL.search(script) is not None


def _cargo_runs(root: _Root, folder: str) -> bool:
    """Of a workspace's members `cargo test` runs all where the root is no package itself."""
    try:
        manifest = tomllib.loads(root.text("Cargo.toml"))
    except (ValueError, RecursionError):
        return False
    workspace = manifest.get("workspace")
    if not isinstance(workspace, dict) or "package" in manifest:
        return False
    listed = workspace.get("members")
    globs = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    return any(match(glob.rstrip("/").removeprefix("./"), folder) for glob in globs)


def _java_runs(root: _Root, folder: str) -> bool:
    """Modules that the root's own build names, and what lies in them."""
    outer = folder.split("/")
    builds = ("pom.xml", "settings.gradle", "settings.gradle.kts")
    text = "\n".join(map(root.text, builds))
    places = ("/".join(outer[: at + 1]) for at in range(len(outer)))
    return any(
        re.search(rf"[>'\":]{re.escape(one)}[<'\"]", text)
        for place in places
        for one in (place, place.replace("/", ":"))
    )


def _runs_none(_root: _Root, _folder: str) -> bool:
    return False


_RUN_BY_ROOT: Mapping[str, Callable[[_Root, str], bool]] = {
    "npm": _npm_runs,
    "cargo": _cargo_runs,
    "java": _java_runs,
    **dict.fromkeys(("go", "ruby", "php", "make"), _runs_none),
}


def _json(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


# -- the line to add ------------------------------------------------------------------------------


def _line(check: Check, kind: str, folder: str) -> str:
    """An item of `checks`, in YAML's flow style: one line wherever a sentence is shown."""
    name = _ODD.sub("-", f"{check.name} in {folder}")[:60].rstrip()
    words = shlex.join(check.argv)
    report = ""
    if kind == "pytest":
        words, report = f"python3 -m pytest -q --junitxml={PYTEST_REPORT}", PYTEST_REPORT
        env = ""
    else:
        env = "".join(f"{key}={shlex.quote(value)} " for key, value in check.env.items())
    told = {"name": name, "run": f"{env}{words}", "workdir": folder, "report": report}
    return f"{{{', '.join(f'{key}: {_scalar(value)}' for key, value in told.items() if value)}}}"


def _scalar(text: str) -> str:
    """A text as YAML reads it back: quoted wherever it is not plainly one."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
