"""A run that an engine works on, here a loop: the same run, the same output, resumed without paying twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mtagent.config import Config, load
from mtagent.errors import BudgetSpent, ConfigError
from mtagent.jobs import tables
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files
from mtagent.jobs.tables import LEDGER, TableImprover
from mtagent.llm.ledger import Ledger
from mtagent.records import Chain
from mtagent.store import RunSummary, Store

pyarrow = pytest.importorskip("pyarrow", reason="the extra ray is not installed")
pytestmark = [pytest.mark.extra, pytest.mark.loopback]


class Loop:
    """Improves the tables one after the other, the last one first; ``die`` is called after each."""

    def __init__(self, die: Callable[[], None] = lambda: None) -> None:
        self._die = die
        self._ledger: Any = None
        self.rows = 0

    def ledger(self, folder: Path) -> Any:
        self._ledger = Ledger(folder / LEDGER)
        return self._ledger

    def improve(self, tables: list[Any], config: Config, folder: Path) -> Iterator[Any]:
        improver = TableImprover(config, folder, ledger=self._ledger)
        for table in reversed(tables):
            self.rows += table.num_rows
            yield improver.improve(table)
            self._die()


@pytest.fixture
def job(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """``await job(name, engine, **settings)`` improves twelve segments, and returns the run; shards have five."""
    monkeypatch.setattr(tables, "SHARD", 5)
    with (tmp_path / "given.jsonl").open("w", encoding="utf-8") as file:
        for number in range(12):
            translation = f"El gato número {number} se sentó errado aquí."
            fields = {"id": f"s{number}", "source": f"The cat number {number} sat here.", "translation": translation}
            terms = [{"source": "cat", "target": "gato"}]
            file.write(json.dumps({**fields, "notes": "Formal.", "terms": terms, "max_length": 90}) + "\n")

    async def improve(name: str, engine: Loop | None, **settings: Any) -> tuple[RunSummary, list[Chain]]:
        store = tmp_path / f"{name}.db"
        plain = {"source_lang": "en", "target_lang": "es", "base_url": server, "model": "simulator", "store": store}
        chains: list[Chain] = []
        summary = await improve_file(
            load(None, plain | settings),
            Files(tmp_path / "given.jsonl", output=tmp_path / f"{name}.jsonl"),
            command="postedit",
            on_start=lambda *_: None,
            on_chain=chains.append,
            engine=engine,
        )
        return summary, chains

    return improve


def output(tmp_path: Path, name: str) -> str:
    """The written file."""
    return (tmp_path / f"{name}.jsonl").read_text(encoding="utf-8")


def shards(tmp_path: Path) -> list[Path]:
    """The stores of shards that are left."""
    return list(tmp_path.glob("loop.db.shards/*/shard-*.db"))


async def test_the_run_equals_one_without_an_engine(job: Callable[..., Any], tmp_path: Path) -> None:
    alone, _ = await job("alone", None)
    summary, chains = await job("loop", Loop())
    assert len(chains) == 12
    assert output(tmp_path, "loop") == output(tmp_path, "alone")
    same = ("name", "settings", "inputs", "counts", "state")
    assert [getattr(summary, name) for name in same] == [getattr(alone, name) for name in same]
    assert (summary.usage.calls, summary.usage.tokens) == (alone.usage.calls, alone.usage.tokens)
    with Store(tmp_path / "loop.db") as store, Store(tmp_path / "alone.db") as expected:
        for (_, chain), (_, of_alone) in zip(
            store.read(summary.name).placed_chains(), expected.read(alone.name).placed_chains(), strict=True
        ):
            assert chain.segment == of_alone.segment
            assert [step.reason for step in chain.steps] == [step.reason for step in of_alone.steps]
    assert not shards(tmp_path)


async def test_a_run_that_was_killed_goes_on_where_it_was(job: Callable[..., Any], tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def killed() -> None:
        raise Killed

    with pytest.raises(Killed):
        await job("loop", Loop(killed))
    engine = Loop()
    summary, _ = await job("loop", engine)
    alone, _ = await job("alone", None)
    assert engine.rows == 10, "the shard of two segments was in the run already"
    assert (summary.usage.calls, summary.usage.tokens) == (alone.usage.calls, alone.usage.tokens)


async def test_a_spent_budget_stops_the_run_and_more_of_it_finishes_it(job: Callable[..., Any], tmp_path: Path) -> None:
    alone, _ = await job("alone", None)
    with pytest.raises(BudgetSpent, match="stopped: "):
        await job("loop", Loop(), token_budget=30_000, max_tokens=100)
    with Store(tmp_path / "loop.db") as store:
        [run] = store.runs()
        assert run.state == "stopped"
        assert run.usage.tokens <= 30_000
    summary, _ = await job("loop", Loop(), token_budget=10_000_000, max_tokens=100)
    assert summary.counts == alone.counts
    assert summary.usage.calls == alone.usage.calls, "no call was paid for twice"


async def test_what_was_paid_without_the_engine_counts(job: Callable[..., Any], tmp_path: Path) -> None:
    alone, _ = await job("loop", None, limit=8)
    await job("loop", Loop(), token_budget=10_000_000)
    assert Ledger(tmp_path / "loop.db.shards" / "1" / LEDGER).total()[1] > alone.usage.tokens


async def test_failed_segments_keep_their_replies_for_the_next_time(job: Callable[..., Any], tmp_path: Path) -> None:
    judge = {"judge": {"evaluator": "pairwise", "base_url": "http://127.0.0.1:9/v1"}, "deadline": 0.2}
    first, chains = await job("loop", Loop(), give_up_after=0, **judge)
    assert first.counts.failed == len(chains) == 12
    assert shards(tmp_path)
    again, _ = await job("loop", Loop(), give_up_after=0, **judge)
    assert again.usage.input_tokens == first.usage.input_tokens > 0, "the reviewer's replies were stored"


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"context": 2}, "context: segments would have to wait"), ({"gate": "gain"}, "gate gain: depends on edits")],
)
async def test_settings_that_tie_segments_together_are_refused(
    settings: dict[str, Any], message: str, job: Callable[..., Any], tmp_path: Path
) -> None:
    if "gate" in settings:
        settings = settings | {"judge": {"evaluator": ["gemba-esa", "pairwise"]}}
    with pytest.raises(ConfigError, match=message):
        await job("loop", Loop(), **settings)
    with Store(tmp_path / "loop.db") as store:
        assert store.runs() == []
