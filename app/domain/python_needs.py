"""What a Python project's manifests say that it needs, as requirement files for set-up."""

from __future__ import annotations

import ast
import configparser
import json
import posixpath
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.setup import Sight

METADATA = ".patchwarrant-METADATA"
GENERATED = ".patchwarrant-requirements.txt"

_TESTING = re.compile(
    r"(?i)(?:unit|dev[-_]?|all[-_]?)?(?:tests?|testing|pytest)(?:s|[-_]deps)?|dev"
)
_FILE = re.compile(
    r"(?i)(?:requirements/)?(?:requirements?[-_.]?)?(?:base|main|default|tests?|testing|dev|"
    r"develop|ci)?(?:[-_.]?requirements?)?\.txt|tests?/requirements\.txt"
)
_WORKSHOP = re.compile(r"(?i)(?:dev|develop|ci)[^/]*$")
_READABLE = re.compile(r"(?i)(?:.*/)?[^/]*(?:require|constraint)[^/]*\.(?:txt|in)|requirements/.*")
_ITSELF = re.compile(r"^\s*(?:-e\s*|--editable[ =])?(?:file:)?\.(?:/)?(?:\[[^\]]*\])?\s*(?:#.*)?$")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PYTEST = re.compile(r"(?i)pytest(?:\s*>=\s*\d+(?:\.\d+)*)?")  # the default image has one


@dataclass(frozen=True)
class Needs:
    """`files` to be seen, those of them to `install` (paths from the tree's root), and `what` in
    words. `metadata` names the project and its version, b"" where it has no name."""

    files: Mapping[str, bytes]
    install: tuple[str, ...]
    what: str
    metadata: bytes = b""


def python_needs(sight: Sight, folder: str, *, pytest_there: bool) -> Needs:
    """The requirements of the project in `folder`: what it needs to run and to be tested."""
    start = f"{folder}/" if folder else ""
    inside = {p.removeprefix(start): p for p in sight.files if p.startswith(start)}
    files: dict[str, bytes] = {}
    chosen: list[str] = []
    for name, path in sorted(inside.items()):
        if _READABLE.fullmatch(name) and name.count("/") <= 2:
            files[path] = _without_itself(sight.bytes_of(path))
            if _FILE.fullmatch(name) and "require" in name.lower():
                chosen.append(path)
    testing = [one for one in chosen if "test" in one.removeprefix(start).lower()]
    if (
        testing
    ):  # where tests have a file of their own, the developers' whole workshop is not needed
        chosen = [one for one in chosen if one in testing or not _WORKSHOP.search(one)]
    listed = _listed(sight, start)
    own = next((one[1] for one in listed if one[1]), "")
    lines = [line for lines, _ in listed for line in lines]
    wanted = _cleaned(lines, own)
    if wanted:
        path = f"{start}{GENERATED}"
        files[path] = ("\n".join(wanted) + "\n").encode()
        chosen.append(path)
    real = [one for one in chosen if files[one].strip()]
    if not any(_installs(files[one], pytest_there=pytest_there) for one in real):
        return Needs({}, (), "")
    words = [posixpath.relpath(one, folder or ".") for one in real]
    what = ", ".join("what the project names" if w == GENERATED else w for w in words)
    return Needs(files, tuple(real), what, _metadata(sight, start))


def _metadata(sight: Sight, start: str) -> bytes:
    project = _mapping(_toml(sight.bytes_of(f"{start}pyproject.toml")).get("project"))
    name, version = project.get("name"), project.get("version", "0")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return b""
    if not isinstance(version, str) or not _NAME.fullmatch(version):
        version = "0"
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()


def _installs(data: bytes, *, pytest_there: bool) -> bool:
    lines = [
        line.partition(" #")[0].strip() for line in data.decode("utf-8", "replace").split("\n")
    ]
    real = [line for line in lines if line and not line.startswith("#")]
    return any(not (pytest_there and _PYTEST.fullmatch(line)) for line in real)


def _without_itself(data: bytes) -> bytes:
    """A requirement file without the project itself, whose source set-up does not see."""
    lines = data.decode("utf-8", "replace").split("\n")
    return "\n".join(line for line in lines if not _ITSELF.match(line)).encode()


