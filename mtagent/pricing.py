"""What tokens cost: by the user's own file, then by the public list prices. Offline; an unknown model has no price."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

from mtagent.prices_file import PricesFile
from mtagent.records import Usage

MILLION = Decimal(1_000_000)

Dollars = Callable[[Usage], float]
Price = Callable[[str, Usage, str | None], float | None]
"""Dollars for a model, its usage, and the address of its server; ``None`` = not known."""


class Prices:
    """The prices in a file of the user's, before the public ones. Raises :class:`mtagent.errors.ConfigError`."""

    def __init__(self, path: Path | None = None) -> None:
        self._own = PricesFile(path) if path else None

    def __call__(self, model: str, usage: Usage, base_url: str | None = None) -> float | None:
        """US dollars for ``usage`` by today's prices; ``None`` where neither the file nor the list has a price."""
        own = self._own.find(model, base_url) if self._own else None
        return own.dollars(usage) if own else price(model, usage, base_url)

    def batch_discount(self, model: str, base_url: str | None) -> float | None:
        """The share that is taken off in the provider's batch queue, where the file says so."""
        own = self._own.find(model, base_url) if self._own else None
        return own.batch_discount if own else None


def price(model: str, usage: Usage, base_url: str | None = None) -> float | None:
    """US dollars for the tokens of ``usage``, cached input apart; ``None`` where no price is known.

    ``base_url`` tells the provider. A server that no provider is known by (a gateway, one's own machine) has no known
    price, whatever its models are called. The prices come with the ``genai-prices`` package and are not updated from
    the network.
    """
    dollars = _dollars(model, base_url)
    return None if dollars is None else dollars(usage)


@lru_cache(maxsize=256)
def _dollars(model: str, base_url: str | None) -> Dollars | None:
    """A function from usage to dollars. The search for the model is a hundred times dearer than the sum."""
    from genai_prices import Usage as Tokens  # imported here: 0.3 s, and only needed where something is priced
    from genai_prices import calc_price
    from genai_prices.types import ModelPrice, PriceCalculation

    def calculate(usage: Usage, url: str | None) -> PriceCalculation:
        cached = min(usage.cached_tokens, usage.input_tokens)
        tokens = Tokens(input_tokens=usage.input_tokens, cache_read_tokens=cached, output_tokens=usage.output_tokens)
        return calc_price(tokens, model, provider_api_url=url)

    try:
        found = calculate(Usage(), base_url)
    except LookupError:
        return None
    prices = found.model.prices
    flat = _flat(prices) if isinstance(prices, ModelPrice) else None
    return flat or (lambda usage: float(calculate(usage, base_url).total_price))


def _flat(prices: object) -> Dollars | None:
    """Plain prices per million tokens, and what each request costs besides where the provider asks for that.

    ``None`` where they depend on the prompt's length or on the time.
    """
    names = ("input_mtok", "cache_read_mtok", "output_mtok", "requests_kcount")
    rates = [getattr(prices, name, None) for name in names]
    fresh, cached, output, requests = (Decimal(0) if rate is None else rate for rate in rates)
    known = all(isinstance(rate, Decimal) for rate in (fresh, cached, output, requests))
    if rates[0] is None or rates[2] is None or not known:
        return None
    if rates[1] is None:
        cached = fresh

    def dollars(usage: Usage) -> float:
        read = min(usage.cached_tokens, usage.input_tokens)
        tokens = (usage.input_tokens - read) * fresh + read * cached + usage.output_tokens * output
        return float(tokens / MILLION + usage.calls * requests / 1000)

    return dollars
