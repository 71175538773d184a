"""Sentinels: one test that must fail and one that must pass, to see whether results can be trusted.

They run in a run of their own beside the certifying one, over the same tree, which they are never
part of. Their names are drawn; which of the two fails cannot be told from them.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.check import CaseStatus, Check


class Sighting(StrEnum):
    """What became of a pair of sentinels."""

    RIGHT = "right"
    WRONG = "wrong"  # one of them ended otherwise than it must
    ABSENT = "absent"  # nothing was said of one of them


@dataclass(frozen=True)
class Sentinel:
    """A file to lay over a tree; `fails` and `passes` are names inside it."""

    kind: str
    path: str
    text: bytes
    fails: str
    passes: str


_PYTHON = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_SCRIPT = re.compile(
    r"(?:^|/)(?:[^/]*[._-](?:test|spec)\.[cm]?[jt]sx?|test[-_.][^/]*\.[cm]?js)$"
    r"|(?:^|/)(?:tests?|__tests__)/(?:[^/]+/)*[^/]+\.[cm]?[jt]sx?$"
)
_KINDS: tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...] = (
    ("pytest", re.compile(r"\bpy\.?test\b"), _PYTHON),
    ("unittest", re.compile(r"\bunittest\b|setup\.py test"), _PYTHON),
    ("vitest", re.compile(r"\bvitest\b"), _SCRIPT),
    ("jest", re.compile(r"\bjest\b|react-scripts test"), _SCRIPT),
    ("mocha", re.compile(r"\bmocha\b"), _SCRIPT),
    ("node", re.compile(r"\bnode\b[^\n]*\s--test\b"), _SCRIPT),
)
_MANIFESTS = {
    "npm": "package.json",
    "pnpm": "package.json",
    "yarn": "package.json",
    "bun": "package.json",
    "make": "Makefile",
}
SCRIPTS = 4  # that are looked at to know which tool they start
_ASIDE = frozenset({"node_modules", "vendor", "third_party", ".venv", "venv", "dist", "build"})
_BAD = re.compile(r"\bFAIL|\bnot ok\b|[✖✕\u00d7✗●]|\bERROR\b|\bfailed\b|^\s*\d+\) ")


def sentinel(
    check: Check,
    cases: Sequence[str],
    paths: Iterable[str],
    read: Callable[[str], bytes],
    drawn: str,
) -> Sentinel | None:
    """Sentinels that `check` should run, None where its tool is not known or has no test file.

    `cases` are the ids that the check ran (() where it says none), `paths` the tree's files,
    `drawn` at least 24 random hexadecimal digits. They lie beside a test that ran.
    """
    every = [path for path in paths if _ASIDE.isdisjoint(path.split("/"))]
    found = _kind(check, cases, frozenset(every), read)
    if found is None:
        return None
    kind, pattern = found
    ran = [case.partition("::")[0] for case in cases]
    known = frozenset(every)
    beside = _beside([path for path in ran if path in known and pattern.search(path)])
    beside = beside or _beside(path for path in every if pattern.search(path))
    if not beside:
        return None
    names = [f"test_{drawn[:8]}", f"test_{drawn[8:16]}"]
    fails, passes = names if int(drawn[-1], 16) % 2 else names[::-1]
    folder, name = posixpath.split(beside)
    path = posixpath.join(folder, _named(name, drawn[16:24]))
    return Sentinel(kind, path, _text(kind, names, fails, read(beside), path), fails, passes)


def sighted(
    put: Sentinel, cases: Mapping[str, CaseStatus] | None, code: int | None, log: str
) -> tuple[Sighting, str]:
    """What the run said of the sentinels, and the sentence for it. `cases` is None without a
    report: then the exit code and the log's lines speak."""
    if cases is None:
        return _by_log(put, code, log)
    failing = _status(put.fails, cases)
    passing = _status(put.passes, cases)
    if failing is CaseStatus.PASSED or failing is CaseStatus.SKIPPED:
        return Sighting.WRONG, f"A sentinel test that must fail was reported as {failing}."
    if passing is CaseStatus.FAILED or passing is CaseStatus.SKIPPED:
        return Sighting.WRONG, f"A sentinel test that must pass was reported as {passing}."
    if failing is None or passing is None:
        return Sighting.ABSENT, "The report does not name the sentinel tests."
    if code == 0:
        return Sighting.WRONG, "The exit code was 0 although the sentinel test fails."
    return Sighting.RIGHT, "One test that must fail failed, one that must pass passed."


