"""The receiver on a real socket and a real Redis: every answer, and what the ledger holds then."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any

import msgspec
import pytest
from redis import Redis

from app import webhook
from app.domain.event import Event
from app.domain.record import EVENTS_OPEN, INBOX, SCHEMA
from app.domain.scripts.events import RECEIVE
from app.domain.scripts.pieces import digest
from app.inbox import SECONDS, Inbox, client
from app.main import PATH, Receiver
from app.webhook import Webhook
from tests.app.domain.test_triggers import BODY, PULLED, changed
from tests.app.receiver import SECRET, headers, post, serving, sign
from tests.patience import PATIENCE
from tests.redis_server import Server
from tests.shared_data import shared_dir

KEY = "issue:1296269:7:208045946:2026-11-30T10:00:00Z"


def dumped(body: Any) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


GOOD = dumped(BODY)


@pytest.fixture(scope="module")
def port(redis_process: Server) -> Iterator[int]:
    inbox = Inbox(client(redis_process.url))
    with serving(Receiver(Webhook(SECRET, inbox), inbox, None)) as port:
        yield port


def test_a_genuine_event_is_durable_before_it_is_acknowledged(port: int, redis: Redis) -> None:
    assert post(port, GOOD) == (202, {"accepted": KEY})
    row = redis.hgetall(f"pw:event:{KEY}")
    assert {k: row[k] for k in (b"v", b"rev")} == {b"v": b"%d" % SCHEMA, b"rev": b"1"}
    event = msgspec.json.decode(row[b"data"], type=Event)
    assert (event.key, event.title, event.body) == (KEY, "Sum is wrong", "as signed\r\n")
    assert redis.lrange(INBOX, 0, -1) == [KEY.encode()]
    assert redis.zrange(EVENTS_OPEN, 0, -1) == [KEY.encode()]


def test_a_pull_request_is_known_by_its_heads_name_and_commit(port: int, redis: Redis) -> None:
    head = {"ref": "topic", "sha": "e" * 40}
    body = {**PULLED, "action": "opened", "pull_request": {**PULLED["pull_request"], "head": head}}
    assert post(port, dumped(body), event="pull_request")[0] == 202
    (key,) = redis.zrange(EVENTS_OPEN, 0, -1)
    event = msgspec.json.decode(redis.hget(b"pw:event:" + key, "data") or b"", type=Event)
    assert (event.branch, event.head) == ("topic", "e" * 40)


def test_a_redelivery_is_known(port: int, redis: Redis) -> None:
    assert post(port, GOOD)[1] == {"accepted": KEY}
    assert post(port, GOOD) == (202, {"known": KEY})
    opened = dumped(changed(action="opened", label=None))
    assert post(port, opened) == (202, {"known": KEY})
    assert redis.llen(INBOX) == 1


def test_fifty_copies_from_eight_clients_are_one_row(port: int, redis: Redis) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: post(port, GOOD), range(50)))
    assert [status for status, _ in answers] == [202] * 50
    assert sum("accepted" in answer for _, answer in answers) == 1
    assert redis.llen(INBOX) == 1
    assert redis.zcard(EVENTS_OPEN) == 1


@pytest.mark.parametrize(
    ("event", "body"),
    [
        ("ping", b'{"zen":"Keep it logically awesome."}'),
        ("brand_new", b"{}"),
        ("installation", GOOD),
        ("issues", dumped(changed(label__name="bug"))),
        ("issues", dumped(changed(sender__type="Bot"))),
        ("issues", dumped(changed(installation=None))),
        ("issues", dumped(changed(issue__pull_request={"url": "x"}))),
    ],
)
def test_what_starts_nothing_is_ignored(port: int, redis: Redis, event: str, body: bytes) -> None:
    status, answer = post(port, body, event=event)
    assert (status, list(answer)) == (202, ["ignored"])
    assert redis.dbsize() == 0


def test_null_where_github_sends_null_is_fine(port: int, redis: Redis) -> None:
    body = dumped(changed(issue__body=None, issue__user=None, issue__pull_request=None))
    assert post(port, body)[0] == 202
    assert redis.llen(INBOX) == 1


def signed_as(*values: bytes) -> list[tuple[bytes, bytes]]:
    others = [pair for pair in headers(GOOD) if pair[0] != b"X-Hub-Signature-256"]
    return others + [(b"X-Hub-Signature-256", value) for value in values]


@pytest.mark.parametrize(
    "given",
    [
        signed_as(),
        signed_as(b""),
        signed_as(b"sha256="),
        signed_as(sign(GOOD)[:-1]),
        signed_as(sign(GOOD) + b"0"),
        signed_as(b"sha256=" + sign(GOOD)[7:].upper()),
        signed_as(sign(GOOD).replace(b"sha256", b"sha1")),
        signed_as("sha256=é".encode("latin-1")),
        signed_as("sha256=é".encode()),
        signed_as(sign(GOOD, b"another secret")),
        signed_as(sign(json.dumps(BODY).encode())),  # of the same JSON, written otherwise
        signed_as(sign(GOOD), sign(GOOD)),
        signed_as(sign(GOOD), sign(b"")),
        [*signed_as(), (b"X-Hub-Signature", sign(GOOD))],
    ],
)
def test_what_is_not_genuine_leaves_no_trace(
    port: int, redis: Redis, given: list[tuple[bytes, bytes]]
) -> None:
    status, answer = post(port, GOOD, given)
    assert status == 401
    assert "X-Hub-Signature-256" in answer["error"]
    assert redis.dbsize() == 0


@pytest.mark.parametrize(
    "extra",
    [
        (b"Content-Type", b"application/x-www-form-urlencoded"),
        (b"Content-Type", b"application/json; charset=utf-16"),
        (b"Content-Type", b"text/plain"),
        (b"Content-Encoding", b"gzip"),
        (b"Content-Encoding", b"br"),
    ],
)
def test_only_plain_json_is_read(port: int, redis: Redis, extra: tuple[bytes, bytes]) -> None:
    given = [pair for pair in headers(GOOD) if pair[0] != extra[0]]
    assert post(port, GOOD, [*given, extra])[0] == 415
    assert redis.dbsize() == 0


def test_a_named_charset_is_fine(port: int, redis: Redis) -> None:
    given = [pair for pair in headers(GOOD) if pair[0] != b"Content-Type"]
    kind = (b"Content-Type", b"Application/JSON; charset=UTF-8")
    assert post(port, GOOD, [*given, kind])[0] == 202


@pytest.mark.parametrize(
    "given",
    [
        [pair for pair in headers(GOOD) if pair[0] != b"X-GitHub-Event"],
        [*headers(GOOD), (b"X-GitHub-Event", b"ping")],
    ],
)
def test_one_event_name_is_wanted(
    port: int, redis: Redis, given: list[tuple[bytes, bytes]]
) -> None:
    assert post(port, GOOD, given)[0] == 400
    assert redis.dbsize() == 0


DEEP = b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}"


@pytest.mark.parametrize(
    ("event", "body"),
    [
        (event, body)
        for event in ("issues", "ping")
        for body in (
            b"",
            b"null",
            b"[]",
            b'"text"',
            b"payload=%7B%7D",
            b"{",
            GOOD + b"x",
            b"\xef\xbb\xbf" + GOOD,
            b'{"a":"\xff"}',
            b'{"a":NaN}',
            DEEP,
        )
    ]
    + [
        ("issues", body)
        for body in (
            b"{}",
            dumped(changed(issue=None)),
            dumped(changed(comment={"id": 1})),
            dumped(changed(issue__number=10**400)),
            dumped(changed(issue__number="7")),
            dumped(changed(issue__title={})),
            GOOD.replace(b'"action"', b'"action":"opened","action"'),
            GOOD.replace(b'"number":7', b'"number":8,"number":7'),
            GOOD.replace(b'"labels"', b'"x":{"y":[{"z":1,"z":2}]},"labels"'),
            GOOD.replace(b'"number":7', b'"number" :8,"\\u006eumber":7'),
            GOOD.replace(b"Sum is wrong", b"\\ud800"),
        )
    ],
)
def test_a_genuine_body_that_is_not_what_it_says_is_refused(
    port: int, redis: Redis, event: str, body: bytes
) -> None:
    status, answer = post(port, body, event=event)
    assert status == 400, answer
    assert answer["error"]
    assert redis.dbsize() == 0


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(BODY, indent=2).encode(),
        json.dumps(changed(issue__title="😊 ünï", issue__body="\x00\u2028")).encode(),
        dumped(changed(issue__title="😊 ünï", issue__body='"a":1, "a" :1')),
    ],
)
def test_json_may_be_written_in_any_way(port: int, redis: Redis, body: bytes) -> None:
    assert post(port, body)[0] == 202
    assert redis.llen(INBOX) == 1


@pytest.mark.parametrize(("event", "cap"), [("issues", 2 << 20), ("fork", 1 << 20)])
def test_a_body_may_have_as_many_bytes_as_its_event_needs(
    port: int, redis: Redis, event: str, cap: int
) -> None:
    body = b'{"a":"' + b"x" * (cap - 8) + b'"}'
    assert post(port, body, event=event)[0] == (400 if event == "issues" else 202)
    assert post(port, body + b" ", event=event)[0] == 413


def lines(given: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(name + b": " + value + b"\r\n" for name, value in given)


def test_a_long_body_without_a_length_is_cut_while_it_comes(port: int, redis: Redis) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as stream:
        head = b"POST " + PATH.encode() + b" HTTP/1.1\r\nHost: x\r\n"
        stream.sendall(head + b"Transfer-Encoding: chunked\r\n" + lines(headers(GOOD)) + b"\r\n")
        chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
        sent = 0
        try:
            while sent < 26 << 20:
                stream.sendall(chunk)
                sent += 65_536
        except (BrokenPipeError, ConnectionResetError):
            pass
        else:
            assert stream.recv(100).startswith(b"HTTP/1.1 413")
    assert redis.dbsize() == 0


def test_a_chunked_body_is_read(port: int, redis: Redis) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as stream:
        head = b"POST " + PATH.encode() + b" HTTP/1.1\r\nHost: x\r\n"
        stream.sendall(head + b"Transfer-Encoding: chunked\r\n" + lines(headers(GOOD)) + b"\r\n")
        for start in range(0, len(GOOD), 100):
            part = GOOD[start : start + 100]
            stream.sendall(b"%x\r\n" % len(part) + part + b"\r\n")
        stream.sendall(b"0\r\n\r\n")
        assert stream.recv(100).startswith(b"HTTP/1.1 202")
    assert redis.llen(INBOX) == 1


def test_a_slow_body_is_given_up(port: int, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as stream:
        head = b"POST " + PATH.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
        stream.sendall(head + lines(headers(GOOD)) + b"\r\n{")
        assert stream.recv(100).startswith(b"HTTP/1.1 408")


def test_who_hangs_up_is_not_answered_and_does_no_harm(port: int, redis: Redis) -> None:
    for part in (b"", GOOD[:50]):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as stream:
            head = b"POST " + PATH.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n"
            stream.sendall(head + lines(headers(GOOD)) + b"\r\n" + part)
    assert post(port, GOOD)[0] == 202


def test_no_bytes_are_a_500(port: int, redis: Redis) -> None:
    chance = random.Random(7)
    seen = set()
    for _ in range(300):
        body = bytearray(GOOD)
        for _ in range(chance.randrange(4)):
            place = chance.randrange(len(body))
            body[place : place + chance.randrange(3)] = chance.randbytes(chance.randrange(4))
        event = chance.choice(["issues", "issues", "issue_comment", "\xff"])
        seen.add(post(port, bytes(body), [(n, v) for n, v in headers(bytes(body), event)])[0])
    assert seen == {202, 400}


def test_real_deliveries_are_taken_or_ignored(port: int, redis: Redis) -> None:
    folder = shared_dir() / "data/webhooks"
    entries = json.loads((folder / "index.json").read_text())
    for entry in entries:
        body = (folder / entry["file"]).read_bytes()
        status, answer = post(port, body, event=entry["event"])
        assert status == 202, entry["file"]
        key = answer.get("accepted", answer.get("known", ""))
        assert "ignored" in answer or key.startswith("nudge:"), entry["file"]
    assert all(key.startswith(b"nudge:") for key in redis.lrange(INBOX, 0, -1))


def test_a_poisoned_entry_fails_alone(port: int, redis: Redis, redis_process: Server) -> None:
    def key(number: int) -> str:
        return f"issue:1296269:{number}:208045946:2026-11-30T10:00:00Z"

    redis.set(f"pw:event:{key(3)}", "not a hash")
    # All in one call: they wait while Redis does.
    redis_process.freeze()
    with ThreadPoolExecutor(8) as pool:
        answers = [
            pool.submit(post, port, dumped(changed(issue__number=number))) for number in range(1, 9)
        ]
        threading.Timer(0.3, redis_process.thaw).start()
        status = [answer.result()[0] for answer in answers]
    assert status == [202, 202, 503, 202, 202, 202, 202, 202]
    assert redis.llen(INBOX) == 7
    assert redis.zscore(EVENTS_OPEN, key(3)) is None
    redis.delete(f"pw:event:{key(3)}")
    assert post(port, dumped(changed(issue__number=3))) == (202, {"accepted": key(3)})


def test_an_entry_whose_wake_up_fails_can_be_sent_again(port: int, redis: Redis) -> None:
    redis.set(INBOX, "not a list")
    assert post(port, GOOD)[0] == 503
    assert redis.keys("pw:event*") == []
    redis.delete(INBOX)
    assert post(port, GOOD) == (202, {"accepted": KEY})


def test_a_redis_that_does_not_answer_is_503_in_time(
    port: int, redis: Redis, redis_process: Server
) -> None:
    assert post(port, GOOD)[0] == 202
    other = dumped(changed(issue__number=8))
    redis_process.freeze()
    try:
        times: list[tuple[float, float]] = []

        def deliver(delay: float) -> int:
            time.sleep(delay)
            sent = time.monotonic()
            status = post(port, other)[0]
            times.append((sent, time.monotonic()))
            return status

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(deliver, (0, 0.3, 0.6, 0.9))) == [503] * 4
        # Who comes while a call waits fails with it, and does not wait as long once more.
        first = min(answered for _, answered in times)
        assert all(done - first < SECONDS * 0.9 for sent, done in times if sent < first - 1)
        assert SECONDS < 5  # GitHub waits for ten
    finally:
        redis_process.thaw()
    assert post(port, other)[0] == 202


def test_a_redis_that_is_away_is_503_and_comes_back(
    port: int, redis: Redis, redis_process: Server
) -> None:
    assert post(port, GOOD)[0] == 202
    redis_process.kill()
    try:
        status, answer = post(port, GOOD)
        assert status == 503
        assert "deliver this again" in answer["error"]
        assert get(port, "/healthz")[0] == 200
        assert get(port, "/readyz")[0] == 503
    finally:
        redis_process.start()
    assert post(port, GOOD) == (202, {"known": KEY})
    assert get(port, "/readyz") == (200, {"ready": True})


def test_a_full_redis_is_503_and_nothing_is_half_written(port: int, redis: Redis) -> None:
    redis.config_set("maxmemory", "1mb")
    try:
        assert post(port, GOOD)[0] == 503
        assert get(port, "/readyz")[0] == 503
    finally:
        redis.config_set("maxmemory", "0")
    assert redis.keys("pw:event*") == []
    assert post(port, GOOD)[0] == 202


def test_scripts_are_loaded_again_where_they_were_forgotten(port: int, redis: Redis) -> None:
    redis.script_flush()
    assert post(port, GOOD)[0] == 202
    assert redis.script_exists(digest(RECEIVE)) == [True]


@pytest.mark.parametrize(("name", "value"), [("appendfsync", "no"), ("appendonly", "no")])
def test_a_redis_that_may_forget_gets_no_promise(
    redis: Redis, redis_process: Server, name: str, value: str
) -> None:
    back = redis.config_get(name)[name]
    redis.config_set(name, value)
    try:
        strict, loose = (Inbox(client(redis_process.url), durable=d) for d in (True, False))
        with serving(Receiver(Webhook(SECRET, strict), strict, None)) as port:
            status, answer = post(port, GOOD)
            assert status == 503
            assert f"`{name}` is no" in answer["error"]
        with serving(Receiver(Webhook(SECRET, loose), loose, None)) as port:
            assert post(port, GOOD)[0] == 202
            assert get(port, "/readyz")[0] == 200
    finally:
        redis.config_set(name, back)


def test_kill_9_of_redis_loses_nothing_that_was_acknowledged(
    port: int, redis: Redis, redis_process: Server
) -> None:
    accepted: set[str] = set()
    stop = threading.Event()

    def deliver(client: int) -> None:
        number = client
        while not stop.is_set():
            number += 8
            status, answer = post(port, dumped(changed(issue__number=number)))
            assert status in (202, 503)
            if status == 202:
                accepted.add(answer["accepted"])

    with ThreadPoolExecutor(8) as pool:
        clients = [pool.submit(deliver, number) for number in range(1, 9)]
        try:
            for goal in (100, 200, 300):
                while len(accepted) < goal:
                    assert not any(one.done() for one in clients)
                    time.sleep(0.01)
                redis_process.kill()
                redis_process.start()
        finally:
            stop.set()
        for one in clients:
            one.result()
    kept = {key.decode() for key in redis.zrange(EVENTS_OPEN, 0, -1)}
    assert accepted <= kept
    assert {key.decode() for key in redis.lrange(INBOX, 0, -1)} == kept


def get(port: int, path: str, method: str = "GET") -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else text
    finally:
        connection.close()


def test_other_ways_in_are_closed(port: int) -> None:
    assert get(port, "/healthz") == (200, {"alive": True})
    assert get(port, PATH)[0] == 405
    assert get(port, "/")[0] == 404
    assert get(port, "/docs")[0] == 404
    assert get(port, "/healthz", "POST")[0] == 405


def test_without_a_secret_there_is_no_receiver() -> None:
    with pytest.raises(ValueError, match="refused"):
        Webhook(b"", Inbox(client("unix:///nowhere")))


def test_the_last_line_answers_what_nobody_thought_of(redis_process: Server) -> None:
    class Broken(Inbox):
        async def put(self, event: Event) -> Any:
            raise RuntimeError(event.key)

    inbox = Broken(client(redis_process.url))
    with serving(Receiver(Webhook(SECRET, inbox), inbox, None)) as port:
        status, answer = post(port, GOOD)
    assert status == 503
    assert KEY not in json.dumps(answer)
