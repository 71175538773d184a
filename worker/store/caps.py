"""Caps on runs an hour: one counted set for each scope, asked and filled in one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain import record
from app.domain.scripts.pace import CAP, COUNTED
from worker.store.calls import Calls

WINDOW_MS = 3_600_000


@dataclass(frozen=True)
class Caps:
    """`limits` are runs an hour by scope's name; a scope that is missing has none."""

    calls: Calls
    limits: Mapping[str, int]

    def take(self, scopes: Mapping[str, str], key: str) -> str:
        """Count the event `key` in every scope (name -> whose); the name of the first scope that
        is full, and then nothing is counted, else "". Taken again it counts once."""
        asked = [(name, whose) for name, whose in scopes.items() if name in self.limits]
        if not asked:
            return ""
        keys = tuple(record.cap_key(f"{name}:{whose}") for name, whose in asked)
        limits = tuple(self.limits[name] for name, _ in asked)
        full = int(self.calls.script(CAP, keys, (key, WINDOW_MS, *limits)))
        return asked[full - 1][0] if full else ""

    def over(self, scopes: Mapping[str, str], key: str) -> str:
        """The first scope in which, before the event `key`, as many runs were counted as its limit
        says; "" where none is."""
        for name, whose in scopes.items():
            if name in self.limits:
                keys = (record.cap_key(f"{name}:{whose}"),)
                before = int(self.calls.script(COUNTED, keys, (key, WINDOW_MS)))
                if before >= self.limits[name]:
                    return name
        return ""

    def give_back(self, scopes: Mapping[str, str], key: str) -> None:
        """The event started no run after all."""
        for name, whose in scopes.items():
            self.calls.command("ZREM", record.cap_key(f"{name}:{whose}"), key)
