"""What tokens cost: by the user's own file, then by the public list prices. Offline; an unknown model has no price."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, FiniteFloat, ValidationError

from mtagent.errors import ConfigError
from mtagent.records import Record, Usage

MILLION = 1_000_000
_GLOB = re.compile(r"[*?\[]")
Rate = Annotated[FiniteFloat, Field(ge=0)]


class OwnPrice(Record):
    """What one model costs, in US dollars for a million tokens. ``cached_input=None``: as other input."""

    model: str = Field(min_length=1)
    base_url: Annotated[str, AfterValidator(lambda url: url.rstrip("/"))] | None = None
    valid_from: date | None = None
    input: Rate
    cached_input: Rate | None = None
    output: Rate
    batch_discount: float | None = Field(default=None, ge=0, le=1)

    def dollars(self, usage: Usage) -> float:
        """What ``usage`` costs."""
        cached = self.input if self.cached_input is None else self.cached_input
        read = min(usage.cached_tokens, usage.input_tokens)
        return ((usage.input_tokens - read) * self.input + read * cached + usage.output_tokens * self.output) / MILLION

    def holds(self, model: str, base_url: str | None, day: date) -> bool:
        """Whether this is a price for ``model`` on that server and day."""
        at_server = self.base_url is None or self.base_url == (base_url or "").rstrip("/")
        in_force = self.valid_from is None or self.valid_from <= day
        return at_server and in_force and (self.model == model or fnmatchcase(model, self.model))

    @property
    def weight(self) -> tuple[bool, bool, int, date]:
        """Of several that hold, the highest goes first: the model in full, the server, the longer pattern, the day."""
        exact = not _GLOB.search(self.model)
        return exact, self.base_url is not None, len(self.model), self.valid_from or date.min


Price = Callable[[str, Usage, str | None], float | None]
"""Dollars for a model, its usage, and the address of its server; ``None`` = not known."""


class Prices:
    """The prices in the file at ``path``, before the public ones.

    Raises :class:`mtagent.errors.ConfigError` naming file, line and field.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._own = sorted(_read(path), key=lambda price: price.weight, reverse=True) if path else []

    def __call__(self, model: str, usage: Usage, base_url: str | None = None) -> float | None:
        """US dollars for ``usage`` by today's prices; ``None`` where neither the file nor the list has a price."""
        own = self.own(model, base_url)
        return own.dollars(usage) if own else price(model, usage, base_url)

    def batch_discount(self, model: str, base_url: str | None) -> float | None:
        """The share that is taken off in the provider's batch queue, where the file says so."""
        own = self.own(model, base_url)
        return own.batch_discount if own else None

    def own(self, model: str, base_url: str | None, day: date | None = None) -> OwnPrice | None:
        """The file's price of ``model`` on ``day`` (today); ``None`` where it has none."""
        day = day or date.today()
        return next((price for price in self._own if price.holds(model, base_url, day)), None)


def _read(path: Path) -> list[OwnPrice]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    entries = data.pop("prices", None)
    for name in data:
        raise ConfigError(f"{path}{_line(text, None, name)}: {name!r} stands in no [[prices]]")
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{path}: there is no [[prices]] in it")
    prices: dict[object, OwnPrice] = {}
    for number, entry in enumerate(entries):
        try:
            price = OwnPrice.model_validate(entry)
        except ValidationError as error:
            first = error.errors()[0]
            field = str(first["loc"][0]) if first["loc"] else "prices"
            where = f"{path}{_line(text, number, field)}: {field}"
            if first["type"] == "extra_forbidden":
                near = difflib.get_close_matches(field, OwnPrice.model_fields, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(OwnPrice.model_fields)}"
                raise ConfigError(f"{where} is no field of a price; {hint}") from None
            got = "" if first["type"] == "missing" else f" (got {first['input']!r})"
            raise ConfigError(f"{where}: {first['msg'].lower()}{got}") from None
        key = price.model, price.base_url, price.valid_from
        if key in prices:
            line, former = (_line(text, place, "model") for place in (number, list(prices).index(key)))
            there = f", in line {former[1:]}" if former else ""
            raise ConfigError(
                f"{path}{line}: model: {price.model!r} has a price for this server and day already{there}"
            )
        prices[key] = price
    return [*prices.values()]


def _line(text: str, number: int | None, field: str) -> str:
    """The line of ``field`` in the entry of this number (``None``: before them), or of the entry, as ``:6``.

    Nothing for an entry that is no table.
    """
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if re.match(r"\s*\[\[\s*prices\s*\]\]", line)]
    first, end = 0, starts[0] if starts else len(lines)
    if number is not None:
        if number >= len(starts):
            return ""
        first, end = starts[number], [*starts, len(lines)][number + 1]
    named = re.compile(rf"\s*\"?{re.escape(field)}\"?\s*=")
    return f":{1 + next((i for i in range(first, end) if named.match(lines[i])), first)}"


def price(model: str, usage: Usage, base_url: str | None = None) -> float | None:
    """US dollars for the tokens of ``usage``, cached input apart; ``None`` where no price is known.

    ``base_url`` tells the provider. A server that no provider is known by (a gateway, one's own machine) has no known
    price, whatever its models are called. The prices come with the ``genai-prices`` package and are not updated from
    the network.
    """
    dollars = _list_price(model, base_url)
    return None if dollars is None else dollars(usage)


@lru_cache(maxsize=256)
def _list_price(model: str, base_url: str | None) -> Callable[[Usage], float] | None:
    """A function from usage to dollars. The package takes twenty times as long for the same sum."""
    from genai_prices import Usage as Tokens  # imported here: 0.3 s, and only needed where something is priced
    from genai_prices import calc_price
    from genai_prices.types import ModelPrice, PriceCalculation, TieredPrices

    def calculate(usage: Usage) -> PriceCalculation:
        cached = min(usage.cached_tokens, usage.input_tokens)
        tokens = Tokens(input_tokens=usage.input_tokens, cache_read_tokens=cached, output_tokens=usage.output_tokens)
        return calc_price(tokens, model, provider_api_url=base_url)

    def rate(price: Decimal | TieredPrices | None, prompt: int) -> Decimal:
        """The price that holds for a prompt of this length."""
        if isinstance(price, TieredPrices):
            return next((tier.price for tier in reversed(price.tiers) if prompt > tier.start), price.base)
        return price or Decimal(0)

    try:
        prices = calculate(Usage()).model.prices
    except LookupError:
        return None
    if not isinstance(prices, ModelPrice) or prices.input_mtok is None or prices.output_mtok is None:
        return lambda usage: float(calculate(usage).total_price)  # it depends on the time

    cached_price = prices.input_mtok if prices.cache_read_mtok is None else prices.cache_read_mtok

    def dollars(usage: Usage) -> float:
        prompt, cached = usage.input_tokens, min(usage.cached_tokens, usage.input_tokens)
        total = (
            (prompt - cached) * rate(prices.input_mtok, prompt)
            + cached * rate(cached_price, prompt)
            + usage.output_tokens * rate(prices.output_mtok, prompt)
            + 1000 * usage.calls * rate(prices.requests_kcount, prompt)
        )
        return float(total / MILLION)

    return dollars