def _cleaned(lines: Iterable[str], own: str) -> list[str]:
    kept: list[str] = []
    for line in lines:
        text = " ".join(line.split())
        name = _NAME.match(text)
        if name is None or _folded(name[0]) == own or text in kept:
            continue
        kept.append(text)
    return kept


def _folded(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


_Listed = tuple[list[str], str]


def _listed(sight: Sight, start: str) -> tuple[_Listed, ...]:
    return (
        _pyproject(_toml(sight.bytes_of(f"{start}pyproject.toml"))),
        _setup_cfg(sight.bytes_of(f"{start}setup.cfg")),
        _setup_py(sight.bytes_of(f"{start}setup.py")),
        _pipfile(sight.bytes_of(f"{start}Pipfile.lock")),
    )


def _pyproject(data: Mapping[str, Any]) -> _Listed:
    project = _mapping(data.get("project"))
    extras = _mapping(project.get("optional-dependencies"))
    groups = _mapping(data.get("dependency-groups"))
    lines = _texts(project.get("dependencies"))
    own = _folded(str(project.get("name", "")))
    for name, wanted in extras.items():
        if _TESTING.fullmatch(name):
            lines += _expanded(_texts(wanted), extras, own)
    for name in groups:
        if _TESTING.fullmatch(name):
            lines += _expanded(_group(groups, name, set()), extras, own)
    return lines, own


def _group(groups: Mapping[str, Any], name: str, seen: set[str]) -> list[str]:
    """A dependency group with the groups that it includes."""
    if name in seen:
        return []
    seen.add(name)
    found: list[str] = []
    listed = groups.get(name)
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, Mapping) and "include-group" in one:
            found += _group(groups, str(one["include-group"]), seen)
    return found


def _expanded(lines: list[str], extras: Mapping[str, Any], own: str) -> list[str]:
    """Lines in which `project[a,b]` stands for the project's own extras."""
    found: list[str] = []
    for line in lines:
        asked = re.fullmatch(r"\s*([A-Za-z0-9._-]+)\s*\[([^\]]+)\]\s*", line)
        if asked and _folded(asked[1]) == own:
            for extra in asked[2].split(","):
                found += _texts(extras.get(extra.strip()))
        else:
            found.append(line)
    return found


def _setup_cfg(data: bytes) -> _Listed:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(data.decode("utf-8", "replace"))
    except configparser.Error:
        return [], ""
    lines = parser.get("options", "install_requires", fallback="").split("\n")
    lines += parser.get("options", "tests_require", fallback="").split("\n")
    if parser.has_section("options.extras_require"):
        for name, wanted in parser.items("options.extras_require"):
            if _TESTING.fullmatch(name):
                lines += wanted.split("\n")
    return lines, _folded(parser.get("metadata", "name", fallback=""))


def _setup_py(data: bytes) -> _Listed:
    """Literal arguments of the call of `setup`; what is computed stays unknown."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [], ""
    lines: list[str] = []
    own = ""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or "setup" not in ast.unparse(node.func):
            continue
        for given in node.keywords:
            try:
                value = ast.literal_eval(given.value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
            if given.arg in ("install_requires", "tests_require"):
                lines += _texts(value)
            elif given.arg == "extras_require":
                for name, wanted in _mapping(value).items():
                    lines += _texts(wanted) if _TESTING.fullmatch(str(name)) else []
            elif given.arg == "name" and isinstance(value, str):
                own = _folded(value)
    return lines, own


def _pipfile(data: bytes) -> _Listed:
    try:
        locked = _mapping(json.loads(data or b"{}"))
    except (ValueError, RecursionError):
        return [], ""
    lines = []
    for section in ("default", "develop"):
        for name, told in _mapping(locked.get(section)).items():
            version = str(_mapping(told).get("version", ""))
            marker = str(_mapping(told).get("markers", ""))
            lines.append(f"{name}{version}" + (f" ; {marker}" if marker else ""))
    return lines, ""


def _toml(data: bytes) -> Mapping[str, Any]:
    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split("\n")
    return [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple) else []
