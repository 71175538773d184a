"""Which tests a change adds or changes, so that they can be run over the base's sources."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Mapping

TEXT_CAP = 1 << 20  # characters of a file that is parsed


def of_file(test: str) -> str:
    """The file part of a test's id."""
    return test.partition("::")[0]


def changed_tests(path: str, old: str | None, new: str, ids: Iterable[str]) -> tuple[str, ...]:
    """Of `ids`, those in the test file `path` that are new or read otherwise now, sorted.

    In Python a test counts as changed when its own function differs (also by its decorators);
    where only other lines of the file differ, and in other languages, every test of it counts.
    """
    mine = sorted({test for test in ids if of_file(test) == path})
    if old is None or not path.endswith(".py"):
        return tuple(mine)
    before, after = _functions(old), _functions(new)
    if before is None or after is None:
        return tuple(mine)
    own = tuple(test for test in mine if before.get(_key(test)) != after.get(_key(test), "?"))
    return own or (tuple(mine) if before[""] != after[""] else ())


def hidden_tests(text: str) -> tuple[str, ...]:
    """Python tests that a later one of the same name and place hides: they never run."""
    if len(text) > TEXT_CAP:
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found: list[str] = []
    places: list[tuple[str, list[ast.stmt]]] = [("", tree.body)]
    places += [(f"{one.name}::", one.body) for one in tree.body if isinstance(one, ast.ClassDef)]
    for before, body in places:
        made = [one.name for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
        named = [name for name in made if name.startswith("test")]
        twice = [name for name in dict.fromkeys(named) if named.count(name) > 1]
        found += [f"{before}{name}" for name in twice]
    return tuple(found)


def _key(test: str) -> str:
    """`tests/test_a.py::TestX::test_y[1]` is the function `TestX::test_y`."""
    return test.partition("::")[2].partition("[")[0]


def _functions(text: str) -> Mapping[str, str] | None:
    """Test function -> its code; "" -> all that is no test. None where it is no Python."""
    if len(text) > TEXT_CAP:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a string is not our concern
            return _sorted(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _sorted(tree: ast.Module) -> Mapping[str, str]:
    found: dict[str, str] = {}
    rest: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            for inner in node.body:
                _sort(inner, f"{node.name}::", found, rest)
        else:
            _sort(node, "", found, rest)
    found[""] = "\n".join(rest)
    return found


def _sort(node: ast.stmt, before: str, found: dict[str, str], rest: list[str]) -> None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
        found[before + node.name] = ast.dump(node)
    elif not isinstance(node, ast.Import | ast.ImportFrom):  # a new import alone tests nothing
        rest.append(ast.dump(node))
