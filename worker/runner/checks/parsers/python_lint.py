"""ruff, flake8, pylint, mypy, pyright, black and isort."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.domain.check import Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import Found, failure, told

_CONCISE = re.compile(r"^(\S[^:]*):(\d+):(\d+): ([A-Z]+\d+|[a-z]+(?:-[a-z]+)+):? (?:\[\*\] )?(.+)$")
_RULE = re.compile(r"^([A-Z]+\d+|[a-z]+(?:-[a-z]+)*):? (?:\[\*\] )?(\S.*)$")
_ARROW = re.compile(r"^ *--> (.+?):(\d+):(\d+)$")
_RUFF_FAILED = re.compile(r"^(?:ruff failed|error: )\s*(.*)$")
_REFORMAT = re.compile(r"^[Ww]ould reformat:? (\S.*)$")
_PARSE = re.compile(
    r"^error: (?:cannot (?:parse|format):? |Failed to parse )(\S+?)"
    r"(?:: Cannot parse[^:]*)?:(?: ?(\d+):(\d+))?:? ?(.*)$"
)
_KIND = re.compile(r"^(\w+Error): (.+)$")
_MYPY = re.compile(r"^(\S[^:]*):(\d+):(?:(\d+):)?(?:\d+:\d+:)? error: (.+?)(?: {2}\[([\w-]+)\])?$")
_PYRIGHT = re.compile(r"^ {2}(\S.*?):(\d+):(\d+) - error: (.+?)(?: \((report\w+)\))?$")
_PYLINT = re.compile(r"^(\S[^:]*):(\d+):(\d+): ([CRWEF]\d{4}): (.+?)(?: \(([\w-]+)\))?$")
_ISORT = re.compile(r"^ERROR: (\S+) (Imports are incorrectly sorted.*)$")


def ruff(log: Log) -> Found:
    """ruff check (full and concise) and ruff format --check."""
    return told((*_ruff(log), *_formatted(log)))


def _ruff(log: Log) -> Iterator[Failure]:
    for index, line in enumerate(log.lines):
        if " --> " in line and index and (match := _ARROW.match(line)):
            head = _RULE.match(log.lines[index - 1])
            if head:
                place = (log.place(match[1]), match[2], match[3])
                yield failure("", head[1], head[2], *place, log.lines[index + 1 : index + 6])
        elif line[:1] != " " and (match := _CONCISE.match(line)):
            yield failure("", match[4], match[5], log.place(match[1]), match[2], match[3])
        elif line.startswith("ruff failed"):
            said = " ".join(each.strip() for each in log.lines[index + 1 : index + 4])
            yield failure("", "ruff", said or line, status="error")


def flake8(log: Log) -> Found:
    """flake8 and pycodestyle."""
    found = (_CONCISE.match(line) for line in log.lines if line[:1] not in ("", " "))
    return told(failure("", m[4], m[5], log.place(m[1]), m[2], m[3]) for m in found if m)


def pylint(log: Log) -> Found:
    """pylint's text format."""
    found = (_PYLINT.match(line) for line in log.lines if ": " in line)
    return told(
        failure("", m[6] or m[4], m[5], log.place(m[1]), m[2], int(m[3]) + 1) for m in found if m
    )


def mypy(log: Log) -> Found:
    """mypy's errors; its notes belong to them."""
    found = []
    for line in log.lines:
        if "error: " not in line:
            continue
        if match := _MYPY.match(line):
            place = (log.place(match[1]), match[2], match[3])
            found.append(failure("", match[5] or "error", match[4], *place))
        elif line.startswith("mypy: error: "):
            found.append(failure("", "UsageError", line.removeprefix("mypy: error: ")))
    return told(found)


def pyright(log: Log) -> Found:
    """pyright's and basedpyright's errors; its warnings are none of its failures."""
    found = (_PYRIGHT.match(line) for line in log.lines if " - error: " in line)
    return told(failure("", m[5] or "error", m[4], log.place(m[1]), m[2], m[3]) for m in found if m)


def black(log: Log) -> Found:
    """black --check: files that it would change or cannot read."""
    return told(_formatted(log))


def _formatted(log: Log) -> Iterator[Failure]:
    for index, line in enumerate(log.lines):
        if match := _REFORMAT.match(line) if "ould reformat" in line else None:
            yield failure("", "would-reformat", "would reformat", log.place(match[1]))
        elif match := _PARSE.match(line) if line.startswith("error: ") else None:
            behind = log.lines[index + 1 : index + 5]
            kind = next((m for each in behind if (m := _KIND.match(each))), None)
            error = kind[1] if kind else "ParseError"
            message = f"cannot parse: {match[4] or (kind[2] if kind else '')}"
            place = (log.place(match[1].rstrip(":")), match[2], match[3])
            yield failure("", error, message, *place, status="error")


def isort(log: Log) -> Found:
    """isort --check."""
    found = (_ISORT.match(line) for line in log.lines if line.startswith("ERROR: "))
    return told(failure("", "unsorted", m[2], log.place(m[1])) for m in found if m)
