"""Pacing to write, one row for each installation: shared by all processes, on Redis' time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from app.domain import record
from app.domain.scripts.pace import LIMIT, PACE
from worker.store.calls import Calls


class Turn(NamedTuple):
    """Without a `no` the write may be sent now. `wait` is for whoever shall ask again with `place`
    in so many ms; `limited`, `full` or `queue` is a refusal, with the ms until it is worth asking
    anew. `why` is what GitHub said."""

    no: str
    wait: int
    why: str = ""
    place: str = ""


@dataclass(frozen=True)
class Pacing:
    """`gap` is ms between two writes of one installation, `longest` the ms that anybody waits for
    a turn without giving up its worker, `hourly` the writes an hour (0: any number).
    Without a gap there is no pace at all."""

    calls: Calls
    gap: int
    longest: int
    hourly: int = 0

    def take(self, installation: int, place: str = "", *, first: bool = False) -> Turn:
        """The turn, taken; or the place in the line, to be asked for again; or none of both. A
        `first` sign to a person goes before all who have not waited three gaps yet."""
        hourly = self.hourly if self.gap else 0
        keys = (record.pace_key(installation),)
        words = (self.gap, self.longest, hourly, place, int(first))
        no, when, more = (p.decode(errors="replace") for p in self._script(PACE, keys, words))
        if no == "wait":
            return Turn(no, int(when), place=more)
        return Turn("", 0) if not no else Turn(no, int(when) - self._now(), more)

    def limited(self, installation: int) -> Turn:
        """`limited` while GitHub limits the installation, else a turn without a wait."""
        found = self.calls.command("HMGET", record.pace_key(installation), "until", "why")
        left = int(found[0] or 0) - self._now() if found[0] else 0
        return Turn("limited", left, (found[1] or b"").decode()) if left > 0 else Turn("", 0)

    def limit(self, installation: int, ms: int, said: bool, why: str) -> None:
        """GitHub limits the installation for `ms`; `said` is whether it told so itself."""
        keys = (record.pace_key(installation),)
        self._script(LIMIT, keys, (ms, int(said), why))

    def _script(self, lua: str, keys: tuple[str, ...], words: tuple[int | str, ...]) -> list[bytes]:
        answer: list[bytes] = self.calls.script(lua, keys, words)
        return answer

    def _now(self) -> int:
        seconds, micro = self.calls.command("TIME")
        return int(seconds) * 1000 + int(micro) // 1000
