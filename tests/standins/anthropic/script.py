"""Replies from a script or a recording: the nth conversation of a run plays the nth list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.standins.anthropic.answers import ApiError, Play
from tests.standins.anthropic.conversation import Conversation, understand

PLACEHOLDER = re.compile(r"\{\{sha256:([^{}]+)\}\}")


class BadScript(ValueError):
    """The script has not the shape that it should have; the text says where."""


class Script:
    """`{"conversations": [[reply, ...], ...]}`, a reply being `{"content": [block, ...]}` with
    optional `stop_reason` and `usage`. A block without an `id` gets one from its place."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        conversations = data.get("conversations")
        if not isinstance(conversations, list) or not all(
            isinstance(replies, list) for replies in conversations
        ):
            raise BadScript('a script is {"conversations": [[reply, ...], ...]}')
        self._plays = [
            [_play(reply, number, at) for at, reply in enumerate(replies)]
            for number, replies in enumerate(conversations)
        ]

    def play(self, told: Conversation) -> Play:
        """Raises `ApiError` 400 where the script has no such reply."""
        number, at = told.number, told.position
        if number >= len(self._plays) or at >= len(self._plays[number]):
            raise ApiError(400, f"the script has no reply {at} in conversation {number}")
        play = self._plays[number][at]
        return Play(_filled(play.content, told.hashes()), play.stop_reason, play.usage)


def recorded(data: Mapping[str, Any]) -> Script:
    """A script out of `{"exchanges": [{"request": body, "reply": {...}}]}`; the first wins."""
    conversations: list[list[dict[str, Any]]] = []
    for exchange in data["exchanges"]:
        told = understand(exchange["request"]["messages"])
        while len(conversations) <= told.number:
            conversations.append([])
        if told.position == len(conversations[told.number]):
            conversations[told.number].append(exchange["reply"])
    return Script({"conversations": conversations})


def _play(reply: Any, number: int, at: int) -> Play:
    where = f"reply {at} of conversation {number}"
    if not isinstance(reply, Mapping) or not isinstance(reply.get("content"), list):
        raise BadScript(f"{where}: content (a list of blocks) is missing")
    content = []
    for place, block in enumerate(reply["content"]):
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind not in ("text", "tool_use", "thinking"):
            raise BadScript(f"{where}: block {place} has type {kind!r}")
        made = dict(block)
        if kind == "tool_use":
            made.setdefault("id", tool_id(number, at, place))
            made.setdefault("input", {})
        content.append(made)
    return Play(content, str(reply.get("stop_reason") or ""), reply.get("usage") or {})


def tool_id(number: int, position: int, place: int) -> str:
    """The same place in the same conversation always has the same id."""
    return f"toolu_{number:02d}_{position:03d}_{place:02d}"


def _filled(value: Any, hashes: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return PLACEHOLDER.sub(lambda found: hashes.get(found.group(1), found.group(0)), value)
    if isinstance(value, Mapping):
        return {key: _filled(part, hashes) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, hashes) for part in value]
    return value
