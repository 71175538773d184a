"""Runs the small Python tests of a fixture inside this process and reports them as JUnit.

For stubs only: the files are our own fixtures, never a stranger's. A check takes a millisecond, so
that hundreds of whole runs fit into minutes.
"""

from __future__ import annotations

import builtins
import posixpath
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any
from xml.sax.saxutils import quoteattr

from app.domain.check import Outcome
from tests.fakes.sandbox import ended

Files = Mapping[str, bytes]


def check(argv: Sequence[str], report: str, files: Files) -> Outcome:
    """What the tests of `files` say: exit code 1 where one fails, with a JUnit report if one is
    wanted. Words of `argv` that name a test file, or a test in it, narrow the run."""
    wanted = [word for word in argv if ".py" in word and not word.startswith("-")]
    cases = [
        (path, name, why)
        for path in sorted(files)
        if _is_test(path)
        for name, why in _tests(path, files)
        if not wanted or any(_named(word, path, name) for word in wanted)
    ]
    failed = [case for case in cases if case[2]]
    lines = [f"{path}::{name} {'FAILED' if why else 'PASSED'}" for path, name, why in cases]
    said = f"{len(failed)} failed, {len(cases) - len(failed)} passed in 0.01s"
    text = "\n".join([*lines, said, ""]).encode()
    code = 1 if failed else 0 if cases else 5
    return ended(code, stdout=text, report=_junit(cases) if report else None)


def _is_test(path: str) -> bool:
    name = posixpath.basename(path)
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def _named(word: str, path: str, name: str) -> bool:
    where, _, test = word.partition("::")
    return path == where and test in ("", name)


def _tests(path: str, files: Files) -> list[tuple[str, str]]:
    """(name, why it failed) of each test function of one file."""
    try:
        module = _Loaded(files).load(path, "tested")
    except Exception as error:  # noqa: BLE001 - a test file may fail in any way
        return [("collection", repr(error))]
    found = []
    for name, made in list(vars(module).items()):
        if name.startswith("test_") and callable(made):
            why = ""
            try:
                made()
            except Exception as error:  # noqa: BLE001 - a test may fail in any way
                why = repr(error) or "failed"
            found.append((name, why))
    return found


class _Loaded:
    """Modules of the fixture, loaded from its bytes; all else comes from the real interpreter."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.modules: dict[str, ModuleType] = {}

    def load(self, path: str, name: str) -> ModuleType:
        module = ModuleType(name)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
        exec(compile(self.files[path], path, "exec"), module.__dict__)
        return module

    def _import(self, name: str, *rest: Any) -> Any:
        path = f"{name}.py"
        if path not in self.files:
            return __import__(name, *rest)
        if name not in self.modules:
            self.modules[name] = self.load(path, name)
        return self.modules[name]


def _junit(cases: Sequence[tuple[str, str, str]]) -> bytes:
    rows = []
    for path, name, why in cases:
        within = path.removesuffix(".py").replace("/", ".")
        fault = f"<failure message={quoteattr(why)}>{path}:1: AssertionError</failure>"
        rows.append(
            f"<testcase classname={quoteattr(within)} name={quoteattr(name)} "
            f'file={quoteattr(path)} time="0.001">{fault if why else ""}</testcase>'
        )
    failed = sum(1 for case in cases if case[2])
    head = f'<testsuite name="pytest" errors="0" failures="{failed}" tests="{len(cases)}">'
    return (
        f'<?xml version="1.0"?><testsuites>{head}{"".join(rows)}</testsuite></testsuites>'.encode()
    )
