"""Static signs, in product code, of an attempt to decide about one's own tests.

They prove nothing and hold nothing up: honest code ends a process, too. A reviewer is told where.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LINE_CAP = 2_000  # characters of a line that are looked at
SHOWN = 100  # characters of a line that are quoted
MOST = 40  # signs of one change

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "brings the test framework into product code",
        re.compile(
            r"\b(?:from|import)\s+(?:_?pytest|unittest|pluggy|nose2?|doctest|hypothesis)\b"
            r"|(?:import_module|__import__)\(\s*[\"'](?:_?pytest|unittest|pluggy)"
            r"|(?:require\(|from\s+)\s*[\"'](?:node:test|jest|@jest/|vitest|mocha|chai|node:assert"
            r"|assert)[\"'/]?"
        ),
    ),
    (
        "reaches into loaded modules or the interpreter's built-ins",
        re.compile(
            r"\bsys\.modules\b|\bsys\.meta_path\b|\bsys\.path_hooks\b|\bbuiltins\.|__builtins__"
            r"|\bsys\.set(?:trace|profile)\b|\bsys\.(?:excepthook|exitfunc)\b|\bgc\.get_(?:objects"
            r"|referrers)\b|\bctypes\b|\brequire\.cache\b|\bModule\._(?:load|resolve|extensions)"
            r"|\bglobalThis\.(?:test|it|describe|expect|assert)\b|\bsitecustomize\b|\busercustomize\b"
        ),
    ),
    (
        "ends the process or arranges its end",
        re.compile(
            r"\bos\.(?:_exit|abort|kill|killpg|exec[lv]p?e?)\b|\bsys\.exit\b|\batexit\b"
            r"|\braise\s+SystemExit\b|\bsignal\.(?:signal|alarm|raise_signal)\b|\bquit\(|\bexit\("
            r"|\bprocess\.(?:exit|abort|kill|exitCode|reallyExit)\b|\bprocess\.on\(\s*[\"']exit"
            r"|\bSystem\.exit\b|\bRuntime\.getRuntime\(\)\.(?:exit|halt)\b|\bos\.Exit\("
            r"|\bstd::process::(?:exit|abort)\b|\b_exit\("
        ),
    ),
    (
        "asks whether it is being tested",
        re.compile(
            r"PYTEST_|\bpytest_|_called_from_test|JEST_WORKER_ID|VITEST|NODE_ENV|MOCHA|RUNNING_TESTS"
            r"|(?:environ|getenv|process\.env|System\.getenv)[^\n]{0,40}\b(?:CI|TEST\w*|TESTING)\b"
            r"|\bsys\.argv\b|\bprocess\.argv\b|sys\._getframe|\binspect\.(?:stack|currentframe)\b"
            r"|\bcurrentframe\(|\btraceback\.(?:extract|walk)_stack\b|new Error\(\)\.stack"
        ),
    ),
    (
        "writes where reports of tests are written",
        re.compile(r"junit|report[\w-]{0,40}\.(?:xml|json)|testsuites?\b|<testcase", re.I),
    ),
    (
        "names test files",
        re.compile(r"[\"'](?:[^\"'\n]{0,80}/)?(?:tests?|spec|__tests__)/|[\"']test_\w+\.py[\"']"),
    ),
    (
        "claims to equal anything",
        re.compile(r"def\s+__(?:eq|ne|bool|instancecheck|subclasscheck)__\b"),
    ),
    (
        "may be a test that stands in product code",
        re.compile(r"#\[(?:test|ignore|should_panic|cfg\(test\))|^\s*>>> |^\s*def test_\w+\("),
    ),
    (
        "runs code that was text",
        re.compile(r"(?<![\w.])(?:exec|eval|compile)\(|\bnew Function\(|\bmarshal\.loads\b"),
    ),
)


@dataclass(frozen=True)
class Sign:
    """One added line of product code that a reviewer should look at."""

    path: str
    line: int
    what: str
    text: str

    def __str__(self) -> str:
        return f"`{self.path}` line {self.line} {self.what}: {self.text}"


def signs(
    path: str, added: Iterable[tuple[int, str]], reports: Sequence[str] = ()
) -> tuple[Sign, ...]:
    """The signs in the added lines (number, text) of one product file, at most `MOST`.

    `reports` are the report files that the configured checks write.
    """
    names = [name.rpartition("/")[2] for name in reports if name]
    found: list[Sign] = []
    for number, text in added:
        if len(found) >= MOST:
            break
        line = text[:LINE_CAP]
        for what in _of(line, names):
            found.append(Sign(path, number, what, line.strip()[:SHOWN]))
    return tuple(found[:MOST])


def _of(line: str, reports: Sequence[str]) -> Iterable[str]:
    told = [what for what, pattern in _KINDS if pattern.search(line)]
    writes = _KINDS[4][0]
    if writes not in told and any(name in line for name in reports):
        told.append(writes)
    return told
