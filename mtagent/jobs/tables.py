"""Improve Arrow tables of segments, for engines that work on many tables at the same time, in many processes.

A table is a shard: it has a run in a separate store, named by a hash of its segments and settings. The same table
again is answered from this store. A row that cannot be improved has an error; nothing is raised.

With an :class:`Engine` such as Ray, a stored run leaves its segments to such workers (:func:`improve_elsewhere`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mtagent.config import Config
from mtagent.errors import FATAL, ConfigError, InputError, MtagentError
from mtagent.formats.glossary import GlossaryFor, read_terms
from mtagent.formats.segments import named_fields, segment
from mtagent.jobs.agent import AgentRun
from mtagent.jobs.context import Placed
from mtagent.jobs.inputs import content_hashes, segment_defaults
from mtagent.jobs.parts import OwnParts, checked_plan, effective, settings_for_results
from mtagent.jobs.pool import Outcome
from mtagent.jobs.python_inputs import loaded
from mtagent.llm.budget import CallCosts
from mtagent.llm.ledger import LeasedBudget, Ledger
from mtagent.records import Chain, ErrorCause, Segment, Usage
from mtagent.store.runs import Run
from mtagent.store.store import Store, StoredShard, copy_run
from mtagent.text import languages

if TYPE_CHECKING:
    import pyarrow

logger = logging.getLogger(__name__)

LEDGER = "ledger.jsonl"
"""The file of the ledger, in the folder of the stores."""
RESULTS = {
    "text": "string",
    "changed": "bool",
    "error": "string",
    "error_kind": "string",
    "calls": "int64",
    "input_tokens": "int64",
    "cached_tokens": "int64",
    "cache_write_tokens": "int64",
    "output_tokens": "int64",
    "reasoning_tokens": "int64",
    "cost": "double",
    "shard": "string",
}
"""The columns that are added to a table, with their Arrow types."""
_USAGE = (
    *("calls", "input_tokens", "cached_tokens", "cache_write_tokens"),
    *("output_tokens", "reasoning_tokens", "cost"),
)
_FOREIGN = {
    "run": "each shard has a run of its own",
    "limit": "pass only as many rows as you need",
    "context": "the segments before may be in another table; give each row its context, in a column context",
}


class _TableRow(NamedTuple):
    """A row of a table: its id, and its segment or the reason why it has none."""

    id: str
    segment: Segment | None
    error: InputError | None


class TableImprover:
    """Improves tables with one configuration. The stores of the shards are in ``folder``.

    Budget and limits per minute are shared with all processes that have the same ``ledger``; by default, there are no
    others. The added columns have names that begin with ``prefix``. Raises :class:`ConfigError` for settings that
    cannot work.
    """

    def __init__(
        self,
        config: Config,
        folder: Path,
        *,
        ledger: Ledger | None = None,
        terms: GlossaryFor | None = None,
        prefix: str = "",
    ) -> None:
        self.folder = folder.absolute()
        self._ledger = ledger or Ledger(self.folder / LEDGER)
        self._costs = CallCosts()  # known from one shard to the next
        self._own = OwnParts(ledger=self._ledger)
        checked_plan(config, self._own)
        self._config = config
        self._terms = terms or read_terms(None, None)
        self._prefix = prefix
        settings = settings_for_results(effective(config, self._own))
        self._settings = repr((settings, content_hashes({}, config))).encode()

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], ledger: Ledger | None = None) -> TableImprover:
        """An improver from plain settings: those of :class:`mtagent.Agent` that are not objects, and the languages.

        ``store`` is the folder of the stores. Raises :class:`ConfigError`.
        """
        settings = dict(settings)
        folder = folder_of(settings)
        del settings["store"]
        for name, reason in _FOREIGN.items():
            if settings.get(name) is not None:
                raise ConfigError(f"{name}: has no effect here: {reason}")
        for name in ("source_lang", "target_lang"):
            if settings.get(name) is not None:
                settings[name] = languages.normalise(settings[name])
        if isinstance(settings.get("judge"), str | Sequence):
            settings["judge"] = {"evaluator": settings["judge"]}
        prefix = settings.pop("prefix", "")
        files = [settings.pop(name, None) for name in ("glossary", "keep")]
        config, terms = loaded(settings.pop("config_file", None), settings, *files)
        return cls(config, folder, ledger=ledger, terms=terms, prefix=prefix)

    def improve(self, table: pyarrow.Table) -> pyarrow.Table:
        """The table with the columns :data:`RESULTS`, and a column ``id`` if it has none."""
        import pyarrow

        names = [self._prefix + name for name in RESULTS]
        for name in names:
            if name in table.column_names:
                raise ConfigError(f"prefix: the table has a column {name!r} already; set another prefix or rename it")
        rows, has_ids = self._rows(table)
        segments: dict[str, Segment] = {}
        for row in rows:
            if row.segment is not None:
                segments[row.id] = row.segment
        shard = self.shard(segments.values())
        chains: dict[str, Chain] = {}
        stopped: Exception | None = None
        if segments:
            chains, stopped = self._chains(shard, list(segments.values()))
        results: dict[str, list[Any]] = {name: [] for name in RESULTS}
        counted: set[str] = set()
        for row in rows:
            result = _result(row, chains.get(row.id), stopped, is_repeated=row.id in counted)
            counted.add(row.id)
            for name in RESULTS:
                results[name].append(shard if name == "shard" else result[name])
        if not has_ids and "id" not in table.column_names:
            table = table.append_column("id", pyarrow.array([row.id for row in rows], "string"))
        for name, column_type in RESULTS.items():
            table = table.append_column(self._prefix + name, pyarrow.array(results[name], column_type))
        return table

    def _rows(self, table: pyarrow.Table) -> tuple[list[_TableRow], bool]:
        """The rows, and whether they have ids."""
        names = table.column_names
        try:
            fields = {field: names[index] for field, index in named_fields(names, "the table").items()}
            ambiguous = None
        except InputError as error:
            fields, ambiguous = {}, error
        for name in ("terms", "candidates", "matches"):
            if name in names:
                fields[name] = name
        defaults = segment_defaults(self._config).model_dump(exclude_none=True)
        numbers: dict[str, int] = {}  # of rows, by id
        rows: list[_TableRow] = []
        for number, cells in enumerate(table.select(list(fields.values())).to_pylist(), start=1):
            values = {field: cells[name] for field, name in fields.items() if cells[name] is not None}
            row = _read_row(values, defaults, number, has_ids="id" in fields)
            if ambiguous is not None:
                row = _TableRow(row.id, None, ambiguous)
            elif row.segment is not None:
                first = numbers.setdefault(row.id, number)
                if first < number and rows[first - 1].segment != row.segment:
                    same_id = f"row {number}: the id {row.id!r} was already used in row {first} for another segment"
                    row = _TableRow(row.id, None, InputError(same_id))
            rows.append(row)
        return rows, "id" in fields

    def shard(self, segments: Iterable[Segment]) -> str:
        """The name of the shard with these segments, and of its run."""
        digest = hashlib.sha256(self._settings)
        for item in segments:
            digest.update(item.model_dump_json(exclude_defaults=True).encode())
        return f"shard-{digest.hexdigest()[:16]}"

    def _chains(self, shard: str, segments: list[Segment]) -> tuple[dict[str, Chain], Exception | None]:
        """The chains by segment, and the error that stopped the work on the others."""
        chains: Sequence[Chain] = ()
        stopped: Exception | None = None
        try:
            budget = self._budget(shard)
            update = {"store": store_of(self.folder, shard), "run": shard}
            config = self._config.model_copy(update=update)
            run = AgentRun(config, self._own, self._terms, budget=budget, on_step=lambda *_: None)
            try:
                chains = run.improve(segments)
            finally:
                if budget is not None:
                    budget.close()
        except MtagentError as error:
            chains, stopped = error.chains, error
        except Exception as error:
            logger.exception("%s: stopped by an unexpected error", shard)  # which must not stop the other shards
            stopped = error
        return {chain.segment.id: chain for chain in chains}, stopped

    def _budget(self, shard: str) -> LeasedBudget | None:
        if self._config.budget or self._config.token_budget:
            return LeasedBudget(self._ledger, shard, self._config.budget, self._config.token_budget, self._costs)
        return None


def folder_of(settings: Mapping[str, Any]) -> Path:
    """The folder that ``settings`` name. Raises :class:`ConfigError` if they don't."""
    folder = settings.get("store")
    if not folder or Path(folder).is_file():
        raise ConfigError("store: expected a folder for the stores of the shards, which every worker can read")
    return Path(folder)


