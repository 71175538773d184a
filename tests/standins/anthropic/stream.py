"""A reply as server-sent events, as the Messages API streams it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.standins.anthropic.answers import Play
from tests.standins.anthropic.conversation import signature

Event = tuple[str, dict[str, Any]]


def encode(event: Event) -> bytes:
    name, data = event
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def message(play: Play, model: str, identity: str, usage: Mapping[str, Any]) -> dict[str, Any]:
    """The whole Message, as a request without `stream` gets it."""
    return {
        "id": identity,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [_signed(block) for block in play.content],
        "stop_reason": play.reason,
        "stop_sequence": None,
        "usage": dict(usage),
    }


def events(whole: Mapping[str, Any], raw_input: str, piece: int) -> Iterator[Event]:
    """All events of one reply; text in pieces of `piece` characters, `raw_input` replaces the
    JSON of the last tool call (cut short, for a reply that hit its limit)."""
    usage = dict(whole["usage"])
    opening = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": opening}
    yield "ping", {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        yield from _block(block, index, raw_input, piece)
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    known = {
        name: usage[name]
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        )
        if name in usage
    }
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": known}
    yield "message_stop", {"type": "message_stop"}


def _block(block: Mapping[str, Any], index: int, raw_input: str, piece: int) -> Iterator[Event]:
    kind = block["type"]
    if kind == "text":
        start: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": part} for part in _parts(block["text"], piece)]
    elif kind == "thinking":
        start = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [
            {"type": "thinking_delta", "thinking": part}
            for part in _parts(block["thinking"], piece)
        ]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    else:
        start = {**block, "input": {}}
        text = raw_input or json.dumps(block["input"])
        deltas = [
            {"type": "input_json_delta", "partial_json": part}
            for part in ("", *_parts(text, piece))
        ]
    yield (
        "content_block_start",
        {"type": "content_block_start", "index": index, "content_block": start},
    )
    for delta in deltas:
        yield (
            "content_block_delta",
            {"type": "content_block_delta", "index": index, "delta": delta},
        )
    yield "content_block_stop", {"type": "content_block_stop", "index": index}


def _parts(text: str, piece: int) -> list[str]:
    return [text[at : at + piece] for at in range(0, len(text), piece)]


def _signed(block: Mapping[str, Any]) -> dict[str, Any]:
    if block["type"] != "thinking":
        return dict(block)
    return {**block, "signature": signature(block["thinking"])}
