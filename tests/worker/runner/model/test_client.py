"""The real client against the provider's stand-in: every fault, and what it costs and means."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from app.domain.errors import Halt, Reason, Refused, Unavailable
from app.domain.ports.model import Reply, Request, Unfinished
from tests.patience import PATIENCE
from tests.standins.anthropic import AnthropicStandin
from worker.runner.model.client import AnthropicModel

KEY = "sk-ant-standin-0000"
ASK = Request(
    "claude-sonnet-5-5",
    "You mend.",
    [{"role": "user", "content": [{"type": "text", "text": "Go on."}]}],
    1_000,
)


@dataclass
class Clock:
    """Seconds that pass only where somebody sleeps; it remembers the naps."""

    now: float = 0.0
    naps: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


@pytest.fixture(scope="module")
def provider() -> Iterator[AnthropicStandin]:
    with AnthropicStandin(key=KEY) as standin:
        yield standin


@pytest.fixture
def standin(provider: AnthropicStandin) -> AnthropicStandin:
    provider.reset()
    provider.script([[provider.say("Reading.", ("read", {"path": "a.py"}))]])
    return provider


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def model(
    standin: AnthropicStandin, clock: Clock, request: pytest.FixtureRequest
) -> Iterator[AnthropicModel]:
    """Gives up a silent stream only where that is what is tried: anything may be slow."""
    named = getattr(request.node, "callspec", None)
    stalls = named is not None and "stall" in named.params.values()
    stall = 4.0 if stalls else PATIENCE
    made = AnthropicModel(
        KEY, standin.url, stall=stall, monotonic=clock, sleep=clock.sleep, jitter=lambda: 0.5
    )
    yield made
    made.close()


def asked(model: AnthropicModel) -> Reply:
    return model.reply(ASK, lambda: None)


def test_a_reply_comes_whole_with_its_price_and_its_call(
    model: AnthropicModel, standin: AnthropicStandin
) -> None:
    reply = asked(model)
    assert reply.stop_reason == "tool_use"
    assert [block["type"] for block in reply.content] == ["text", "tool_use"]
    assert reply.content[1]["input"] == {"path": "a.py"}
    assert reply.usage.total_input > 0
    assert reply.usage.output > 0
    assert reply.id
    sent = standin.requests()[-1].body
    assert sent["stream"] is True
    assert sent["max_tokens"] == 1_000
    assert sent["thinking"] == {"type": "adaptive"}
    assert sent["cache_control"] == {"type": "ephemeral"}
    assert {"temperature", "tool_choice"}.isdisjoint(sent)


def test_the_reply_can_be_sent_back_as_it_is(
    model: AnthropicModel, standin: AnthropicStandin
) -> None:
    standin.script(
        [
            [
                {
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "s1"},
                        {"type": "tool_use", "id": "toolu_1", "name": "list", "input": {}},
                    ]
                },
                standin.say("done"),
            ]
        ]
    )
    first = asked(model)
    result = {"type": "tool_result", "tool_use_id": first.content[-1]["id"], "content": "a.py"}
    more = [
        *ASK.messages,
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]
    second = model.reply(Request(ASK.model, ASK.system, more, 1_000), lambda: None)
    assert second.stop_reason == "end_turn"
    assert second.usage.cache_read > 0, "the prefix is the same, so the provider's cache hits"


@pytest.mark.parametrize(
    "kind", ["529", "500", "503", "error-mid-stream", "cut", "drop", "html", "stall"]
)
def test_a_passing_fault_is_tried_again_and_the_reply_is_whole(
    model: AnthropicModel, standin: AnthropicStandin, clock: Clock, kind: str
) -> None:
    standin.fault(kind, times=2)
    reply = asked(model)
    assert reply.content[1]["input"] == {"path": "a.py"}
    assert len(standin.requests()) == 3
    assert clock.naps == [0.5, 1.0], "the SDK did not retry on its own"


def test_what_broken_streams_have_used_is_in_the_price(
    model: AnthropicModel, standin: AnthropicStandin
) -> None:
    plain = asked(model).usage
    standin.reset()
    standin.fault("cut", times=1, after=4)
    assert asked(model).usage.total_input >= 2 * plain.total_input


def test_retry_after_is_obeyed_up_to_a_cap(
    model: AnthropicModel, standin: AnthropicStandin, clock: Clock
) -> None:
    standin.fault("429", times=1, retry_after=3)
    asked(model)
    assert sum(clock.naps) == 3
    standin.fault("429", times=1, request=3, retry_after=600)
    with pytest.raises(Unavailable) as caught:
        asked(model)
    assert caught.value.retry_after == 600
    assert sum(clock.naps) == 3, "a long wait is for a parked run"


def test_patience_ends_and_the_run_may_park(
    model: AnthropicModel, standin: AnthropicStandin, clock: Clock
) -> None:
    standin.fault("529", times=100)
    with pytest.raises(Unfinished) as caught:
        asked(model)
    assert "529" in str(caught.value)
    assert clock.now <= 60
    assert 5 <= len(standin.requests()) <= 15


@pytest.mark.parametrize(
    ("kind", "status"), [("400", 400), ("401", 401), ("402", 402), ("403", 403), ("413", 413)]
)
def test_a_refusal_is_not_repeated(
    model: AnthropicModel, standin: AnthropicStandin, kind: str, status: int
) -> None:
    standin.fault(kind, times=5)
    with pytest.raises(Refused) as caught:
        asked(model)
    assert caught.value.status == status
    assert KEY not in str(caught.value)
    assert len(standin.requests()) == 1


def test_a_spending_limit_is_the_operators(
    model: AnthropicModel, standin: AnthropicStandin
) -> None:
    standin.fault("429", times=5, retry_after=None, message="Your workspace spend limit is reached")
    with pytest.raises(Refused, match="operator"):
        asked(model)
    assert len(standin.requests()) == 1


def test_a_wrong_key_and_nobody_listening(standin: AnthropicStandin, clock: Clock) -> None:
    wrong = AnthropicModel("sk-wrong", standin.url, monotonic=clock, sleep=clock.sleep)
    with pytest.raises(Refused) as caught:
        asked(wrong)
    assert caught.value.status == 401
    wrong.close()
    away = AnthropicModel(KEY, "http://127.0.0.1:1", monotonic=clock, sleep=clock.sleep)
    with pytest.raises(Unavailable):
        asked(away)
    away.close()
    with pytest.raises(ValueError, match="needed"):
        AnthropicModel("", standin.url)


def test_the_environment_changes_neither_address_nor_key_in_the_request(
    model: AnthropicModel, standin: AnthropicStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-other")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "other")
    assert asked(model).stop_reason == "tool_use"
    assert repr(model).find(KEY) < 0


@pytest.mark.parametrize(
    ("kind", "stop"),
    [
        ("max-tokens", "max_tokens"),
        ("refusal", "refusal"),
        ("empty", "end_turn"),
        ("pause", "pause_turn"),
        ("context", "model_context_window_exceeded"),
    ],
)
def test_odd_stop_reasons_come_through_as_they_are(
    model: AnthropicModel, standin: AnthropicStandin, kind: str, stop: str
) -> None:
    standin.fault(kind, times=1)
    reply = asked(model)
    assert reply.stop_reason == stop
    calls = [block for block in reply.content if block["type"] == "tool_use"]
    assert kind != "max-tokens" or not isinstance(calls[0]["input"], dict) or not calls[0]["input"]


def test_a_stalled_stream_still_looks_and_a_cancel_ends_it_at_once(
    standin: AnthropicStandin,
) -> None:
    standin.fault("stall", times=1, seconds=5 * PATIENCE)
    model = AnthropicModel(KEY, standin.url, stall=2 * PATIENCE)
    looks: list[float] = []
    began = time.monotonic()

    def look() -> None:
        looks.append(time.monotonic() - began)
        if len(looks) == 3:
            raise Halt(Reason.CANCELLED, "cancelled")

    with pytest.raises(Halt):
        model.reply(ASK, look)
    assert looks[-1] < PATIENCE  # long before anything of the stream's own ends
    model.close()


def test_a_stream_that_only_pings_ends_at_the_wall_clock(standin: AnthropicStandin) -> None:
    standin.fault("stall", times=9, seconds=5 * PATIENCE, pings=True)
    model = AnthropicModel(KEY, standin.url, stall=2 * PATIENCE, whole=1.0, patience=0.1)
    with pytest.raises(Unfinished, match="longer than 1 s"):
        asked(model)
    model.close()


def test_lone_surrogates_and_blank_blocks_do_not_reach_the_provider(
    model: AnthropicModel, standin: AnthropicStandin
) -> None:
    content = [{"type": "text", "text": "a \ud83d b"}, {"type": "text", "text": " "}]
    request = Request(ASK.model, "s \udc00", [{"role": "user", "content": content}], 1_000)
    assert model.reply(request, lambda: None).stop_reason == "tool_use"
    assert standin.requests()[-1].body["messages"][0]["content"] == [
        {"type": "text", "text": "a ? b"}
    ]
