"""shellcheck: its gcc and terminal formats."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.domain.check import Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import Found, failure, told

_GCC = re.compile(r"^(\S[^:]*):(\d+):(\d+): (error|warning|note): (.+) \[(SC\d+)\]$")
_IN = re.compile(r"^In (.+) line (\d+):$")
_MARK = re.compile(r"^( *)\^-*\^? ?(?:-- )?(SC\d+) \((error|warning|info|style)\): (.+)$")


def parse(log: Log) -> Found:
    """Errors and warnings; notes only where there is nothing worse (they alone fail it then)."""
    found = [*_gcc(log), *_terminal(log)]
    worse = [one for weight, one in found if weight]
    return told(worse or [one for _, one in found])


def _gcc(log: Log) -> Iterator[tuple[bool, Failure]]:
    for line in log.lines:
        if "[SC" in line and (match := _GCC.match(line)):
            place = (log.place(match[1]), match[2], match[3])
            yield match[4] != "note", failure("", match[6], match[5], *place)


def _terminal(log: Log) -> Iterator[tuple[bool, Failure]]:
    place = ("", 0)
    for line in log.lines:
        if line.startswith("In ") and (head := _IN.match(line)):
            place = (log.place(head[1]), int(head[2]))
        elif "SC" in line and place[0] and (match := _MARK.match(line)):
            one = failure("", match[2], match[4], *place, len(match[1]) + 1)
            yield match[3] in ("error", "warning"), one
