"""The file of the store: where it is, whose it is, what happens where it is old, damaged, read-only or out of space."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from mtagent.errors import StoreError
from mtagent.records import Edit, ErrorSpan, Usage
from mtagent.store import Store, default_path
from mtagent.store.database import MIGRATIONS, migrate, version
from tests.commands import ROOT
from tests.pages import DOCS, section
from tests.stored import improve, paid, post_edited, queried, rated, scripted, sql, start
from tests.test_store_runs import large


def test_the_store_is_where_the_environment_says_or_in_the_data_folder_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("MTAGENT_STORE", raising=False)
    assert default_path() == Path("/home/someone/.local/share/mtagent/store.db")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_path() == Path("/data/mtagent/store.db")
    monkeypatch.setenv("MTAGENT_STORE", "~/here.db")
    assert default_path() == Path("/home/someone/here.db")
    monkeypatch.setenv("MTAGENT_STORE", "")
    assert default_path() == Path("/data/mtagent/store.db")


def test_the_folder_of_a_new_store_is_made_and_a_closed_store_says_that_it_is(tmp_path: Path) -> None:
    store = Store(tmp_path / "a" / "b" / "s.db")
    assert (tmp_path / "a" / "b" / "s.db").is_file()
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.runs()


def test_the_queries_of_the_page_run_and_its_tables_are_all_described(store: Store, tmp_path: Path) -> None:
    page = (DOCS / "reference/store.md").read_text(encoding="utf-8")
    queries = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    assert len(queries) >= 2
    call, answer = paid()
    span = ErrorSpan(text="before", category="accuracy/mistranslation", severity="major")
    edits = (Edit(old="before", new="after", outcome="applied", start=0, end=6, span=span),)
    run = start(store, "my-run")
    store.calls.record(run.id, "s", "p", "k", call, answer)
    run.save(0, post_edited("s", calls=(call,), edits=edits))
    start(store, "my-ratings", kind="rating").save_ratings(0, rated("s"))
    assert all(queried(tmp_path / "s.db", query) for query in queries)
    with sql(tmp_path / "s.db") as connection:
        tables = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%'"
        for (name,) in connection.execute(tables).fetchall():
            described = page.split(f"### {name}\n")[1].split("\n### ")[0]
            for column, *_ in connection.execute(f"SELECT * FROM {name} LIMIT 0").description:
                assert f"`{column}`" in described, (name, column)


# --- what is no store of this version


def test_a_place_without_a_folder_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "s.db", tmp_path):
        with pytest.raises(StoreError, match=rf"{place}.*--store PATH"):
            Store(place)


def of_another_program(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE bookmarks (url TEXT)")


def of_a_newer_version(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (None, r"s\.db: is not a SQLite database.*--store PATH"),
        (of_another_program, r"s\.db: is a database of another program.*--store PATH"),
        (of_a_newer_version, r"newer mtagent \(store version 99.*pip install -U mtagent.*--store PATH"),
    ],
)
def test_what_is_no_store_of_this_version_is_refused_and_left_untouched(
    make: Callable[[sqlite3.Connection], None] | None, message: str, tmp_path: Path
) -> None:
    place = tmp_path / "s.db"
    if make is None:
        place.write_bytes(b"my precious notes\n" * 999)
    else:
        if make is of_a_newer_version:
            Store(place).close()
        with sql(place) as connection:
            make(connection)
    before = place.read_bytes()
    with pytest.raises(StoreError, match=message):
        Store(place)
    assert place.read_bytes() == before
    assert list(tmp_path.iterdir()) == [place]


ADDED = ("ALTER TABLE runs ADD COLUMN owner TEXT NOT NULL DEFAULT 'nobody'", "UPDATE runs SET owner = 'me'")
FAILING = ("CREATE TABLE notes (text TEXT)", "CREATE TABLE notes (text TEXT)")


def test_a_migration_keeps_all_rows_and_raises_the_version(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    with Store(place) as store:
        start(store, "first").save(0, post_edited("1"))
        before = store.database.query("SELECT * FROM segments")
    with sql(place) as connection:
        connection.isolation_level = None
        migrate(connection, (*MIGRATIONS, ADDED))
        assert connection.execute("SELECT name, owner FROM runs").fetchall() == [("first", "me")]
        assert connection.execute("SELECT * FROM segments").fetchall() == before
        assert version(connection) == len(MIGRATIONS) + 1
        migrate(connection, (*MIGRATIONS, ADDED))  # a second process comes too late, and changes nothing
        assert version(connection) == len(MIGRATIONS) + 1


@pytest.mark.parametrize("old", range(1, len(MIGRATIONS)))
def test_a_store_of_an_older_version_is_opened_with_its_calls(old: int, tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    fields = "run_id, segment, purpose, key, model, messages, calls, input_tokens, cached_tokens, output_tokens"
    with sql(place) as connection:
        connection.isolation_level = None
        migrate(connection, MIGRATIONS[:old])
        connection.execute(
            "INSERT INTO runs (name, kind, state, settings, inputs, outputs, started, updated)"
            " VALUES ('old', 'chain', 'finished', '{}', '{}', '{}', '', '')"
        )
        connection.execute(
            f"INSERT INTO calls ({fields}, reasoning_tokens, cost, seconds, at, waited)"
            " VALUES (1, '1', 'rate', 'k', 'm', '[]', 1, 9, 4, 2, 1, 0.5, 1.0, '', 0.0)"
        )
    with Store(place) as store:
        usage = store.run("old").usage
    assert usage == Usage(calls=1, input_tokens=9, cached_tokens=4, output_tokens=2, reasoning_tokens=1, cost=0.5)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    Store(place).close()
    with sql(place) as connection:
        connection.isolation_level = None
        before = list(connection.iterdump())
        with pytest.raises(sqlite3.OperationalError, match="notes"):
            migrate(connection, (*MIGRATIONS, ADDED, FAILING))
        assert list(connection.iterdump()) == before
        assert version(connection) == len(MIGRATIONS)


# --- no space, no right to write


@contextmanager
def nearly_full(store: Store, pages: int) -> Iterator[None]:
    """What a full disk is to SQLite: the file may grow by so many pages."""
    ((size,),) = store.database.query("PRAGMA page_count")
    store.database.query(f"PRAGMA max_page_count = {size + pages}")
    yield
    store.database.query("PRAGMA max_page_count = 100000")


def test_a_full_disk_is_an_error_that_keeps_all_that_was_saved_readable(store: Store, tmp_path: Path) -> None:
    run = start(store)
    run.save(0, large(0))
    with (
        nearly_full(store, 20),
        pytest.raises(StoreError, match=r"the disk is full; free some space, or .*--store PATH"),
    ):
        [run.save(position, large(position)) for position in range(1, 50)]
    saved = list(run.chains())
    assert saved == [large(position) for position in range(len(saved))]
    assert queried(tmp_path / "s.db", "PRAGMA integrity_check") == [("ok",)]
    run.save(len(saved), large(len(saved)))
    assert len(list(run.chains())) == len(saved) + 1


def test_a_full_disk_refuses_a_call_whole(store: Store, tmp_path: Path) -> None:
    run = start(store)
    with nearly_full(store, 0), pytest.raises(StoreError, match="the disk is full"):
        store.calls.record(run.id, "s", "p", "k", *paid("x" * 9000))
    assert store.calls.recall(run.id, "s", "k") is None
    assert queried(tmp_path / "s.db", "SELECT count(*) FROM texts") == [(0,)]


def test_a_run_whose_lock_file_cannot_be_made_is_refused(store: Store, tmp_path: Path) -> None:
    (tmp_path / "s.db.run-1.lock").mkdir()
    with pytest.raises(StoreError, match="cannot lock run 'first'"):
        start(store)


READ_ONLY = """
import os, sys
from mtagent.errors import StoreError
from mtagent.store import Store
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    store = Store(sys.argv[1])
    print([run.name for run in store.runs()])
    store.start("more", settings={}, inputs={})
