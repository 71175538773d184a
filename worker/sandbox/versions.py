"""Judges the engine's and the runtime's versions: which known ways out of a container are open."""

from __future__ import annotations

import re

Version = tuple[int, ...]

# Lowest and highest version of the engine's API that this program speaks.
API: tuple[Version, Version] = ((1, 41), (1, 52))

# First versions without the holes known when this was written, one a branch, newest last.
RUNC_SOUND: tuple[Version, ...] = ((1, 2, 8), (1, 3, 3))
RUNC_HOLES = "CVE-2019-5736, CVE-2024-21626, CVE-2025-31133, CVE-2025-52565, CVE-2025-52881"
ENGINE_SOUND: Version = (29, 5, 1)
ENGINE_HOLES = "CVE-2026-41567, CVE-2026-42306 (in copying archives; none ever comes out here)"
PATCHED = "unless your distribution has patched it under the old number"

SHARED_KERNEL = frozenset({"runc", "crun", "sysbox-runc"})


def numbers(text: str) -> Version:
    """The leading numbers of a version, () where there are none: `1.1.5+ds1` is (1, 1, 5)."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def sound(version: Version, branches: tuple[Version, ...]) -> bool:
    """Whether a version is at or above the first sound one of its own branch, or newer than all."""
    if version >= branches[-1]:
        return True
    return any(version[:2] == branch[:2] and version >= branch for branch in branches)


def judge(engine: str, runc: str, runtime: str) -> list[str]:
    """What an operator should know, a plain sentence each; empty when all is well."""
    said = []
    number = numbers(engine)
    if number and number < ENGINE_SOUND:
        lowest = ".".join(map(str, ENGINE_SOUND))
        said.append(
            f"Docker engine {engine} is older than {lowest} and has known holes, {PATCHED}: "
            f"{ENGINE_HOLES}; update the engine"
        )
    if runtime == "runc":
        number = numbers(runc)
        fixed = " or ".join(".".join(map(str, branch)) for branch in RUNC_SOUND)
        if not number:
            said.append(f"the engine does not say which runc it uses; make sure that it is {fixed}")
        elif not sound(number, RUNC_SOUND):
            said.append(
                f"runc {runc} is older than {fixed} and has known ways out of a container, "
                f"{PATCHED}: {RUNC_HOLES}; update runc"
            )
    return said


def api(lowest: str, highest: str) -> str:
    """The API version to speak with an engine that speaks `lowest` to `highest`.

    Raises `ValueError` that names both sides' versions where they do not meet."""
    ours_low, ours_high = API
    theirs_low, theirs_high = numbers(lowest) or (1, 0), numbers(highest)
    chosen = min(ours_high, theirs_high)
    if not theirs_high or chosen < max(ours_low, theirs_low):
        raise ValueError(
            f"the engine speaks API {lowest or '?'} to {highest or '?'} and this program "
            f"{_text(ours_low)} to {_text(ours_high)}; update the older of the two"
        )
    return _text(chosen)


def _text(version: Version) -> str:
    return ".".join(map(str, version))
