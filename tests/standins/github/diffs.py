"""What changed between two commits: files as GitHub lists them, and the text of the diff."""

from __future__ import annotations

from dataclasses import dataclass

import pygit2
from pygit2.enums import DeltaStatus

from tests.standins.github.git_store import GitStore

NAMES = {
    DeltaStatus.ADDED: "added",
    DeltaStatus.DELETED: "removed",
    DeltaStatus.MODIFIED: "modified",
    DeltaStatus.RENAMED: "renamed",
    DeltaStatus.COPIED: "copied",
}


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file; `patch` is the hunks without the header, None for binaries."""

    path: str
    before: str | None
    status: str
    sha: str
    additions: int
    deletions: int
    patch: str | None


def _diff(store: GitStore, old: str | None, new: str) -> pygit2.Diff:
    newer = store.git[new].peel(pygit2.Tree)
    if old is None:
        diff = newer.diff_to_tree(swap=True)
    else:
        diff = store.git[old].peel(pygit2.Tree).diff_to_tree(newer)
    diff.find_similar(rename_threshold=50)
    return diff


def changes(store: GitStore, old: str | None, new: str) -> list[FileChange]:
    """The files that differ, sorted as git sorts them."""
    found = []
    for patch in _diff(store, old, new):
        if patch is None:
            continue
        delta = patch.delta
        status = NAMES.get(delta.status, "changed")
        path = delta.new_file.path if status != "removed" else delta.old_file.path
        text = patch.data.decode(errors="replace")
        at = text.find("\n@@ ")
        _, added, removed = patch.line_stats
        found.append(
            FileChange(
                path=path,
                before=delta.old_file.path if status in ("renamed", "copied") else None,
                status=status,
                sha=str(delta.old_file.id if status == "removed" else delta.new_file.id),
                additions=added,
                deletions=removed,
                patch=None if at < 0 else text[at + 1 :].rstrip("\n"),
            )
        )
    return found


def text(store: GitStore, old: str | None, new: str) -> str:
    """The whole diff as git prints it."""
    whole = "".join(
        patch.data.decode(errors="replace") for patch in _diff(store, old, new) if patch is not None
    )
    return whole