except StoreError as error:
    print(error)
"""


@pytest.mark.parametrize("exists", [False, True])
def test_a_read_only_folder_is_refused_with_the_way_out_and_a_store_in_it_can_be_read(exists: bool) -> None:
    with TemporaryDirectory() as folder:  # not tmp_path: the child, which is not root, could not enter its parents
        place = Path(folder) / "s.db"
        if exists:
            with Store(place) as store:
                start(store).close()
            place.chmod(0o444)
        Path(folder).chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, place],
            env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, capture_output=True, check=False,
        )  # fmt: skip
        Path(folder).chmod(0o755)
    assert done.stderr == ""
    assert done.stdout.startswith("['first']\n" * exists + str(place))
    assert "--store PATH" in done.stdout


@contextmanager
def read_only(folder: Path, place: Path) -> Iterator[Path]:
    """``folder`` mounted read-only at ``place``; skips the test where this may not be done."""
    place.mkdir()
    for command in (["mount", "--bind", folder, place], ["mount", "-o", "remount,ro,bind", place]):
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
            subprocess.run(["umount", place], capture_output=True)
            pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_store_with_no_room_for_the_files_beside_it_can_be_read_and_not_written(
    filled: bytes, tmp_path: Path
) -> None:
    (tmp_path / "s.db").write_bytes(filled)
    (tmp_path / "s.db-shm").mkdir()  # as on read-only media, SQLite cannot make its own files
    read_all(tmp_path / "s.db")
    with Store(tmp_path / "s.db") as store:
        assert store.run("first").state == "interrupted"
        assert len(list(store.read("first").chains())) == 30
        with pytest.raises(StoreError, match="is read-only; choose another place with --store PATH"):
            start(store, "other")


@pytest.mark.parametrize("shared", [False, True], ids=["log alone", "log and its index"])
def test_a_read_only_store_whose_log_is_beside_it_is_read_with_the_log_or_refused(
    store: Store, tmp_path: Path, shared: bool
) -> None:
    (tmp_path / "disk").mkdir()
    run = start(store)
    for position in range(3):
        run.save(position, large(position))
    for end in ("", "-wal", *(["-shm"] if shared else [])):
        (tmp_path / "disk" / f"s.db{end}").write_bytes((tmp_path / f"s.db{end}").read_bytes())
    with read_only(tmp_path / "disk", tmp_path / "media") as folder:
        if shared:
            with Store(folder / "s.db") as copy:
                assert [(run.name, run.state, run.counts.done) for run in copy.runs()] == [("first", "interrupted", 3)]
        else:
            with pytest.raises(StoreError, match=r"the last changes are still in .*s.db-wal: copy both"):
                Store(folder / "s.db")


def test_a_run_on_read_only_media_is_not_deleted_and_the_reason_is_said(filled: bytes, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "s.db").write_bytes(filled)
    with read_only(tmp_path / "disk", tmp_path / "media") as folder, Store(folder / "s.db") as store:
        for change in (lambda: store.delete(["first"]), lambda: start(store, "more")):
            with pytest.raises(StoreError, match=r"s\.db: is read-only; choose another place .*go on with its runs\)$"):
                change()


@pytest.mark.parametrize("log", [False, True], ids=["closed", "with changes in its log"])
def test_a_store_on_a_full_disk_can_be_read_and_says_why_it_cannot_be_written(tmp_path: Path, log: bool) -> None:
    (tmp_path / "disk").mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", tmp_path / "disk"]).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        place = tmp_path / "disk" / "s.db"
        with Store(tmp_path / "s.db") as store, start(store) as run:
            run.save(0, large(0))
            for end in ("", "-wal") if log else ():  # as a power cut leaves it
                (tmp_path / "disk" / f"s.db{end}").write_bytes((tmp_path / f"s.db{end}").read_bytes())
        if not log:
            place.write_bytes((tmp_path / "s.db").read_bytes())
        with suppress(OSError), (tmp_path / "disk" / "filler").open("wb", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass
        with Store(place) as store:
            assert [(run.name, run.counts.done) for run in store.runs()] == [("first", 1)]
            assert list(store.read("first").chains()) == [large(0)]
            for change in (lambda: store.delete(["first"]), lambda: start(store, "more")):
                with pytest.raises(StoreError, match=r"s\.db: the disk is full; free some space"):
                    change()
        (tmp_path / "disk" / "filler").unlink()
        with Store(place) as store:
            store.delete(["first"])
    finally:
        subprocess.run(["umount", tmp_path / "disk"], check=True)


# --- damage


def read_all(place: Path) -> None:
    """Read everything that is in a store, as the commands do."""
    with Store(place) as store:
        for summary in store.runs():
            run = store.read(summary.name)
            list(run.chains())
            list(run.ratings())
            list(run.each_usage())
            run.systems()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store with a run of 30 large chains, and a call."""
    place = tmp_path_factory.mktemp("filled") / "s.db"
    with Store(place) as store:
        run = start(store)
        for position in range(30):
            run.save(position, large(position))
        store.calls.record(run.id, "0", "rate", "key", *paid())
    return place.read_bytes()


