"""The function for Spark's ``mapInPandas`` without Spark: plain frames in this process and in others."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from mtagent.errors import ConfigError
from mtagent.jobs.tables import RESULTS
from mtagent.llm.ledger import Ledger
from mtagent.spark import _connected, _serve, improve
from tests.test_jobs_tables import BROKEN, SOURCES, settings

pandas = pytest.importorskip("pandas", reason="the extra ray is not installed")
pytest.importorskip("pyarrow", reason="the extra ray is not installed")
pytestmark = [pytest.mark.extra, pytest.mark.loopback]


def test_frames_are_improved_and_keep_their_columns(server: str, tmp_path: Path) -> None:
    frame = pandas.DataFrame({"id": range(6), "source": SOURCES, "translation": BROKEN, "score": [0.5] * 6})
    frame.loc[2, "source"] = None
    function = improve(**settings(tmp_path, server, requests_per_minute=10_000))
    first, second = function(iter([frame[:4], frame[4:]]))
    improved = pandas.concat([first, second])
    assert list(improved.columns) == [*frame.columns, *RESULTS]
    assert improved["score"].tolist() == [0.5] * 6
    assert improved["error"].notna().tolist() == [False, False, True, False, False, False]
    assert "correcto" in improved["text"].iloc[5]
    assert first["shard"].iloc[0] != second["shard"].iloc[0]


def test_wrong_settings_are_refused_before_a_worker_begins(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown setting 'modle'"):
        improve(store=tmp_path, modle="x")


def lease_all(address: Any, key: bytes, account: str) -> float:
    """Lease a dollar at a time from a budget of 100, until nothing is left."""
    ledger, leased = _connected(address, key), 0.0
    while True:
        amount = ledger.lease(account, (1.0, 0.0), (100.0, float("inf")))
        if amount is None:
            return leased
        leased += amount[0]


def test_processes_share_one_ledger(tmp_path: Path) -> None:
    address, key = _serve(tmp_path, "127.0.0.1")
    with get_context("spawn").Pool(2) as pool:
        leased = pool.starmap(lease_all, [(address, key, "a"), (address, key, "b")])
    assert sum(leased) == 100
    assert Ledger(tmp_path / "ledger.jsonl").total()[0] == 100
