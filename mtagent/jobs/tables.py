"""Improve Arrow tables of segments, for engines that work on many tables at the same time, in many processes.

A table is a shard: it has a run in a store of its own, named by a hash of its segments and settings. The same table
again is answered from this store. A row that cannot be improved has an error; nothing is raised.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mtagent.config import Config
from mtagent.errors import ConfigError, InputError, MtagentError
from mtagent.formats.glossary import GlossaryFor, read_terms
from mtagent.formats.segments import named_fields, segment
from mtagent.jobs.agent import AgentRun
from mtagent.jobs.inputs import content_hashes, segment_defaults
from mtagent.jobs.parts import OwnParts, checked_plan, effective, settings_for_results
from mtagent.jobs.python_inputs import loaded
from mtagent.llm.budget import CallCosts
from mtagent.llm.ledger import LeasedBudget, Ledger
from mtagent.records import Chain, ErrorCause, Segment, Usage
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
        """The rows, and whether they have ids of their own."""
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
    """A row with its own id, or one that is made from its content, so that it is the same in any table."""
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
