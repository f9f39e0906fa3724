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
    """Prices per million tokens, by the length of the prompt, and what each request costs besides where it does.

    ``None`` where they depend on the time.
    """
    names = ("input_mtok", "cache_read_mtok", "output_mtok", "requests_kcount")
    rates = [_tiers(getattr(prices, name, None)) for name in names]
    fresh, cached, output, requests = rates
    if fresh is None or output is None:
        return None
    cached, requests = cached or fresh, requests or [(-1, Decimal(0))]

    def dollars(usage: Usage) -> float:
        read, prompt = min(usage.cached_tokens, usage.input_tokens), usage.input_tokens
        tokens = (prompt - read) * _rate(fresh, prompt) + read * _rate(cached, prompt)
        tokens += usage.output_tokens * _rate(output, prompt)
        return float(tokens / MILLION + usage.calls * _rate(requests, prompt) / 1000)

    return dollars


def _tiers(price: object) -> list[tuple[int, Decimal]] | None:
    """A price as pairs of the prompt's length above which it holds, and the price; the longest first."""
    if price is None or isinstance(price, Decimal):
        return None if price is None else [(-1, price)]
    tiers = [(-1, price.base), *((tier.start, tier.price) for tier in price.tiers)]  # type: ignore[attr-defined]
    return sorted(tiers, reverse=True)


def _rate(tiers: list[tuple[int, Decimal]], prompt: int) -> Decimal:
    return next(price for start, price in tiers if prompt > start)
