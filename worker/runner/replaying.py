"""`patchwarrant replay RUN`: works a run's journal again without model and network, compares trees.

Needs Redis and, on this machine, the runner's object store, which is only read.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from app.domain.check import Check, CheckResult, Outcome
from app.domain.errors import Missing, Unavailable
from app.domain.ports.model import Reply
from app.domain.ports.sandbox import Box
from app.domain.record import JournalEntry, Kept
from app.domain.run import Run
from worker.runner.agent.kit import Kit
from worker.runner.agent.replay import Replay, Replayed
from worker.runner.model.pricing import card
from worker.runner.repository.mirror import Store, beside, store_path
from worker.runner.repository.search import Searcher
from worker.settings.door import Door
from worker.settings.runner import MODEL, replay_settings
from worker.store.connect import connect
from worker.store.ledger import Ledger


@dataclass
class Apart:
    """`ports.Hold` that keeps everything to itself and reads what the ledger has."""

    ledger: Ledger
    recorded: list[JournalEntry]
    kept: dict[str, bytes] = field(default_factory=dict)

    def look(self) -> None:
        return

    def note(self, kind: Kept, data: Mapping[str, Any]) -> JournalEntry:
        return JournalEntry("0-0", kind, dict(data))

    def entries(self) -> list[JournalEntry]:
        return self.recorded

    def put(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self.kept[digest] = data
        return digest

    def get(self, digest: str) -> bytes:
        return self.kept[digest] if digest in self.kept else self.ledger.artifact(digest)

    def remember(self, name: str, data: Mapping[str, Any]) -> None:
        return

    def recall(self, name: str) -> dict[str, Any] | None:
        return None

    def reserve(self, dollars: int) -> None:
        return

    def settle(self, dollars: int) -> None:
        return

    def paid(self, dollars: int, data: Mapping[str, Any]) -> JournalEntry:
        return self.note(Kept.MODEL, data)

    def intent(self, key: str) -> dict[str, Any] | None:
        return None

    def intend(self, key: str, data: Mapping[str, Any]) -> None:
        return

    def fulfil(self, key: str, data: Mapping[str, Any]) -> None:
        return


class Nobody:
    """Stands where model and sandbox would be: a replay asks neither."""

    def _never(self) -> NoReturn:
        raise Unavailable("a replay asks neither model nor sandbox")

    def reply(self, *_: object) -> Reply:
        self._never()

    def image(self, *_: object) -> tuple[str, str]:
        self._never()

    def set_up(self, *_: object) -> NoReturn:
        self._never()

    def certify(self, *_: object) -> Outcome:
        self._never()

    def open(self, *_: object) -> Box:
        self._never()

    def run_selected(
        self, _check: Check, _selectors: Sequence[str], _tree: str, _seconds: int
    ) -> tuple[CheckResult, str]:
        self._never()


def main(door: Door, arguments: list[str]) -> int:
    """Exit code: 0 the same tree, 1 it differs, 2 it cannot be replayed here."""
    asked = _parser().parse_args(arguments)
    held = replay_settings(door)
    ledger = Ledger(connect(held.redis_url), patience=2)
    run = ledger.run(asked.run)
    if run is None or run.snapshot is None:
        return _cannot(f"there is no run {asked.run!r} in the ledger that has come to a snapshot")
    fault = ledger.journal_fault(run.id)
    if fault:
        _say(f"differs: the journal is not what was written: {fault}")
        return 1
    place = store_path(held.stores, run.repository.id)
    try:
        with tempfile.TemporaryDirectory(prefix="patchwarrant-replay-") as folder:
            objects = beside(place, Path(folder) / "objects.git")
            objects.entries(run.snapshot.base_tree)
            found = replayed(ledger, run, objects)
    except Missing as gone:
        return _cannot(f"{gone} Run this where the runner's object stores are ({held.stores}).")
    return _told(run, found)


def replayed(ledger: Ledger, run: Run, objects: Store) -> Replayed:
    """The journal of `run`, worked again over `objects`. Raises `Missing` for bytes that went."""
    entries, nobody = ledger.journal(run.id), Nobody()
    searcher = Searcher(objects)
    kit = Kit(
        hold=Apart(ledger, entries),
        model=nobody,
        rate=card(run.model) if run.model else card(MODEL),
        card=run.spend.card,
        objects=objects,
        sandbox=nobody,
        search=lambda tree, pattern, regex, glob, offset: searcher.lines(
            tree, pattern, regex=regex, glob=glob, offset=offset, look=lambda: None
        ),
        run_selected=nobody.run_selected,
        delimiter="",
        clock=lambda: 0,
    )
    return Replay(kit, run, entries)()


def _told(run: Run, found: Replayed) -> int:
    work = (
        f"{found.replies} replies, {found.anew} tool results made anew, {found.taken} as recorded"
    )
    if found.worded:
        _say(f"worded otherwise, to the same effect: {', '.join(found.worded)}")
    wanted = run.candidate.tree if run.candidate else ""
    if found.differs or found.tree != wanted:
        where = found.differs or f"it ends at the tree {found.tree or 'none'}"
        _say(f"differs: {where}; recorded is {wanted or 'no tree'} ({work})")
        return 1
    _say(f"equal: {wanted or 'no candidate, as recorded'} ({work})")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _cannot(why: str) -> int:
    sys.stderr.write(f"patchwarrant replay: {why}\n")
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="patchwarrant replay",
        description="Work a run's journal again, without model and network, to the same tree.",
        epilog="`patchwarrant status` lists the runs. Exit code: 0 the same tree, 1 another one, "
        "2 it cannot be replayed here, or wrong words.",
    )
    parser.add_argument("run", help="the run's id")
    return parser
