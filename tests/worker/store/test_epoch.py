"""A ledger that was emptied, or is older than what this desk saw, is refused. On a real Redis."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.redis_server import redis_server
from worker.store.calls import Calls
from worker.store.epoch import Epoch, OtherLedger, accept


def test_an_emptied_or_older_ledger_is_refused_until_the_operator_says_so(tmp_path: Path) -> None:
    with redis_server() as server:
        epoch = Epoch(Calls(server.client(), 2), tmp_path / "desk" / "ledger.json")
        epoch.look()
        epoch.bump()
        server.kill()
        shutil.copytree(server.folder / "appendonlydir", tmp_path / "older")
        server.start()
        epoch.bump()
        epoch.look()
        server.kill()  # and an older copy is put in its place
        shutil.rmtree(server.folder / "appendonlydir")
        shutil.copytree(tmp_path / "older", server.folder / "appendonlydir")
        server.start()
        with pytest.raises(OtherLedger, match=r"older ledger.*resume --new-ledger"):
            epoch.bump()
        accept(epoch.calls)
        epoch.bump()
        with server.client() as client:
            client.flushall()
        with pytest.raises(OtherLedger, match="emptied"):
            epoch.look()
        with pytest.raises(OtherLedger, match="emptied"):
            epoch.bump()  # and makes no mark of its own
        Epoch(epoch.calls, tmp_path / "other" / "ledger.json").look()  # a desk on another host
        with pytest.raises(OtherLedger, match="another ledger"):
            epoch.look()
        accept(epoch.calls)
        epoch.look()
        epoch.bump()
