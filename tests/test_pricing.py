"""List prices, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from genai_prices import Usage as Tokens
from genai_prices import calc_price
from genai_prices.data_snapshot import get_snapshot

from mtagent.config import DEFAULT_MODEL
from mtagent.llm.prices import Prices, price
from mtagent.records import Usage

MODELS = [DEFAULT_MODEL, "gpt-4", "gpt-4o", "gpt-5-mini", "claude-sonnet-4-0", "gemini-2.5-pro", "deepseek-chat"]
USAGE = Usage(input_tokens=2000, cached_tokens=1280, output_tokens=300, reasoning_tokens=100)


def test_cached_tokens_are_cheaper() -> None:
    cost = price("gpt-4o-mini", USAGE, "https://api.openai.com/v1")
    assert cost == pytest.approx(720 * 0.15e-6 + 1280 * 0.075e-6 + 300 * 0.6e-6)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tokens", [(2000, 1280, 300), (300_000, 0, 20), (0, 0, 0)])
def test_agrees_with_the_price_list(model: str, tokens: tuple[int, int, int]) -> None:
    usage = Usage(input_tokens=tokens[0], cached_tokens=tokens[1], output_tokens=tokens[2])
    listed = calc_price(Tokens(input_tokens=tokens[0], cache_read_tokens=tokens[1], output_tokens=tokens[2]), model)
    assert price(model, usage) == float(listed.total_price)


def test_long_prompts_cost_more_where_the_list_says_so() -> None:
    short, long = (price("gemini-2.5-pro", Usage(input_tokens=n)) for n in (100_000, 300_000))
    assert short is not None
    assert long is not None
    assert long > 3.5 * short


def test_the_default_model_is_sold_and_cheap() -> None:
    cost = price(DEFAULT_MODEL, Usage(calls=1, input_tokens=1_000_000 // 4), "https://api.openai.com/v1")
    assert cost is not None
    assert cost < 0.1
    _, model = get_snapshot().find_provider_model(DEFAULT_MODEL, None, "openai", None)
    assert not model.deprecated


@pytest.mark.parametrize("base_url", ["http://localhost:8000/v1", "http://127.0.0.1:1/v1", "https://llm.example/v1"])
def test_a_server_nobody_knows_has_no_price_whatever_its_models_are_called(base_url: str) -> None:
    assert price("gpt-4o-mini", USAGE, base_url) is None


@pytest.mark.parametrize("base_url", [None, "http://localhost:8000/v1", "https://api.openai.com/v1"])
def test_an_unknown_model_has_no_price(base_url: str | None) -> None:
    assert price("my-own-7b", USAGE, base_url) is None


def test_a_known_provider_does_not_sell_another_ones_model() -> None:
    assert price("claude-sonnet-4-0", USAGE, "https://api.openai.com/v1") is None


def test_a_fee_for_each_request_is_part_of_the_price() -> None:
    usage = Usage(calls=3, input_tokens=1000, output_tokens=100)
    assert price("sonar", usage, "https://api.perplexity.ai") == pytest.approx(1100e-6 + 3 * 0.012)


@pytest.mark.parametrize("model", ["gpt-4o-mini", "gemini-2.5-pro", "my-own-7b"])
def test_no_more_can_be_read_from_the_cache_than_was_sent(model: str, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        '[[prices]]\nmodel = "my-own-7b"\ninput = 1\ncached_input = 0.1\noutput = 2\n', encoding="utf-8"
    )
    costs = [Prices(tmp_path / "p.toml")(model, Usage(input_tokens=10, cached_tokens=n)) for n in (10, 500)]
    assert costs[0] == costs[1] != 0
