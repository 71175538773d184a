"""Bodies of requests, read piece by piece."""

from __future__ import annotations

import asyncio
import struct
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.types import Message

from app.domain.errors import Unavailable
from tests.small_disk import fill, small_disk
from worker.sandbox.answer import IN_MEMORY, Body

PIECES = [struct.pack(">Q", IN_MEMORY + 9), bytes(IN_MEMORY), b"the rest."]


def body() -> Body:
    async def told() -> AsyncIterator[Message]:
        for piece in PIECES:
            yield {"type": "http.request", "body": piece, "more_body": piece is not PIECES[-1]}

    messages = told()
    return Body(Request({"type": "http", "method": "POST"}, lambda: anext(messages)))


def test_a_tree_that_finds_no_room_on_the_disk_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "small") as small:
        monkeypatch.setattr(tempfile, "tempdir", str(small))
        filled = fill(small)
        with pytest.raises(Unavailable, match="no room for a tree of 4194313 bytes") as away:
            asyncio.run(body().spool(1 << 30))
        assert away.value.retry_after == 60.0
        filled.unlink()
        kept, size = asyncio.run(body().spool(1 << 30))
        with kept:
            kept.seek(-9, 2)
            assert (size, kept.read()) == (IN_MEMORY + 9, b"the rest.")
