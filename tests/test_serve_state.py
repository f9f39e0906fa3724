"""Usage is counted whatever happens to the state file, and servers that share the file share its limits."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mtagent.errors import StoreError
from mtagent.serve.access import ApiKey, QuotaExceeded
from mtagent.serve.service import Service
from mtagent.serve.state import State, this_month
from mtagent.store.store import Store
from tests.serving import Json, asking, bearer, deepl_key, key_file, shout

ONE = {"q": "12345", "source": "en", "target": "es"}
GLOSSARY = {"name": "g", "source_lang": "en", "target_lang": "es", "entries": "cat\tgato", "entries_format": "tsv"}
Fault = Callable[[Path], AbstractContextManager[None]]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program writes to the file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def full(path: Path) -> Iterator[None]:
    """Nothing can be written to any file."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


FAULTS = [
    pytest.param(locked, id="locked"),
    pytest.param(full, id="full", marks=pytest.mark.skipif(sys.platform == "win32", reason="has no such limits")),
]


def usage_in(path: Path) -> dict[str, int]:
    """The characters of each key in the file."""
    with closing(sqlite3.connect(path)) as db:
        return dict(db.execute("SELECT key, characters FROM usage WHERE month = ?", (this_month(),)))


async def translate(client: httpx.AsyncClient, name: str) -> httpx.Response:
    return await client.post("/translate", json=ONE, headers=bearer(name))


