"""What the Messages API refuses, checked before any reply is made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.standins.anthropic.answers import MODELS, ApiError, Model
from tests.standins.anthropic.conversation import signature

LIMITED = frozenset({"model", "max_tokens", "messages", "stop_sequences", "stream"})
PROMPT = frozenset({"system", "tools", "tool_choice", "thinking", "output_config"})
ACCOUNT = frozenset({"metadata", "cache_control", "service_tier", "diagnostics"})
FIELDS = LIMITED | PROMPT | ACCOUNT
BLOCKS = frozenset({"text", "tool_use", "tool_result", "thinking", "redacted_thinking", "image"})
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def parse(raw: bytes) -> dict[str, Any]:
    """The body as an object. Raises `ApiError` 400 or 413."""
    if len(raw) > 32 << 20:
        raise ApiError(413, "Request exceeds the maximum size")
    try:
        body = json.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, ValueError) as error:
        raise ApiError(400, f"The request body is not valid JSON: {error}") from None
    if not isinstance(body, dict):
        raise ApiError(400, "The request body is not a JSON object")
    for text in strings(body):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise ApiError(400, "The request body is not valid JSON: lone surrogate") from None
    return body


def strings(value: Any) -> Iterator[str]:
    """Every string inside a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield key
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def check(body: Mapping[str, Any], *, counting: bool = False) -> Model:
    """Raise `ApiError` for what the API refuses; the model that was asked for."""
    for name in ("temperature", "top_p", "top_k"):
        if name in body:
            raise ApiError(400, f"{name}: this parameter is not supported by this API version")
    for name in body:
        if name not in FIELDS:
            raise ApiError(400, f"{name}: Extra inputs are not permitted")
    for name in ("model", "messages") if counting else ("model", "max_tokens", "messages"):
        if name not in body:
            raise ApiError(400, f"{name}: Field required")
    model = MODELS.get(body["model"]) if isinstance(body["model"], str) else None
    if model is None:
        raise ApiError(404, f"model: {body['model']}")
    if not counting:
        _limit(body, model)
    _tools(body.get("tools", []))
    _modes(body, model)
    _system(body.get("system"))
    _messages(body["messages"], model)
    return model


def _limit(body: Mapping[str, Any], model: Model) -> None:
    wanted = body["max_tokens"]
    if type(wanted) is not int or wanted < 1:
        raise ApiError(400, "max_tokens: Input should be greater than or equal to 1")
    if wanted > model.max_output:
        raise ApiError(
            400,
            f"max_tokens: {wanted} > {model.max_output}, which is the maximum allowed number of "
            f"output tokens for {model.id}",
        )


def _tools(tools: Any) -> None:
    if not isinstance(tools, list):
        raise ApiError(400, "tools: Input should be a valid list")
    names: set[str] = set()
    for index, tool in enumerate(tools):
        name = tool.get("name", "")
        if not TOOL_NAME.fullmatch(name):
            raise ApiError(400, f"tools.{index}.name: String should match pattern")
        if name in names:
            raise ApiError(400, "tools: Tool names must be unique.")
        names.add(name)
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise ApiError(400, f"tools.{index}.input_schema.type: Field required")


def _modes(body: Mapping[str, Any], model: Model) -> None:
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("any", "tool") and model.strict:
        raise ApiError(400, f"tool_choice: forcing a tool is not supported by {model.id}")
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled" and model.strict:
        raise ApiError(400, f"thinking.type: `enabled` is not supported by {model.id}")
    marks = sum(1 for block in _all_blocks(body) if "cache_control" in block)
    if marks + ("cache_control" in body) > 4:
        raise ApiError(400, "A maximum of 4 blocks with cache_control may be provided.")


