"""A clock that only moves when somebody sleeps on it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Clock:
    """`seconds` grows by what is slept; `slept` remembers each nap."""

    seconds: float = 1_000.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