def _by_log(put: Sentinel, code: int | None, log: str) -> tuple[Sighting, str]:
    seen = [line for line in log.splitlines() if put.fails in line]
    wrong = [line for line in log.splitlines() if put.passes in line and _BAD.search(line)]
    if wrong:
        return Sighting.WRONG, "A sentinel test that must pass was printed as failing."
    if code == 0:
        what = "named" if seen else "printed nothing of"
        kind = Sighting.WRONG if seen else Sighting.ABSENT
        return kind, f"The exit code was 0, and the output {what} the sentinel that must fail."
    if not any(_BAD.search(line) for line in seen):
        return Sighting.ABSENT, "The output does not name the sentinel test as failing."
    return Sighting.RIGHT, "One test that must fail failed, by exit code and output."


def _status(name: str, cases: Mapping[str, CaseStatus]) -> CaseStatus | None:
    return next((status for test, status in cases.items() if name in test), None)


def _kind(
    check: Check, cases: Sequence[str], paths: frozenset[str], read: Callable[[str], bytes]
) -> tuple[str, re.Pattern[str]] | None:
    words = " ".join(check.argv)
    manifest = _MANIFESTS.get(posixpath.basename(check.argv[0]) if check.argv else "", "")
    place = posixpath.normpath(posixpath.join(check.workdir, manifest)) if manifest else ""
    if place in paths:
        words += "\n" + _start(read(place))
    scripts = sorted(path for path in paths if path.endswith((".sh", ".bash")) and path in words)
    words += "\n" + "\n".join(_start(read(path)) for path in scripts[:SCRIPTS])
    for kind, pattern, files in _KINDS:
        if pattern.search(words):
            return kind, files
    if any(".py::" in case for case in cases):
        return "pytest", _PYTHON
    return None


def _start(data: bytes) -> str:
    return data[: 1 << 18].decode("utf-8", "replace")


def _beside(paths: Iterable[str]) -> str:
    """A file in the folder that has the most of them, "" without any."""
    every = sorted(set(paths))
    if not every:
        return ""
    folders = Counter(posixpath.dirname(path) for path in every)
    best = max(folders, key=lambda folder: (folders[folder], -len(folder), folder))
    return next(path for path in every if posixpath.dirname(path) == best)


def _named(neighbour: str, word: str) -> str:
    """A name that is collected as its neighbour's is."""
    stem, dot, rest = neighbour.partition(".")
    if neighbour.endswith(".py"):
        return f"test_{word}.py" if neighbour.startswith("test_") else f"t{word}_test.py"
    if stem.startswith(("test-", "test_")):
        return f"{stem[:5]}{word}{dot}{rest}"
    if stem.endswith(("-test", "_test", "-spec", "_spec")):
        return f"{word}{stem[-5:]}{dot}{rest}"
    if "." in rest:
        return f"{word}.{rest.rpartition('.')[0].rpartition('.')[2]}.{rest.rpartition('.')[2]}"
    return f"{word}{dot}{rest}"


_LOADS = {
    "node": ("node:test", "test"),
    "vitest": ("vitest", "test, expect"),
}


def _text(kind: str, names: Sequence[str], fails: str, beside: bytes, path: str) -> bytes:
    if kind in ("pytest", "unittest"):
        return _python(kind, names, fails).encode()
    module = path.endswith((".mjs", ".ts", ".tsx", ".mts")) or (
        not path.endswith(".cjs") and re.search(rb"^\s*(?:import|export)\s", beside, re.M)
    )
    head = ""
    if kind in _LOADS:
        where, what = _LOADS[kind]
        head = (
            f'import {{ {what} }} from "{where}";\n'
            if module
            else f'const {{ {what} }} = require("{where}");\n'
        )
    if kind in ("node", "mocha"):
        head += (
            'import assert from "node:assert";\n'
            if module
            else 'const assert = require("node:assert");\n'
        )
    word = "it" if kind == "mocha" else "test"
    claim = "assert.strictEqual({}, {});" if kind in ("node", "mocha") else "expect({}).toBe({});"
    lines = [
        f'{word}("{name}", () => {{ {claim.format(index + 3, index + 3 + (name == fails))} }});\n'
        for index, name in enumerate(names)
    ]
    return (head + "".join(lines)).encode()


def _python(kind: str, names: Sequence[str], fails: str) -> str:
    if kind == "pytest":
        return "\n\n".join(
            f"def {name}():\n    found = {index + 3}\n"
            f"    assert found == {index + 3 + (name == fails)}\n"
            for index, name in enumerate(names)
        )
    tests = "\n".join(
        f"    def {name}(self):\n"
        f"        self.assertEqual({index + 3}, {index + 3 + (name == fails)})\n"
        for index, name in enumerate(names)
    )
    own = names[0].title().replace("_", "")
    return f"import unittest\n\n\nclass {own}(unittest.TestCase):\n{tests}"
