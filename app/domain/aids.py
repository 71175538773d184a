"""Modules that only tests use: their helpers, told from the product by who imports them.

A helper is imported by the base's tests (or plugins, or check scripts), by no product code, and
looks like one: by a name, by the test framework that it imports, by functions that only assert, or
since it lies beside the script that uses it.
"""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from app.domain.base_files import SUFFIXES, BaseFiles, normal

PYTHON, SCRIPT = (".py",), tuple(end for end in SUFFIXES if end != ".json")
DEPTH = 5  # helpers of helpers
TEXT_CAP = 1 << 20
_WORD = re.compile(
    r"(?:tests?|testing|spec|specs|fixtures?|mocks?|fakes?|stubs?|e2e|qa|asserts?|assertions?"
    r"|expect(?:ations?)?|matchers?|conftest|testcases?|test(?:util|help|lib|kit|support|case|data)"
    r"\w*|helpers?|factories|support)$"
)
_FRAMEWORK = re.compile(
    r"^\s*(?:from|import)\s+(?:_?pytest|unittest|pluggy|nose2?|hypothesis|testtools"
    r"|assertpy|hamcrest|expects|sure|django\.test|rest_framework\.test)\b"
    r"|(?:require\(|from|import)\s*\(?[\"'](?:node:test|jest|@jest/[\w-]+|vitest|mocha|chai|tape|ava"
    r"|@playwright/test|@testing-library/[\w-]+|supertest|sinon)[\"']",
    re.MULTILINE,
)
_REQUIRED = re.compile(r"(?:require\(|import\(|from|import)\s*[\"'](\.{1,2}/?[^\"'\n]{0,200})[\"']")


@dataclass
class Aids:
    """Answers for changed paths, reading only what could import them. `deciders` are files whose
    imports count as those of tests; `is_test` says what a test is; `places` are where Python looks
    for modules."""

    base: BaseFiles
    places: Collection[str]
    is_test: Callable[[str], bool]
    deciders: Collection[str]
    _users: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def helper(self, path: str, depth: int = DEPTH) -> str:
        """Why `path` is a helper of tests (the file that uses it), "" where it is none."""
        if path not in self.base.paths or not path.endswith((*PYTHON, *SCRIPT)) or not depth:
            return ""
        if not (self._looks(path) or self._beside(path)):
            return ""
        users = self.users(path)
        own = [user for user in users if self.is_test(user) or user in self.deciders]
        rest = [user for user in users if user not in own]
        via = [user for user in rest if self.helper(user, depth - 1)]
        return (own or via or [""])[0] if len(via) == len(rest) else ""

    def users(self, path: str) -> tuple[str, ...]:
        """The base's files that import `path`."""
        if path not in self._users:
            stem = _stem(path)
            word = re.compile(rf"\b{re.escape(stem)}\b")
            kinds = PYTHON if path.endswith(PYTHON) else SCRIPT
            self._users[path] = tuple(
                sorted(
                    other
                    for other in self.base.paths
                    if other != path
                    and other.endswith(kinds)
                    and word.search(text := self.base.read(other))
                    and path in self._imports(other, text)
                )
            )
        return self._users[path]

    def _imports(self, path: str, text: str) -> set[str]:
        folder = posixpath.dirname(path)
        if not path.endswith(PYTHON):
            words = _REQUIRED.findall(text)
            return {one for word in words for one in self.base.meant(word, (folder,))}
        return {
            one
            for name in imported(text, path)
            for one in self.base.module(name, (folder, *self.places))
        }

    def _beside(self, path: str) -> bool:
        """Whether `path` is imported by a check's script in its own folder, and from nowhere else;
        a package is product, and so is what lies at the root."""
        folder = posixpath.dirname(path)
        if not folder or f"{folder}/__init__.py" in self.base.paths:
            return False
        users = self.users(path)
        near = all(posixpath.dirname(user) == folder for user in users)
        return near and any(user in self.deciders for user in users)

    def _looks(self, path: str) -> bool:
        words = re.split(r"[/._-]+", posixpath.splitext(path)[0].lower())
        if any(_WORD.match(word) for word in words):
            return True
        text = self.base.read(path)
        return bool(_FRAMEWORK.search(text)) or (path.endswith(PYTHON) and only_asserts(text))


