"""The real model behind `ports.Model`: streaming always, with bounded retries of our own.

The SDK's retries are off, since it obeys any `retry-after`, misses errors inside a stream and
would spend money that no budget saw. The stream is read in a thread of its own, so that a stalled
one keeps nobody from looking at the lease and the cancel flag.
"""

from __future__ import annotations

import itertools
import random
import socket
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anthropic
import httpx2

from app.domain.budget import Usage
from app.domain.errors import Refused, Unavailable
from app.domain.ports.model import Reply, Request, Unfinished
from worker.runner.model.faults import fault_of
from worker.runner.model.wire import Cut, Growing, sendable, tools, valid

LOOK_EVERY = 1.0  # seconds; the port promises two
BACKOFF = (0.5, 1.0, 2.0, 4.0, 8.0)
RETRY_AFTER_CAP = 30.0  # a longer wait is for a parked run, not for a worker

# What a call may end in without being a bug of ours. A line of the stream that is no JSON is a
# ValueError of the SDK's; a socket that we shut ourselves is an OSError.
_BROKEN = (anthropic.AnthropicError, httpx2.HTTPError, httpx2.StreamError, ValueError, OSError, Cut)


class AnthropicModel:
    """Implements `ports.Model` with the Messages API. Made once a process, used after the fork.

    Seconds: `connect` for a connection, `stall` without a byte, `whole` for one reply (pings reset
    the stall timer, so a wall clock is needed beside it), `patience` for all attempts together.
    `effort` is the provider's word for how hard to think, "" for its default.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        connect: float = 5.0,
        stall: float = 60.0,
        whole: float = 600.0,
        patience: float = 60.0,
        effort: str = "",
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if not api_key or not base_url:
            raise ValueError("the model's key and address are both needed")
        self._key = api_key
        self._address = base_url
        self._timeout = httpx2.Timeout(stall, connect=connect, pool=connect)
        self._client: anthropic.Anthropic | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._whole = whole
        self._patience = patience
        self._effort = effort
        self._monotonic = monotonic
        self._sleep = sleep
        self._jitter = jitter

    def close(self) -> None:
        """Give the connections back."""
        self._drop_thread()
        if self._client is not None:
            self._client.close()
            self._client = None

    def reply(self, request: Request, look: Callable[[], None]) -> Reply:
        """Stream one reply, after as many attempts as `patience` allows.

        Raises `Unfinished` (an `Unavailable` that knows what broken attempts cost) and `Refused`.
        """
        parameters = self._parameters(request)
        until = self._monotonic() + self._patience
        lost = Usage()
        for attempt in itertools.count():
            growing = Growing()
            look()
            try:
                reply = self._once(parameters, growing, look)
            except _BROKEN as error:
                lost = lost + growing.spent()
                fault = fault_of(error)
                if isinstance(fault, Refused):
                    raise fault from error
                pause = self._pause(fault, attempt)
                if pause > RETRY_AFTER_CAP or self._monotonic() + pause >= until:
                    raise Unfinished(str(fault), fault.retry_after, lost) from error
                self._wait(pause, look)
            else:
                return replace(reply, usage=reply.usage + lost)
        raise AssertionError("unreachable: the loop ends by returning or raising")

    def _sdk(self) -> anthropic.Anthropic:
        """The SDK's client, opened at the first call: a connection must not outlive a fork."""
        if self._client is None:
            self._client = anthropic.Anthropic(
                api_key=self._key,
                base_url=self._address,
                max_retries=0,
                timeout=self._timeout,
            )
        return self._client

    def _reader(self) -> ThreadPoolExecutor:
        """The thread that reads; one that was left in mid-stream is never used again."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        return self._thread

    def _drop_thread(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None

    def _parameters(self, request: Request) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.max_output,
            "system": [{"type": "text", "text": valid(request.system)}],
            "tools": tools(),
            "messages": sendable(request.messages),
            "cache_control": {"type": "ephemeral"},
            "thinking": {"type": "adaptive"},
        }
        if self._effort:
            parameters["output_config"] = {"effort": self._effort}
        return parameters

    def _once(
        self, parameters: Mapping[str, Any], growing: Growing, look: Callable[[], None]
    ) -> Reply:
        reading = _Reading(self._reader(), self._sdk(), parameters, growing)
        began = self._monotonic()
        try:
            while not reading.done(LOOK_EVERY):
                look()
                if growing.stopped:  # whole, though the connection was not ended
                    break
                if self._monotonic() - began > self._whole:
                    raise Cut(f"the reply took longer than {self._whole:.0f} s")
        finally:
            if not reading.leave():
                self._drop_thread()
        content = growing.whole()
        return Reply(content, growing.stop_reason, growing.spent(), growing.id)

    def _pause(self, fault: Unavailable, attempt: int) -> float:
        if fault.retry_after is not None:
            return fault.retry_after
        return BACKOFF[min(attempt, len(BACKOFF) - 1)] * (0.5 + self._jitter())

    def _wait(self, seconds: float, look: Callable[[], None]) -> None:
        until = self._monotonic() + seconds
        while (left := until - self._monotonic()) > 0:
            self._sleep(min(left, LOOK_EVERY))
            look()


class _Reading:
    """One attempt, read in a thread into `growing`; whoever waits is woken once, at its end."""

    def __init__(
        self,
        thread: ThreadPoolExecutor,
        client: anthropic.Anthropic,
        parameters: Mapping[str, Any],
        growing: Growing,
    ) -> None:
        self._growing = growing
        self._stream: anthropic.Stream[Any] | None = None
        self._left = False
        self._done: Future[None] = thread.submit(self._read, client, parameters)

    def _read(self, client: anthropic.Anthropic, parameters: Mapping[str, Any]) -> None:
        with client.messages.create(**parameters, stream=True) as stream:
            self._stream = stream
            for event in stream:
                if self._left:
                    return
                dumped = event.model_dump(mode="json", exclude_unset=True, warnings=False)
                self._growing.take(dumped)

    def done(self, seconds: float) -> bool:
        """Wait up to `seconds` for the end; raises what ended the stream, if anything did."""
        try:
            self._done.result(timeout=seconds)
        except TimeoutError:
            if not self._done.done():
                return False
            raise
        except _BROKEN:
            if not self._growing.stopped:
                raise
        return True

    def leave(self) -> bool:
        """Stop reading; False when the thread is still at it and will end by itself. Its socket is
        shut under it then, since half a reply may still be in there."""
        self._left = True
        if self._done.done():
            return True
        if self._stream is not None:
            _pull(self._stream)
        return False


def _pull(stream: anthropic.Stream[Any]) -> None:
    """Shut the socket under a stream, which wakes whoever waits for its next byte."""
    network = stream.response.extensions.get("network_stream")
    plug = network.get_extra_info("socket") if network is not None else None
    if isinstance(plug, socket.socket):
        with suppress(OSError):  # closed meanwhile, which is what we want
            plug.shutdown(socket.SHUT_RDWR)
