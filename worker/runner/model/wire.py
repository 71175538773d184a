"""The Messages API's shapes: our request made safe to send, stream events made into one reply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.budget import Usage
from app.domain.tool import TOOLS

REPLY_CAP = 4_000_000  # characters of one reply; no honest reply comes near
DEPTH_CAP = 32  # of a tool's arguments
NOTHING = "(no output)"

# Kinds of blocks that we keep and may send back; whatever else a newer provider sends is left out.
_KEPT = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}


def tools() -> list[dict[str, Any]]:
    """The constant tool list: the same bytes in every request, or the provider's cache misses."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "strict": True,
            "input_schema": tool.schema,
        }
        for tool in TOOLS
    ]


def valid(text: str) -> str:
    """`text` without what JSON over UTF-8 cannot carry (lone surrogates) or the API refuses."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\0", "�") if "\0" in text else text


def sendable(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`messages` without blank text blocks, empty results or invalid Unicode; order is kept."""
    return [
        {"role": message["role"], "content": _content(message["content"])} for message in messages
    ]


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return valid(content) if content.strip() else NOTHING
    blocks = [_block(block) for block in content if not _blank(block)]
    return blocks or [{"type": "text", "text": NOTHING}]


def _blank(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = _deep(block)
    if made.get("type") == "tool_result":
        made["content"] = _content(made.get("content") or "")
    if made.get("type") == "tool_use" and not isinstance(made.get("input"), dict):
        made["input"] = {}  # the API refuses anything else; the result says what was wrong
    return made


def _deep(value: Any) -> Any:
    if isinstance(value, str):
        return valid(value)
    if isinstance(value, Mapping):
        return {valid(str(key)): _deep(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_deep(part) for part in value]
    return value


class Cut(Exception):
    """The stream ended, or turned to nonsense, before the reply was complete."""


@dataclass
class Growing:
    """A reply while it streams in; `take` each event as a plain mapping, then `whole`."""

    id: str = ""
    stop_reason: str = ""
    stopped: bool = False
    usage: dict[str, Any] = field(default_factory=dict)
    blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    inputs: dict[int, list[str]] = field(default_factory=dict)
    size: int = 0

    @property
    def begun(self) -> bool:
        return bool(self.usage)

    def take(self, event: Mapping[str, Any]) -> None:
        """One event. Raises `Cut` when it does not belong where it comes."""
        kind = event.get("type")
        if kind == "message_start":
            message = event.get("message") or {}
            self.id = str(message.get("id") or "")
            self._used(message.get("usage"))
        elif kind == "content_block_start":
            self.blocks[_index(event)] = dict(event.get("content_block") or {})
        elif kind == "content_block_delta":
            self._grow(_index(event), event.get("delta") or {})
        elif kind == "message_delta":
            self.stop_reason = str((event.get("delta") or {}).get("stop_reason") or "")
            self._used(event.get("usage"))
        elif kind == "message_stop":
            self.stopped = True

    def _used(self, usage: Any) -> None:
        if isinstance(usage, Mapping):
            self.usage.update({key: value for key, value in usage.items() if value is not None})

    def _grow(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self.blocks.get(index)
        if block is None:
            raise Cut("a part of a reply came before its beginning")
        kind = delta.get("type")
        if kind == "input_json_delta":
            part = str(delta.get("partial_json") or "")
            self.inputs.setdefault(index, []).append(part)
        elif kind in _DELTAS:
            source, target = _DELTAS[str(kind)]
            part = str(delta.get(source) or "")
            block[target] = str(block.get(target) or "") + part
        else:
            return
        self.size += len(part)
        if self.size > REPLY_CAP:
            raise Cut(f"the reply is longer than {REPLY_CAP} characters")

    def whole(self) -> list[dict[str, Any]]:
        """The content blocks, in order. Raises `Cut` unless the message came to its stop."""
        if not self.stopped or not self.stop_reason:
            raise Cut("the stream was cut before the reply was complete")
        return [
            self._finished(index)
            for index in sorted(self.blocks)
            if self.blocks[index].get("type") in _KEPT
        ]

    def _finished(self, index: int) -> dict[str, Any]:
        block = self.blocks[index]
        if block["type"] == "tool_use":
            if not all(isinstance(block.get(key), str) and block[key] for key in ("id", "name")):
                raise Cut("a tool call came without its id or name")
            block = {**block, "input": _arguments(block, "".join(self.inputs.get(index, ())))}
        return {key: _deep(value) for key, value in block.items() if value is not None}

    def spent(self) -> Usage:
        """Tokens so far; a broken stream has usage too, and it is paid."""
        return usage_of(self.usage)


def _arguments(block: Mapping[str, Any], text: str) -> Any:
    """The tool's input, parsed strictly: what is no JSON stays text, which no schema accepts."""
    if not text:
        return block.get("input") or {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if _shallow(value) else text


def _shallow(value: Any) -> bool:
    """Whether `value` is nested no deeper than any tool asks for; what is deeper serves nobody but
    an attack on the recursion of whoever handles it."""
    level = [value]
    for _ in range(DEPTH_CAP):
        level = [
            part
            for one in level
            if isinstance(one, dict | list)
            for part in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return True
    return False


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise Cut("a part of a reply does not say where it belongs")
    return index


def usage_of(raw: Mapping[str, Any]) -> Usage:
    """Our counts from the API's; a cache write of unknown length is a five-minute one."""
    written = _count(raw, "cache_creation_input_tokens")
    split = raw.get("cache_creation")
    hour = _count(split, "ephemeral_1h_input_tokens") if isinstance(split, Mapping) else 0
    return Usage(
        input=_count(raw, "input_tokens"),
        cache_read=_count(raw, "cache_read_input_tokens"),
        cache_write_5m=max(0, written - hour),
        cache_write_1h=hour,
        output=_count(raw, "output_tokens"),
    )


def _count(raw: Mapping[str, Any], name: str) -> int:
    value = raw.get(name)
    return value if isinstance(value, int) and value > 0 else 0
