"""One conversation, folded from the journal and from nothing else.

Whatever is true of a conversation follows from its entries in their order, so a new worker that
reads them stands exactly where the old one stood: same messages, same next step, nothing paid
twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.domain.record import JournalEntry, Kept
from app.domain.state import Kind, Signal, State, move

Message = dict[str, Any]

_COMPACT_KEEPS = 6  # messages at the end that stay whole
_COMPACT_CAP = 400  # characters that stay of an older tool result
_SAYING = frozenset({"text", "tool_use"})


@dataclass(frozen=True)
class Call:
    """A tool call of the last reply; `input` is whatever the model wrote, mapping or not."""

    id: str
    name: str
    input: Any


@dataclass(frozen=True)
class Log:
    """The kept output of a check: its name and the artifact's digest."""

    check: str
    digest: str


@dataclass(frozen=True)
class End:
    """How a stage of this conversation ended, in the model's words."""

    state: State
    signal: Signal
    words: str


@dataclass(frozen=True)
class Talk:
    """Where a conversation stands. Streaks count replies in a row, `bad` calls in a row.

    `state` is the stage that the conversation is in by its own account: it is ahead of the run's
    when a worker died between a stage's end and the saved move.
    """

    conversation: int
    opened: bool = False
    system: str = ""
    delimiter: str = ""
    model: str = ""
    prompts: str = ""
    state: State = State.LOCATE
    messages: tuple[Message, ...] = ()
    calls: tuple[Call, ...] = ()
    results: tuple[Message, ...] = ()
    stop: str = ""
    owes_nudge: bool = False
    replies: int = 0
    ended_in: int = -1  # the reply in which the last stage ended
    empty: int = 0
    wordy: int = 0
    cut: int = 0
    paused: int = 0
    bad: int = 0
    returns: int = 0
    idle: int = 0
    overflow: bool = False
    compacted_in: int = -1  # the reply after which older results were shortened
    ended: End | None = None
    failures: Mapping[str, int] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    log: Log | None = None
    hinted: frozenset[str] = frozenset()  # what the model was told once
    asked: Mapping[str, Any] | None = None
    answer: str | None = None
    last_tokens: int = 0
    since_bytes: int = 0

    @property
    def open_call(self) -> Call | None:
        """The next call of the last reply that has no result yet."""
        return self.calls[len(self.results)] if len(self.results) < len(self.calls) else None

    @property
    def closing(self) -> bool:
        """Whether a stage ended in this very reply, so that its further calls come too late."""
        return self.ended_in == self.replies

    @property
    def just_compacted(self) -> bool:
        """Whether shortening is all that has happened since the last reply."""
        return self.compacted_in == self.replies

    @property
    def use(self) -> str:
        """What names the open call in the journal: ids of a model need not be unique."""
        return f"{self.conversation}.{self.replies}.{len(self.results)}"


def rebuilt(entries: Iterable[JournalEntry], conversation: int, start: State) -> Talk:
    """The conversation as the journal tells it."""
    talk = Talk(conversation, state=start)
    for entry in entries:
        talk = after(talk, entry)
    return talk


def after(talk: Talk, entry: JournalEntry) -> Talk:
    """The conversation after one more entry; an entry of another one changes nothing."""
    data = entry.data
    if entry.kind is Kept.NOTE and "answer" in data:
        waits = talk.asked is not None and talk.answer is None
        return replace(talk, answer=str(data["answer"])) if waits else talk
    if data.get("conversation") != talk.conversation:
        return talk
    if entry.kind is Kept.MODEL:
        return talk if "failed" in data else _replied(talk, data)
    if entry.kind is Kept.TOOL:
        return _resulted(talk, data)
    if entry.kind is Kept.REFUSAL:
        return replace(talk, refused=talk.refused | {data["use"]})
    if entry.kind is Kept.NOTE:
        return _noted(talk, data)
    return talk


def _noted(talk: Talk, data: Mapping[str, Any]) -> Talk:
    if "questions" in data:
        return replace(talk, asked=data, answer=None)
    if data.get("agent") == "open":
        return replace(
            talk,
            opened=True,
            system=data["system"],
            delimiter=data["delimiter"],
            model=data["model"],
            prompts=data["prompts"],
            state=State(data["state"]),
            messages=(_user([_text(data["first"])]),),
            since_bytes=_bytes(data["system"]) + _bytes(data["first"]),
        )
    if data.get("agent") == "nudge":
        return replace(talk, messages=_said(talk.messages, data["text"]), owes_nudge=False)
    if data.get("agent") == "compact":
        return _compacted(talk)
    return talk


