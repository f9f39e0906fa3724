"""What tokens cost: the user's own price file first, then the public list prices. Works offline.

A model that is in neither has no price.
"""

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
BATCH_DISCOUNT = 0.5
"""What OpenAI and Azure take off."""
_GLOB = re.compile(r"[*?\[]")
Rate = Annotated[FiniteFloat, Field(ge=0)]


class OwnPrice(Record):
    """What one model costs, in US dollars per million tokens."""

    model: str = Field(min_length=1)
    """A name, or a pattern such as ``gpt-*``."""
    base_url: Annotated[str, AfterValidator(lambda url: url.rstrip("/"))] | None = None
    """The server that it is for; ``None`` = any."""
    valid_from: date | None = None
    """The first day of this price; ``None`` = it has always been valid."""
    input: Rate
    cached_input: Rate | None = None
    """``None`` = the same as other input."""
    cache_write: Rate | None = None
    """For input that is written to a prompt cache; ``None`` = the same as other input."""
    output: Rate
    batch_discount: float | None = Field(default=None, ge=0, le=1)
    """The share that the provider's batch queue takes off; ``None`` = :data:`BATCH_DISCOUNT`."""

    def dollars(self, usage: Usage) -> float:
        """What ``usage`` costs."""
        cached_rate = self.cached_input
        if cached_rate is None:
            cached_rate = self.input
        write_rate = self.cache_write
        if write_rate is None:
            write_rate = self.input
        plain, cached, written = _input_tokens(usage)
        input_cost = plain * self.input + cached * cached_rate + written * write_rate
        return (input_cost + usage.output_tokens * self.output) / MILLION

    def holds(self, model: str, base_url: str | None, day: date) -> bool:
        """Whether this is a price for ``model`` on that server and day."""
        if self.base_url is not None and self.base_url != (base_url or "").rstrip("/"):
            return False
        if self.valid_from is not None and self.valid_from > day:
            return False
        return self.model == model or fnmatchcase(model, self.model)

    @property
    def weight(self) -> tuple[bool, bool, int, date]:
        """The heaviest of several matching prices is used: full model name, server, longer pattern, later day."""
        is_full_name = not _GLOB.search(self.model)
        return is_full_name, self.base_url is not None, len(self.model), self.valid_from or date.min


def _input_tokens(usage: Usage) -> tuple[int, int, int]:
    """The input tokens that no cache holds, that were read from one, and that were written to one."""
    cached = min(usage.cached_tokens, usage.input_tokens)
    written = min(usage.cache_write_tokens, usage.input_tokens - cached)
    return usage.input_tokens - cached - written, cached, written


Price = Callable[[str, Usage, str | None], float | None]
"""Dollars for a model, its usage, and the address of its server; ``None`` = unknown."""


def highest_cost(price_of: Callable[[Usage], float | None], usage: Usage) -> float | None:
    """What ``usage`` costs at most: nothing is read from a cache, and all input is written to one if that costs more.

    ``None`` if the price is unknown.
    """
    unwritten = price_of(usage)
    written = price_of(usage.model_copy(update={"cache_write_tokens": usage.input_tokens}))
    if unwritten is None or written is None:
        return None
    return max(unwritten, written)


class Prices:
    """The prices in the file at ``path``; for other models, the public ones. With ``batch``, those of a batch queue.

    Raises :class:`mtagent.errors.ConfigError` naming file, line and field.
    """

    def __init__(self, path: Path | None = None, *, batch: bool = False) -> None:
        self._batch = batch
        self._own: list[OwnPrice] = []
        if path:
            self._own = sorted(_read(path), key=lambda price: price.weight, reverse=True)

    def __call__(self, model: str, usage: Usage, base_url: str | None = None) -> float | None:
        """US dollars for ``usage`` at today's prices; ``None`` if neither the file nor the list has a price."""
        own_price = self.own(model, base_url)
        cost = price(model, usage, base_url) if own_price is None else own_price.dollars(usage)
        if cost is not None and self._batch:
            cost *= 1 - self.batch_discount(model, base_url)
        return cost

    def batch_discount(self, model: str, base_url: str | None) -> float:
        """The share that the provider's batch queue takes off: what the file has for ``model``, or else a half."""
        own_price = self.own(model, base_url)
        if own_price is None or own_price.batch_discount is None:
            return BATCH_DISCOUNT
        return own_price.batch_discount

    def own(self, model: str, base_url: str | None, day: date | None = None) -> OwnPrice | None:
        """The file's price of ``model`` on ``day`` (by default today); ``None`` if it has none."""
        day = day or date.today()
        for own_price in self._own:
            if own_price.holds(model, base_url, day):
                return own_price
        return None


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
        raise ConfigError(f"{path}{_line(text, None, name)}: {name!r} must be in an entry [[prices]]")
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{path}: has no prices; write an entry [[prices]] for each price")
    prices: dict[object, OwnPrice] = {}
    for number, entry in enumerate(entries):
        try:
            price = OwnPrice.model_validate(entry)
        except ValidationError as error:
            first = error.errors()[0]
            field = "prices"
            if first["loc"]:
                field = str(first["loc"][0])
            where = f"{path}{_line(text, number, field)}: {field}"
            if first["type"] == "extra_forbidden":
                hint = f"the fields are: {', '.join(OwnPrice.model_fields)}"
                near = difflib.get_close_matches(field, OwnPrice.model_fields, n=1)
                if near:
                    hint = f"did you mean {near[0]!r}?"
                raise ConfigError(f"{where} isn't a field of a price; {hint}") from None
            message = first["msg"].lower()
            if first["type"] != "missing":
                message += f" (got {first['input']!r})"
            raise ConfigError(f"{where}: {message}") from None
        key = price.model, price.base_url, price.valid_from
        if key in prices:
            line = _line(text, number, "model")
            first_line = _line(text, list(prices).index(key), "model").removeprefix(":")
            message = f"{path}{line}: model: {price.model!r} has a price for this server and day already"
            if first_line:
                message += f", in line {first_line}"
            raise ConfigError(message)
        prices[key] = price
    return [*prices.values()]


