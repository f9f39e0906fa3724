"""A run whose segments are improved elsewhere, by the workers of an engine such as Ray.

The input is cut into shards by position. A worker improves a shard in a store of its own (:mod:`mtagent.jobs.tables`),
and this process copies finished shards into the run. A shard with failed segments keeps its store, which answers what
was paid for when the run is resumed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mtagent.config import Config
from mtagent.errors import FATAL, ConfigError, MtagentError
from mtagent.jobs.context import Placed
from mtagent.jobs.pool import Outcome
from mtagent.jobs.tables import TableImprover, store_of
from mtagent.llm.ledger import Ledger
from mtagent.records import Chain, Segment
from mtagent.store.merging import StoredShard, copy_run
from mtagent.store.runs import Run
from mtagent.store.store import Store

if TYPE_CHECKING:
    import pyarrow

SHARD = 500
"""Segments in a shard. It must not change: resuming a run cuts the same shards again."""


class Engine(Protocol):
    """Improves tables with the workers of a cluster."""

    def ledger(self, folder: Path) -> Ledger:
        """The ledger that all workers share; its file is in ``folder``."""
        ...

    def improve(self, tables: list[pyarrow.Table], config: Config, folder: Path) -> Iterator[pyarrow.Table]:
        """The tables as :meth:`TableImprover.improve` returns them, in any order, each when it is done."""
        ...

    def stop(self) -> None:
        """End all work at once, while :meth:`improve` waits in its thread. What the workers have stored stays."""
        ...


def refuse_dependent(config: Config, *, is_settled: bool) -> None:
    """Raise :class:`ConfigError` for settings with which a segment depends on others, maybe of another shard."""
    if config.context:
        raise ConfigError("context: segments would have to wait for earlier segments: leave context or --engine out")
    if not is_settled:
        raise ConfigError(
            "gate gain: depends on edits of the whole run: calibrate it first (mtagent gate calibrate) and set "
            "calibration, or leave --engine out"
        )


async def improve_elsewhere(
    engine: Engine,
    config: Config,
    places: Iterable[Placed],
    store: Store,
    run: Run,
    note: Callable[[Chain], Outcome],
) -> None:
    """Improve all segments that ``run`` has not finished, save them in ``run``, and ``note`` each chain.

    Raises the first error that stopped the work on a shard, when all shards have ended.
    """
    folder = Path(f"{store.database.path}.shards") / str(run.id)
    # The terms are in the segments already, and the workers may not see the files.
    config = config.model_copy(update={"glossary": None, "keep": None, "memory": ()})
    ledger = await asyncio.to_thread(engine.ledger, folder)
    _open_account(run, ledger)
    improver = TableImprover(config, folder, ledger=ledger)
    positions: dict[str, int] = {}  # of the segments in the shards, by id
    tables: list[pyarrow.Table] = []
    for _, group in groupby(places, key=lambda place: place.position // SHARD):
        shard = list(group)
        pending = [place for place in shard if not run.done(place.position)]
        if not pending:
            continue
        segments = [place.segment for place in shard]
        if not store_of(folder, improver.shard(segments)).exists():
            segments = [place.segment for place in pending]
        for place in shard:
            positions[place.segment.id] = place.position
        tables.append(table_of(segments))
    stopped: MtagentError | None = None
    improved = engine.improve(tables, config, folder)
    while True:
        try:
            table = await _next(improved)
        except asyncio.CancelledError:
            engine.stop()
            raise
        if table is None:
            break
        name = table["shard"][0].as_py()
        path = store_of(folder, name)
        if path.exists():
            for position in copy_run(StoredShard(path, name), store, run, positions):
                note(run.chain_at(position))
        if table["error"].null_count == table.num_rows:
            for file in folder.glob(f"{name}.db*"):
                file.unlink()
        elif stopped is None:
            stopped = _error_without_chain(table, run, positions)
    if stopped is not None:
        raise stopped


async def _next(tables: Iterator[pyarrow.Table]) -> pyarrow.Table | None:
    """The next table, ``None`` at the end.

    It is waited for in a daemon thread. A thread of ``asyncio.to_thread`` would keep a stopped process until the next
    shard is finished.
    """
    table: Future[pyarrow.Table | None] = Future()

    def wait() -> None:
        try:
            table.set_result(next(tables, None))
        except Exception as error:  # noqa: BLE001 raised where the table is awaited
            table.set_exception(error)

    threading.Thread(target=wait, daemon=True).start()
    # Shielded: a cancelled future could not take the result of the thread.
    return await asyncio.shield(asyncio.wrap_future(table))


def table_of(segments: Iterable[Segment]) -> pyarrow.Table:
    """The segments as a table, with all their fields."""
    import pyarrow

    flags = [("forbidden", "bool"), ("case_sensitive", "bool")]
    term = pyarrow.struct([("source", "string"), ("target", "string"), *flags, ("note", "string")])
    match = pyarrow.struct(
        [
            ("source", "string"),
            ("target", "string"),
            ("similarity", "int64"),
            ("exact", "bool"),
            ("origin", "string"),
        ]
    )
    types = {
        "candidates": pyarrow.list_(pyarrow.string()),
        "terms": pyarrow.list_(term),
        "matches": pyarrow.list_(match),
        "max_length": pyarrow.int64(),
    }
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in Segment.model_fields])
    return pyarrow.Table.from_pylist([segment.model_dump(mode="json") for segment in segments], schema=schema)


def _open_account(run: Run, ledger: Ledger) -> None:
    """Count what the run has paid without this engine."""
    dollars, tokens = ledger.total()
    usage = run.usage()
    missing = (max(0.0, (usage.cost or 0.0) - dollars), max(0.0, usage.tokens - tokens))
    if any(missing):
        ledger.open(f"paid before, besides {tokens:.0f} tokens", missing)


def _error_without_chain(table: pyarrow.Table, run: Run, positions: dict[str, int]) -> MtagentError | None:
    """The error of the first row whose segment was not worked on to the end; ``None`` if there is no such row."""
    kinds = {kind.__name__: kind for kind in FATAL}
    for row in table.select(["id", "error", "error_kind"]).to_pylist():
        if row["error"] is not None and run.text_at(positions[row["id"]]) is None:
            return kinds.get(row["error_kind"], MtagentError)(row["error"])
    return None