def _replied(talk: Talk, data: Mapping[str, Any]) -> Talk:
    stop = data["stop_reason"]
    if stop == "model_context_window_exceeded":  # half a reply: nothing of it is kept
        return replace(talk, stop=stop, overflow=True, calls=(), results=())
    content = [block for block in data["content"] if not _blank(block)]
    calls = tuple(
        Call(block["id"], block["name"], block["input"])
        for block in content
        if block["type"] == "tool_use"
    )
    says = any(block["type"] in _SAYING for block in content)
    ended = stop in ("end_turn", "stop_sequence", "tool_use")
    return replace(
        talk,
        messages=(*talk.messages, {"role": "assistant", "content": _sendable(content)})
        if content
        else talk.messages,
        calls=calls,
        results=(),
        stop=stop,
        owes_nudge=not calls,
        replies=talk.replies + 1,
        empty=talk.empty + 1 if ended and not says else 0,
        wordy=talk.wordy + 1 if ended and says and (stop != "tool_use" or not calls) else 0,
        cut=talk.cut + 1 if stop == "max_tokens" else 0,
        paused=talk.paused + 1 if stop == "pause_turn" else 0,
        overflow=False,
        last_tokens=_tokens(data["usage"]),
        since_bytes=0,
    )


def _resulted(talk: Talk, data: Mapping[str, Any]) -> Talk:
    call = talk.open_call
    if call is None:
        return talk
    block: Message = {"type": "tool_result", "tool_use_id": call.id, "content": data["text"]}
    if data["error"]:
        block["is_error"] = True
    effect = data["effect"]
    results = (*talk.results, block)
    talk = replace(
        talk,
        results=results,
        bad=talk.bad + 1 if data["bad"] else 0,
        failures=_failures(talk.failures, data),
        paths=(*talk.paths, effect["read"])
        if "read" in effect and effect["read"] not in talk.paths
        else talk.paths,
        idle=talk.idle + 1 if "idle" in effect else talk.idle,
        hinted=talk.hinted | {effect["hint"]} if "hint" in effect else talk.hinted,
        log=Log(**effect["log"]) if "log" in effect else talk.log,
        since_bytes=talk.since_bytes + _bytes(data["text"]),
        asked=None if call.name == "ask" else talk.asked,
    )
    if len(results) == len(talk.calls):
        talk = replace(talk, messages=(*talk.messages, _user(list(results))))
    return _stage_over(talk, effect) if "end" in effect else talk


def _stage_over(talk: Talk, effect: Mapping[str, Any]) -> Talk:
    end = End(talk.state, Signal(effect["end"]["signal"]), effect["end"]["words"])
    return replace(
        talk,
        ended=end,
        ended_in=talk.replies,
        state=move(Kind.FIX, talk.state, end.signal),
        returns=talk.returns + (end.signal is Signal.MORE),
    )


def _failures(known: Mapping[str, int], data: Mapping[str, Any]) -> Mapping[str, int]:
    """How often each call failed since something last changed for the better."""
    if {"candidate", "plan", "end"} & data["effect"].keys():
        return {}
    if not data["error"]:
        return known
    return {**known, data["key"]: known.get(data["key"], 0) + 1}


def _compacted(talk: Talk) -> Talk:
    """Older tool results shortened, so that the conversation fits again."""
    keep = max(0, len(talk.messages) - _COMPACT_KEEPS)
    messages = tuple(
        _shortened(message) if index < keep else message
        for index, message in enumerate(talk.messages)
    )
    return replace(
        talk,
        messages=messages,
        overflow=False,
        stop="",
        compacted_in=talk.replies,
        last_tokens=0,
        since_bytes=sum(_size(m) for m in messages) + _bytes(talk.system),
    )


def _shortened(message: Message) -> Message:
    if message["role"] != "user":
        return message
    return {**message, "content": [_short_block(block) for block in message["content"]]}


def _short_block(block: Message) -> Message:
    text = block.get("content")
    if block["type"] != "tool_result" or not isinstance(text, str) or len(text) <= _COMPACT_CAP:
        return block
    left = f"{text[:_COMPACT_CAP]}\n… (left out to make room; ask again where it is needed)"
    return {**block, "content": left}


def _size(message: Message) -> int:
    return sum(
        _bytes(str(b.get("content") or b.get("text") or b.get("input") or "")) + 40
        for b in message["content"]
    )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _said(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """Our words as the user's: after results that wait already, never before them."""
    if messages and messages[-1]["role"] == "user":
        last = messages[-1]
        return (*messages[:-1], {**last, "content": [*last["content"], _text(text)]})
    return (*messages, _user([_text(text)]))


def _user(content: list[Message]) -> Message:
    return {"role": "user", "content": content}


def _text(text: str) -> Message:
    return {"type": "text", "text": text}


def _blank(block: Mapping[str, Any]) -> bool:
    return block["type"] == "text" and not str(block.get("text") or "").strip()


def _sendable(content: list[Message]) -> list[Message]:
    """Blocks as they may be sent back: a tool's input is an object or the API refuses it all."""
    return [
        {**block, "input": {}}
        if block["type"] == "tool_use" and not isinstance(block["input"], dict)
        else block
        for block in content
    ]


def _tokens(usage: Mapping[str, int]) -> int:
    return sum(usage.values())
