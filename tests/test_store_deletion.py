"""Deleted runs are gone from the file, what others share stays, and the file is smaller."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtagent.errors import RunLocked, StoreError
from mtagent.records import Call, Message
from mtagent.records.decisions import Decision
from mtagent.store.runs import Run
from mtagent.store.store import Store
from tests.stored import paid, post_edited, rated, sql, start


def call_about(text: str) -> Call:
    call, _ = paid(text)
    return call.model_copy(
        update={"messages": (Message(role="system", content="constant"), Message(role="user", content=text))}
    )


def filled(store: Store) -> None:
    """Runs ``a`` and ``b``, which share the segment ``both``; each has one of its own and a decision on it."""
    for name in ("a", "b"):
        with start(store, name) as run:
            for position, text in enumerate(("both", f"secret of {name} " * 2000)):
                call = call_about(text)
                _, answer = paid(text)
                if not (name == "b" and text == "both"):  # b's came from the store
                    store.calls.record(run.id, text[:20], "p", f"key {text}", call, answer)
                run.save(position, post_edited(text[:20], calls=(call,)))
            run.finish()
        store.decisions(name).append([(1, Decision(segment=f"secret of {name} secret o"[:20], verdict="reject"))])


def rows(path: Path, table: str) -> int:
    with sql(path) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_deleted_run_is_gone_from_the_file_and_the_other_one_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Store(path) as store:
        filled(store)
        before = [*store.read("b").chains()], store.decisions("b").histories(), store.run("b")
        done = store.delete(["a"])
        assert done.after < done.before
        assert not done.waiting
        assert [run.name for run in store.runs()] == ["b"]
        assert ([*store.read("b").chains()], store.decisions("b").histories(), store.run("b")) == before
        recalled = store.calls.recall(before[2].counts.done, "both", "key both")
        assert recalled is not None
        assert recalled.text == "both", "what b shares with a still answers its calls"
        assert store.calls.recall(1, "secret", "key " + "secret of a " * 2000) is None
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"secret of a" not in content
    assert b"secret of b" in content
    assert not [file for file in tmp_path.iterdir() if file.name.endswith("run-1.lock")]


def test_when_the_last_run_is_deleted_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Store(path) as store:
        filled(store)
        store.delete(["a"])
        store.delete(["b"])
    tables = ("runs", "segments", "steps", "edits", "ratings", "rated", "calls", "texts", "decisions")
    assert {table: rows(path, table) for table in tables} == dict.fromkeys(tables, 0)
    assert path.stat().st_size < 150_000


def test_a_run_that_is_worked_on_is_not_deleted_and_neither_are_those_beside_it(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store, Store(tmp_path / "s.db") as other:
        filled(store)
        with other.reopen("b"), pytest.raises(RunLocked, match="run 'b': process"):
            store.delete(["a", "b"])
        with pytest.raises(StoreError, match="there is no run 'c'"):
            store.delete(["a", "c"])
        assert [run.name for run in store.runs()] == ["a", "b"]
        store.delete(["a", "b"])
        assert not store.runs()


def test_runs_that_were_made_from_a_deleted_one_are_named(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        filled(store)
        with store.start("rated", settings={}, inputs={"run": "a"}, kind="rating") as run:
            run.save_ratings(0, rated("both", calls=(call_about("both"),)))
            run.finish()
        assert store.delete(["a"]).related == ("rated",)
        assert [result.calls[0].reply for result in store.read("rated").ratings()] == ["both"]


def test_a_new_run_has_nothing_of_a_deleted_one(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        filled(store)
        log = store.decisions("b")
        store.delete(["b"])
        with start(store, "c") as run:
            run.save(0, post_edited("both"))
            run.finish()
        assert store.run("c").usage.calls == 0
        assert not store.decisions("c")
        with pytest.raises(StoreError, match="has no segment 'both' at position 0"):
            log.append([(0, Decision(segment="both", verdict="accept"))])


def test_who_still_reads_a_deleted_run_sees_no_other_one(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        filled(store)
        read = store.read("b")
        store.delete(["b"])
        with start(store, "c") as run:
            run.save(0, post_edited("private"))
        assert run.id > read.id
        assert list(read.chains()) == []
        with pytest.raises(StoreError, match="run 'b': has no segment at position 0, or was deleted"):
            read.chain_at(0)


def test_a_run_that_begins_while_another_is_deleted_is_locked_as_any_other(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store, Store(tmp_path / "s.db") as other:
        filled(store)
        begun = list[Run]()
        store.database.connection.set_trace_callback(
            lambda statement: begun.append(start(other, "c")) if statement == "VACUUM" else None
        )
        store.delete(["b"])
        store.database.connection.set_trace_callback(None)
        with begun[0], pytest.raises(RunLocked):
            store.reopen("c")
        assert not (tmp_path / "s.db.run-2.lock").exists()


def test_a_run_that_is_deleted_while_somebody_waits_for_it_is_not_worked_on(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store, Store(tmp_path / "s.db") as other:
        filled(store)
        store.database.query("PRAGMA busy_timeout = 100")  # milliseconds: the file cannot be made smaller meanwhile
        commits = iter(("the row of the run", "what it was started with"))

        def delete(statement: str) -> None:
            if statement == "COMMIT" and next(commits, None) == "what it was started with":
                store.delete(["b"])

        other.database.connection.set_trace_callback(delete)
        with pytest.raises(StoreError, match="run 'b': was deleted meanwhile"):
            start(other, "b")
