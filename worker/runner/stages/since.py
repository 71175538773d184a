"""What a revision changed against the previous head, measured and noted for the desk."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from app.domain import since
from app.domain.check import CheckResult
from app.domain.edit import EXECUTABLE, FILE, Candidate, Delta
from app.domain.errors import Missing
from app.domain.record import BLOB_CAP, Kept
from app.domain.report_revision import FILE as FILE_ONLY
from app.domain.report_revision import LINES, NOTHING
from app.domain.revision import Thread
from app.domain.run import Run, Snapshot
from worker.runner.stages.check_kit import CheckKit
from worker.runner.stages.seen import statuses

REGULAR = (FILE, EXECUTABLE)
NEAR = 2  # lines around those of a thread that count as theirs


def told_since(
    kit: CheckKit, run: Run, snapshot: Snapshot, candidate: Candidate, own: Sequence[Delta]
) -> None:
    """Note the delta against the head that the edits stand on, what of each thread's lines was
    changed, and the follow-up alone as the patch that an ending would show."""
    before = _before(kit, run, snapshot)
    cases: dict[str, tuple[since.Cases, since.Cases]] = {}
    for result in run.results:
        old = next((one for one in before or () if one.digest == result.digest), None)
        if old is not None and old.cases and result.cases:
            cases[result.digest] = (statuses(kit, old), statuses(kit, result))
    told = since.since(snapshot.head, own, before, run.results, cases)
    kit.hold.note(Kept.NOTE, since.note_of(told))
    revision = run.contract.revision if run.contract else None
    if revision is not None:
        lines = {one.id: _touched(kit, snapshot.start, candidate.tree, own, one)
                 for one in revision.threads}  # fmt: skip
        kit.hold.note(Kept.NOTE, {"thread_lines": lines})
    patch = kit.objects.diff(snapshot.start, candidate.tree)
    if len(patch) <= BLOB_CAP:
        kit.hold.note(Kept.NOTE, {"patch": kit.hold.put(patch)})


def _before(kit: CheckKit, run: Run, snapshot: Snapshot) -> tuple[CheckResult, ...] | None:
    """The results of the evidence about the head, None where there is none: a head that people
    moved meanwhile was never looked at."""
    contract = run.contract
    if contract is None or contract.revision is None or snapshot.head != contract.head:
        return None
    earlier = kit.earlier(contract.revision.previous) if contract.revision.previous else None
    return earlier.results if earlier is not None and earlier.results else None


def _touched(kit: CheckKit, old: str, new: str, own: Sequence[Delta], thread: Thread) -> str:
    """Whether the thread's lines, only its file, or nothing of it was changed. A thread that stands
    on no file is about all that was changed."""
    delta = next((one for one in own if one.path == thread.path), None)
    if not thread.path:
        return LINES if own else NOTHING
    if delta is None:
        return NOTHING
    if not thread.line or delta.old_mode not in REGULAR or delta.new_mode not in REGULAR:
        return LINES
    try:
        before = kit.objects.read(old, thread.path).splitlines()
        after = kit.objects.read(new, thread.path).splitlines()
    except Missing:
        return LINES
    first, last = thread.start - 1 - NEAR, thread.line + NEAR
    for tag, start, end, _, _ in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if tag != "equal" and start < last and max(end, start + 1) > first:
            return LINES
    return FILE_ONLY
