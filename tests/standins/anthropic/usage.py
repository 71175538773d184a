"""Token counts by characters, and a prompt cache that works as a prefix match."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

CHARACTERS_A_TOKEN = 4


def _plain(value: Any) -> Any:
    """The value without its cache marks, which are not part of the prompt."""
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value


def pieces(body: Mapping[str, Any]) -> Iterator[str]:
    """The prompt in the order in which it is cached: tools, system, then message by message."""
    yield json.dumps(_plain(body.get("tools", [])), sort_keys=True, ensure_ascii=False)
    yield json.dumps(_plain(body.get("system", "")), sort_keys=True, ensure_ascii=False)
    for message in body["messages"]:
        yield json.dumps(_plain(message), sort_keys=True, ensure_ascii=False)


def input_tokens(body: Mapping[str, Any]) -> int:
    return max(1, sum(len(piece) for piece in pieces(body)) // CHARACTERS_A_TOKEN)


def output_tokens(content: list[dict[str, Any]]) -> int:
    size = 0
    for block in content:
        if block["type"] == "tool_use":
            size += len(block["name"]) + len(json.dumps(block["input"], ensure_ascii=False))
        else:
            size += len(block.get("text") or block.get("thinking") or "")
    return max(1, size // CHARACTERS_A_TOKEN)


class PromptCache:
    """The prefixes of earlier requests that asked for caching. Life time is not simulated."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def usage(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The input side of `usage` for this request, which is kept for the next one."""
        total = input_tokens(body)
        marks = list(_marks(body))
        if not marks:
            return _usage(total, 0, 0, 0)
        state = hashlib.sha256(body["model"].encode())
        read, size = 0, 0
        for piece in pieces(body):
            state.update(piece.encode() + b"\0")
            size += len(piece)
            if state.hexdigest() in self._seen:
                read = size // CHARACTERS_A_TOKEN
            self._seen.add(state.hexdigest())
        written = total - read
        long = any(mark.get("ttl") == "1h" for mark in marks)
        return _usage(0, read, 0 if long else written, written if long else 0)

    def clear(self) -> None:
        self._seen.clear()


def _usage(plain: int, read: int, written_5m: int, written_1h: int) -> dict[str, Any]:
    return {
        "input_tokens": plain,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written_5m + written_1h,
        "cache_creation": {
            "ephemeral_5m_input_tokens": written_5m,
            "ephemeral_1h_input_tokens": written_1h,
        },
        "service_tier": "standard",
    }


def _marks(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            if key == "cache_control" and isinstance(part, Mapping):
                yield part
            elif key != "input":
                yield from _marks(part)
    elif isinstance(value, list):
        for part in value:
            yield from _marks(part)