def store_of(folder: Path, shard: str) -> Path:
    """The store of a shard, whose run has the shard's name."""
    return folder / f"{shard}.db"


def _read_row(values: dict[str, Any], defaults: Mapping[str, str], number: int, *, has_ids: bool) -> _TableRow:
    """A row with its id, or with an id made from its content, which is the same in any table."""
    where = f"row {number}"
    if has_ids:
        row_id = str(values.get("id", ""))
    else:
        content = json.dumps(values, sort_keys=True, default=repr)
        row_id = hashlib.sha256(content.encode(errors="replace")).hexdigest()[:16]
    try:
        if not row_id:
            raise InputError(f"{where}: has no id; fill the column, or leave it out")
        return _TableRow(row_id, segment({**values, "id": row_id}, defaults, number, where), None)
    except InputError as error:
        return _TableRow(row_id, None, error)


def _result(row: _TableRow, chain: Chain | None, stopped: Exception | None, *, is_repeated: bool) -> dict[str, Any]:
    """The values of the columns :data:`RESULTS` for one row; only the first row of a segment has its cost."""
    text = None if row.segment is None else row.segment.translation
    usage = Usage()
    error: Exception | None = row.error or stopped
    kind = type(error).__name__
    changed = False
    message = None if error is None else str(error)
    if row.segment is not None and chain is not None:
        text, changed, message = chain.text, chain.changed, None
        if not is_repeated:
            usage = chain.usage
        failed = chain.failed
        if failed is not None:
            message = f"{failed.stage}: {failed.reason}"
            kind = failed.cause.error if isinstance(failed.cause, ErrorCause) else failed.cause.kind
    result: dict[str, Any] = {"text": text, "changed": changed, "error": None, "error_kind": None}
    if message is not None:
        result["error"] = message.encode(errors="replace").decode()  # half a character would be refused
        result["error_kind"] = kind
    return result | usage.model_dump(include=set(_USAGE))


# -- a run whose segments are improved elsewhere, by the workers of an engine
#
# The input is cut into shards by position. A worker improves a shard in a separate store, and this process copies
# finished shards into the run. A shard with failed segments keeps its store, which answers paid requests when the
# run is resumed.

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
