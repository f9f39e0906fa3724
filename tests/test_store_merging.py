"""Runs of several stores become one run, with all their segments, calls and costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtagent.errors import StoreError
from mtagent.jobs.agent import Agent
from mtagent.jobs.python_inputs import make_segments
from mtagent.store import Store
from mtagent.store.store import merge_runs, shards_in
from tests.commands import Shell
from tests.jobs import improving

SOURCES = [f"The cat number {number} sat here." for number in range(12)]
BROKEN = [f"El gato número {number} se sentó errado aquí." for number in range(12)]


def shard(path: Path, start: int, end: int, **settings: object) -> None:
    """A store with a run of the segments from ``start`` to ``end``."""
    segments = make_segments(SOURCES, BROKEN, "en", "es")[start:end]
    Agent(llm=improving(), **settings).run(path.stem, store=path).improve(segments)  # type: ignore[arg-type]


def test_shards_become_one_run_that_equals_a_run_of_all(shell: Shell) -> None:
    for name, start, end in (("b", 0, 5), ("a", 5, 12), ("whole", 0, 12)):
        shard(shell.folder / f"{name}.db", start, end)
    done = shell("runs merge a.db b.db --store out.db")
    assert done.remarks[-1].startswith("mtagent: merged 2 runs into run merged: 12 segments, 0 failed; ")
    with Store(shell.folder / "out.db") as merged, Store(shell.folder / "whole.db") as whole:
        expected, run = whole.read("whole"), merged.read("merged")
        texts = [chain.text for chain in run.chains()]
        assert [chain.segment.id for chain in run.chains()] == [str(number) for number in range(1, 13)]
        assert texts == [chain.text for chain in expected.chains()]
        assert run.usage() == expected.usage()
        assert run.usage().calls > 0
        assert merged.run("merged").settings == whole.run("whole").settings
    assert shell("export merged --store out.db").lines == texts
    assert "12" in shell("runs show merged --store out.db").out


def test_a_segment_in_two_stores_is_taken_once(shell: Shell) -> None:
    shard(shell.folder / "a.db", 0, 8)
    shard(shell.folder / "b.db", 4, 12)
    shell("runs merge a.db b.db --store out.db")
    with Store(shell.folder / "out.db") as store:
        assert store.run("merged").counts.done == 12


@pytest.mark.parametrize(
    ("stores", "message"),
    [
        (["a.db", "none.db"], "none.db: there is no store yet"),
        (["a.db", "other.db"], r"other.db: run 'other' has other settings than 'a' in a.db: .*stages was"),
        (
            ["a.db", "texts.db"],
            "texts.db: segment '1' has other texts than in the previous store; .*JSON Lines with ids",
        ),
    ],
)
def test_stores_that_do_not_fit_are_refused_and_nothing_is_left(stores: list[str], message: str, shell: Shell) -> None:
    shard(shell.folder / "a.db", 0, 3)
    shard(shell.folder / "other.db", 3, 5, stages="pr")
    run = Agent(llm=improving()).run("texts", store=shell.folder / "texts.db")
    run.improve(make_segments(["Another text."], ["Otro texto."], "en", "es"))
    with pytest.raises(StoreError, match=message), Store(shell.folder / "out.db") as target:
        merge_runs(shards_in([Path(name) for name in stores]), target, "merged", order=str)
    with Store(shell.folder / "out.db") as target:
        assert target.runs() == []


def test_a_run_is_not_merged_into_another_one(shell: Shell) -> None:
    shard(shell.folder / "a.db", 0, 3)
    shell("runs merge a.db --store out.db")
    done = shell("runs merge a.db --store out.db")
    assert "run 'merged': already exists; give another name (--name), or delete it first" in done.err
