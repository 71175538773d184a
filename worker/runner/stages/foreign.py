"""Somebody else's tree as a candidate: what it changes against the base, from the trees alone."""

from __future__ import annotations

import hashlib

from app.domain.edit import EXECUTABLE, FILE, Candidate, Change, Delta
from app.domain.ports import Objects


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
