"""What is sent is always valid; what streams in is a whole reply or none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.budget import Usage
from app.domain.tool import TOOLS
from worker.runner.model.wire import Cut, Growing, sendable, tools, usage_of

STOP = [
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
    {"type": "message_stop"},
]


def grown(*events: dict[str, Any]) -> Growing:
    growing = Growing()
    growing.take({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 5}}})
    for event in events:
        growing.take(event)
    return growing


def tool(*parts: str) -> list[dict[str, Any]]:
    start = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
    deltas = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": part},
        }
        for part in parts
    ]
    return [{"type": "content_block_start", "index": 0, "content_block": start}, *deltas, *STOP]


def test_the_tool_list_is_the_same_bytes_each_time_and_strict() -> None:
    assert json.dumps(tools()) == json.dumps(tools())
    assert [t["name"] for t in tools()] == [t.name for t in TOOLS]
    assert all(t["strict"] and not t["input_schema"]["additionalProperties"] for t in tools())


@pytest.mark.parametrize("blank", ["", " \n", None])
def test_no_blank_text_and_no_empty_result_is_sent(blank: str | None) -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": blank}
    messages = [
        {"role": "assistant", "content": [{"type": "text", "text": blank}]},
        {"role": "user", "content": [result, {"type": "text", "text": blank}]},
        {"role": "user", "content": blank or ""},
    ]
    sent = sendable(messages)
    assert sent[0]["content"] == [{"type": "text", "text": "(no output)"}]
    assert sent[1]["content"] == [{**result, "content": "(no output)"}]
    assert sent[2]["content"] == "(no output)"


@given(st.recursive(st.text(), lambda s: st.lists(s, max_size=3) | st.dictionaries(st.text(), s)))
def test_whatever_is_sent_can_be_written_as_utf8(value: Any) -> None:
    block = {"type": "tool_use", "id": "t", "name": "x", "input": {"v": value, "s": "\ud83d\0"}}
    sent = sendable([{"role": "assistant", "content": [block]}])
    text = json.dumps(sent, ensure_ascii=False)
    text.encode("utf-8")
    assert "\\u0000" not in text


def test_an_input_that_is_no_object_is_sent_as_an_empty_one() -> None:
    block = {"type": "tool_use", "id": "t", "name": "x", "input": "[1"}
    assert sendable([{"role": "assistant", "content": [block]}])[0]["content"][0]["input"] == {}


def test_a_tools_input_is_parsed_strictly() -> None:
    assert grown(*tool('{"path":', '"a.py"}')).whole()[0]["input"] == {"path": "a.py"}
    assert grown(*tool()).whole()[0]["input"] == {}
    for broken in ('{"path": "a.py", "content": "half', "not json", '{"a": 1} trailing'):
        assert grown(*tool(broken)).whole()[0]["input"] == broken
    deep = "[" * 200 + "]" * 200
    assert grown(*tool(deep)).whole()[0]["input"] == deep
    deeper = "[" * 100_000 + "]" * 100_000
    assert grown(*tool(deeper)).whole()[0]["input"] == deeper


def test_text_thinking_and_signature_grow_and_unknown_blocks_are_left_out() -> None:
    def part(index: int, kind: str, key: str, text: str) -> dict[str, Any]:
        delta = {"type": kind, key: text}
        return {"type": "content_block_delta", "index": index, "delta": delta}

    def start(index: int, block: dict[str, Any]) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    growing = grown(
        start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        part(0, "thinking_delta", "thinking", "hm"),
        part(0, "signature_delta", "signature", "sig"),
        start(1, {"type": "text", "text": "a"}),
        part(1, "text_delta", "text", "b\ud83d"),
        part(1, "citations_delta", "citation", "x"),
        start(2, {"type": "new_thing", "text": None}),
        {"type": "ping"},
        *STOP,
    )
    assert growing.whole() == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "ab?"},
    ]
    assert growing.spent() == Usage(input=5, output=7)


@pytest.mark.parametrize(
    "events",
    [
        [],
        STOP[:1],
        [{"type": "message_stop"}],
        [{"type": "message_delta", "delta": {"stop_reason": None}}, STOP[1]],
    ],
)
def test_a_stream_without_its_stop_is_no_reply(events: list[dict[str, Any]]) -> None:
    with pytest.raises(Cut):
        grown(*events).whole()


@pytest.mark.parametrize(
    "event",
    [
        {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_delta", "delta": {}},
        {"type": "content_block_start", "index": "0"},
    ],
)
def test_an_event_out_of_place_breaks_the_stream(event: dict[str, Any]) -> None:
    with pytest.raises(Cut):
        grown(event)


@pytest.mark.parametrize("wrong", [{"id": None}, {"name": ""}, {"id": 7}])
def test_a_call_without_id_or_name_breaks_the_reply(wrong: dict[str, Any]) -> None:
    start, *rest = tool("{}")
    broken = {**start, "content_block": {**start["content_block"], **wrong}}
    with pytest.raises(Cut, match="id or name"):
        grown(broken, *rest).whole()


def test_a_reply_without_measure_breaks_the_stream() -> None:
    big = {"type": "input_json_delta", "partial_json": "x" * 2_500_000}
    event = {"type": "content_block_delta", "index": 0, "delta": big}
    with pytest.raises(Cut, match="longer"):
        grown(tool()[0], event, event)


def test_usage_tells_cache_writes_apart() -> None:
    raw = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 10,
        "cache_creation": {"ephemeral_5m_input_tokens": 6, "ephemeral_1h_input_tokens": 4},
    }
    assert usage_of(raw) == Usage(1, 3, 6, 4, 2)
    assert usage_of({"input_tokens": None, "cache_creation_input_tokens": 5}) == Usage(0, 0, 5)
