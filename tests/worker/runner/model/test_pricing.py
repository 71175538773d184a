"""The rate card: exact, dated, and closed to models that nobody priced."""

from __future__ import annotations

import json

import pytest

from app.domain.budget import Usage, cost
from app.domain.errors import Halt
from worker.runner.model import pricing
from worker.runner.model.pricing import CARD_ID, CARDS, NoRate, card


def test_the_default_model_costs_what_its_provider_publishes() -> None:
    rate = card("claude-sonnet-5-5")
    million = 1_000_000
    assert cost(rate, Usage(input=million)) == 2_000_000
    assert cost(rate, Usage(output=million)) == 10_000_000
    assert cost(rate, Usage(cache_read=million)) == 200_000
    assert cost(rate, Usage(cache_write_5m=million)) == 2_500_000
    assert cost(rate, Usage(cache_write_1h=million)) == 4_000_000
    assert (rate.context, rate.max_output) == (1_000_000, 128_000)


def test_every_card_is_whole_and_says_where_it_is_from() -> None:
    for path in CARDS.glob("*.json"):
        kept = json.loads(path.read_text(encoding="utf-8"))
        assert kept["card"] == path.stem
        assert kept["source"]
    for model in json.loads((CARDS / f"{CARD_ID}.json").read_text(encoding="utf-8"))["models"]:
        rate = card(model)
        assert 0 < rate.cache_read <= rate.input < rate.output
        assert rate.max_output < rate.context


def test_a_model_without_a_card_is_refused_with_what_to_do() -> None:
    with pytest.raises(NoRate) as caught:
        card("claude-unpriced-9")
    assert isinstance(caught.value, Halt)
    assert "claude-unpriced-9" in str(caught.value)
    assert "claude-sonnet-5-5" in str(caught.value)
    assert "rate card" in str(caught.value)


def test_a_price_that_is_no_whole_micro_dollar_is_refused() -> None:
    with pytest.raises(ValueError, match="micro-dollars"):
        pricing._micro("0.0000001")
