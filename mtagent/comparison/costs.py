"""What a stage took: as it was stored, or in dollars by another price list."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mtagent.comparison.held import HeldRun, Spent
from mtagent.comparison.rows import PAID, Cost
from mtagent.config import Config, Role
from mtagent.pricing import Prices
from mtagent.records import Usage

_ROLES: tuple[Role | None, ...] = (None, "translate", "postedit", "proofread", "judge")


class Bills:
    """Adds up calls; with a price file their dollars are computed anew from the tokens, by it and the public list."""

    def __init__(self, path: Path | None = None) -> None:
        self._prices = Prices(path) if path else None
        self.told = f"by {path} and, where it names no price, today's public list" if path else PAID

    def total(self, spent: Iterable[Spent], run: HeldRun) -> Usage:
        """The sum of calls of ``run``; its cost is unknown where that of one call is."""
        if self._prices is None:
            return Usage.total(call.usage for call in spent)
        servers = _servers(run.settings)
        return Usage.total(self._priced(call.model, call.usage, servers, self._prices) for call in spent)

    def _priced(self, model: str, usage: Usage, servers: dict[str, str | None], prices: Prices) -> Usage:
        if not usage.input_tokens + usage.output_tokens:
            return usage  # nothing was counted: reused, failed, or a server that reports no usage
        asked = _asked(model, servers)
        cost = prices(asked, usage, servers.get(asked))
        if cost is None and asked != model:
            cost = prices(model, usage, servers.get(asked))
        return usage.model_copy(update={"cost": cost})

    def cost(self, run: HeldRun, system: str) -> Cost:
        """What a stage took; for ``final`` what the run has paid, where the calls of all its steps are compared."""
        usage = self.total(run.spent(system), run)
        if system == "final" and unaccounted(run, self) is not None:
            usage = self.total(run.paid, run).model_copy(update={"reused": usage.reused})
        return Cost(usage=usage, seconds=run.seconds(system))


def unaccounted(run: HeldRun, bills: Bills) -> Usage | None:
    """What ``run`` has paid for calls that no stored step holds; ``None`` where there is nothing of the kind.

    These are the calls of failed tries that were replaced, and of segments under way.
    """
    if not run.whole:
        return None
    paid, told = bills.total(run.paid, run), bills.total(run.spent("final"), run)
    counts = {name: getattr(paid, name) - getattr(told, name) for name in _COUNTS}
    if any(number < 0 for number in counts.values()) or not any(counts.values()):
        return None
    cost = None if paid.cost is None or told.cost is None else max(0.0, paid.cost - told.cost)
    return Usage(**counts, cost=cost)


_COUNTS = ("calls", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


def _servers(settings: Any) -> dict[str, str | None]:
    """The models that a run asked, and the addresses of their servers."""
    try:
        config = Config.model_validate({name: settings[name] for name in settings if name in Config.model_fields})
    except ValidationError:
        return {}
    asked = [config.model_for(role) for role in _ROLES]
    return {one.model: one.base_url for one in reversed(asked) if one.model}


def _asked(model: str, servers: dict[str, str | None]) -> str:
    """The name by which a model was asked for; servers reply with longer ones (``gpt-4o-mini-2024-07-18``)."""
    if model in servers:
        return model
    if len(servers) == 1:
        return next(iter(servers))
    return max((name for name in servers if model.startswith(name)), key=len, default=model)
