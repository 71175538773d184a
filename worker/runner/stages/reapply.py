"""Reapply: a revision's accepted edits on the head as people moved it, three-way, file by file.

No model takes part. What the gate then measures is the merged tree, and nothing of before.
"""

from __future__ import annotations

from dataclasses import replace

from app.domain.edit import EXECUTABLE, FILE, Candidate, Change, Delta
from app.domain.errors import Halt, Missing, Reason
from app.domain.record import BLOB_CAP, Kept
from app.domain.run import Run, Snapshot
from worker.runner.stages.check_kit import CheckKit

Moved = tuple[Run, Snapshot, Candidate | None]


def moved_on(kit: CheckKit, run: Run, snapshot: Snapshot, candidate: Candidate | None) -> Moved:
    """The run with its edits on its newest head; as it is where that is where they began.

    Raises `Halt(HEAD_MOVED)` for edits that do not fit, or a head that is not there any more, and
    `Halt(BASE_INVALID)` for one that cannot be kept byte for byte.
    """
    if run.onto == snapshot.head or candidate is None:
        return run, snapshot, candidate
    try:
        with kit.fetch(run) as (url, token):
            tree = kit.objects.fetch(url, token, run.onto)
    except Missing as gone:
        _keep(kit, snapshot.start, candidate.tree)
        raise _ended(f"its new head {run.onto[:12]} cannot be fetched ({gone})") from gone
    kit.objects.validate(tree)
    # The object store is a cache: the candidate is made again before it is merged.
    kit.objects.build(snapshot.start, candidate.changes, kit.hold.get)
    merged, conflicts = kit.objects.reapplied(snapshot.start, candidate.tree, tree)
    if conflicts:
        _keep(kit, snapshot.start, candidate.tree)
        raise _ended(f"the edits do not fit its new head {run.onto[:12]}", conflicts)
    changes = tuple(_change(kit, merged, one) for one in kit.objects.deltas(tree, merged))
    moved = replace(snapshot, head_tree=tree, head=run.onto)
    fresh = Candidate(merged, changes)
    kit.hold.note(Kept.NOTE, {"reapplied": run.onto, "tree": merged})
    return replace(run, snapshot=moved, candidate=fresh), moved, fresh


def _change(kit: CheckKit, tree: str, delta: Delta) -> Change:
    if delta.new_mode not in (FILE, EXECUTABLE):
        return Change(delta.path, 0, "")
    return Change(delta.path, delta.new_mode, kit.hold.put(kit.objects.read(tree, delta.path)))


def _keep(kit: CheckKit, start: str, tree: str) -> None:
    """The work so far as a patch, where the desk finds it for the ending."""
    patch = kit.objects.diff(start, tree)
    if len(patch) <= BLOB_CAP:
        kit.hold.note(Kept.NOTE, {"patch": kit.hold.put(patch)})


def _ended(why: str, paths: tuple[str, ...] = ()) -> Halt:
    return Halt(
        Reason.HEAD_MOVED,
        f"Somebody pushed to this pull request while the revision was at work, and {why}.",
        "Say `/agent revise` again: the next run begins from the head as it is then. The patch is "
        "kept below.",
        tuple(f"`{path}`: both changed it" for path in paths[:20]),
    )