@pytest.mark.parametrize("seed", range(40))
def test_damage_anywhere_in_a_store_ends_in_one_line_that_names_it_or_does_no_harm(
    filled: bytes, tmp_path: Path, seed: int
) -> None:
    draw, content, place = random.Random(seed), bytearray(filled), tmp_path / "s.db"
    at = draw.randrange(100, len(content) - 600)
    size = draw.choice([1, 40, 600])
    content[at : at + size] = draw.randbytes(size)
    place.write_bytes(content)
    message = f"{place}: all is well"
    try:
        read_all(place)
    except StoreError as error:
        message = str(error)
    assert message.startswith(f"{place}: ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("damage", "read"),
    [
        ("UPDATE runs SET settings = '-7'", start),
        ("UPDATE runs SET settings = '-7'", lambda store: store.settings("first")),
        ("UPDATE runs SET inputs = '-7'", start),
        ("UPDATE runs SET kind = x'ff'", start),
        ("UPDATE runs SET kind = x'ff'", lambda store: store.read("first").kind),
        ("UPDATE runs SET name = x'ff' WHERE id = 1", lambda store: store.read("firsst").kind),
        ("UPDATE calls SET model = x'ff'", lambda store: list(store.read("first").each_usage())),
        ("UPDATE calls SET model = x'ff'", lambda store: store.read("first").usages()),
        ("UPDATE steps SET calls = substr(calls, 3) WHERE position = 7", lambda store: [*store.read("first").chains()]),
        ("DELETE FROM segments", lambda store: store.read("rated").ratings_at(0)),
        ("PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = CAST(x'ff' AS TEXT)", start),
    ],
)
def test_a_damaged_value_is_named_with_the_file_by_whatever_reads_it_first(
    filled: bytes, tmp_path: Path, damage: str, read: Callable[[Store], Any]
) -> None:
    place = tmp_path / "s.db"
    place.write_bytes(filled)
    with Store(place) as store:
        start(store, "rated", kind="rating").save_ratings(0, rated("s1"))
    with sql(place) as connection:
        connection.executescript(damage)
    way_out = r"(docs/reference/store\.md#a-damaged-store|mtagent runs list)"
    with pytest.raises(StoreError, match=rf"^{place}: .*{way_out}"), Store(place) as store:
        read(store)


