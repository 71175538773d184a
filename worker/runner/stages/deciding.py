"""Gathers what the rules need to say which changed paths decide: the base's texts and its tests."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from app.domain.base_files import BaseFiles, normal
from app.domain.check import Check
from app.domain.deciding import Deciding, deciding
from app.domain.edit import LINK, Delta, Entry
from app.domain.policy import Rules
from app.domain.run import Run
from worker.runner.stages.check_kit import CheckKit
from worker.runner.stages.lines import REGULAR
from worker.runner.stages.seen import cases_of

TEXT_CAP = 256 << 10  # bytes of a file that is read for what it names
LINK_CAP = 4 << 10
_MISSING = re.compile(r"No module named '?([A-Za-z_]\w*)")


def decided_by(
    kit: CheckKit,
    run: Run,
    base: str,
    tree: str,
    deltas: Sequence[Delta],
    rules: Rules,
    checks: Sequence[Check],
) -> Deciding:
    """What decides about the candidate `tree`, for each of `checks`."""
    there = {entry.path: entry for entry in kit.objects.entries(base)}
    after = {entry.path: entry for entry in kit.objects.entries(tree)}
    files = BaseFiles(
        paths=frozenset(there),
        changed=frozenset(delta.path for delta in deltas),
        read=_reader(kit, base, there),
        links=_links(kit, there.values()),
    )
    results = (*run.baseline, *run.results)
    ids = {case.id for result in results for case in cases_of(kit, result)}
    said = [
        text
        for result in run.baseline
        for text in (result.tail, *(one.message for one in result.failures))
    ]
    missing = {name for text in said for name in _MISSING.findall(text)}
    new = _reader(kit, tree, after)
    return deciding(files, after, deltas, rules, checks, ids, missing, new)


def _reader(kit: CheckKit, tree: str, there: Mapping[str, Entry]) -> Callable[[str], str]:
    """Reads the texts of a tree, each once; "" for what is no file or too large."""
    known: dict[str, str] = {}

    def read(path: str) -> str:
        if path not in known:
            entry = there.get(path)
            plain = entry is not None and entry.mode in REGULAR and entry.size <= TEXT_CAP
            known[path] = kit.objects.read(tree, path).decode("utf-8", "replace") if plain else ""
        return known[path]

    return read


def _links(kit: CheckKit, entries: Iterable[Entry]) -> dict[str, str]:
    """The links of a tree with the paths that they lead to, where those lie in the tree."""
    found: dict[str, str] = {}
    for entry in entries:
        if entry.mode == LINK and entry.size <= LINK_CAP:
            target = kit.objects.blob(entry.oid).decode("utf-8", "replace")
            path = normal(posixpath.join(posixpath.dirname(entry.path), target))
            if path:
                found[entry.path] = path
    return found
