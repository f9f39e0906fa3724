"""Tables of segments: every row comes back with its result or its error, shards resume, workers share their limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.harness import simulator
from mtagent.errors import ConfigError
from mtagent.jobs.agent import Agent
from mtagent.jobs.python_inputs import make_segments
from mtagent.jobs.tables import RESULTS, TableImprover
from mtagent.store import Store

pyarrow = pytest.importorskip("pyarrow", reason="the extra ray is not installed")
pytestmark = [pytest.mark.extra, pytest.mark.loopback]

SOURCES = [f"The cat number {number} sat here." for number in range(6)]
BROKEN = [f"El gato número {number} se sentó errado aquí." for number in range(6)]


def table(**columns: Any) -> Any:
    return pyarrow.table({"source": SOURCES, "translation": BROKEN, **columns})


def settings(tmp_path: Path, server: str, **more: Any) -> dict[str, Any]:
    return {
        "store": tmp_path / "shards",
        "base_url": server,
        "model": "simulator",
        "source_lang": "en",
        "target_lang": "es",
        **more,
    }


def test_all_columns_are_kept_and_results_equal_the_agents(server: str, tmp_path: Path) -> None:
    given = table(id=[10, 11, 12, 13, 14, 15], author=["a", None, "b", "c", "d", "e"])
    improved = TableImprover.from_settings(settings(tmp_path, server)).improve(given)
    assert improved.column_names == [*given.column_names, *RESULTS]
    assert improved.select(given.column_names) == given
    with Agent(base_url=server, model="simulator") as agent:
        chains = agent.improve(make_segments(SOURCES, BROKEN, "en", "es"))
    assert improved["text"].to_pylist() == [chain.text for chain in chains]
    assert improved["changed"].to_pylist() == [True] * 6
    assert improved["error"].null_count == 6
    assert improved["calls"].to_pylist() == [chain.usage.calls for chain in chains]


def test_poisoned_rows_have_an_error_and_the_others_a_result(server: str, tmp_path: Path) -> None:
    given = pyarrow.table(
        {
            "id": ["1", "2", None, "4", "1", "6"],
            "source": [SOURCES[0], None, SOURCES[2], SOURCES[3], SOURCES[4], SOURCES[0]],
            "translation": BROKEN,
            "target_lang": ["es", "es", "es", "no such language", "es", "es"],
        }
    )
    improved = TableImprover.from_settings(settings(tmp_path, server)).improve(given)
    errors = improved["error"].to_pylist()
    assert errors[0] is None
    assert errors[1] == "row 2: field 'source': field required"
    assert errors[2] == "row 3: has no id; fill the column, or leave it out"
    assert errors[3].startswith("row 4: ")
    assert errors[4] == "row 5: the id '1' was already used in row 1 for another segment"
    assert errors[5] is None
    assert improved["error_kind"].to_pylist()[1] == "InputError"
    assert [bool(calls) for calls in improved["calls"].to_pylist()] == [True, False, False, False, False, True]


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ({"translation": ["Hola."]}, "row 1: field 'source': field required"),
        ({"source": ["a"], "src": ["b"], "src_text": ["c"], "mt": ["d"], "hyp": ["e"]}, "'mt' and 'hyp' both mean"),
        ({"source": [17]}, "row 1: field 'source': input should be a valid string"),
        ({}, None),
    ],
)
def test_a_table_without_usable_columns_raises_nothing(
    columns: dict[str, list[Any]], error: str | None, server: str, tmp_path: Path
) -> None:
    improved = TableImprover.from_settings(settings(tmp_path, server)).improve(pyarrow.table(columns))
    assert set(RESULTS) <= set(improved.column_names)
    for message in improved["error"].to_pylist():
        assert error is not None
        assert error in message


def test_rows_without_ids_get_ids_from_their_content(server: str, tmp_path: Path) -> None:
    improver = TableImprover.from_settings(settings(tmp_path, server))
    whole = improver.improve(table())
    again = improver.improve(pyarrow.concat_tables([table().slice(3), table().slice(3, 1)]))
    assert len(set(whole["id"].to_pylist())) == 6
    assert again["id"].to_pylist() == [*whole["id"].to_pylist()[3:], whole["id"][3].as_py()]
    assert again["text"][3] == again["text"][0]
    assert again["calls"][3].as_py() == 0, "a repeated row is improved and paid for once"


def test_a_table_is_answered_from_its_store(tmp_path: Path) -> None:
    with simulator("--behaviour", "tests.simulator.chain:improving") as base_url:
        first = TableImprover.from_settings(settings(tmp_path, base_url)).improve(table())
    again = TableImprover.from_settings(settings(tmp_path, base_url, deadline=1.0)).improve(table())
    assert again.equals(first)


def test_without_a_server_each_row_keeps_its_text(tmp_path: Path) -> None:
    dead = settings(tmp_path, "http://127.0.0.1:9/v1", deadline=0.2, prefix="mt_")
    improved = TableImprover.from_settings(dead).improve(table(id=list("abcdef")))
    assert improved["mt_text"].to_pylist() == BROKEN
    assert improved["mt_error_kind"].to_pylist() == ["ServerError"] * 6
    assert "nobody answers there" in improved["mt_error"][0].as_py()


def test_wrong_settings_are_refused_at_once(server: str, tmp_path: Path) -> None:
    for wrong, message in [
        ({"store": None}, "store: expected a folder"),
        ({"modle": "x"}, "unknown setting 'modle'"),
        ({"context": 2}, "context: has no effect here"),
        ({"target_lang": "xx-none-such"}, "xx-none-such"),
    ]:
        with pytest.raises(ConfigError, match=message):
            TableImprover.from_settings(settings(tmp_path, server) | wrong)
    improver = TableImprover.from_settings(settings(tmp_path, server))
    with pytest.raises(ConfigError, match="prefix: the table has a column 'cost' already"):
        improver.improve(table(cost=[0] * 6))


def test_shards_share_a_budget_and_a_higher_one_finishes_them(server: str, tmp_path: Path) -> None:
    def improve(token_budget: int) -> tuple[list[str | None], int]:
        improver = TableImprover.from_settings(settings(tmp_path, server, token_budget=token_budget, max_tokens=50))
        tables = [improver.improve(table(id=list(ids))) for ids in ("abcdef", "ghijkl", "mnopqr")]
        kinds = pyarrow.concat_tables(tables)["error_kind"].to_pylist()
        return kinds, _tokens(tmp_path / "shards")

    kinds, tokens = improve(35_000)
    assert 0 < kinds.count("BudgetSpent") < 18
    assert tokens <= 35_000
    kinds, _ = improve(10_000_000)
    assert kinds == [None] * 18


def _tokens(folder: Path) -> int:
    tokens = 0
    for path in folder.glob("*.db"):
        with Store(path) as store:
            tokens += sum(run.usage.tokens for run in store.runs())
    return tokens
