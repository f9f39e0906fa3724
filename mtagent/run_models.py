"""The models of a stored run: around each its budget, and around that the call cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mtagent.config import Config
from mtagent.errors import BudgetSpent, ServerPaused
from mtagent.llm.budget import Budgeted, budget_of
from mtagent.llm.cached import Cached, KeyedLLM
from mtagent.protocols import LLM
from mtagent.store import Run, Store

if TYPE_CHECKING:
    from mtagent.llm.limiter import Limiter


class RunModels:
    """Made before the run is started, so that a setting that fails leaves no run behind."""

    def __init__(self, config: Config, store: Store) -> None:
        self._store, self._budget = store, budget_of(config)
        self._cached: list[Cached] = []
        self._limiters: set[Limiter] = set()

    def asleep(self) -> int:
        """How many calls sleep because the server turned them away."""
        return sum(limiter.asleep for limiter in self._limiters)

    def wrap(self, llm: LLM) -> LLM:
        """``llm`` with what belongs around it. A stored reply costs nothing and needs no budget."""
        if limiter := getattr(llm, "limiter", None):
            self._limiters.add(limiter)
        paid = Budgeted(llm, self._budget) if self._budget else llm
        if not isinstance(paid, KeyedLLM):
            return paid
        self._cached.append(Cached(paid, self._store))
        return self._cached[-1]

    @contextmanager
    def working_on(self, run: Run) -> Iterator[None]:
        """Let the models work on ``run``, which is marked as stopped where the budget is spent or the
        server asks for a long pause."""
        for model in self._cached:
            model.run_id = run.id
        if self._budget:
            self._budget.begin(run.name, run.usages())
        try:
            yield
        except (BudgetSpent, ServerPaused):
            run.finish("stopped")
            raise