def imported(text: str, path: str = "") -> Iterator[str]:
    """The dotted names of the modules that a Python text imports; relative ones from `path`."""
    tree = _parsed(text)
    if tree is None:
        found = re.findall(r"^\s*(?:from|import)\s+([\w.]+)", text, re.MULTILINE)
        yield from (name for name in found if name.strip("."))
        return
    folder = posixpath.dirname(path).replace("/", ".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = folder.split(".")[: len(folder.split(".")) - node.level + 1]
            start = ".".join(part for part in above if part) if node.level else ""
            name = ".".join(part for part in (start, node.module or "") if part)
            if name:
                yield name
            yield from (f"{name}.{one.name}".strip(".") for one in node.names)


def only_asserts(text: str) -> bool:
    """Whether half of a Python text's functions, or more, do nothing but assert."""
    tree = _parsed(text)
    if tree is None:
        return False
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    asserting = [one for one in functions if _asserts(one.body)]
    return bool(asserting) and 2 * len(asserting) >= len(functions)


def _asserts(body: list[ast.stmt]) -> bool:
    real = [
        node
        for node in body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    return bool(real) and all(isinstance(node, ast.Assert) or _raises(node) for node in real)


def _raises(node: ast.stmt) -> bool:
    """`if …: raise AssertionError`, or the `raise` alone."""
    if isinstance(node, ast.If):
        return all(_raises(one) for one in (*node.body, *node.orelse))
    return isinstance(node, ast.Raise) and "AssertionError" in ast.dump(node)


def _parsed(text: str) -> ast.Module | None:
    if len(text) > TEXT_CAP:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _stem(path: str) -> str:
    stem = posixpath.splitext(posixpath.basename(path))[0]
    if stem in ("__init__", "__main__", "index"):
        return posixpath.basename(posixpath.dirname(path)) or stem
    return stem


def foreign_modules(base: BaseFiles, names: Iterable[str]) -> set[str]:
    """Of the top-level `names`, those that the base's Python files import."""
    wanted = frozenset(names)
    if not wanted:
        return set()
    word = "|".join(re.escape(name) for name in sorted(wanted))
    pattern = re.compile(
        rf"^[ \t]*(?:from|import)[ \t]+(?:[\w., ]+,[ \t]*)?({word})\b", re.MULTILINE
    )
    loaded = re.compile(rf"(?:import_module|__import__|importorskip)\([ \t]*[\"']({word})\b")
    return {
        found
        for path in base.paths
        if path.endswith(PYTHON)
        for one in (pattern, loaded)
        for found in one.findall(base.read(path))
    }


def import_places(base: BaseFiles, tests: Iterable[str]) -> set[str]:
    """The folders that the base's tests put on the import path themselves: the literals in the
    lines that name `sys.path`, where they are folders of the base."""
    found: set[str] = set()
    folders = {posixpath.dirname(path) for path in base.paths}
    for path in tests:
        if not path.endswith(PYTHON) or "sys.path" not in (text := base.read(path)):
            continue
        lines = [line for line in text.splitlines() if "sys.path" in line or "chdir" in line]
        found.add(posixpath.dirname(path))
        found.add(posixpath.dirname(posixpath.dirname(path)))
        for literal in re.findall(r"[\"']([\w./-]{1,120})[\"']", "\n".join(lines)):
            for start in ("", posixpath.dirname(path)):
                place = normal(posixpath.join(start, literal))
                if place in folders or any(one.startswith(f"{place}/") for one in folders):
                    found.add(place)
    return found
