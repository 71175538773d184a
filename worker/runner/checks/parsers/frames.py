"""Places in stack frames of JavaScript, Java and Ruby, as the tree's own files."""

from __future__ import annotations

import re
from collections.abc import Iterable

from worker.runner.checks.parsers.log import Log

ARROW = "\u276f "  # what vitest begins a frame with
_JS = re.compile(rf"^\s*(?:at |{ARROW})(?:.*[( ])?([^\s()]+?):(\d+):(\d+)\)?,?(?: \{{)?$")
_ERROR = re.compile(r"^\s*(?:Uncaught )?([A-Za-z_$][\w$.]{0,100}(?: \[[\w-]{1,60}\])?): (.*)$")

Spot = tuple[str, int, int]  # path, line, column
NOWHERE: Spot = ("", 0, 0)


def javascript(lines: Iterable[str], log: Log) -> Spot:
    """The first frame inside the repository, `NOWHERE` without one."""
    for line in lines:
        if ":" not in line or not line.lstrip().startswith(("at ", ARROW)):
            continue
        match = _JS.match(line)
        if match:
            path = log.place(match[1])
            if log.ours(path):
                return path, int(match[2]), int(match[3])
    return NOWHERE


def raised(lines: Iterable[str]) -> tuple[str, str] | None:
    """(error type, message) of the first line that reads `Type: message` or `Type [CODE]: …`."""
    for line in lines:
        match = _ERROR.match(line)
        if match and not match[1].startswith("at "):
            return match[1].removesuffix(" [Error]"), match[2]
    return None


def frames(lines: Iterable[str]) -> list[str]:
    """The lines that are frames, for the trace."""
    return [line.strip() for line in lines if line.lstrip().startswith(("at ", ARROW))]
