"""What the base's settings of test runners name: plugins, set-up files, test files, import places.

Looked at are the settings that the base holds, wherever they lie, and the options that the checks
give their runner.
"""

from __future__ import annotations

import ast
import configparser
import json
import posixpath
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from app.domain.base_files import BaseFiles, normal
from app.domain.options import option_values
from app.domain.started import SOURCE, Trail

PYTEST_FILES = frozenset(
    ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml")
    # an ini of another name is known by its section
)
INI_FILES = frozenset(("tox.ini", "setup.cfg", *PYTEST_FILES))
_INI = re.compile(r"\.(?:ini|cfg|toml)$")
_SCRIPTED = re.compile(
    r"(?:^|/)(?:jest[.-][^/]*|vitest\.[^/]*|vite\.config\.[^/]*|karma\.conf\.[^/]*|\.mocharc[^/]*"
    r"|playwright\.config\.[^/]*|cypress\.config\.[^/]*|ava\.config\.[^/]*|\.nycrc[^/]*|\.taprc"
    r"|web-test-runner\.config\.[^/]*|package\.json|\.rspec|phpunit[^/]*\.xml[^/]*|deno\.jsonc?"
    r"|bunfig\.toml|wdio\.conf\.[^/]*|nightwatch\.conf\.[^/]*)$"
)
_KEYS = re.compile(
    r"[\"']?\b(setupFiles\w*|globalSetup|globalTeardown|require|reporters?|runner|testRunner|setup"
    r"|environment|testEnvironment|snapshotSerializers|resolver|transform|preset|file|spec|preload"
    r"|testSequencer|dependencyExtractor|files|testMatch|loader|import|extends|bootstrap|config"
    r"|supportFile|testRegex|testFiles|specPattern|specs|before|plugins|projects)\b[\"']?\s*[:=]\s*"
    r"(\[[^\]]{0,4000}\]|\{[^}]{0,4000}\}|[^\n]{0,400})"
)
_STRING = re.compile(r"[\"'`]([^\"'`\n]{1,200})[\"'`]|(?<=[\s=:])([\w@./*{}<>,-]{2,200})")
_HELD = re.compile(r"(?:^|/)(?:node_modules|vendor|third_party|site-packages)/")
_PRODUCT = frozenset(("", "src", "lib", "app", "packages", "source", "."))


def add_settings(base: BaseFiles, trail: Trail) -> None:
    """Add what the settings and the runner's options say to `trail`."""
    named = [path for path in trail.files if _INI.search(path)]
    own = [path for path in base.paths if not _HELD.search(path)]
    plain = [path for path in own if path.rpartition("/")[2] in INI_FILES]
    for path in dict.fromkeys((*plain, *named)):
        _python_settings(base, trail, path)
    for path in own:
        if _SCRIPTED.search(path):
            _script_settings(base, trail, path)
        elif path.endswith("conftest.py"):
            _plugins(base, trail, path)
    for words, folder in tuple(trail.options):
        name, rest = words[0], words[1:]
        if re.fullmatch(r"py\.?test", name):
            _pytest_options(base, trail, rest, folder, "a check's options name it")
        elif name == "unittest":
            _unittest(base, trail, rest, folder)
        elif name in (
            "doctest",
            "mocha",
            "jest",
            "vitest",
            "ava",
            "tap",
            "rspec",
            "bats",
            "phpunit",
        ):
            python = name == "doctest"
            trail.globs |= {
                (w, folder) for w in rest if _a_file(w) and not (python and w.endswith(".py"))
            }


def _python_settings(base: BaseFiles, trail: Trail, path: str) -> None:
    folder = posixpath.dirname(path)
    why = f"`{path}` names it"
    found = tuple(_pytest_keys(base.read(path), toml=path.endswith(".toml")))
    within = [word for key, value in found if key == "testpaths" for word in _listed(value)]
    for key, value in found:
        words = _listed(value)
        if key == "addopts":
            _pytest_options(base, trail, words, folder, why)
        elif key == "pythonpath":
            trail.places |= {normal(posixpath.join(folder, word)) for word in words}
        elif key == "python_files":
            trail.globs |= {
                (posixpath.join(place, "**", word), folder)
                for word in words
                for place in within or ("",)
                if word not in ("*", "*.py")
            }
        elif key == "plugin":
            _module(base, trail, str(value), folder, why)


def _pytest_keys(text: str, *, toml: bool) -> Iterator[tuple[str, Any]]:
    """The settings of pytest, and `plugin` for each module that an entry point names."""
    if toml:
        try:
            said: Mapping[str, Any] = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            return
        tool = _table(said, "tool")
        for table in (
            _table(tool, "pytest", "ini_options"),
            _table(tool, "pytest"),
            _table(said, "pytest"),
        ):
            yield from table.items()
        points = _table(said, "project", "entry-points", "pytest11")
        yield from (("plugin", str(value).partition(":")[0]) for value in points.values())
        return
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for section in parser.sections():
        if section in ("pytest", "tool:pytest"):
            yield from ((key, value or "") for key, value in parser.items(section))
        elif section == "options.entry_points":
            for line in (parser.get(section, "pytest11", fallback="") or "").splitlines():
                yield "plugin", line.partition("=")[2].partition(":")[0].strip()


