"""A file of settings, `NAME=value` a line: what compose, systemd and `patchwarrant` itself read."""

from __future__ import annotations

import re
from collections.abc import Mapping

_LINE = re.compile(r"([A-Z][A-Z0-9_]{0,79})=(.*)")
_PLAIN = re.compile(r"[A-Za-z0-9_./:,@=+ \-\[\]*]*")


def parsed(text: str) -> dict[str, str]:
    """The settings of a file. Comments (`#`) and empty lines are passed over; nothing is expanded
    or unquoted. Raises `ValueError` naming the line that is none, never its content."""
    found: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"line {number} is not NAME=value")
        if match[1] in found:
            raise ValueError(f"line {number}: {match[1]} is there twice")
        found[match[1]] = match[2].strip()
    return found


def lines(values: Mapping[str, str]) -> str:
    """The text of such a file. Raises `ValueError` for a value that readers would understand in
    several ways (quotes, dollars, line ends)."""
    for name, value in values.items():
        if not _PLAIN.fullmatch(value):
            raise ValueError(f"{name} holds characters that do not fit into a file of settings")
    return "".join(f"{name}={value}\n" for name, value in values.items())
