"""`patchwarrant evidence` hands out what was signed, and nothing whose journal was touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from redis import Redis

from app.domain.record import Kept, blob_key, journal_key
from tests.app.domain.report_world import COMMIT, passed
from tests.redis_server import Server
from tests.worker.store.samples import opened
from worker.attest import bundle
from worker.attest.attestation import statements
from worker.attest.signing import Signer
from worker.cli import evidence
from worker.settings.door import Door
from worker.store.ledger import Ledger

RUN = "r1"


@pytest.fixture
def door(redis_process: Server) -> Door:
    return Door({"PATCHWARRANT_REDIS_URL": redis_process.url})


def published(redis: Redis) -> str:
    """A run whose evidence is signed, with one more entry after it; the bundle's digest."""
    ledger = Ledger(redis)
    opened(ledger, RUN)
    lease = ledger.claim(RUN, "w1", 60_000)
    assert lease is not None
    hold = ledger.hold(lease, daily=1)
    hold.note(Kept.CHECK, {"check": "tests", "result": {}})
    hold.note(Kept.NOTE, {"deltas": []})
    entries = hold.entries()
    signer = Signer(Ed25519PrivateKey.generate())
    envelopes = [signer.sign(one) for one in statements(passed(), COMMIT, entries)]
    kept = hold.put(bundle.make(passed(), envelopes, entries))
    hold.fulfil("statement", {"commit": COMMIT, "bundle": kept})
    hold.note(Kept.MOVE, {"from": "publish", "to": "complete"})
    return kept


def test_the_bundle_is_written_as_it_was_kept(
    redis: Redis, door: Door, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = published(redis)
    path = tmp_path / "bundle.json"
    assert evidence.main(door, [RUN, str(path)]) == 0
    assert kept in capsys.readouterr().out
    assert bundle.read(path.read_bytes()).run == passed().id


def test_the_page_of_a_run_stands_beside_its_bundle(
    redis: Redis, door: Door, tmp_path: Path
) -> None:
    published(redis)
    path = tmp_path / "page.html"
    assert evidence.main(door, [RUN, str(tmp_path / "b.json"), "--page", str(path)]) == 0
    assert path.read_text().startswith("<!doctype html>")


def test_a_place_that_cannot_be_written_is_one_sentence(
    redis: Redis, door: Door, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published(redis)
    for words in ([str(tmp_path)], [str(tmp_path / "b.json"), "--page", str(tmp_path)]):
        assert evidence.main(door, [RUN, *words]) == 2
        assert f"{tmp_path} could not be written: Is a directory." in capsys.readouterr().out


def test_a_journal_that_was_touched_is_named_and_nothing_is_written(
    redis: Redis, door: Door, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published(redis)
    name, _fields = redis.xrange(journal_key(RUN))[0]
    redis.xdel(journal_key(RUN), name)
    path = tmp_path / "bundle.json"
    assert evidence.main(door, [RUN, str(path)]) == 1
    words = capsys.readouterr().out
    assert "was tampered with" in words and "does not follow" in words
    assert not path.exists()


def test_a_journal_rewritten_with_good_stamps_is_still_not_what_was_signed(
    redis: Redis, door: Door, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who owns Redis can stamp again; the signed head cannot be made anew without the key."""
    published(redis)
    ledger = Ledger(redis)
    redis.delete(journal_key(RUN))
    redis.hdel(f"pw:run:{RUN}", "chain")
    lease = ledger.claim(RUN, "w1", 60_000)
    if lease is None:  # the first lease still runs
        row = ledger.row(RUN)
        assert row is not None
        redis.hset(f"pw:run:{RUN}", "lease", "0")
        lease = ledger.claim(RUN, "w2", 60_000)
    assert lease is not None
    ledger.hold(lease, daily=1).note(Kept.NOTE, {"invented": True})
    assert ledger.journal_fault(RUN) == ""
    assert evidence.main(door, [RUN]) == 1
    assert "entry 1 (check" in capsys.readouterr().out


def test_a_touched_bundle_and_a_run_without_one_are_said(
    redis: Redis, door: Door, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        evidence.main(door, [])
    assert evidence.main(door, ["nobody"]) == 1
    assert "no signed evidence" in capsys.readouterr().out
    kept = published(redis)
    redis.delete(blob_key(kept))
    assert evidence.main(door, [RUN]) == 1
    assert "is not what was kept" in capsys.readouterr().out
    redis.set(blob_key(kept), b"{}")
    assert evidence.main(door, [RUN]) == 1
    assert "is not what was kept" in capsys.readouterr().out
