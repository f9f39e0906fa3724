"""``python -m bench.engines ray``: a job on two workers, one of which is killed, against the same job in one process.

The ledger is killed, too; in the end it must have the tokens that all stores together have paid. Some rows are
poisoned: they have no source, an unknown language, or no id. Every row must come back, the poisoned ones with an error,
all others with the text that the single process made. ``python -m bench.engines spark`` does the same with Spark, where
nothing is killed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow

from bench.harness import simulator
from mtagent.jobs.agent import Agent
from mtagent.jobs.tables import LEDGER
from mtagent.llm.ledger import Ledger
from mtagent.records import Segment
from mtagent.store import Store

WORKERS = 2
POISONED_EACH = 97
POISON: tuple[dict[str, Any], ...] = ({"source": None}, {"target_lang": "no such"}, {"id": ""})


class Rows(NamedTuple):
    """The result of an engine: the improved table, seconds without the start of the engine, killed processes."""

    table: pyarrow.Table
    seconds: float
    killed: int


def table_of(count: int) -> pyarrow.Table:
    """``count`` rows, one of which in each 97 is poisoned in one of three ways."""
    rows: list[dict[str, Any]] = []
    for number in range(count):
        row: dict[str, Any] = {
            "id": str(number),
            "source": f"The cat number {number} sat here.",
            "translation": f"El gato número {number} se sentó errado aquí.",
            "target_lang": "es",
            "author": f"author {number % 7}",
        }
        if number % POISONED_EACH == POISONED_EACH - 1:
            row |= POISON[number % len(POISON)]
        rows.append(row)
    return pyarrow.Table.from_pylist(rows)


def settings_of(base_url: str, store: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Plain settings, as a user gives them."""
    return {
        "store": str(store),
        "base_url": base_url,
        "model": "simulator",
        "stages": "pe",
        "gate": options.gate,
        "source_lang": "en",
        "concurrency": options.concurrency,
        "token_budget": 10**12,
        "requests_per_minute": 10**6,
    }


class Alone(NamedTuple):
    """What one process makes of the good rows in one run: texts by id, seconds, processor time, bytes of the store."""

    texts: dict[str, str]
    seconds: float
    cpu: float
    bytes: int


def alone(table: pyarrow.Table, settings: dict[str, Any]) -> Alone:
    """Improve the good rows in this process."""
    segments: list[Segment] = []
    for row in table.to_pylist():
        if row["id"] and row["source"] and row["target_lang"] == "es":
            del row["author"]
            segments.append(Segment(**row, source_lang="en"))
    store = f"{settings['store']}.single.db"
    plain = {name: value for name, value in settings.items() if name not in ("store", "source_lang")}
    began, cpu = time.perf_counter(), time.process_time()
    chains = Agent(**plain).run("single", store=store).improve(segments)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return Alone({chain.segment.id: chain.text for chain in chains}, seconds, cpu, Path(store).stat().st_size)


def with_ray(table: pyarrow.Table, settings: dict[str, Any], options: argparse.Namespace) -> Rows:
    """Improve the table with two workers of Ray, and kill one when a quarter of the shards is there."""
    import ray.data

    from mtagent.ray import Improve, ledger_actor

    class NotingImprove(Improve):
        """Notes its process, so that it can be killed."""

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            (Path(settings["store"]) / f"{os.getpid()}.pid").touch()

    ray.init(
        num_cpus=WORKERS,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    blocks = [table.slice(start, options.shard) for start in range(0, table.num_rows, options.shard)]
    dataset = ray.data.from_arrow(blocks).map_batches(
        NotingImprove,
        fn_constructor_kwargs=settings,
        batch_size=None,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=WORKERS),
    )
    folder = Path(settings["store"])
    killed: list[int] = []

    def kill() -> None:
        while len(list(folder.glob("shard-*.db"))) <= len(blocks) // 4:
            time.sleep(0.02)
        killed.append(int(next(folder.glob("*.pid")).stem))
        os.kill(killed[0], signal.SIGKILL)
        ray.kill(ledger_actor(folder), no_restart=False)

    if not options.no_kill:
        threading.Thread(target=kill, daemon=True).start()
    began = time.perf_counter()
    pages: list[pyarrow.Table] = []
    times: list[float] = []
    for page in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
        pages.append(page)
        times.append(time.perf_counter())
    seconds = times[-1] - began
    speed = (table.num_rows - pages[0].num_rows) / (times[-1] - times[0])
    sys.stdout.write(f"after the first shard: {speed:.1f} segments a second\n")
    ray.shutdown()
    return Rows(pyarrow.concat_tables(pages), seconds, len(killed))


