"""What any `ports.Model` promises, asked of the fake and of the real client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.domain.errors import Halt, Reason, Refused, Unavailable
from app.domain.ports.model import Model, Request
from tests.fakes.model import ScriptedModel, reply
from tests.standins.anthropic import AnthropicStandin
from worker.runner.model.client import AnthropicModel

KEY = "sk-ant-standin-0000"
CALL = ("read", {"path": "a.py"})
Make = Callable[..., Model]


@pytest.fixture(scope="module")
def provider() -> Iterator[AnthropicStandin]:
    with AnthropicStandin(key=KEY) as standin:
        yield standin


@pytest.fixture(params=["fake", "real"])
def make(request: pytest.FixtureRequest, provider: AnthropicStandin) -> Iterator[Make]:
    """A model with two replies; `fault` is what its first call meets."""
    opened: list[AnthropicModel] = []

    def fake(fault: str = "") -> Model:
        faults: dict[str, Exception] = {"away": Unavailable("529"), "refused": Refused("400", 400)}
        return ScriptedModel(
            [[reply("Reading.", CALL), reply("Done.")]], {1: faults[fault]} if fault else {}
        )

    def real(fault: str = "") -> Model:
        provider.reset()
        provider.script([[provider.say("Reading.", CALL), provider.say("Done.")]])
        if fault:
            provider.fault({"away": "529", "refused": "400"}[fault], times=99)
        opened.append(AnthropicModel(KEY, provider.url, patience=0.1))
        return opened[-1]

    yield fake if request.param == "fake" else real
    for model in opened:
        model.close()


def first() -> Request:
    return Request(
        "claude-sonnet-5-5",
        "You mend.",
        [{"role": "user", "content": [{"type": "text", "text": "Go on."}]}],
        1_000,
    )


def test_a_reply_is_whole_and_says_what_it_used(make: Make) -> None:
    looked: list[int] = []
    got = make().reply(first(), lambda: looked.append(1))
    assert got.stop_reason == "tool_use"
    assert [block["type"] for block in got.content] == ["text", "tool_use"]
    assert (got.content[1]["name"], got.content[1]["input"]) == CALL
    assert got.usage.total_input > 0
    assert got.usage.output > 0
    assert got.id


def test_the_same_request_gets_the_same_reply_and_the_next_one_the_next(make: Make) -> None:
    model, asked = make(), first()
    one, two = model.reply(asked, lambda: None), model.reply(asked, lambda: None)
    assert [b["type"] for b in one.content] == [b["type"] for b in two.content]
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": one.content[1]["id"]}
    more = [
        *asked.messages,
        {"role": "assistant", "content": one.content},
        {"role": "user", "content": [{**result, "content": "text"}]},
    ]
    last = model.reply(Request(asked.model, asked.system, more, 1_000), lambda: None)
    assert last.stop_reason == "end_turn"
    assert last.content[0]["text"] == "Done."


@pytest.mark.parametrize(("fault", "error"), [("away", Unavailable), ("refused", Refused)])
def test_faults_are_ours(make: Make, fault: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        make(fault).reply(first(), lambda: None)


def test_who_looks_may_end_the_call(make: Make) -> None:
    def look() -> None:
        raise Halt(Reason.CANCELLED, "cancelled")

    with pytest.raises(Halt):
        make("away").reply(first(), look)