def _all_blocks(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    system = body.get("system")
    if isinstance(system, list):
        yield from (block for block in system if isinstance(block, dict))
    yield from (tool for tool in body.get("tools", []) if isinstance(tool, dict))
    for message in body["messages"]:
        if isinstance(message, dict) and isinstance(message.get("content"), list):
            yield from (block for block in message["content"] if isinstance(block, dict))


def _system(system: Any) -> None:
    if isinstance(system, list):
        for index, block in enumerate(system):
            _text(block.get("text"), f"system.{index}")
    elif system is not None and not isinstance(system, str):
        raise ApiError(400, "system: Input should be a valid string or list")


def _text(text: Any, where: str) -> None:
    if not isinstance(text, str):
        raise ApiError(400, f"{where}.text: Field required")
    if not text:
        raise ApiError(400, f"{where}: text content blocks must be non-empty")
    if not text.strip():
        raise ApiError(400, f"{where}: text content blocks must contain non-whitespace text")


def _messages(messages: Any, model: Model) -> None:
    if not isinstance(messages, list) or not messages:
        raise ApiError(400, "messages: at least one message is required")
    asked: list[str] = []  # tool_use ids that the next message has to answer
    seen: set[str] = set()
    for index, message in enumerate(messages):
        where = f"messages.{index}"
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            raise ApiError(400, f"{where}.role: Input should be 'user' or 'assistant'")
        blocks = _blocks(message.get("content"), where)
        if index == 0 and message["role"] != "user":
            raise ApiError(400, "messages: first message must use the user role")
        if message["role"] == "user":
            _answers(blocks, asked, where)
            asked = []
            continue
        if asked:
            raise ApiError(400, _unanswered(where, asked))
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len({*asked, *seen}) != len(asked) + len(seen):
            raise ApiError(400, f"{where}: `tool_use` ids must be unique")
        seen.update(asked)
    if asked:
        raise ApiError(400, _unanswered(f"messages.{len(messages)}", asked))
    if messages[-1]["role"] == "assistant" and model.strict:
        raise ApiError(400, "This model does not support assistant message prefill.")


def _blocks(content: Any, where: str) -> Sequence[Mapping[str, Any]]:
    if isinstance(content, str):
        _text(content, where)
        return [{"type": "text", "text": content}]
    if not isinstance(content, list) or not content:
        raise ApiError(400, f"{where}: all messages must have non-empty content")
    for number, block in enumerate(content):
        _block(block, f"{where}.content.{number}")
    return content


def _block(block: Any, where: str) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in BLOCKS:
        raise ApiError(400, f"{where}: Input tag {kind!r} does not match any expected tag")
    if kind == "text":
        _text(block.get("text"), where)
    elif kind == "tool_use":
        fits = isinstance(block.get("id"), str) and isinstance(block.get("name"), str)
        if not fits or not isinstance(block.get("input"), dict):
            raise ApiError(400, f"{where}.tool_use: id, name and input are required")
    elif kind == "tool_result":
        if not isinstance(block.get("tool_use_id"), str):
            raise ApiError(400, f"{where}.tool_result.tool_use_id: Field required")
        if isinstance(block.get("content"), list):
            for part in block["content"]:
                _block(part, f"{where}.tool_result")
    elif kind == "thinking" and block.get("signature") != signature(block.get("thinking", "")):
        raise ApiError(400, f"{where}: Invalid `signature` in `thinking` block")


def _answers(blocks: Sequence[Mapping[str, Any]], asked: list[str], where: str) -> None:
    given = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    for name in given:
        if name not in asked:
            raise ApiError(
                400, f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {name}"
            )
    if len(set(given)) != len(given):
        raise ApiError(400, f"{where}: each tool_use must have a single result")
    missing = [name for name in asked if name not in given]
    if missing:
        raise ApiError(400, _unanswered(where, missing))
    if any(block["type"] != "tool_result" for block in blocks[: len(given)]):
        raise ApiError(400, f"{where}: `tool_result` blocks must come first in the content")


def _unanswered(where: str, ids: list[str]) -> str:
    return (
        f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}"
    )
