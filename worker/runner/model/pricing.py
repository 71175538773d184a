"""What each model costs: a dated rate card, in micro-dollars per million tokens.

A model without a card does not start: a price that nobody wrote down would make every limit in
dollars a guess.
"""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from app.domain.budget import Rate
from app.domain.errors import Halt, Reason

CARD_ID = "2026-11"
CARDS = Path(__file__).parent / "cards"


class NoRate(Halt):
    """The configured model is on no rate card; the message says what to do."""

    def __init__(self, model: str, known: tuple[str, ...]) -> None:
        super().__init__(
            Reason.NEEDS_OPERATOR,
            f"There is no price for the model {model!r} on the rate card {CARD_ID}.",
            f"Choose one of {', '.join(known)}, or add its published rates to a newer rate card.",
        )

    def __str__(self) -> str:
        return f"{self.record.message} {self.record.next_step}"


def card(name: str) -> Rate:
    """The rates of the model `name`. Raises `NoRate`."""
    models = _models()
    try:
        row = models[name]
    except KeyError:
        raise NoRate(name, tuple(sorted(models))) from None
    return Rate(
        model=name,
        input=_micro(row["input"]),
        output=_micro(row["output"]),
        cache_read=_micro(row["cache_read"]),
        cache_write_5m=_micro(row["cache_write_5m"]),
        cache_write_1h=_micro(row["cache_write_1h"]),
        context=row["context"],
        max_output=row["max_output"],
    )


@cache
def _models() -> dict[str, dict[str, Any]]:
    text = (CARDS / f"{CARD_ID}.json").read_text(encoding="utf-8")
    models: dict[str, dict[str, Any]] = json.loads(text)["models"]
    return models


def _micro(dollars: str) -> int:
    """Micro-dollars of a decimal written as text, exact: floats have no place in a ledger."""
    exact = Decimal(dollars) * 1_000_000
    if exact != int(exact):
        raise ValueError(f"{dollars} dollars are no whole number of micro-dollars")
    return int(exact)