def _line(text: str, number: int | None, field: str) -> str:
    """Where ``field`` is in entry ``number``, as ``:6``; ``None``: before all entries.

    The line of the entry if the field isn't in it; nothing for an entry that isn't written as ``[[prices]]``.
    """
    lines = text.splitlines()
    bounds = [i for i, line in enumerate(lines) if re.match(r"\s*\[\[\s*prices\s*\]\]", line)]
    bounds.append(len(lines))
    if number is None:
        first, end = 0, bounds[0]
    elif number < len(bounds) - 1:
        first, end = bounds[number], bounds[number + 1]
    else:
        return ""
    assignment = re.compile(rf"\s*\"?{re.escape(field)}\"?\s*=")
    for i in range(first, end):
        if assignment.match(lines[i]):
            return f":{i + 1}"
    return f":{first + 1}"


def price(model: str, usage: Usage, base_url: str | None = None) -> float | None:
    """US dollars for ``usage``, with the prices of cached input; ``None`` if the price is unknown.

    The provider is known by ``base_url``. At any other server (a gateway, your own machine) the price is unknown,
    whatever the models are called. The prices come with the ``genai-prices`` package and are not updated from the
    network.
    """
    dollars = _list_price(model, base_url)
    if dollars is None:
        return None
    return dollars(usage)


@lru_cache(maxsize=256)
def _list_price(model: str, base_url: str | None) -> Callable[[Usage], float] | None:
    """A function from usage to dollars. The package takes twenty times as long for the same sum."""
    from genai_prices import Usage as Tokens  # imported here: 0.3 s, and only needed where something is priced
    from genai_prices import calc_price
    from genai_prices.types import ModelPrice, PriceCalculation, TieredPrices

    def calculate(usage: Usage) -> PriceCalculation:
        _, cached, written = _input_tokens(usage)
        tokens = Tokens(
            input_tokens=usage.input_tokens,
            cache_read_tokens=cached,
            cache_write_tokens=written,
            output_tokens=usage.output_tokens,
        )
        return calc_price(tokens, model, provider_api_url=base_url)

    def rate(price: Decimal | TieredPrices | None, prompt: int) -> Decimal:
        """The price for a prompt of this length."""
        if isinstance(price, TieredPrices):
            for tier in reversed(price.tiers):
                if prompt > tier.start:
                    return tier.price
            return price.base
        return price or Decimal(0)

    try:
        prices = calculate(Usage()).model.prices
    except LookupError:
        return None
    if not isinstance(prices, ModelPrice) or prices.input_mtok is None or prices.output_mtok is None:
        return lambda usage: float(calculate(usage).total_price)  # it depends on the time

    cached_price = prices.cache_read_mtok
    if cached_price is None:
        cached_price = prices.input_mtok
    write_price = prices.cache_write_mtok
    if write_price is None:
        write_price = prices.input_mtok

    def dollars(usage: Usage) -> float:
        prompt = usage.input_tokens
        plain, cached, written = _input_tokens(usage)
        total = (
            plain * rate(prices.input_mtok, prompt)
            + cached * rate(cached_price, prompt)
            + written * rate(write_price, prompt)
            + usage.output_tokens * rate(prices.output_mtok, prompt)
            + 1000 * usage.calls * rate(prices.requests_kcount, prompt)
        )
        return float(total / MILLION)

    return dollars
