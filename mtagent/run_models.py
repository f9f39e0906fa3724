"""The models of a stored run: around each its budget, and around that the call cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mtagent.config import Config
from mtagent.errors import BudgetSpent, ServerPaused
from mtagent.llm.budget import Budgeted, budget_of
from mtagent.llm.cached import Cached, KeyedLLM
from mtagent.protocols import LLM
from mtagent.store import Run, Store


class RunModels:
    """Made before the run is started, so that a setting that fails leaves no run behind."""

    def __init__(self, config: Config, store: Store) -> None:
        self._store, self._budget = store, budget_of(config)
        self._cached: list[Cached] = []
        self._concurrency = config.concurrency
        self._limited = False

    @property
    def segments_at_once(self) -> int:
        """How many segments to have in work: where a limiter bounds the calls, twice as many as calls, so that segments
        whose calls wait for the server to take them again do not keep the others from working.
        """
        return self._concurrency * (2 if self._limited else 1)

    def wrap(self, llm: LLM) -> LLM:
        """``llm`` with what belongs around it. A stored reply costs nothing and needs no budget."""
        self._limited = self._limited or hasattr(llm, "limiter")
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
