"""Changes as rows: an issue's open one, its pull request, what waits for its next run."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain import record
from app.domain.record import ChangeRow
from app.domain.scripts.changes import CLOSE_CHANGE, LOOK_AT_HEAD, REOPEN_CHANGE, WAIT_FOR_HEAD
from app.domain.scripts.waits import TAKEN, WAIT_TURN
from worker.store import codec
from worker.store.calls import Calls
from worker.store.events import heard

TAKEN_SECONDS = 90 * 86_400  # that a review comment which a run took up is remembered


class Changes:
    """The part of the ledger about Changes."""

    calls: Calls

    def change(self, change_id: str) -> ChangeRow | None:
        names = ("v", "repository", "issue", "branch", "active", "runs", "pull", "open")
        row = self.calls.fields(record.change_key(change_id), *names)
        if row[0] is None:
            return None
        codec.guard(row[0], f"Change {change_id}")
        repository, issue, branch, active, runs, pull, still = (
            (p or b"").decode() for p in row[1:]
        )
        return ChangeRow(
            id=change_id,
            repository=int(repository),
            issue=int(issue),
            branch=branch,
            active=active,
            runs=tuple(runs.split(",")),
            pull=int(pull),
            open=still == "1",
        )

    def open_change(self, repository: int, issue: int) -> ChangeRow | None:
        """The issue's one open Change."""
        found = self.calls.command("GET", record.issue_key(repository, issue))
        return self.change(found.decode()) if found else None

    def close_change(self, change: ChangeRow) -> bool:
        """Its pull request was closed: the next label begins a new Change."""
        keys = (record.change_key(change.id), record.issue_key(change.repository, change.issue))
        return bool(self.calls.script(CLOSE_CHANGE, keys, (change.id,)))

    def reopen_change(self, change: ChangeRow) -> bool:
        """Its pull request was opened again; False where the issue has another open Change."""
        keys = (record.change_key(change.id), record.issue_key(change.repository, change.issue))
        return bool(self.calls.script(REOPEN_CHANGE, keys, (change.id,)))

    # -- pushes to its branch

    def wait_for_head(self, change: str, event_key: str) -> str:
        """The key of the one event that waits to have a Change's head looked at: this one, or an
        earlier one that is open still and will see what this one tells of."""
        keys = (record.push_key(change), record.EVENTS_OPEN)
        held = self.calls.script(WAIT_FOR_HEAD, keys, (event_key, record.EVENT_SECONDS))
        return str(held.decode())

    def waits_for_head(self, change: str) -> str:
        """The key of the event that waits for the end of a Change's run, "" without one."""
        found = self.calls.command("GET", record.push_key(change))
        return found.decode() if found else ""

    def look_at_head(self, change: str, event_key: str) -> None:
        """Say so before the head is read: what is pushed from now on waits for itself."""
        self.calls.script(LOOK_AT_HEAD, (record.push_key(change),), (event_key,))

    # -- review comments that wait for their turn

    def wait_turn(self, change: str, event_key: str) -> int:
        """Let a review comment wait for the Change's next run; how many wait now, 0 where a run
        took this one up before."""
        words = (event_key, heard(self.calls, event_key), change)
        return int(self.calls.script(WAIT_TURN, self._turns(change), words))

    def waiting(self, change: str) -> list[str]:
        """Event keys of the comments that wait, in the order in which they were written. What
        waits is kept: who asks keeps it for another while."""
        found = self.calls.command("ZRANGE", self._turns(change)[0], 0, -1)
        keys = [key.decode() for key in found]
        for key in keys:
            self.calls.command("EXPIRE", record.event_key(key), record.EVENT_SECONDS)
        return keys

    def taken(self, change: str, event_keys: Sequence[str]) -> None:
        """A run took these comments up, or they were refused: they wait no longer."""
        words: list[str | int] = [change, TAKEN_SECONDS, *event_keys]
        self.calls.script(TAKEN, self._turns(change), words)

    def changes_waiting(self) -> list[str]:
        """Ids of Changes with comments that wait."""
        return sorted(one.decode() for one in self.calls.command("SMEMBERS", record.WAITS))

    @staticmethod
    def _turns(change: str) -> tuple[str, str, str]:
        return record.waits_key(change), record.taken_key(change), record.WAITS
