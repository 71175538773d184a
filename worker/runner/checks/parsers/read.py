"""A log with its exit code, read by the parser that fits: failures, counts, and honest doubt."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.domain.check import Failure
from worker.runner.checks.output import cleaned
from worker.runner.checks.parsers import generic
from worker.runner.checks.parsers.log import LINE_CAP, Log
from worker.runner.checks.parsers.record import NOTHING, Found, bounded, merged
from worker.runner.checks.parsers.tools import BY_NAME, Tool, named, shown

NONE = "none"  # as a configured parser: the exit code alone decides
_DEFINED = re.compile(
    r"^\s*(?:(?:async )?def (\w+)\(|(?:it|test|specify)(?:\.\w+)?\(\s*([\"'`])(.+?)\2)"
)
CONTEXT = 2  # lines before and behind
CONTEXT_CAP = 160  # characters of one
DISAGREE = "exit code and output disagree"
SILENT = "exit 0, but nothing says which tests ran"
NO_TESTS = "no tests ran"


@dataclass(frozen=True)
class Parsed:
    """`tools` are () where nothing was understood: "unparsed", the exit code decides.

    `tests` says that the command is known to run tests.
    """

    tools: tuple[str, ...]
    found: Found
    tests: bool

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What is kept: at most 12 failures, 8,000 characters."""
        return bounded(self.found.failures)

    def doubt(self) -> str:
        """Why an exit code of 0 is no pass; "" where nothing speaks against it."""
        counts = self.found.counts
        if (counts is not None and counts.failed) or any(map(told, self.found.failures)):
            return DISAGREE
        if self.found.ran is False:
            return NO_TESTS
        return SILENT if self.tests and self.found.ran is None else ""


def told(failure: Failure) -> bool:
    """Whether the tool itself calls it a failure; a warning speaks against no exit code."""
    return failure.status != "warning"


def read(log: Log, argv: Sequence[str], parser: str = "") -> Parsed:
    """What `log` says. `parser` is the configured one; without it the command and the output tell.

    Only tools that run tests are recognised by their output alone when the exit code is 0: words
    that look like a linter's may be anybody's.
    """
    if parser == NONE:
        return Parsed((), NOTHING, False)
    if parser:
        tool = BY_NAME[parser]
        found = tool.parse(log)
        return Parsed((tool.name,) if found != NOTHING else (), found, tool.tests)
    tools, open_ended = named(argv)
    parts = _each(tools, log)
    said = merged(found for _, found in parts)
    if open_ended or (log.exit_code != 0 and not said.failures):
        text = "\n" + "\n".join(log.lines)
        seen = (one for one in shown(text, tools) if one.tests or log.exit_code != 0)
        parts += _each(tuple(seen), log)
        parts += _framed(argv, log)
    understood = [(tool, found) for tool, found in parts if found != NOTHING]
    return Parsed(
        tuple(dict.fromkeys(tool for tool, _ in understood)),
        merged(found for _, found in understood),
        any(tool.tests for tool in tools),
    )


def _each(tools: Sequence[Tool], log: Log) -> list[tuple[str, Found]]:
    done: set[str] = set()
    parts = []
    for tool in tools:
        if tool.group in done:
            continue
        found = tool.parse(log)
        if found != NOTHING and tool.group:
            done.add(tool.group)
        parts.append((tool.name, found))
    return parts


def _framed(argv: Sequence[str], log: Log) -> list[tuple[str, Found]]:
    """tox runs commands of any kind, and says which of them failed."""
    if not any(word.rsplit("/", 1)[-1] == "tox" for one in argv for word in one.split()):
        return []

    def known(segment: Sequence[str]) -> bool:
        part = replace(log, lines=tuple(segment), raw=b"")
        text = "\n" + "\n".join(segment)
        return any(tool.parse(part) != NOTHING for tool in shown(text))

    return [("tox", generic.tox(log, known))]


def with_context(
    failures: Sequence[Failure], source: Callable[[str], bytes | None]
) -> tuple[Failure, ...]:
    """The failures with the candidate's own lines around their place.

    `source` gives a file of the candidate's tree, None where it has none.
    """
    texts: dict[str, list[str]] = {}
    found = []
    for one in bounded(failures):
        if one.file:
            if one.file not in texts:
                data = source(one.file)
                texts[one.file] = cleaned_lines(data) if data is not None else []
            line = one.line or _defined(one.test, texts[one.file])
            one = replace(one, line=line, context=around(texts[one.file], line))
        found.append(one)
    return bounded(found)


def _defined(test: str, lines: Sequence[str]) -> int:
    """Where a test that has a file but no line is written, 0 where that is not plain."""
    name = test.rpartition("::")[2].rpartition(".")[2].partition("[")[0]
    for at, line in enumerate(lines, 1):
        match = _DEFINED.match(line[:LINE_CAP])
        if match is None:
            continue
        if name == match[1] or (match[3] and test.endswith(match[3])):
            return at
    return 0


def cleaned_lines(data: bytes) -> list[str]:
    """A source file's lines, readable; numbered as editors do."""
    return [cleaned(line) for line in data.decode("utf-8", "replace").split("\n")]


def around(lines: Sequence[str], line: int) -> tuple[str, ...]:
    """The lines around `line` (from 1), that one marked by `>`."""
    if not 1 <= line <= len(lines):
        return ()
    first = max(1, line - CONTEXT)
    last = min(len(lines), line + CONTEXT)
    return tuple(
        f"{'>' if at == line else ' '} {at:>{len(str(last))}} | {lines[at - 1][:CONTEXT_CAP]}"
        for at in range(first, last + 1)
    )
