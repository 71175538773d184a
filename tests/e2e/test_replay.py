"""`patchwarrant replay` on real finished runs: the same tree, without network and without model."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.edit import Candidate
from app.domain.evidence import Result
from app.domain.record import Kept
from app.domain.run import Run
from tests.e2e.conftest import FIX, WRONG, Town
from tests.shared_data import REPOSITORY
from worker.runner.replaying import replayed
from worker.runner.repository.mirror import beside, store_path
from worker.store import codec

pytestmark = pytest.mark.docker


def replay(town: Town, run: str, state: Path) -> subprocess.CompletedProcess[str]:
    """The command in a network of its own, in which there is nothing: Redis is a unix socket."""
    known = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(REPOSITORY),
        "PATCHWARRANT_REDIS_URL": town.up.redis.url,
        "PATCHWARRANT_STATE": str(state),
    }
    words = ["unshare", "--net", sys.executable, "-m", "app.cli", "replay", run]
    return subprocess.run(words, env=known, capture_output=True, text=True, check=False)


def finished(town: Town) -> Run:
    """A run whose first patch failed its checks and whose second passed."""
    name = town.repository()
    town.patches(name, WRONG, FIX)
    run = town.end(name, town.ask(name))
    assert run.verdict is not None and run.verdict.result is Result.PASSED
    assert len(run.attempts) == 2 and run.candidate is not None
    return run


def test_a_finished_run_is_replayed_to_its_tree(town: Town, tmp_path: Path) -> None:
    run = finished(town)
    assert run.candidate is not None and town.up.model is not None
    asked = len(town.up.model.requests())
    state = town.up.folder / "state"
    done = replay(town, run.id, state)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"equal: {run.candidate.tree} (")
    assert len(town.up.model.requests()) == asked

    assert replay(town, "nosuchrun", state).returncode == 2
    elsewhere = replay(town, run.id, tmp_path)
    assert elsewhere.returncode == 2 and "There is no object store" in elsewhere.stderr

    place = store_path(state / "stores", run.repository.id)
    ledger = town.up.ledger
    whole = replayed(ledger, run, beside(place, tmp_path / "whole.git"))
    assert (whole.tree, whole.differs, whole.worded) == (run.candidate.tree, "", ())
    assert whole.replies == run.spend.calls and whole.anew >= 4

    entries = ledger.journal(run.id)
    edits = [e for e in entries if e.kind is Kept.TOOL and "candidate" in e.data["effect"]]
    edits[0].data["effect"]["candidate"]["tree"] = "0" * 40
    ledger.__dict__["journal"] = lambda _run: entries
    broken = replayed(ledger, run, beside(place, tmp_path / "broken.git"))
    assert broken.differs.startswith(f"journal entry {edits[0].id}: edit has another effect")


def test_another_tree_in_the_row_is_told(town: Town) -> None:
    run = finished(town)
    ledger = town.up.ledger
    other = replace(run, candidate=Candidate("0" * 40, ()))
    with town.up.redis.client() as redis:
        before = redis.hget(f"pw:run:{run.id}", "data")
        redis.hset(f"pw:run:{run.id}", "data", codec.encode(other))
        done = replay(town, run.id, town.up.folder / "state")
        redis.hset(f"pw:run:{run.id}", "data", before)
    assert run.candidate is not None
    assert done.returncode == 1
    assert f"it ends at the tree {run.candidate.tree}; recorded is {'0' * 40}" in done.stdout
    with town.up.redis.client() as redis:
        redis.xadd(f"pw:journal:{run.id}", {"kind": "note", "data": "{}", "chain": "x"})
    done = replay(town, run.id, town.up.folder / "state")
    assert done.returncode == 1 and "the journal is not what was written" in done.stdout
    assert ledger.run(run.id) is not None
