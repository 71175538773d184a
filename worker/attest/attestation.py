"""Both statements about one candidate, in the order in which they are signed and shown."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.record import JournalEntry
from app.domain.run import Run
from worker.attest import statement, testresult


def statements(run: Run, commit: str, entries: Sequence[JournalEntry] = ()) -> tuple[bytes, ...]:
    """Our own evidence first, then in-toto's test result. Raises `IntegrityError`."""
    return statement.build(run, commit, entries), testresult.build(run, commit)