def with_spark(table: pyarrow.Table, settings: dict[str, Any], options: argparse.Namespace) -> Rows:
    """Improve the table with two workers of a local Spark."""
    from pyspark.sql import SparkSession

    from mtagent.spark import improve, output_schema

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master(f"local[{WORKERS}]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", str(options.shard))
        .getOrCreate()
    )
    frame = session.createDataFrame(table.to_pandas())
    began = time.perf_counter()
    improved = frame.mapInPandas(improve(**settings), output_schema(frame.schema)).toPandas()
    seconds = time.perf_counter() - began
    session.stop()
    return Rows(pyarrow.Table.from_pandas(improved, preserve_index=False), seconds, 0)


def tokens_of(folder: Path) -> float:
    """What the runs of all shards have paid."""
    tokens = 0
    for path in folder.glob("shard-*.db"):
        with Store(path) as store:
            tokens += sum(run.usage.tokens for run in store.runs())
    return tokens


def main() -> None:
    """Print what was measured as a JSON object, and exit with 1 if a row is lost or wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.engines", description=__doc__)
    parser.add_argument("engine", choices=["ray", "spark"])
    parser.add_argument("--segments", type=int, default=20_000)
    parser.add_argument("--shard", type=int, default=500)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--no-kill", action="store_true", help="Kill nothing.")
    parser.add_argument("--gate", default="guards", help="guards: one call for a segment; pairwise: three.")
    parser.add_argument("--latency", type=float, default=0.2, help="Seconds that the simulated server takes to answer.")
    options = parser.parse_args()
    table = table_of(options.segments)
    with (
        tempfile.TemporaryDirectory() as folder,
        simulator(
            "--behaviour", "tests.simulator.chain:improving", "--latency", str(options.latency), lifetime=3000
        ) as base_url,
    ):
        settings = settings_of(base_url, Path(folder) / "shards", options)
        single = alone(table, settings)
        Path(settings["store"]).mkdir(exist_ok=True)
        rows = {"ray": with_ray, "spark": with_spark}[options.engine](table, settings, options)
        _, ledger_tokens = Ledger(Path(settings["store"]) / LEDGER).total()
        tokens = tokens_of(Path(settings["store"]))
    expected = single.texts
    texts: dict[str, str] = {}
    errors = 0
    for row in rows.table.select(["id", "text", "error"]).to_pylist():
        if row["error"] is None:
            texts[row["id"]] = row["text"]
        else:
            errors += 1
    report = {
        "segments": table.num_rows,
        "rows": rows.table.num_rows,
        "with error": errors,
        "equal": sum(texts.get(name) == text for name, text in expected.items()),
        "expected": len(expected),
        "shards": len(set(rows.table["shard"].to_pylist())),
        "killed workers": rows.killed,
        "tokens in all stores": tokens,
        "tokens in the ledger": ledger_tokens,
        "seconds": round(rows.seconds, 1),
        "seconds in one process": round(single.seconds, 1),
        "ms of a processor for a segment": round(1000 * single.cpu / len(expected), 2),
        "bytes for a segment": round(single.bytes / len(expected)),
    }
    sys.stdout.write(json.dumps(report) + "\n")
    complete = rows.table.num_rows == table.num_rows and errors == table.num_rows - len(expected)
    sys.exit(0 if complete and texts == expected and tokens == ledger_tokens else 1)


if __name__ == "__main__":
    main()
