"""What a request says about itself: which conversation, how far, and what our tools answered.

Nothing is remembered between requests, so a resumed run and a repeated request get the same reply.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

REPAIR = re.compile(r"^Repair attempt (\d+)", re.MULTILINE)
SHA = re.compile(r"sha256: ?([0-9a-f]{64})")
PATH = re.compile(r"path: ?(\S.*?)(?=  |\n|$)")
FAULT_ID = "toolu_fault_"
FAULT_TEXT = "(stand-in fault)"


def signature(thinking: str) -> str:
    """The signature that this stand-in puts under a thinking block."""
    return "sig-" + hashlib.sha256(thinking.encode()).hexdigest()


@dataclass(frozen=True)
class Call:
    """One tool call of the conversation with what came back; `error` when it was refused."""

    name: str
    input: Mapping[str, Any]
    text: str
    error: bool


@dataclass(frozen=True)
class Conversation:
    """`number` is N of `Repair attempt N` in the first user message, else 0; `position` counts
    the assistant messages that were played in full (those made by a fault are left out)."""

    number: int
    position: int
    calls: tuple[Call, ...]

    def hashes(self) -> dict[str, str]:
        """The latest SHA-256 that `read` gave for each path."""
        found: dict[str, str] = {}
        for call in self.calls:
            if call.name != "read" or call.error:
                continue
            sha = SHA.search(call.text)
            if sha is None:
                continue
            named = PATH.search(call.text)
            found[str(call.input.get("path", ""))] = sha.group(1)
            if named is not None:
                found[named.group(1)] = sha.group(1)
        return found

    def accepted(self, tool: str) -> list[Call]:
        return [call for call in self.calls if call.name == tool and not call.error]

    def refused(self, tool: str) -> list[Call]:
        return [call for call in self.calls if call.name == tool and call.error]


def understand(messages: Sequence[Mapping[str, Any]]) -> Conversation:
    """Derive all of it from the messages of one request."""
    first = REPAIR.search(_text_of(messages[0].get("content", "")))
    results: dict[str, tuple[str, bool]] = {}
    for message in messages:
        if message["role"] == "user":
            for block in _blocks(message):
                if block["type"] == "tool_result":
                    text = _text_of(block.get("content") or "")
                    results[block["tool_use_id"]] = text, bool(block.get("is_error"))
    calls: list[Call] = []
    position = 0
    for message in messages:
        if message["role"] != "assistant":
            continue
        position += not _faulted(message)
        for block in _blocks(message):
            if block["type"] == "tool_use" and not block["id"].startswith(FAULT_ID):
                text, error = results.get(block["id"], ("", True))
                calls.append(Call(block["name"], block["input"], text, error))
    return Conversation(int(first.group(1)) if first else 0, position, tuple(calls))


def _faulted(message: Mapping[str, Any]) -> bool:
    for block in _blocks(message):
        if block["type"] == "tool_use" and block["id"].startswith(FAULT_ID):
            return True
        if block["type"] == "text" and block["text"].startswith(FAULT_TEXT):
            return True
    return False


def _blocks(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    content = message.get("content", "")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        yield from content


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content if isinstance(block, Mapping))
