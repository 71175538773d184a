"""The operator's words, each run as its own process against a real ledger."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from redis import Redis

from app.domain.errors import HaltRecord, Reason, Waiting
from app.domain.record import JournalEntry, Kept
from app.domain.run import Wait
from app.domain.state import State
from tests.redis_server import Server
from tests.shared_data import REPOSITORY
from tests.worker.store.samples import opened
from worker.cli.watch import line
from worker.store.ledger import Ledger
from worker.store.sealing import Seal


def words(url: str, *arguments: str) -> tuple[int, str]:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(REPOSITORY),
        "PATCHWARRANT_REDIS_URL": url,
        "COLUMNS": "200",
    }
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_pause_and_resume(redis: Redis, redis_process: Server) -> None:
    ledger = Ledger(redis)
    assert words(redis_process.url, "pause")[0] == 0
    assert ledger.paused()
    assert "Paused by" in words(redis_process.url, "status")[1]
    assert words(redis_process.url, "resume", "--new-leger")[0] == 2
    assert ledger.paused()
    assert words(redis_process.url, "resume")[0] == 0
    assert not ledger.paused()


def test_status_says_until_when_a_run_waits(redis: Redis, redis_process: Server) -> None:
    ledger = Ledger(redis)
    lease = ledger.claim(opened(ledger), "t", 5000)
    assert lease is not None
    wait = Wait(Waiting.GITHUB, 1_796_077_530_606, "GitHub limits this installation")
    ledger.save(lease, replace(lease.run, wait=wait), release=True)
    _, said = words(redis_process.url, "status")
    flat = " ".join(said.split())
    assert "waiting-github" in flat and "11-30 22:25" in flat


def test_status_shows_a_run_that_was_set_aside(redis: Redis, redis_process: Server) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    lease = ledger.claim("r1", "desk", 60_000)
    assert lease is not None
    over = replace(lease.run, state=State.COMPLETE, explained=True, untold="It killed three times.")
    ledger.save(lease, over, release=True)
    assert words(redis_process.url, "cancel", "r1") == (1, "Run r1 is over already.\n")
    assert "is not known" in words(redis_process.url, "cancel", "r9")[1]
    _, said = words(redis_process.url, "status")
    assert "complete" in said and "set aside:" in said and "three times." in said


def test_status_lists_runs_with_their_endings(redis: Redis, redis_process: Server) -> None:
    ledger = Ledger(redis)
    run_id = opened(ledger)
    lease = ledger.claim(run_id, "t", 60_000)
    assert lease is not None
    halt = HaltRecord(Reason.NEEDS_INFO, "m", "n")
    ended = replace(lease.run, state=State.HALTED, halt=halt, explained=True)
    ledger.save(lease, ended)
    code, said = words(redis_process.url, "status")
    assert code == 0
    assert run_id in said
    assert "needs-info" in said
    assert "octocat/hello-world#7" in said


def test_cancel_asks_a_run_to_end_or_says_that_there_is_none(
    redis: Redis, redis_process: Server
) -> None:
    ledger = Ledger(redis)
    run_id = opened(ledger)
    assert words(redis_process.url, "cancel", run_id)[0] == 0
    row = ledger.row(run_id)
    assert row is not None
    assert row.cancelled
    assert words(redis_process.url, "cancel", "nothing")[0] == 1
    assert words(redis_process.url, "cancel")[0] == 2


def test_watch_prints_the_journal_of_a_run_that_ended(redis: Redis, redis_process: Server) -> None:
    ledger = Ledger(redis)
    run_id = opened(ledger)
    lease = ledger.claim(run_id, "t", 60_000)
    assert lease is not None
    with ledger.hold(lease, daily=1) as hold:
        hold.note(Kept.MOVE, {"from": "admit", "to": "prepare"})
        hold.note(Kept.TOOL, {"name": "read", "error": True, "text": "[red]no such file"})
        hold.note(Kept.MODEL, {"dollars": 1500})
        hold.note(Kept.WAIT, {"for": "waiting-model", "note": "overloaded"})
        hold.note(Kept.REFUSAL, {"paths": ["x.py"]})
        hold.note(Kept.HALT, {"reason": "no-progress", "state": "edit"})
        counts = {"passed": 1, "failed": 2, "skipped": 0}
        result = {"check": "tests", "standing": "failed", "reason": "exit 1", "counts": counts}
        hold.note(Kept.CHECK, {"phase": "verify", "result": result})
    ledger.save(lease, replace(lease.run, state=State.HALTED, explained=True))
    code, said = words(redis_process.url, "watch")
    assert code == 0
    for wanted in (
        "admit → prepare",
        "[red]no such file",
        "$0.0015",
        "waiting-model: overloaded",
        "outside the plan: x.py",
        "stopped in edit: no-progress",
        "tests: failed exit 1 1 passed, 2 failed",
    ):
        assert wanted in said


def test_a_refused_call_is_told_in_whole_words() -> None:
    long = "The plan is not accepted:\n- A planned path is refused: '../x' " + "leads out " * 60
    for text in (long, "edit: " + "the hash of a.py is not the one that was read " * 20):
        said = line(JournalEntry("1-0", Kept.TOOL, {"name": "t", "error": True, "text": text}))
        assert said.endswith((" …", "out", "read"))
        assert "'../x'" in said or "a.py" in said
        assert len(said) < 600


def test_watch_without_a_run_says_so(redis: Redis, redis_process: Server) -> None:
    assert words(redis_process.url, "watch")[0] == 1
    code, said = words(redis_process.url, "watch", "nothing")
    assert code == 1
    assert "no run nothing" in said


def test_keys_are_made_once_and_closed_to_others(tmp_path: Path) -> None:
    seal, signing = tmp_path / "seal", tmp_path / "signing.pem"
    assert words("", "key", "seal", str(seal))[0] == 0
    assert stat.S_IMODE(seal.stat().st_mode) == 0o600
    assert Seal(seal.read_text()).open("n", Seal(seal.read_text()).close("n", b"x")) == b"x"
    code, said = words("", "key", "seal", str(seal))
    assert code == 1
    assert "there already" in said
    code, said = words("", "key", "signing", str(signing))
    assert code == 0
    assert "BEGIN PUBLIC KEY" in said
    assert "PRIVATE" not in said
    assert words("", "key", "signing", str(signing))[1] == said
    assert words("", "key")[0] == 2


@pytest.mark.parametrize("kind", ["seal", "signing"])
def test_a_key_makes_its_folder_and_says_where_it_cannot(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "secrets" / kind
    assert words("", "key", kind, str(file))[0] == 0
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    code, said = words("", "key", kind, str(file / "under-a-file" / "x"))
    assert (code, "Traceback" in said, said.count("\n")) == (1, False, 1)


@pytest.mark.parametrize("word", ["status", "pause", "resume", "watch"])
def test_an_address_that_is_none_is_one_sentence(word: str) -> None:
    code, said = words("http://user:hidden@host", word)
    assert code == 2
    assert "PATCHWARRANT_REDIS_URL" in said
    assert "Traceback" not in said and "hidden" not in said


@pytest.mark.parametrize("role", ["desk", "runner"])
def test_a_role_without_settings_names_them_all_and_exits_2(role: str) -> None:
    code, said = words("redis://127.0.0.1:1/0", role)
    assert code == 2
    assert "_FILE" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("word", ["status", "pause", "cancel", "watch"])
def test_an_absent_redis_is_one_sentence(word: str) -> None:
    arguments = [word, "r1"] if word == "cancel" else [word]
    code, said = words("redis://127.0.0.1:1/0", *arguments)
    assert code == 1
    assert "Redis" in said or "redis" in said
    assert "Traceback" not in said


def test_an_unknown_word_lists_the_known_ones() -> None:
    code, said = words("", "colour")
    assert code == 2
    assert "receive" in said