def _table(said: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        said = said.get(key) if isinstance(said, dict) else None
    return said if isinstance(said, dict) else {}


def _listed(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else _words(str(value))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _pytest_options(
    base: BaseFiles, trail: Trail, words: Sequence[str], folder: str, why: str
) -> None:
    doctests = any("doctest" in word for word in words)
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        plugin = after if word == "-p" else word[2:] if re.match(r"-p[\w.]", word) else ""
        if plugin and not plugin.startswith("no:"):
            _module(base, trail, plugin, folder, why)
        option = after if word in ("-o", "--override-ini") else word.partition("=")[2]
        if word.startswith(("-o", "--override-ini")) and option.startswith("pythonpath="):
            trail.places |= {normal(posixpath.join(folder, p)) for p in option[11:].split()}
        if word.startswith("--doctest-glob"):
            trail.globs.add((f"**/{word.partition('=')[2] or after}", ""))
        file = word.partition("::")[0]
        if _a_file(file) and not (doctests and file.endswith(".py")):
            trail.globs.add((file, folder))
    for value, sure in option_values("pytest", words):
        for path in base.meant(value, (folder, "")):
            if sure or not SOURCE.search(path):
                trail.files.setdefault(path, why)


def _unittest(base: BaseFiles, trail: Trail, words: Sequence[str], folder: str) -> None:
    given = list(words)
    if given[:1] != ["discover"]:
        for word in given:
            for path in base.module(word, (folder,)) if not word.startswith("-") else ():
                trail.globs.add((path, ""))
        return
    start, pattern, plain, at = ".", "test*.py", [], 1
    while at < len(given):
        value = given[at + 1] if at + 1 < len(given) else ""
        if given[at] in ("-s", "--start-directory"):
            start, at = value, at + 1
        elif given[at] in ("-p", "--pattern"):
            pattern, at = value, at + 1
        elif given[at] in ("-t", "--top-level-directory"):
            at += 1
            trail.places.add(normal(posixpath.join(folder, value)))
        elif not given[at].startswith("-"):
            plain.append(given[at])
        at += 1
    start, pattern = (*plain, start)[0], (*plain[1:2], pattern)[0]
    place = normal(posixpath.join(folder, start))
    trail.places.add(place)
    if pattern not in ("*.py", "*"):
        trail.globs.add((f"{place}/**/{pattern}" if place else f"**/{pattern}", ""))


def _script_settings(base: BaseFiles, trail: Trail, path: str) -> None:
    """Set-up files and patterns of test files that a JavaScript, Ruby or PHP runner is told."""
    folder, name = posixpath.split(path)
    text, why = base.read(path), f"`{path}` names it"
    text = _manifest(text) if name == "package.json" else text
    parts = (
        [text]
        if name.startswith((".mocharc", ".rspec", ".taprc", ".nycrc"))
        else [found[2] for found in _KEYS.finditer(text)]
    )
    for part in parts:
        for found in _STRING.finditer(part):
            word = found[1] or found[2]
            if "*" in word or "{" in word:
                if _narrow(word):
                    trail.globs.add((word.removeprefix("<rootDir>/"), folder))
                continue
            for one in base.meant(word.replace("<rootDir>", "."), (folder, "")):
                if not _entry(one) and one != path:
                    trail.files.setdefault(one, why)


def _manifest(text: str) -> str:
    """What a package.json says to runners of tests; the rest is about the package."""
    try:
        said: Any = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    runners = ("jest", "mocha", "ava", "nyc", "c8", "tap", "vitest", "cypress", "web-test-runner")
    return json.dumps({key: said[key] for key in runners if key in said}, indent=0)


def _narrow(glob: str) -> bool:
    """Whether a pattern tells tests from sources: not every script of a folder of sources."""
    folder, _, last = glob.removeprefix("<rootDir>/").removeprefix("./").rpartition("/")
    wide = re.fullmatch(r"\*+(?:\.\*|\.\w+|\.\{[^}]*\})?|\*\*", last) is not None
    return not wide or folder.partition("/")[0].strip("*") not in _PRODUCT


def _entry(path: str) -> bool:
    """Whether a file that settings name is the product's own entry."""
    return re.fullmatch(r"(?:.*/)?(?:src/)?(?:index|main)\.[cm]?[jt]sx?", path) is not None


def _plugins(base: BaseFiles, trail: Trail, path: str) -> None:
    """`pytest_plugins = …` of a conftest."""
    text = base.read(path)
    if "pytest_plugins" not in text:
        return
    for name in plugin_names(text):
        _module(base, trail, name, posixpath.dirname(path), f"`{path}` names it")


def plugin_names(text: str) -> Iterable[str]:
    """The modules that a Python file declares as plugins of pytest."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return re.findall(r"[\"']([\w.]+)[\"']", text.partition("pytest_plugins")[2][:2_000])
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == "pytest_plugins" for t in targets):
                inner = ast.walk(node.value) if node.value is not None else ()
                found += [
                    n.value
                    for n in inner
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                ]
    return found


def _module(base: BaseFiles, trail: Trail, name: str, folder: str, why: str) -> None:
    if not re.fullmatch(r"[\w.]+", name):
        return
    for path in base.module(name, (folder, *sorted(trail.places), "src", "lib", "tests", "test")):
        trail.files.setdefault(path, why)
        trail.scripts.add(path)


def _a_file(word: str) -> bool:
    """Whether an argument is a file or a pattern of files, not a folder, a module or a name."""
    return not word.startswith("-") and ("*" in word or "." in word.rpartition("/")[2][1:])
