"""The stand-in of the Messages API, as the real SDK sees it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import httpx2
import pytest

from tests.standins.anthropic import AnthropicStandin, StandinRefused

MODEL = "claude-sonnet-5-5"
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
SHA = "ab" * 32


@pytest.fixture(scope="module")
def running() -> Iterator[AnthropicStandin]:
    with AnthropicStandin() as model:
        yield model


@pytest.fixture
def model(running: AnthropicStandin) -> AnthropicStandin:
    running.reset()
    running.faults()
    running.script([[running.say("one"), running.say("two")], [running.say("repair")]])
    return running


@pytest.fixture
def sdk(model: AnthropicStandin) -> Iterator[anthropic.Anthropic]:
    client = anthropic.Anthropic(
        api_key=model.key, base_url=model.url, max_retries=0, timeout=httpx2.Timeout(60)
    )
    with client:
        yield client


def ask(
    sdk: anthropic.Anthropic, messages: list[Any] = HELLO, **more: Any
) -> anthropic.types.Message:
    with sdk.messages.stream(model=MODEL, max_tokens=1000, messages=messages, **more) as stream:
        return stream.get_final_message()


def text(message: anthropic.types.Message) -> str:
    block = message.content[0]
    assert block.type == "text"
    return block.text


def test_streaming_and_plain_answers_are_the_same_message(sdk: anthropic.Anthropic) -> None:
    streamed = ask(sdk)
    plain = sdk.messages.create(model=MODEL, max_tokens=1000, messages=HELLO)
    assert text(streamed) == text(plain) == "one"
    assert streamed.stop_reason == plain.stop_reason == "end_turn"
    assert streamed.usage.output_tokens == plain.usage.output_tokens


def test_a_reply_follows_from_the_position_in_the_request_alone(sdk: anthropic.Anthropic) -> None:
    later = [*HELLO, {"role": "assistant", "content": "one"}, {"role": "user", "content": "go on"}]
    assert text(ask(sdk, later)) == "two"
    assert text(ask(sdk)) == "one"
    assert text(ask(sdk, later)) == "two"


def test_a_repair_plays_its_own_list(sdk: anthropic.Anthropic) -> None:
    assert text(ask(sdk, [{"role": "user", "content": "Repair attempt 1\nIt failed."}])) == "repair"


def test_a_script_that_is_over_says_so(sdk: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match="no reply 0 in conversation 2"):
        ask(sdk, [{"role": "user", "content": "Repair attempt 2\n"}])


def test_tool_calls_stream_their_whole_input_with_hashes_filled_in(
    model: AnthropicStandin, sdk: anthropic.Anthropic
) -> None:
    edit = {"edits": [{"path": "a.py", "sha256": "{{sha256:a.py}}", "old": "ü" * 900, "new": "x"}]}
    model.script([[model.say(("read", {"path": "a.py"})), model.say(("edit", edit))]])
    first = ask(sdk)
    assert first.stop_reason == "tool_use"
    call = first.content[0]
    assert call.type == "tool_use"
    result = {
        "type": "tool_result",
        "tool_use_id": call.id,
        "content": f"path: a.py  sha256: {SHA}  lines: 1-1 of 1\n     1\tx",
    }
    told = [
        *HELLO,
        {"role": "assistant", "content": [call.model_dump(exclude_unset=True)]},
        {"role": "user", "content": [result]},
    ]
    second = ask(sdk, told).content[0]
    assert second.type == "tool_use"
    assert second.input == {"edits": [{**edit["edits"][0], "sha256": SHA}]}


def test_thinking_comes_signed_and_goes_back_unchanged_only(
    model: AnthropicStandin, sdk: anthropic.Anthropic
) -> None:
    thought = {"type": "thinking", "thinking": "hm"}
    model.script([[{"content": [thought, {"type": "text", "text": "a"}]}, model.say("b")]])
    content = ask(sdk).model_dump(mode="json", exclude_unset=True)["content"]
    told = [*HELLO, {"role": "assistant", "content": content}, *HELLO]
    assert text(ask(sdk, told)) == "b"
    content[0]["thinking"] = "something else"
    with pytest.raises(anthropic.BadRequestError, match="signature"):
        ask(sdk, told)


def test_the_prompt_cache_reads_the_common_prefix_and_writes_the_rest(
    sdk: anthropic.Anthropic,
) -> None:
    first = ask(sdk, cache_control={"type": "ephemeral"}).usage
    assert (first.input_tokens, first.cache_read_input_tokens) == (0, 0)
    assert first.cache_creation_input_tokens
    later = [
        *HELLO,
        {"role": "assistant", "content": "one"},
        {"role": "user", "content": "x" * 400},
    ]
    second = ask(sdk, later, cache_control={"type": "ephemeral"}).usage
    assert second.cache_read_input_tokens == first.cache_creation_input_tokens
    assert second.cache_creation_input_tokens and second.cache_creation_input_tokens > 100
    assert ask(sdk, later).usage.cache_read_input_tokens == 0


def test_counting_and_models(sdk: anthropic.Anthropic) -> None:
    count = sdk.messages.count_tokens(model=MODEL, messages=HELLO)
    assert count.input_tokens == ask(sdk).usage.input_tokens
    assert sdk.models.retrieve(MODEL).max_tokens == 128_000
    assert MODEL in {row.id for row in sdk.models.list()}
    with pytest.raises(anthropic.NotFoundError):
        sdk.models.retrieve("claude-none")


@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
def test_a_wrong_key_is_refused_and_never_recorded(model: AnthropicStandin, header: str) -> None:
    good = model.key if header == "x-api-key" else f"Bearer {model.key}"
    url = f"{model.url}/v1/models"
    version = {"anthropic-version": "2026-10-21"}
    assert httpx.get(url, headers={header: good, **version}).status_code == 200
    refused = httpx.get(url, headers={header: good + "x", **version})
    assert refused.status_code == 401
    assert refused.json()["error"]["type"] == "authentication_error"
    assert httpx.get(url, headers=version).status_code == 401
    rows = model.requests("/v1/models")
    assert rows[0].key_sha256 == hashlib.sha256(model.key.encode()).hexdigest()
    assert model.key not in httpx.get(f"{model.url}/_/requests").text


USE = {"type": "tool_use", "id": "t1", "name": "list", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}


def told(*answers: Any, uses: tuple[Any, ...] = (USE,)) -> dict[str, Any]:
    return {
        "messages": [
            *HELLO,
            {"role": "assistant", "content": list(uses)},
            {"role": "user", "content": list(answers)},
        ]
    }


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no max_tokens": ({"max_tokens": None}, "max_tokens: Field required"),
    "max_tokens of another model": ({"max_tokens": 200_000}, "maximum allowed"),
    "temperature": ({"temperature": 0.1}, "temperature"),
    "top_p": ({"top_p": 0.1}, "top_p"),
    "unknown field": ({"thread": {}}, "thread: Extra inputs"),
    "forced tool": ({"tool_choice": {"type": "any"}}, "tool_choice"),
    "named tool": ({"tool_choice": {"type": "tool", "name": "x"}}, "tool_choice"),
    "thinking budget": ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "enabled"),
    "no messages": ({"messages": []}, "at least one"),
    "blank text": ({"messages": [{"role": "user", "content": " \n"}]}, "non-whitespace"),
    "empty block": (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
        "non-empty",
    ),
    "empty content": ({"messages": [{"role": "user", "content": []}]}, "non-empty content"),
    "assistant first": ({"messages": [{"role": "assistant", "content": "x"}]}, "first message"),
    "prefill": ({"messages": [*HELLO, {"role": "assistant", "content": "x"}]}, "prefill"),
    "result missing": (told({"type": "text", "text": "x"}), "without `tool_result`"),
    "result for nothing": (told(RESULT, {**RESULT, "tool_use_id": "t2"}), "unexpected"),
    "result twice": (told(RESULT, RESULT), "single result"),
    "text before results": (told({"type": "text", "text": "x"}, RESULT), "come first"),
    "ids twice": (told(RESULT, uses=(USE, USE)), "unique"),
    "nothing after a call": (
        {"messages": [*HELLO, {"role": "assistant", "content": [USE]}]},
        "without `tool_result`",
    ),
    "lone surrogate": ({"messages": [{"role": "user", "content": "\ud83d"}]}, "surrogate"),
    "tools twice": (
        {"tools": [{"name": "a", "input_schema": {"type": "object"}}] * 2},
        "unique",
    ),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_what_the_api_refuses(model: AnthropicStandin, case: str) -> None:
    change, words = REFUSED[case]
    body = {"model": MODEL, "max_tokens": 100, "messages": HELLO, **change}
    answer = httpx.post(
        f"{model.url}/v1/messages",
        content=json.dumps({key: value for key, value in body.items() if value is not None}),
        headers={"x-api-key": model.key, "anthropic-version": "2026-10-21"},
    )
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert words in answer.json()["error"]["message"]


def test_results_in_any_order_with_text_after_them_are_taken(sdk: anthropic.Anthropic) -> None:
    second = {**USE, "id": "t2"}
    body = told({**RESULT, "tool_use_id": "t2"}, RESULT, uses=(USE, second))
    body["messages"][-1]["content"].append({"type": "text", "text": "go on"})
    assert text(ask(sdk, body["messages"])) == "two"


def test_an_unknown_model_is_not_found(sdk: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError):
        sdk.messages.create(model="claude-none", max_tokens=10, messages=HELLO)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.InternalServerError),
    ],
)
def test_a_status_on_demand_hits_the_request_it_names(
    model: AnthropicStandin, sdk: anthropic.Anthropic, status: int, error: type[Exception]
) -> None:
    model.fault(status, request=2, retry_after=7)
    assert text(ask(sdk)) == "one"
    with pytest.raises(error) as refused:
        ask(sdk)
    assert isinstance(refused.value, anthropic.APIStatusError)
    assert refused.value.response.headers["retry-after"] == "7"
    assert text(ask(sdk)) == "one"
    assert [row.status for row in model.requests()] == [200, status, 200]


def test_an_error_event_in_the_middle(model: AnthropicStandin, sdk: anthropic.Anthropic) -> None:
    model.fault("error-mid-stream")
    with pytest.raises(anthropic.APIStatusError) as broken:
        ask(sdk)
    assert broken.value.status_code == 200
    assert broken.value.type == "overloaded_error"


def test_a_stream_that_is_cut_has_no_stop_reason(
    model: AnthropicStandin, sdk: anthropic.Anthropic
) -> None:
    model.fault("cut")
    assert ask(sdk).stop_reason is None


def test_a_lost_connection_is_an_error(model: AnthropicStandin, sdk: anthropic.Anthropic) -> None:
    model.fault("drop")
    with pytest.raises((anthropic.APIConnectionError, httpx2.TransportError)):
        ask(sdk)


def test_a_stall_ends_by_the_readers_clock(
    model: AnthropicStandin, sdk: anthropic.Anthropic
) -> None:
    model.fault("stall")
    with pytest.raises((anthropic.APITimeoutError, httpx2.ReadTimeout)):
        ask(sdk.with_options(timeout=httpx2.Timeout(0.3)))


def test_a_tool_call_that_hits_the_limit_is_cut_and_does_not_count(
    model: AnthropicStandin, sdk: anthropic.Anthropic
) -> None:
    call = ("edit", {"edits": [{"path": "x.py", "content": "half of it" * 20}]})
    model.script([[model.say(call), model.say("after")]])
    model.fault("max-tokens")
    cut = ask(sdk)
    assert cut.stop_reason == "max_tokens"
    block = cut.content[0]
    assert block.type == "tool_use"
    assert block.input != call[1]
    body = told(
        {**RESULT, "tool_use_id": block.id, "is_error": True},
        uses=(block.model_dump(exclude_unset=True),),
    )
    again = ask(sdk, body["messages"]).content[0]
    assert again.type == "tool_use"
    assert again.input == call[1]


@pytest.mark.parametrize(
    ("kind", "reason", "blocks"),
    [
        ("refusal", "refusal", 0),
        ("empty", "end_turn", 0),
        ("pause", "pause_turn", 1),
        ("context", "model_context_window_exceeded", 1),
        ("unknown-stop", "something_new", 1),
    ],
)
def test_odd_endings_on_demand(
    model: AnthropicStandin, sdk: anthropic.Anthropic, kind: str, reason: str, blocks: int
) -> None:
    model.fault(kind)
    odd = ask(sdk)
    assert (odd.stop_reason, len(odd.content)) == (reason, blocks)


def test_html_with_status_200(model: AnthropicStandin, sdk: anthropic.Anthropic) -> None:
    model.fault("html")
    answer: Any = sdk.messages.create(model=MODEL, max_tokens=10, messages=HELLO)
    assert isinstance(answer, str)


def test_a_recording_is_replayed(model: AnthropicStandin, sdk: anthropic.Anthropic) -> None:
    ask(sdk)
    ask(sdk, [{"role": "user", "content": "Repair attempt 1"}])
    kept = model.recording()
    model.script([])
    model.replay(kept)
    assert text(ask(sdk)) == "one"
    assert text(ask(sdk, [{"role": "user", "content": "Repair attempt 1"}])) == "repair"


def test_a_bad_script_or_fault_is_refused_with_its_reason(model: AnthropicStandin) -> None:
    with pytest.raises(StandinRefused, match="block 0 has type"):
        model.script([[{"content": [{"type": "image"}]}]])
    with pytest.raises(StandinRefused, match="unknown kind"):
        model.fault("earthquake")
