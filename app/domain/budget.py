"""Limits that stand outside the model, and the arithmetic of spend in micro-dollars."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.errors import Halt, Reason


@dataclass(frozen=True)
class Limits:
    """What a run may use. `dollars` is in micro-dollars, `wall` in seconds, `repeats` in a row."""

    turns: int = 12
    calls: int = 60
    repairs: int = 3
    dollars: int = 2_500_000
    wall: int = 1_800
    repeats: int = 3
    try_outs: int = 20
    changed_lines: int = 0  # 0: max(40, 3 x planned)
    files: int = 8  # that a plan may declare; more only for a task of class large


# What a run of class large may use where its repository says nothing (B4).
LARGE = Limits(
    turns=30, calls=150, repairs=5, dollars=10_000_000, wall=5_400, try_outs=40, files=40
)


@dataclass(frozen=True)
class Usage:
    """Tokens of one model reply; total input is the sum of the first four."""

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
            self.output + other.output,
        )

    @property
    def total_input(self) -> int:
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h


@dataclass(frozen=True)
class Spend:
    """What a run has used so far; `dollars` in micro-dollars against rate card `card`."""

    calls: int = 0
    turns: int = 0
    repairs: int = 0
    try_outs: int = 0
    dollars: int = 0
    usage: Usage = Usage()
    card: str = ""
    sandbox_ms: int = 0
    active_ms: int = 0  # wall clock with a worker; waiting is not charged
    broken: int = 0  # micro-dollars that the operator paid for broken replies; not in `dollars`


NOTHING = Spend()


@dataclass(frozen=True)
class Rate:
    """Prices of one model in micro-dollars per million tokens."""

    model: str
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    context: int
    max_output: int


def cost(rate: Rate, usage: Usage) -> int:
    """Micro-dollars of `usage`, rounded up, so that small calls are never free."""
    total = (
        usage.input * rate.input
        + usage.cache_read * rate.cache_read
        + usage.cache_write_5m * rate.cache_write_5m
        + usage.cache_write_1h * rate.cache_write_1h
        + usage.output * rate.output
    )
    return -(-total // 1_000_000)


def worst_case(rate: Rate, input_tokens: int, max_output: int) -> int:
    """Micro-dollars of a call if nothing is cached and every output token is used."""
    dearest = max(rate.input, rate.cache_write_5m, rate.cache_write_1h)
    return -(-(input_tokens * dearest + max_output * rate.output) // 1_000_000)


def before_call(limits: Limits, spend: Spend, reserve: int) -> None:
    """Raise the `Halt` of the first limit that the next model call would break."""
    if spend.calls + 1 > limits.calls:
        raise _spent(Reason.BUDGET_CALLS, f"{spend.calls} of {limits.calls} model calls are used")
    if spend.dollars + reserve > limits.dollars:
        raise _spent(
            Reason.BUDGET_DOLLARS,
            f"${spend.dollars / 1e6:.2f} of ${limits.dollars / 1e6:.2f} are spent and the next "
            f"call could cost ${reserve / 1e6:.2f}",
        )
    before_step(limits, spend)


def before_step(limits: Limits, spend: Spend) -> None:
    """Raise if the wall clock is used up."""
    if spend.active_ms >= limits.wall * 1000:
        raise _spent(Reason.BUDGET_TIME, f"{limits.wall} s of work are over")


def before_turn(limits: Limits, spend: Spend) -> None:
    """Raise if another proposed change would break the turn limit."""
    if spend.turns + 1 > limits.turns:
        raise _spent(Reason.BUDGET_TURNS, f"{spend.turns} of {limits.turns} turns are used")


def before_repair(limits: Limits, spend: Spend) -> None:
    """Raise if another repair after the required checks would break the limit."""
    if spend.repairs + 1 > limits.repairs:
        raise _spent(Reason.BUDGET_REPAIRS, f"{spend.repairs} of {limits.repairs} repairs are used")


def _spent(reason: Reason, what: str) -> Halt:
    return Halt(
        reason,
        f"The budget stopped this run: {what}.",
        "Narrow the issue, or raise the limit under `limits` in `.github/agent.yml` (under `large` "
        "for a run of class large).",
    )
