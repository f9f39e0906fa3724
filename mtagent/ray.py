"""Improve translations with Ray: a class for ``map_batches``, and the engine of ``mtagent postedit --engine ray``."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtagent.config import Config
from mtagent.errors import ConfigError, MissingExtra
from mtagent.jobs.tables import LEDGER, TableImprover, folder_of
from mtagent.llm.ledger import Ledger, Lender

try:
    import ray
    import ray.data
except ImportError:
    raise MissingExtra("mtagent.ray", "ray") from None

if TYPE_CHECKING:
    import pyarrow

NAMESPACE = "mtagent"
"""The namespace of the actors with ledgers."""


class Improve:
    """Improves Arrow tables of segments: ``dataset.map_batches(Improve, …, batch_format="pyarrow")``.

    ``settings`` are the plain settings of :class:`mtagent.Agent`, ``source_lang`` and ``target_lang`` for rows without
    these columns, and ``store``, a folder for the stores of the shards, which every worker must see. All columns are
    kept. The added ones are ``id``, if there is none, and those of :data:`mtagent.jobs.tables.RESULTS`, whose names
    begin with ``prefix``. A row that could not be improved has an ``error``; no row raises an exception.

    All workers with the same ``store`` share ``budget``, ``token_budget``, ``requests_per_minute`` and
    ``tokens_per_minute``; ``concurrency`` is for each worker. Raises :class:`ConfigError` for wrong settings.
    """

    def __init__(self, **settings: Any) -> None:
        self._improver = TableImprover.from_settings(settings, LedgerActor(folder_of(settings)))

    def __call__(self, table: pyarrow.Table) -> pyarrow.Table:
        """The table with the columns that are added."""
        if not hasattr(table, "append_column"):
            raise ConfigError(f'expected an Arrow table, not {type(table).__name__}: set batch_format="pyarrow"')
        return self._improver.improve(table)


class LedgerActor:
    """A lender that asks an actor, the same one for all workers whose stores are in ``folder``.

    The actor is restarted if it dies, and then reads its file again.
    """

    def __init__(self, folder: Path) -> None:
        path = folder.absolute() / LEDGER
        self.actor = (
            ray.remote(Ledger)
            .options(
                name=f"ledger-{hashlib.sha256(str(path).encode()).hexdigest()[:16]}",
                namespace=NAMESPACE,
                get_if_exists=True,
                lifetime="detached",  # otherwise it would end with the worker that asks first
                max_restarts=-1,
                max_task_retries=-1,
                num_cpus=0,
            )
            .remote(path)
        )

    def open(self, account: str, paid: tuple[float, float]) -> None:
        """See :class:`Lender`."""
        ray.get(self.actor.open.remote(account, paid))

    def lease(
        self, account: str, needed: tuple[float, float], limit: tuple[float, float]
    ) -> tuple[float, float] | None:
        """See :class:`Lender`."""
        leased: tuple[float, float] | None = ray.get(self.actor.lease.remote(account, needed, limit))
        return leased

    def total(self) -> tuple[float, float]:
        """See :class:`Lender`."""
        total: tuple[float, float] = ray.get(self.actor.total.remote())
        return total

    def reserve(self, unit: str, limit: float, amount: float) -> float:
        """See :class:`Lender`."""
        seconds: float = ray.get(self.actor.reserve.remote(unit, limit, amount))
        return seconds


class _ImproveSegments(Improve):
    """Improves the tables that ``mtagent postedit`` makes of its input."""

    def __init__(self, config: Config, folder: Path) -> None:
        self._improver = TableImprover(config, folder, lender=LedgerActor(folder))


class RayEngine:
    """Improves the shards of a run with Ray's workers: see :class:`mtagent.jobs.engines.Engine`.

    ``RAY_ADDRESS`` names a cluster; without it, Ray starts on this machine. ``workers`` is by default the number of the
    cluster's processors.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers
        self._ledger: LedgerActor | None = None

    def lender(self, folder: Path) -> Lender:
        """The ledger of all workers."""
        if not ray.is_initialized():
            os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
            ray.init(log_to_driver=False, logging_level="error", include_dashboard=False)
        self._ledger = LedgerActor(folder)
        return self._ledger

    def improve(self, tables: list[pyarrow.Table], config: Config, folder: Path) -> Iterator[pyarrow.Table]:
        """The improved tables."""
        if not tables:
            return
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        for name in ("ray.data", "ray._private.worker"):
            logging.getLogger(name).setLevel(logging.ERROR)
        workers = min(self._workers or int(ray.cluster_resources()["CPU"]), len(tables))
        improved = ray.data.from_arrow(tables).map_batches(
            _ImproveSegments,
            fn_constructor_kwargs={"config": config, "folder": folder},
            batch_size=None,  # a table is a batch
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=workers),
        )
        try:
            yield from improved.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
        finally:
            if self._ledger is not None:
                ray.kill(self._ledger.actor)  # its file stays
