"""Examples in the documentation of Python code are tests: which of the base's a change lost.

They stand in product code, so that the file cannot be put back as a whole: the base's words are put
back over the candidate's code, function by function.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

SIZE_CAP = 1 << 20  # characters of a file that is parsed


@dataclass(frozen=True)
class _Doc:
    text: str
    lines: tuple[int, int]  # of the literal, first and last, from 1
    columns: tuple[int, int]  # in bytes, as `ast` counts
    source: str


def lost_examples(old: str, new: str) -> tuple[str, ...]:
    """The qualified names ("" is the module) whose examples of the base are gone or read otherwise.

    An example that is only added loses none. () where either side is no Python.
    """
    if ">>>" not in old:
        return ()
    before, after = _docs(old), _docs(new)
    if before is None or after is None:
        return ()
    return tuple(
        name
        for name, doc in before.items()
        if not _kept(_examples(doc.text), _examples(after[name].text) if name in after else [])
    )


def with_examples(old: str, new: str) -> str | None:
    """`new` with the base's documentation wherever it lost an example; None where that cannot be
    done."""
    names = lost_examples(old, new)
    before, after = _docs(old), _docs(new)
    if not names or before is None or after is None:
        return None
    lines = new.encode().split(b"\n")
    there = [(after[name], before[name]) for name in names if name in after]
    for mine, theirs in sorted(there, key=lambda pair: pair[0].lines, reverse=True):
        (first, last), (start, end) = mine.lines, mine.columns
        head, tail = lines[first - 1][:start], lines[last - 1][end:]
        lines[first - 1 : last] = [head + theirs.source.encode() + tail]
    return b"\n".join(lines).decode()


def _docs(text: str) -> Mapping[str, _Doc] | None:
    if len(text) > SIZE_CAP:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            found: dict[str, _Doc] = {}
            _collect(tree, "", text, found)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return found


def _collect(node: ast.AST, name: str, text: str, found: dict[str, _Doc]) -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(node, kinds) and node.body:
        first = node.body[0]
        value = first.value if isinstance(first, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            source = ast.get_source_segment(text, value) or ""
            end = (value.end_lineno or value.lineno, value.end_col_offset or 0)
            found[name] = _Doc(
                value.value, (value.lineno, end[0]), (value.col_offset, end[1]), source
            )
    for child in ast.iter_child_nodes(node):
        if isinstance(child, kinds[1:]):
            _collect(child, f"{name}.{child.name}" if name else child.name, text, found)
        elif _holds(child):
            _collect(child, name, text, found)


def _holds(node: ast.AST) -> bool:
    """Whether definitions may stand inside: `if`, `try`, `with` and the like."""
    return isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While | ast.ExceptHandler)


def _examples(doc: str) -> list[str]:
    """Each example with what it expects, without its indentation."""
    found: list[list[str]] = []
    inside = False
    for line in doc.splitlines():
        text = line.strip()
        if text.startswith(">>>"):
            found.append([text])
            inside = True
        elif inside and text:
            found[-1].append(text)
        else:
            inside = False
    return ["\n".join(one) for one in found]


def _kept(before: list[str], after: list[str]) -> bool:
    left = list(after)
    for one in before:
        if one not in left:
            return False
        left.remove(one)
    return True
