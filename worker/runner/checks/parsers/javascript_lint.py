"""tsc, eslint and prettier: what they say about the sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.domain.check import Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import Found, failure, told

_PLAIN = re.compile(r"^(\S.*?)\((\d+),(\d+)\): error (TS\d+): (.+)$")
_PRETTY = re.compile(r"^(\S.*?):(\d+):(\d+) - error (TS\d+): (.+)$")
_GLOBAL = re.compile(r"^error (TS\d+): (.+)$")
_RULED = re.compile(r"^ +(\d+):(\d+) +(error|warning) +(\S.*?)(?: {2,}([\w@/.-]+))?$")
_UNIX = re.compile(r"^(\S.*?):(\d+):(\d+): (.+) \[(Error|Warning)(?:/(.+))?\]$")
_OOPS = "Oops! Something went wrong!"
_UNFORMATTED = re.compile(r"^\[warn\] (\S.*\.\w+)$")
_UNREAD = re.compile(r"^\[error\] (\S+?): (\w+): (.+?) \((\d+):(\d+)\)$")


def tsc(log: Log) -> Found:
    """TypeScript's diagnostics, plain or pretty."""
    return told(_typescript(log))


def _typescript(log: Log) -> Iterator[Failure]:
    for line in log.lines:
        if "error TS" not in line:
            continue
        if match := _PLAIN.match(line) or _PRETTY.match(line):
            yield failure("", match[4], match[5], log.place(match[1]), match[2], match[3])
        elif match := _GLOBAL.match(line):
            yield failure("", match[1], match[2])


def eslint(log: Log) -> Found:
    """eslint's stylish and unix formats; warnings are none of its failures."""
    return told(_eslint(log))


def _eslint(log: Log) -> Iterator[Failure]:
    file = ""
    for index, line in enumerate(log.lines):
        if match := _RULED.match(line):
            if match[3] == "error" and file:
                rule = match[5] or ("parsing" if match[4].startswith("Parsing error") else "eslint")
                yield failure("", rule, match[4], file, match[1], match[2])
        elif line.endswith("]") and (match := _UNIX.match(line)):
            if match[5] == "Error":
                rule = match[6] or "parsing"
                yield failure("", rule, match[4], log.place(match[1]), match[2], match[3])
        elif line.startswith(_OOPS):
            rest = [each.strip() for each in log.lines[index + 1 : index + 12] if each.strip()]
            yield failure("", "eslint", next(iter(rest[1:]), line), trace=rest, status="error")
        elif line and line[0] != " ":
            file = log.place(line)


def prettier(log: Log) -> Found:
    """Files that are not formatted, or cannot be."""
    found: list[Failure] = []
    for line in log.lines:
        if match := _UNFORMATTED.match(line):
            found.append(failure("", "unformatted", "not formatted", log.place(match[1])))
        elif match := _UNREAD.match(line):
            place = (log.place(match[1]), match[4], match[5])
            found.append(failure("", match[2], match[3], *place, status="error"))
    return told(found)
