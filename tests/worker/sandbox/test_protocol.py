"""Frames in pieces, frames that lie, and which limit a check is said to have met."""

from __future__ import annotations

import ast
import json
import struct
from typing import Any

import pytest

from tests.worker.sandbox.running import job
from worker.sandbox.protocol import (
    Bounds,
    Broken,
    Cut,
    Inbox,
    Reply,
    command,
    exit_code,
    limit_of,
    outcome,
    request,
)


def wrapped(data: bytes, stream: int = 1) -> bytes:
    return struct.pack(">BxxxL", stream, len(data)) + data


def frame(head: dict[str, Any], *bodies: bytes) -> bytes:
    text = json.dumps({**head, "sizes": [len(body) for body in bodies]}).encode()
    return struct.pack(">I", len(text)) + text + b"".join(bodies)


@pytest.mark.parametrize("step", [1, 3, 7, 1000])
def test_a_reply_arrives_in_pieces_of_any_size(step: int) -> None:
    sent = frame({"n": 1}, b"out", b"", b"report") + frame({"n": 2})
    stream = wrapped(sent[:9]) + wrapped(b"a warning", 2) + wrapped(sent[9:])
    inbox, found = Inbox(100), []
    for start in range(0, len(stream), step):
        inbox.feed(stream[start : start + step])
        while (reply := inbox.take()) is not None:
            found.append((reply.head["n"], reply.bodies))
    assert found == [(1, (b"out", b"", b"report")), (2, ())]
    assert bytes(inbox.said) == b"a warning"


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">I", 1 << 30),
        struct.pack(">I", 3) + b"{}}",
        struct.pack(">I", 2) + b"{}",
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", 13) + b'{"sizes":[9]}'[:13],
        struct.pack(">I", 15) + b'{"sizes":[-10]}',
    ],
)
def test_what_pid_1_would_never_send_is_broken(sent: bytes) -> None:
    inbox = Inbox(8)
    inbox.feed(wrapped(sent))
    with pytest.raises(Broken):
        inbox.take()


def test_words_on_stderr_are_bounded() -> None:
    inbox = Inbox(8)
    inbox.feed(wrapped(b"x" * 100_000 + b"end", 2))
    assert len(inbox.said) == 4096
    assert inbox.said.endswith(b"end")


CLEAN = {"code": 1, "oom": 0, "timed": False, "flooded": False, "forks": 0, "full": []}


BOUNDS = Bounds(seconds=9, memory=1 << 28, flood=4096)
FULL = ["disk", 1 << 20]


@pytest.mark.parametrize(
    ("head", "killed", "cut", "limit"),
    [
        ({}, False, Cut.NONE, ("", 0)),
        ({}, True, Cut.TIME, ("memory", 1 << 28)),
        ({"oom": 1, "timed": True}, False, Cut.NONE, ("memory", 1 << 28)),
        ({"code": 0, "oom": 2}, False, Cut.NONE, ("memory", 1 << 28)),
        ({"timed": True, "forks": 5}, False, Cut.NONE, ("pids", 256)),
        ({}, False, Cut.TIME, ("time", 9)),
        ({"flooded": True, "full": FULL}, False, Cut.NONE, ("output", 4096)),
        ({"forks": 3}, False, Cut.NONE, ("pids", 256)),
        ({"full": FULL}, False, Cut.NONE, ("disk", 1 << 20)),
        ({"full": ["inodes", 50]}, False, Cut.NONE, ("inodes", 50)),
        ({"full": FULL, "code": 0}, False, Cut.NONE, ("", 0)),
        ({"code": -25}, False, Cut.NONE, ("file-size", 256 << 20)),
        ({"code": -25, "full": FULL}, False, Cut.NONE, ("file-size", 256 << 20)),
        ({"code": 153}, False, Cut.NONE, ("", 0)),
        ({"oversized": True}, False, Cut.NONE, ("file-size", 256 << 20)),
        ({"oversized": True, "code": 0}, False, Cut.NONE, ("", 0)),
    ],
)
def test_the_daemons_word_comes_first(
    head: dict[str, Any], killed: bool, cut: Cut, limit: tuple[str, int]
) -> None:
    assert limit_of({**CLEAN, **head}, BOUNDS, killed_for_memory=killed, cut=cut) == limit


def test_exit_codes_are_those_of_a_shell() -> None:
    assert [exit_code(n) for n in (0, 7, 255, -9, -15)] == [0, 7, 255, 137, 143]


def test_a_command_that_did_not_start_has_no_exit_code() -> None:
    found = outcome(Reply({"code": None, "error": "no such file"}, ()), 127, ("", 0))
    assert (found.exit_code, found.error, found.report) == (None, "no such file", None)


@pytest.mark.parametrize(
    ("said", "unread", "size"),
    [
        ({}, "", 0),  # a container that was made before an update
        ({"unread": "pipe", "report_size": 0}, "pipe", 0),
        ({"unread": "large", "report_size": 9}, "large", 9),
        ({"unread": "a word of another version"}, "", 0),
        ({"unread": ["link"]}, "", 0),
    ],
)
def test_why_a_report_was_not_read_is_a_known_word_or_none(
    said: dict[str, Any], unread: str, size: int
) -> None:
    found = outcome(Reply({"code": 0, **said}, (b"", b"", b"")), 0, ("", 0))
    assert (found.report, found.unread, found.report_size) == (None, unread, size)


def test_a_request_carries_its_files_behind_its_head() -> None:
    sent = request(job("true"), {"a": b"12", "b": b"3"}, last=False)
    length = struct.unpack(">I", sent[:4])[0]
    ask = json.loads(sent[4 : 4 + length])
    assert ask["files"] == [["a", 2], ["b", 1]]
    assert sent[4 + length :] == b"123"


def test_the_program_needs_python_3_8_and_fits_an_argument() -> None:
    program = command()[-1]
    ast.parse(program, feature_version=(3, 8))
    assert len(program.encode()) < 100_000
    imported = {
        name.name.partition(".")[0]
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Import)
        for name in node.names
    }
    assert imported <= {
        "contextlib",
        "ctypes",
        "errno",
        "json",
        "os",
        "resource",
        "selectors",
        "signal",
        "stat",
        "struct",
        "subprocess",
        "sys",
        "threading",
        "time",
    }