@pytest.mark.parametrize("kind", ["runs", "same names"])
def test_a_database_of_another_kind_is_refused_and_left_untouched(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    if kind == "runs":
        Store(path).close()
    else:
        with closing(sqlite3.connect(path)) as other:
            other.executescript("CREATE TABLE settings (name, value); CREATE TABLE usage (key, seconds);")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"{path}: is not a state file .*; name another file.* --state"):
        Service(translator=shout, state=path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


async def test_a_state_file_is_opened_again_with_what_the_operator_added(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    for count in (5, 10):
        async with asking(Service(translator=shout, state=path)) as client:
            assert (await client.post("/translate", json=ONE)).status_code == 200
        assert usage_in(path) == {"anybody": count}
        with closing(sqlite3.connect(path)) as other:
            other.execute("ANALYZE")
            other.execute("CREATE VIEW IF NOT EXISTS total AS SELECT sum(characters) FROM usage")


@pytest.mark.parametrize("fault", FAULTS)
async def test_what_cannot_be_written_is_counted_later_and_refused_where_a_limit_holds(
    fault: Fault, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, keys = tmp_path / "s.db", key_file(tmp_path, ana=":100", bo="", cy=":$5")
    service = Service(translator=shout, keys=keys, state=path)
    async with asking(service) as client:
        assert [(await translate(client, name)).status_code for name in ("ana", "bo", "cy")] == [200, 200, 200]
        await service.state.flush()
        with fault(path):
            refused = await translate(client, "ana")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert refused.json() == {"error": "the usage of this key cannot be counted now, and it has a limit"}
            assert (await translate(client, "cy")).status_code == 503
            assert (await translate(client, "bo")).status_code == 200
            health = await client.get("/healthz")
            problems = ["usage cannot be written to the state file"]
            assert (health.status_code, health.json()) == (200, {"status": "degraded", "problems": problems})
            metrics = (await client.get("/metrics", headers=bearer("bo"))).text
            assert "mtagent_state_failing 1.0" in metrics
            assert "mtagent_unwritten_characters 5.0" in metrics
            assert (await client.get("/v2/usage", headers=deepl_key("bo"))).json()["character_count"] == 10
            glossary = await client.post("/v2/glossaries", json=GLOSSARY, headers=deepl_key("bo"))
            assert (glossary.status_code, glossary.headers["retry-after"]) == (503, "1")
        assert [(await translate(client, name)).status_code for name in ("ana", "bo", "cy")] == [200, 200, 200]
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        assert (await client.post("/v2/glossaries", json=GLOSSARY, headers=deepl_key("bo"))).status_code == 201
    assert usage_in(path) == {"ana": 10, "bo": 15, "cy": 10}
    messages = [record.getMessage() for record in caplog.records if not hasattr(record, "entry")]
    assert ["cannot be written" in message for message in messages] == [True, False]
    assert messages[1] == "the state file is written again, with all that waited for it"


async def test_servers_that_share_a_file_share_its_limits(tmp_path: Path) -> None:
    path, keys = tmp_path / "s.db", key_file(tmp_path, ana=":1000", bo="")
    services = [Service(translator=shout, keys=keys, state=path) for _ in range(2)]
    async with asking(services[0]) as first, asking(services[1]) as second:
        statuses: list[int] = []
        for _ in range(6):
            requests = [translate(client, name) for client in (first, second) * 20 for name in ("ana", "bo")]
            statuses += [answer.status_code for answer in await asyncio.gather(*requests)]
        assert statuses[0::2].count(200) == 200
        assert set(statuses[0::2]) == {200, 403}
        assert set(statuses[1::2]) == {200}
        counts = []
        for service, client in zip(services, (first, second), strict=True):
            await service.state.flush()
            counts.append((await client.get("/v2/usage", headers=deepl_key("ana"))).json()["character_count"])
    assert counts == [1000, 1000]
    assert usage_in(path) == {"ana": 1000, "bo": 1200}


async def test_dollars_that_another_server_counted_end_the_budget_too(tmp_path: Path) -> None:
    key, states = ApiKey("ana", dollars=1.0), [State(tmp_path / "s.db") for _ in range(2)]
    states[0].spend("ana", dollars=1.0)
    states[0].spend_today(1.0)
    await states[0].flush()
    with pytest.raises(QuotaExceeded, match="the budget is spent"):
        await states[1].charge(key, 1)
    assert states[1].dollars_today() == 1.0
    for state in states:
        await state.close()


async def test_a_client_that_disconnects_while_its_request_is_counted_is_counted_once(tmp_path: Path) -> None:
    state, key = State(tmp_path / "s.db"), ApiKey("ana", characters=100)
    for _ in range(5):
        state.spend("bo", characters=7)
        charges = [asyncio.create_task(state.charge(key, 3)) for _ in range(2)]
        await asyncio.sleep(0)
        charges[0].cancel()
        await asyncio.gather(*charges, return_exceptions=True)
    await state.close()
    assert usage_in(tmp_path / "s.db") == {"ana": 30, "bo": 35}


async def test_an_amount_is_counted_once_at_the_moment_of_its_write(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    state = State(path)
    state.spend("ana", characters=5)
    await state.flush()
    state.spend("ana", characters=7, dollars=0.5)
    state.spend_today(0.5)
    with locked(path):
        flushing = asyncio.create_task(state.flush())
        for _ in range(3):  # turns, until the thread waits for the file
            await asyncio.sleep(0)
        assert (state.spent_by("ana").characters, state.dollars_today()) == (12, 0.5)
    while usage_in(path)["ana"] < 12:  # without a turn for the event loop, which isn't told that the write has ended
        pass
    assert (state.spent_by("ana").characters, state.dollars_today()) == (12, 0.5)
    await flushing
    assert (state.spent_by("ana").characters, state.dollars_today()) == (12, 0.5)
    await state.close()


@pytest.mark.skipif(sys.platform == "win32", reason="keeps open files from being deleted")
async def test_a_deleted_state_file_is_reported_and_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, keys = tmp_path / "folder" / "s.db", key_file(tmp_path, ana=":30", bo="")
    services = [Service(translator=shout, keys=keys, state=path) for _ in range(2)]
    async with asking(services[0]) as first, asking(services[1]) as second:
        for client, name in ((first, "ana"), (second, "ana"), (second, "bo")):
            assert (await translate(client, name)).status_code == 200
        glossary = await first.post("/v2/glossaries", json=GLOSSARY, headers=deepl_key("bo"))
        shutil.rmtree(path.parent)
        assert (await translate(first, "ana")).status_code == 503
        problems = ["usage cannot be written to the state file"]
        assert (await first.get("/healthz")).json() == {"status": "degraded", "problems": problems}
        assert "mtagent_state_failing 1.0" in (await first.get("/metrics", headers=bearer("bo"))).text
        assert (await translate(first, "ana")).status_code == 200
        assert (await first.get("/healthz")).json() == {"status": "ok"}
        assert (await translate(second, "ana")).status_code == 503
        assert [(await translate(second, name)).status_code for name in ("ana", "bo")] == [200, 200]
        usage = [await client.get("/v2/usage", headers=deepl_key("ana")) for client in (first, second)]
        assert [answer.json()["character_count"] for answer in usage] == [20, 20]
        listed = await second.get("/v2/glossaries", headers=deepl_key("bo"))
        assert listed.json()["glossaries"] == [glossary.json()]
    assert usage_in(path) == {"ana": 20, "bo": 10}
    assert [child.name for child in path.parent.iterdir()] == ["s.db"]
    assert "s.db: usage cannot be written, and is tried again every second: the file was deleted" in caplog.text
    assert "another file has taken its place, and is used from now on" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="keeps open files from being replaced")
async def test_a_state_file_that_is_replaced_gets_nothing_of_the_former_one(tmp_path: Path) -> None:
    path, backup = tmp_path / "s.db", tmp_path / "backup.db"
    states = [State(path) for _ in range(2)]
    states[0].spend("ana", characters=5)
    await states[0].flush()
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(backup)) as copy:
        db.backup(copy)
    states[0].spend("ana", characters=7)
    await states[0].flush()
    backup.replace(path)
    for state in states:
        state.spend("ana", characters=1)
        await state.flush()
        assert state.problem == "another file has taken its place, and is used from now on"
        await state.flush()
        assert state.problem is None
    assert [state.spent_by("ana").characters for state in states] == [7, 7]
    for state in states:
        await state.close()
    assert usage_in(path) == {"ana": 7}


@pytest.mark.skipif(sys.platform == "win32", reason="keeps open files from being replaced")
async def test_a_run_store_that_takes_the_place_of_the_state_file_is_left_untouched(tmp_path: Path) -> None:
    path, kept, runs = tmp_path / "s.db", tmp_path / "kept.db", tmp_path / "runs.db"
    Store(runs).close()
    content = runs.read_bytes()
    state = State(path)
    path.rename(kept)
    runs.rename(path)
    state.spend("ana", characters=5)
    await state.flush()
    assert (state.problem or "").startswith(f"{path}: is not a state file of mtagent serve")
    assert path.read_bytes() == content
    kept.rename(path)
    await state.close()
    assert usage_in(path) == {"ana": 5}


@pytest.mark.parametrize("keep", ["none", "texts"])
async def test_texts_that_cannot_be_written_wait_in_memory(keep: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    async with asking(Service(translator=shout, state=path, keep=keep)) as client:
        with locked(path):
            assert (await client.post("/translate", json=ONE)).status_code == 200
            kept: Json = (await client.get("/v1/segments")).json()
            assert kept == {"segments": []}
        texts = [row["text"] for row in (await client.get("/v1/segments")).json()["segments"]]
    assert texts == (["12345"] if keep == "texts" else [])


async def test_what_can_never_be_written_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state = State(tmp_path / "s.db")
    state.spend("ana", characters=12, dollars=0.5)
    with locked(tmp_path / "s.db"), caplog.at_level(logging.ERROR):
        await state.close()
    assert f"12 characters and 0.500000 dollars of the key ana in {this_month()}" in caplog.text


async def test_a_refund_never_makes_usage_negative(tmp_path: Path) -> None:
    state = State(tmp_path / "s.db")
    state.spend("ana", characters=-5)
    await state.flush()
    state.spend("ana", characters=8)
    await state.close()
    assert usage_in(tmp_path / "s.db") == {"ana": 8}
