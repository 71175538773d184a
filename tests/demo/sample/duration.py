"""Durations as people write them."""

import re

_PART = re.compile(r"(\d+)([hms])")
_SECONDS = {"h": 3600, "m": 60, "s": 1}


def parse(text):
    """Seconds in a text such as `1h30m`; ValueError for anything else."""
    total = 0
    position = 0
    for match in _PART.finditer(text):
        if match.start() != position:
            raise ValueError(f"not a duration: {text!r}")
        total += int(match.group(1)) * _SECONDS[match.group(2)]
        position = match.end()
    if position == 0 or position != len(text):
        raise ValueError(f"not a duration: {text!r}")
    return total


def show(seconds):
    """The shortest text that `parse` turns into the same number of seconds."""
    parts = []
    for unit, size in _SECONDS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