def test_a_run_whose_row_is_not_there_for_every_reader_is_damaged(filled: bytes, tmp_path: Path) -> None:
    """A page of a table is lost, and that of its index is not."""
    place = tmp_path / "s.db"
    with sqlite3.connect(":memory:") as connection:
        connection.deserialize(filled[:18] + b"\x01\x01" + filled[20:])
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs'").fetchone()
    connection.close()
    empty_leaf = b"\x0d\x00\x00\x00\x00\x10\x00\x00" + bytes(4088)
    place.write_bytes(filled[: 4096 * (root - 1)] + empty_leaf + filled[4096 * root :])
    way_out = r"is damaged.*docs/reference/store\.md#a-damaged-store"
    with Store(place) as store, pytest.raises(StoreError, match=way_out):
        assert store.read("first").kind


@pytest.mark.extra
@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="SQLite's command line is not installed")
@pytest.mark.parametrize("seed", range(4))
def test_the_replies_of_a_damaged_store_are_saved_as_the_page_tells_and_not_paid_for_again(
    seed: int, tmp_path: Path
) -> None:
    recipe = section("reference/store.md", "A damaged store").split("```sh\n")[1].split("```")[0]
    sources = [f"The cat number {number} sat on the mat and looked at {number * 7} birds." for number in range(60)]
    usages = dict.fromkeys(
        ("translate", "rate", "fix", "proofread", "gate"), Usage(calls=1, input_tokens=1, output_tokens=1)
    )
    first = scripted(usages)
    improve(tmp_path, first, "one", sources)
    content, draw = bytearray((tmp_path / "store.db").read_bytes()), random.Random(seed)
    page = draw.randrange(len(content) // 8192, len(content) // 4096)
    content[4096 * page : 4096 * (page + 1)] = draw.randbytes(4096)
    (tmp_path / "damaged.db").write_bytes(content)
    text = (tmp_path / "one.txt").read_text(encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["sh", "-ec", recipe], cwd=tmp_path, env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}, check=True
    )
    again = scripted(usages)
    improve(tmp_path, again, "one", sources, store=tmp_path / "new.db")
    assert (tmp_path / "one.txt").read_text(encoding="utf-8") == text
    assert len(first.requests) > 100
    assert len(again.requests) < 20
    with Store(tmp_path / "new.db") as store:
        assert [(run.name, run.state, run.counts.done) for run in store.runs()] == [("one", "finished", 60)]
