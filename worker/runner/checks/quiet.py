"""What a check said, without secrets: before anything of it is kept, shown, compared or signed.

A change that adds a secret to a failing test would otherwise publish it by its own output.
"""

from __future__ import annotations

from dataclasses import replace

from app.domain.check import Failure, Outcome
from app.domain.redact import without_secrets
from worker.runner.checks.heard import Source


def quiet(outcome: Outcome) -> Outcome:
    """The outcome with what looks like a secret gone from streams, report and words. Base and
    change are treated alike, so that test ids still compare."""
    streams = (_bytes(outcome.stdout), _bytes(outcome.stderr))
    gone = (len(outcome.stdout) - len(streams[0]), len(outcome.stderr) - len(streams[1]))
    return replace(
        outcome,
        stdout=streams[0],
        stderr=streams[1],
        seen=(outcome.seen[0] - gone[0], outcome.seen[1] - gone[1]),  # nothing was cut
        report=None if outcome.report is None else _bytes(outcome.report),
        error=without_secrets(outcome.error),
    )


def quiet_source(source: Source) -> Source:
    """Lines around a failure come from the candidate's files, not from its output."""

    def read(path: str) -> bytes | None:
        data = source(path)
        return None if data is None else _bytes(data)

    return read


def quiet_failures(failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    """The same once more for what was put together from pieces, or lost its control characters."""
    return tuple(
        replace(
            one,
            test=without_secrets(one.test),
            error=without_secrets(one.error),
            message=without_secrets(one.message),
            file=without_secrets(one.file),
            trace=tuple(map(without_secrets, one.trace)),
            context=tuple(map(without_secrets, one.context)),
        )
        for one in failures
    )


def _bytes(data: bytes) -> bytes:
    """Every byte is one character and comes back as it was; the shapes are all of ASCII."""
    return without_secrets(data.decode("latin-1")).encode("latin-1")
