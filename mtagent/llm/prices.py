"""What tokens cost: by the user's own file, then by the public list prices. Offline; an unknown model has no price."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

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


class PricesFile:
    """The prices in the file at ``path``. Raises :class:`ConfigError` naming file, line and field."""

    def __init__(self, path: Path) -> None:
        self._prices = sorted(_read(path), key=lambda price: price.weight, reverse=True)

    def find(self, model: str, base_url: str | None, day: date | None = None) -> OwnPrice | None:
        """The price of ``model`` on ``day`` (today); ``None`` where the file has none."""
        day = day or date.today()
        return next((price for price in self._prices if price.holds(model, base_url, day)), None)


def _read(path: Path) -> list[OwnPrice]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    entries = data.pop("prices", None)
    if data:
        raise ConfigError(f"{path}{_line(text, None, next(iter(data)))}: {next(iter(data))!r} stands in no [[prices]]")
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{path}: there is no [[prices]] in it")
    prices = [_price(path, text, number, entry) for number, entry in enumerate(entries)]
    _refuse_twice(path, text, prices)
    return prices


def _price(path: Path, text: str, number: int, entry: Any) -> OwnPrice:
    try:
        return OwnPrice.model_validate(entry)
    except ValidationError as error:
        first = error.errors()[0]
    field = str(first["loc"][0]) if first["loc"] else "prices"
    where = f"{path}{_line(text, number, field)}: {field}"
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(field, OwnPrice.model_fields, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(OwnPrice.model_fields)}"
        raise ConfigError(f"{where} is no field of a price; {hint}")
    got = "" if first["type"] == "missing" else f" (got {first['input']!r})"
    raise ConfigError(f"{where}: {first['msg'].lower()}{got}")


def _refuse_twice(path: Path, text: str, prices: Sequence[OwnPrice]) -> None:
    seen: dict[object, int] = {}
    for number, price in enumerate(prices):
        former = seen.setdefault((price.model, price.base_url, price.valid_from), number)
        if former != number:
            raise ConfigError(
                f"{path}{_line(text, number, 'model')}: model: {price.model!r} has a price for this server and day "
                f"already{_line(text, former, 'model').replace(':', ', in line ')}"
            )


def _line(text: str, number: int | None, field: str) -> str:
    """``:LINE`` of ``field`` in the entry of this number, or of the entry; empty where the layout does not tell."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if re.match(r"\s*\[\[\s*prices\s*\]\]", line)]
    if number is None:
        first, end = 0, starts[0] if starts else len(lines)
    elif number < len(starts):
        first, end = starts[number], [*starts, len(lines)][number + 1]
    else:
        return ""
    named = re.compile(rf"\s*\"?{re.escape(field)}\"?\s*=")
    found = next((i for i in range(first, end) if named.match(lines[i])), first)
    return f":{found + 1}"


MILLION_TOKENS = Decimal(1_000_000)

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
        return float(tokens / MILLION_TOKENS + usage.calls * _rate(requests, prompt) / 1000)

    return dollars


def _tiers(price: object) -> list[tuple[int, Decimal]] | None:
    """A price as pairs of the prompt's length above which it holds, and the price; the longest first."""
    if price is None or isinstance(price, Decimal):
        return None if price is None else [(-1, price)]
    tiers = [(-1, price.base), *((tier.start, tier.price) for tier in price.tiers)]  # type: ignore[attr-defined]
    return sorted(tiers, reverse=True)


def _rate(tiers: list[tuple[int, Decimal]], prompt: int) -> Decimal:
    return next(price for start, price in tiers if prompt > start)
