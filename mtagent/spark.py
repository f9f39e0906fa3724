"""Improve translations with Spark: a function for ``mapInPandas`` that does what :class:`mtagent.ray.Improve` does."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mtagent.formats.segments import named_fields
from mtagent.jobs.tables import LEDGER, RESULTS, TableImprover, folder_of
from mtagent.llm.ledger import Ledger

if TYPE_CHECKING:
    import pandas
    from pyspark.sql.types import StructType

ImproveFrames = Callable[[Iterator["pandas.DataFrame"]], Iterator["pandas.DataFrame"]]


def improve(*, ledger_host: str = "127.0.0.1", **settings: Any) -> ImproveFrames:
    """A function for ``frame.mapInPandas(improve(…), output_schema(frame.schema))``.

    ``settings`` are those of :class:`mtagent.ray.Improve`. All workers share budget and limits through a server in this
    process at ``ledger_host``, an address of this machine that the workers reach. Raises :class:`ConfigError`.
    """
    TableImprover.from_settings(settings)  # a wrong setting is refused here, and not by each worker
    address, key = _serve(folder_of(settings), ledger_host)

    def improve_frames(frames: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        import pyarrow

        improver = TableImprover.from_settings(settings, _connected(address, key))
        for frame in frames:
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
            yield improver.improve(table).to_pandas()

    return improve_frames


def output_schema(schema: StructType, prefix: str = "") -> StructType:
    """The schema of improved frames; ``prefix`` as in the settings."""
    from pyspark.sql import types

    of_column = {
        "string": types.StringType(),
        "bool": types.BooleanType(),
        "int64": types.LongType(),
        "double": types.DoubleType(),
    }
    fields = list(schema.fields)
    if "id" not in named_fields(schema.names, "the frame"):
        fields.append(types.StructField("id", types.StringType()))
    for name, column_type in RESULTS.items():
        fields.append(types.StructField(prefix + name, of_column[column_type]))
    return types.StructType(fields)


def _serve(folder: Path, host: str) -> tuple[tuple[str, int], bytes]:
    """Serve the ledger from a thread, as long as this process lives; return its address and its key."""
    ledger = Ledger(folder.absolute() / LEDGER)

    class LedgerServer(BaseManager):
        """Has the ledger."""

    LedgerServer.register("ledger", callable=lambda: ledger)
    key = secrets.token_bytes(32)
    server = LedgerServer((host, 0), key).get_server()
    threading.Thread(target=server.serve_forever, name="mtagent-ledger", daemon=True).start()
    return cast(tuple[str, int], server.address), key


def _connected(address: tuple[str, int], key: bytes) -> Ledger:
    """The ledger at ``address``."""

    class LedgerClient(BaseManager):
        """Finds the ledger."""

    LedgerClient.register("ledger")
    client = LedgerClient(address, key)
    client.connect()
    return cast(Ledger, cast(Any, client).ledger())
