"""The ACL file on a real Redis: each process can do its work, and nothing beside it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError, ResponseError

from app.domain import record
from app.domain.record import Kept
from app.domain.state import Role, Signal, State
from app.feeder import Feeder
from app.inbox import Inbox, Written, client
from tests.patience import PATIENCE
from tests.redis_server import program
from tests.redis_users import FILE, Users, users
from tests.worker.store.samples import a_run, an_event
from worker import keeping
from worker.queue import Bell
from worker.store import retention
from worker.store.caps import Caps
from worker.store.ledger import Ledger
from worker.store.pacing import Pacing


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Users]:
    with users(tmp_path_factory.mktemp("acl")) as made:
        yield made


def received(up: Users, key: str) -> None:
    """The receiver writes an event and rings for it."""

    async def put() -> Written:
        inbox = Inbox(client(up.url("receiver")))
        await inbox.check()
        written = await inbox.put(an_event(key))
        await inbox.redis.aclose()
        return written

    assert asyncio.run(put()) is Written.NEW
    feeder = Feeder(up.url("receiver"))
    feeder.give_back()
    assert feeder.feed(1.0)
    feeder.redis.close()


def as_desk(up: Users, key: str) -> None:
    """The desk opens a run, paces its writes, shelves a token, keeps house."""
    ledger = Ledger(up.client("desk"))
    ledger.check_server()
    assert Caps(ledger.calls, {"user": 9}).take({"user": "1"}, key) == ""
    assert Caps(ledger.calls, {"user": 1}).over({"user": "1"}, key) == ""
    assert not ledger.polled(7)
    ledger.set_polled(7, 1_000, 500)
    ledger.set_mark("polled", 1_000)
    assert ledger.polled(7) and ledger.mark("polled") == 1_000
    ledger.unheard("nobody's")
    ledger.open_run(key, a_run("r1", event=key))
    lease = ledger.claim("r1", "desk", 60_000)
    assert lease is not None
    with ledger.hold(lease, daily=10**9) as hold:
        hold.note(Kept.NOTE, {"a": 1})
        hold.intend("labels", {})
        hold.fulfil("labels", {"b": 1})
        hold.look()
    ledger.save(lease, lease.run.moved(Signal.DONE), release=True)
    ledger.keep_token("t", b"sealed", 1, "r1")
    assert [token.name for token in ledger.tokens()] == ["t"]
    Pacing(ledger.calls, 0, 1000, 9).take(5)
    Pacing(ledger.calls, 0, 1000, 9).limit(5, 1, False, "x")
    Pacing(ledger.calls, 0, 1000, 9).limited(5)
    ledger.set_mark("deliveries", 5)
    ledger.pause("me"), ledger.paused(), ledger.resume()
    assert ledger.leader("desk", "a", 1000)
    bell = Bell(up.client("desk"))
    keeping.rewake(Role.DESK, ledger, bell)
    bell.run(Role.RUNNER, "r1", ledger.wake("r1", Role.RUNNER))
    retention.expire(ledger, 1)


def as_runner(up: Users) -> None:
    """The runner works on the run, spends, leaves blobs and measurements, asks the desk."""
    ledger = Ledger(up.client("runner"))
    ledger.check_server()
    lease = ledger.claim("r1", "runner", 60_000)
    assert lease is not None
    with ledger.hold(lease, daily=10**9) as hold:
        digest = hold.put(b"log")
        assert hold.get(digest) == b"log"
        hold.note(Kept.CHECK, {"log": digest})
        assert len(hold.entries()) == 2
        hold.remember("baseline", {"a": 1})
        assert hold.recall("baseline") == {"a": 1}
        hold.reserve(5)
        hold.settle(3)
    ledger.ask("q", {"run": "r1"}, 60)
    assert ledger.await_answer("q", 0.1) is None
    ended = replace(lease.run, state=State.HALTED)
    ledger.save(lease, ended, release=True)
    ledger.stores_to_go()
    assert ledger.leader("runner", "a", 1000)
    keeping.rewake(Role.RUNNER, ledger, Bell(up.client("runner")))


def as_operator(up: Users) -> None:
    ledger = Ledger(up.client("operator"))
    assert [run.id for run in ledger.runs(9)] == ["r1"]
    ledger.cancel("r1")
    ledger.pause("me"), ledger.paused(), ledger.resume()
    assert ledger.journal_fault("r1") == ""
    assert ledger.change("r1") is not None
    ledger.intent("r1", "labels")
    ledger.spent_today()


def test_every_process_does_its_work_as_its_own_user(up: Users) -> None:
    key = "issue:1:7:acl"
    received(up, key)
    as_desk(up, key)
    as_runner(up)
    as_operator(up)
    assert up.denied() == set()


@pytest.mark.parametrize("who", ["desk", "runner"])
def test_rq_works_as_the_roles_users(up: Users, who: str, tmp_path: Path) -> None:
    """A real worker takes a real wake-up off the queue."""
    role = Role(who)
    Bell(up.client(who)).ring(role, "worker.jobs.run", f"of-{who}", f"ring-{who}")
    pid = tmp_path / "done"
    code = (
        "import sys\nfrom functools import partial\nfrom pathlib import Path\n"
        "from app.domain.state import Role\nfrom worker import jobs, queue\n"
        "from worker.store.connect import connect\n"
        "url, who, done = sys.argv[1:]\n"
        "jobs.install(run=lambda run: Path(done).open('a').write(run + ';'))\n"
        "queue.listen(Role(who), partial(connect, url))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, up.url(who), who, str(pid)])
    try:
        ends = time.monotonic() + PATIENCE
        while not pid.exists() or f"of-{who};" not in pid.read_text():
            assert process.poll() is None and time.monotonic() < ends
            time.sleep(0.05)
    finally:
        process.terminate()
        process.wait(PATIENCE)
    assert up.denied() == set()


FORBIDDEN = [
    *[(who, words) for who in ("receiver", "desk", "runner", "operator") for words in (
        ("FLUSHALL",), ("CONFIG", "SET", "appendonly", "no"), ("KEYS", "*"),
        ("CLIENT", "LIST"),
        ("SHUTDOWN",), ("ACL", "LIST"), ("SCRIPT", "FLUSH"), ("MONITOR",), ("SAVE",),
        ("REPLICAOF", "NO", "ONE"), ("MODULE", "LIST"), ("GET", "somebody-elses"),
    )],
    ("receiver", ("HGETALL", "pw:tokens")),
    ("receiver", ("HGETALL", "pw:run:r1")),
    ("receiver", ("XRANGE", "pw:journal:r1", "-", "+")),
    ("receiver", ("LPUSH", "rq:queue:runs", "x")),
    ("receiver", ("SET", "pw:paused", "x")),
    ("receiver", ("GET", "pw:blob:x")),
    ("runner", ("HGETALL", "pw:tokens")),
    ("runner", ("HGETALL", "pw:event:x")),
    ("runner", ("LRANGE", "pw:inbox", "0", "-1")),
    ("runner", ("DEL", "pw:paused")),
    ("runner", ("SCAN", "0")),
    ("operator", ("HGETALL", "pw:tokens")),
    ("operator", ("HGETALL", "pw:event:x")),
    ("operator", ("RPUSH", "rq:queue:desk", "x")),
    ("operator", ("XADD", "pw:journal:r1", "*", "a", "b")),
]  # fmt: skip


@pytest.mark.parametrize(("who", "words"), FORBIDDEN)
def test_nobody_does_what_is_not_his(up: Users, who: str, words: tuple[str, ...]) -> None:
    with up.client(who) as redis, pytest.raises(NoPermissionError):
        redis.execute_command(*words)
    up.root.acl_log_reset()


def test_lua_gives_no_way_around(up: Users) -> None:
    with up.client("receiver") as redis, pytest.raises((NoPermissionError, ResponseError)) as no:
        redis.eval("return redis.call('HGETALL', 'pw:tokens')", 0)
    assert "can't access" in str(no.value) or "permission" in str(no.value).lower()
    up.root.acl_log_reset()


def test_without_a_name_one_can_only_ping(up: Users) -> None:
    with Redis(unix_socket_path=up.server.socket) as nobody:
        assert nobody.ping()
        with pytest.raises(NoPermissionError):
            nobody.get(record.PAUSED)
    up.root.acl_log_reset()


def test_the_file_as_it_is_starts_no_server(tmp_path: Path) -> None:
    """Without passwords of one's own there is no Redis to talk to."""
    words = [program(), "--port", "0", "--aclfile", str(FILE), "--dir", str(tmp_path)]
    words += ["--unixsocket", str(tmp_path / "s")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode != 0
