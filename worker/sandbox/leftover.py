"""Images of ours that nobody needs any more, by age and by size; others do not exist for it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.errors import Fault
from worker.sandbox.engine import Engine, Held

OURS = "patchwarrant-"  # how the names of all images begin that the product makes
DAY = 86_400.0
WRITE_SECONDS = 60.0


@dataclass(frozen=True)
class Keep:
    """How long an unused image stays, in seconds, and how many bytes all may have together."""

    age: float = 14 * DAY
    size: int = 20 << 30


@dataclass
class Uses:
    """When each image was last used here, kept in a file: the engine does not know."""

    path: Path
    seen: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def read(path: Path) -> Uses:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            found = json.loads(path.read_text(encoding="utf-8"))
            return Uses(path, {str(key): float(when) for key, when in found.items()})
        return Uses(path)

    def note(self, image: str, now: float) -> None:
        """Remember a use; the file is written at most once a minute for one image."""
        before = self.seen.get(image)
        if before is not None and 0 <= now - before < WRITE_SECONDS:
            return
        self.seen[image] = now
        fresh = self.path.with_name(f"{self.path.name}.new")
        with contextlib.suppress(OSError):
            fresh.write_text(json.dumps(self.seen), encoding="utf-8")
            fresh.replace(self.path)


def needless(
    held: Iterable[Held], seen: Mapping[str, float], now: float, keep: Keep, wanted: frozenset[str]
) -> list[str]:
    """Ids to remove, longest unused first. An image that was never seen counts as used now."""
    ours = [one for one in held if any(name.startswith(OURS) for name in one.names)]
    order = sorted(ours, key=lambda one: seen.get(one.id, now))
    total = sum(one.size for one in order)
    gone = []
    for one in order:
        if one.id in wanted:
            continue
        old = now - seen.get(one.id, now) > keep.age
        if old or total > keep.size:
            gone.append(one.id)
            total -= one.size
    return gone


def collect(engine: Engine, uses: Uses, now: float, keep: Keep, wanted: frozenset[str]) -> int:
    """Remove what is needless; how many. One that a container still uses stays. Raises
    `Unavailable`."""
    held = engine.images()
    for one in held:
        if one.id not in uses.seen and any(name.startswith(OURS) for name in one.names):
            uses.note(one.id, now)
    gone = 0
    for image in needless(held, uses.seen, now, keep, wanted):
        with contextlib.suppress(Fault):
            engine.remove_image(image)
            uses.seen.pop(image, None)
            gone += 1
    return gone
