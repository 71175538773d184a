"""The disk of the engine's images and containers: how much is free, and how much must be."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from app.domain.errors import Unavailable

AGAIN = 60.0  # seconds
MIB = 1 << 20


@dataclass
class Disk:
    """`root` is the engine's folder where it is on this machine, "" for a far engine: then the
    last word of a container counts, which sees the same disk below its read-only root."""

    root: str
    floor: int  # bytes
    told: int | None = None
    measure: Callable[[str], os.statvfs_result] = os.statvfs

    def free(self) -> int | None:
        """Free bytes, None where nobody knows."""
        if self.root:
            try:
                room = self.measure(self.root)
            except OSError:
                return self.told
            return room.f_bavail * room.f_frsize
        return self.told

    def tell(self, free: int) -> None:
        self.told = free

    def check(self) -> None:
        """Raises `Unavailable` below the floor, before anything is started."""
        free = self.free()
        if free is not None and free < self.floor:
            raise Unavailable(
                f"the Docker engine's disk has {free // MIB} MiB free, and {self.floor // MIB} are "
                "kept free: remove images or data there, or lower "
                "PATCHWARRANT_SANDBOX_DISK_FLOOR_MIB",
                AGAIN,
            )
