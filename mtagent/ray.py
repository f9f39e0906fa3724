"""Improve translations with Ray: a class for ``map_batches``, and the engine of ``mtagent postedit --engine ray``."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mtagent.config import Config
from mtagent.errors import ConfigError, MissingExtra, MtagentError
from mtagent.jobs.tables import LEDGER, TableImprover, folder_of
from mtagent.llm.ledger import Ledger

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
        self._improver = TableImprover.from_settings(settings, _ledger(folder_of(settings)))

    def __call__(self, table: pyarrow.Table) -> pyarrow.Table:
        """The table with the columns that are added."""
        if not hasattr(table, "append_column"):
            raise ConfigError(f'expected an Arrow table, not {type(table).__name__}: set batch_format="pyarrow"')
        return self._improver.improve(table)


def ledger_actor(folder: Path) -> Any:
    """The actor with the ledger of all workers whose stores are in ``folder``.

    It is restarted if it dies, and then reads its file again.
    """
    path = folder.absolute() / LEDGER
    actor = ray.remote(Ledger).options(
        name=f"ledger-{hashlib.sha256(str(path).encode()).hexdigest()[:16]}",
        namespace=NAMESPACE,
        get_if_exists=True,
        lifetime="detached",  # otherwise it would end with the worker that asks first
        max_restarts=-1,
        max_task_retries=-1,
        num_cpus=0,
    )
    return actor.remote(path)


class _RemoteLedger:
    """Calls the methods of the ledger in an actor."""

    def __init__(self, folder: Path) -> None:
        self._actor = ledger_actor(folder)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._actor, name)
        return lambda *values: ray.get(method.remote(*values))


def _ledger(folder: Path) -> Ledger:
    return cast(Ledger, _RemoteLedger(folder))


def _end_ledger(folder: Path) -> None:
    """End the actor with the ledger, which would outlive the job. Its file stays."""
    with suppress(ray.exceptions.RayError):
        ray.kill(ledger_actor(folder))


class _ImproveSegments(Improve):
    """Improves the tables that ``mtagent postedit`` makes of its input."""

    def __init__(self, config: Config, folder: Path) -> None:
        self._improver = TableImprover(config, folder, ledger=_ledger(folder))


class RayEngine:
    """Improves the shards of a run with Ray's workers: see :class:`mtagent.jobs.tables.Engine`.

    ``RAY_ADDRESS`` names a cluster; without it, Ray starts on this machine. ``workers`` is by default the number of the
    cluster's processors.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers
        self._folder: Path | None = None

    def ledger(self, folder: Path) -> Ledger:
        """The ledger of all workers."""
        if not ray.is_initialized():
            try:
                ray.init(log_to_driver=False, logging_level="error", include_dashboard=False)
            except (ConnectionError, ValueError) as error:
                raise ConfigError(f"Ray cannot be started or reached (RAY_ADDRESS): {error}") from error
        self._folder = folder
        return _ledger(folder)

    def improve(self, tables: list[pyarrow.Table], config: Config, folder: Path) -> Iterator[pyarrow.Table]:
        """The improved tables."""
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        for name in ("ray.data", "ray._private.worker"):
            logging.getLogger(name).setLevel(logging.ERROR)
        try:
            if not tables:
                return
            workers = min(self._workers or int(ray.cluster_resources()["CPU"]), len(tables))
            improved = ray.data.from_arrow(tables).map_batches(
                _ImproveSegments,
                fn_constructor_kwargs={"config": config, "folder": folder},
                batch_size=None,  # a table is a batch
                batch_format="pyarrow",
                compute=ray.data.ActorPoolStrategy(size=workers),
            )
            yield from improved.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
        except ray.exceptions.RayError as error:
            raise MtagentError(
                f"Ray has stopped the job: {error}. Finished shards are stored: the same command continues from there"
            ) from error
        finally:
            if ray.is_initialized():
                _end_ledger(folder)

    def stop(self) -> None:
        """End all workers of this job."""
        if self._folder is not None and ray.is_initialized():
            _end_ledger(self._folder)
        ray.shutdown()
