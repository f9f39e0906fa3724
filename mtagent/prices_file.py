"""Prices of one's own: a dated TOML file that goes before the public list.

::

    [[prices]]
    model = "my-own-7b*"                     # the name that the server knows; * and ? stand for any characters
    base_url = "http://localhost:8000/v1"    # only on this server; without it, on every one
    valid_from = 2025-06-01                  # from this day on, until a later entry; without it, always
    input = 0.15                             # US dollars for a million tokens
    cached_input = 0.075                     # without it, as input
    output = 0.60                            # reasoning tokens are among them
    batch_discount = 0.5                     # the share taken off in the provider's batch queue
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Sequence
from datetime import date
from fnmatch import fnmatchcase
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
