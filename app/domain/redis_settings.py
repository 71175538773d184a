"""What a Redis must be set to before anything that it acknowledges counts as kept."""

from __future__ import annotations

from collections.abc import Mapping

OLDEST = (6, 2)
WANTED: tuple[tuple[str, str], ...] = (
    ("appendonly", "yes"),
    ("appendfsync", "always"),
    ("maxmemory-policy", "noeviction"),
)
NAMES = tuple(name for name, _ in WANTED)
CHANGE = (
    "Change it in redis.conf (or on its command line) and start Redis again; see docs/settings.md."
)
GRANT = (
    "The user of this program may not read Redis' settings, so nobody knows what it keeps: give it "
    "`+config|get` and `+info`, as manifests/redis/users.acl does."
)


def problems(found: Mapping[str, str], version: str) -> list[str]:
    """Every setting that would lose runs, each with what to set it to; [] for a good server."""
    said = [
        f"`{name}` is {found.get(name) or 'unknown'}, set it to `{wanted}`"
        for name, wanted in WANTED
        if found.get(name) != wanted
    ]
    if _parts(version) < OLDEST:
        said.append(f"version {version or 'unknown'} is too old, 6.2 or newer is needed")
    return said


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2])
