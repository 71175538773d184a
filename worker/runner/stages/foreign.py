"""Somebody else's tree as a candidate: what it changes against the base, from the trees alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from app.domain.edit import EXECUTABLE, FILE, GITLINK, LINK, Candidate, Change, Delta
from app.domain.errors import Halt, Reason
from app.domain.ports.objects import Objects


def candidate_of(objects: Objects, base: str, tree: str) -> Candidate:
    """`tree` as it is, with its changes against `base`. Nothing is kept for publishing: it is
    published already."""
    deltas = objects.deltas(base, tree)
    changes = (Change(one.path, one.new_mode, _content(objects, tree, one)) for one in deltas)
    return Candidate(tree, tuple(changes))


def _content(objects: Objects, tree: str, delta: Delta) -> str:
    """SHA-256 of a changed file's bytes, "" for what is no file in the candidate."""
    if delta.new_mode not in (FILE, EXECUTABLE):
        return ""
    return hashlib.sha256(objects.read(tree, delta.path)).hexdigest()


def merge_of(
    objects: Objects, keep: Callable[[bytes], str], trees: tuple[str, str, str], base_branch: str
) -> Candidate:
    """The merge of a base into a branch as a candidate, its bytes kept for publishing.

    `trees` are those of the commit where both parted, of the branch's head and of the base. Raises
    `Halt(MERGE_CONFLICT)` with the paths that only a person can merge.
    """
    fork, head, base = trees
    tree, clashes = objects.merged(fork, head, base)
    if clashes:
        raise Halt(
            Reason.MERGE_CONFLICT,
            f"`{base_branch}` and the branch changed the same places in {len(clashes)} "
            f"{'file' if len(clashes) == 1 else 'files'}, so nothing was merged.",
            f"Merge `{base_branch}` into the branch yourself and resolve them; the push is then "
            "checked again by itself.",
            tuple(clashes),
        )
    objects.validate(tree)
    entries = {one.path: one for one in objects.entries(tree)}
    changes = []
    for delta in objects.deltas(base, tree):
        if GITLINK in (delta.new_mode, delta.old_mode):
            raise Halt(
                Reason.MERGE_CONFLICT,
                f"The branch changes the submodule `{delta.path}`, which this app never writes.",
                f"Merge `{base_branch}` into the branch yourself; the push is then checked.",
                (delta.path,),
            )
        there = delta.new_mode in (FILE, EXECUTABLE, LINK)
        blob = keep(objects.blob(entries[delta.path].oid)) if there else ""
        changes.append(Change(delta.path, delta.new_mode, blob))
    return Candidate(tree, tuple(changes))
