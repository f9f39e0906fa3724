"""An estimate as a table, and what it assumes in words."""

from __future__ import annotations

from collections.abc import Mapping

from mtagent.config import DEFAULT_MODEL, Config
from mtagent.estimate import Range
from mtagent.llm.server import server_address
from mtagent.pricing import Prices
from mtagent.records import Usage
from mtagent.summary import in_columns
from mtagent.tokens import Counter

_COLUMNS = ("stage", "calls", "input tokens", "output tokens", "cost")
LOW = "low: no error is found, replies are as short as they can be, and what prompts repeat is read from the cache"
HIGH = "high: every stage edits, what an evaluator leaves open is fixed, the gate judges all of it, nothing is cached"
NOT_IN_IT = "not in it: thoughts of reasoning models, replies that have to be asked for again, MT systems of yours"


def table(found: Mapping[str, Range]) -> str:
    """A row per stage, and the total."""
    total = Range()
    for needed in found.values():
        total = total.plus(needed)
    rows = [_row(stage, needed) for stage, needed in found.items()]
    return "\n".join(in_columns([_COLUMNS, *rows, _row("total", total)]))


def _row(stage: str, needed: Range) -> tuple[str, ...]:
    low, high = needed
    counts = ("calls", "input_tokens", "output_tokens")
    spans = [_span(f"{getattr(low, name):,}", f"{getattr(high, name):,}") for name in counts]
    return (stage, *spans, _cost(low, high))


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low}–{high}"


def _cost(low: Usage, high: Usage) -> str:
    if low.cost is None or high.cost is None:
        return "unknown"
    return _span(f"${low.cost:.4f}", f"${high.cost:.4f}")


def assumptions(config: Config, found: Mapping[str, Range], tokens: Counter, prices: Prices) -> str:
    """What the figures rest on, a line each."""
    lines = [LOW, HIGH, NOT_IN_IT, f"tokens: {tokens.how}; other vocabularies make more or fewer", _prices(config)]
    if any(needed.high.cost is None for needed in found.values()):
        lines.append("unknown: a model that no price list knows on that server; name its price in a file (--prices)")
    elif discount := prices.batch_discount(config.model or DEFAULT_MODEL, server_address(config.base_url)):
        lines.append(f"in the provider's batch queue {discount:.0%} less; mtagent sends no batches itself")
    return "\n".join(lines)


def _prices(config: Config) -> str:
    own = f"{config.prices}, then " if config.prices else ""
    return f"prices: {own}the public list prices that came with genai-prices"
