"""The database file: its tables with their migrations, opening it, transactions, and errors that tell what to do.

``docs/reference/store.md`` describes every column for people who ask a store with SQL.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mtagent.errors import StoreError

APPLICATION_ID = 0x6D746167
"""Marks a database file as a store of mtagent (``mtag`` in ASCII)."""

Migration = Sequence[str]
"""The SQL statements that lead from one version of the tables to the next."""

_RATING_COLUMNS = """
    explanation TEXT,
    errors TEXT,
    calls TEXT{required},
    correction TEXT,
    confidence REAL,
    gaps TEXT{required},
    warnings TEXT{required},
    seconds REAL{required},"""
"""What ``ratings`` and ``rated`` share. In ``rated`` all of them are NULL if there was an error instead of a rating."""

_TABLES = (
    # AUTOINCREMENT: the number of a deleted run, which another process may still hold, must not name another run
    """CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    settings TEXT NOT NULL,
    inputs TEXT NOT NULL,
    outputs TEXT NOT NULL,
    gates TEXT NOT NULL DEFAULT '{}',
    total INTEGER,
    pid INTEGER,
    started TEXT NOT NULL,
    updated TEXT NOT NULL)""",
    """CREATE TABLE segments (
    run_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    segment TEXT NOT NULL,
    source_lang TEXT NOT NULL,
    target_lang TEXT NOT NULL,
    source TEXT NOT NULL,
    translation TEXT,
    candidates TEXT NOT NULL,
    reference TEXT,
    document TEXT,
    domain TEXT,
    context TEXT,
    notes TEXT,
    terms TEXT NOT NULL,
    max_length INTEGER,
    state TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run_id, position))""",
    "CREATE INDEX segments_by_id ON segments (run_id, segment)",
    "CREATE INDEX segments_by_state ON segments (run_id, state)",
    """CREATE TABLE steps (
    run_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    step INTEGER NOT NULL,
    segment TEXT NOT NULL,
    stage TEXT NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT NOT NULL,
    cause TEXT NOT NULL,
    text TEXT NOT NULL,
    proposed TEXT,
    seconds REAL NOT NULL,
    calls TEXT NOT NULL,
    PRIMARY KEY (run_id, position, step))""",
    """CREATE TABLE edits (
    run_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    step INTEGER NOT NULL,
    number INTEGER NOT NULL,
    segment TEXT NOT NULL,
    stage TEXT NOT NULL,
    outcome TEXT NOT NULL,
    old TEXT NOT NULL,
    new TEXT NOT NULL,
    start INTEGER,
    "end" INTEGER,
    category TEXT,
    severity TEXT,
    span TEXT,
    detail TEXT,
    guards TEXT NOT NULL,
    PRIMARY KEY (run_id, position, step, number))""",
    f"""CREATE TABLE ratings (
    run_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    step INTEGER NOT NULL,
    number INTEGER NOT NULL,
    segment TEXT NOT NULL,
    stage TEXT NOT NULL,
    role TEXT,
    evaluator TEXT NOT NULL,
    score REAL NOT NULL,
    signature TEXT NOT NULL,{_RATING_COLUMNS.format(required=" NOT NULL")}
    PRIMARY KEY (run_id, position, step, number))""",
    f"""CREATE TABLE rated (
    run_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    number INTEGER NOT NULL,
    segment TEXT NOT NULL,
    system TEXT NOT NULL,
    translation TEXT NOT NULL,
    evaluator TEXT,
    score REAL,
    signature TEXT,{_RATING_COLUMNS.format(required="")}
    error TEXT,
    paid TEXT,
    took REAL NOT NULL,
    CHECK ((evaluator IS NULL) = (score IS NULL)),
    PRIMARY KEY (run_id, position, number))""",
    "CREATE INDEX rated_by_system ON rated (run_id, system, position)",
    """CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL,
    segment TEXT NOT NULL,
    purpose TEXT NOT NULL,
    key TEXT NOT NULL,
    model TEXT NOT NULL,
    messages TEXT NOT NULL,
    reply TEXT,
    tool_calls TEXT,
    reply_model TEXT,
    finish_reason TEXT,
    logprobs TEXT,
    error TEXT,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost REAL,
    seconds REAL NOT NULL,
    at TEXT NOT NULL,
    retries TEXT,
    waited REAL NOT NULL)""",
    "CREATE INDEX calls_by_key ON calls (key)",
    "CREATE INDEX calls_by_segment ON calls (run_id, segment)",
    # The texts of messages and replies, once each, under their hash: prompts repeat with every call
    "CREATE TABLE texts (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL)",
    """CREATE TABLE decisions (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    segment TEXT NOT NULL,
    edit INTEGER,
    verdict TEXT NOT NULL,
    text TEXT,
    reason TEXT,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    seconds REAL,
    stage TEXT,
    chain TEXT NOT NULL,
    approves TEXT NOT NULL,
    withdraws INTEGER,
    command INTEGER NOT NULL)""",
    "CREATE INDEX decisions_by_segment ON decisions (run_id, position)",
)


def _text_and_tools(tool_calls: str) -> str:
    """SQL for a text and, each on a line after it, the tool calls that came with it: ``search({"query": "…"})``."""
    called = f"""(
        SELECT group_concat(json_extract(value, '$.name') || '(' || json_extract(value, '$.arguments') || ')', char(10))
          FROM json_each({tool_calls}))"""
    line_break = "CASE texts.text WHEN '' THEN '' ELSE char(10) END"
    return f"texts.text || coalesce({line_break} || {called}, '')"


# Every turn of every call with its text: what people read. Nothing in mtagent does.
_DIALOGUE = f"""CREATE VIEW dialogue AS
    SELECT calls.id AS call, run_id, segment, purpose, message.key AS turn,
           json_extract(message.value, '$[0]') AS role,
           {_text_and_tools("message.value, '$[2].tool_calls'")} AS text
      FROM calls, json_each(calls.messages) AS message
      JOIN texts ON texts.hash = json_extract(message.value, '$[1]')
    UNION ALL
    SELECT calls.id, run_id, segment, purpose, json_array_length(calls.messages), 'reply',
           {_text_and_tools("calls.tool_calls")}
      FROM calls JOIN texts ON texts.hash = calls.reply"""

# How many of the calls were answered in a batch
_BATCHED = "ALTER TABLE calls ADD COLUMN batched INTEGER NOT NULL DEFAULT 0"

# How many of the input tokens were written to a prompt cache
_CACHE_WRITES = "ALTER TABLE calls ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0"

# What the translation memory has for a segment
_MATCHES = "ALTER TABLE segments ADD COLUMN matches TEXT NOT NULL DEFAULT '[]'"

_COMMAND = "ALTER TABLE runs ADD COLUMN command TEXT NOT NULL DEFAULT '[]'"

# Which of several endpoints answered
_ENDPOINT = "ALTER TABLE calls ADD COLUMN endpoint TEXT"

# Whether a request was in a batch, also if it failed
_IN_BATCH = "ALTER TABLE calls ADD COLUMN in_batch INTEGER NOT NULL DEFAULT 0"
_OF_BATCHES = "UPDATE calls SET in_batch = 1 WHERE batched"

MIGRATIONS: Sequence[Migration] = (
    (*_TABLES, _DIALOGUE), (_BATCHED,), (_CACHE_WRITES,), (_MATCHES,), (_COMMAND,), (_ENDPOINT, _IN_BATCH, _OF_BATCHES),
)  # fmt: skip
"""Entry N leads from version N to N + 1. A released entry never changes: a change of the tables adds one."""


def version(connection: sqlite3.Connection) -> int:
    """The version of the tables in the database; 0 = none yet."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the tables to the newest version, in one transaction: all of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again inside the transaction: another process may have migrated while this one waited.
        present = version(connection)
        for number, migration in enumerate(migrations[present:], start=present + 1):
            for statement in migration:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


# -- the connection

MEMORY = ":memory:"
BUSY_SECONDS = 30.0
_CACHE_KIB = 16_384  # hashes fall anywhere in their index: with SQLite's 2 MB its pages would be read again and again
_CHECKPOINT_PAGES = 4000  # 16 MB: the log is flushed to disk some tens of times less often than calls are recorded
_SHOWN = 120
_ELSEWHERE = "choose another place with --store PATH"

_FULL = f"the disk is full; free some space, or {_ELSEWHERE}. What was saved before is safe"
_ADVICE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_BUSY: f"another process has kept the store locked for {BUSY_SECONDS:.0f} seconds; try again later",
    sqlite3.SQLITE_CANTOPEN: f"cannot be opened for writing; {_ELSEWHERE}",
    sqlite3.SQLITE_READONLY: f"is read-only; {_ELSEWHERE}",
    sqlite3.SQLITE_PERM: f"cannot be opened for writing; {_ELSEWHERE}",
    sqlite3.SQLITE_IOERR: f"cannot be read or written; check the disk, or {_ELSEWHERE}",
    sqlite3.SQLITE_NOTADB: f"is not a SQLite database; {_ELSEWHERE}",
}
_FULL_CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_CANNOT_WRITE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, *_FULL_CODES)
_NO_ROOM = 64 * 1024  # the index of the log takes 32 KiB


class Database:
    """One connection to a store. Made for one thread; other processes may use the same file.

    A file that cannot be written, on read-only media or a full disk, can be read.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = str(path) if str(path) == MEMORY else str(Path(path).expanduser().absolute())
        self.read_only = ""
        """Why the file cannot be written, with the way out; empty if it can."""
        with self._explained(""):
            try:
                self.connection = _open(self.path)
            except sqlite3.OperationalError as error:
                if _code(error) not in _CANNOT_WRITE or not Path(self.path).is_file():
                    raise
                self.connection = _open_to_read(self.path, error)
                self.read_only = _unwritable(self.path, error)

    def close(self) -> None:
        """Close the connection. Closing twice does no harm."""
        self.connection.close()

    def query(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = (), culprit: str = "") -> list[Any]:
        """All rows of a ``SELECT``, as tuples. ``culprit`` is named if a parameter cannot be stored."""
        with self._explained(culprit):
            return self.connection.execute(sql, parameters).fetchall()

    @contextmanager
    def reading(self, culprit: str = "") -> Iterator[sqlite3.Connection]:
        """Several reads of one state of the store, whatever another process writes meanwhile. ``culprit`` is named
        if a row cannot be understood.
        """
        with self._explained(culprit), self.intact(culprit):
            yield from self._transaction("BEGIN")

    @contextmanager
    def intact(self, culprit: str = "") -> Iterator[None]:
        """Raise :class:`StoreError` where stored values cannot be mtagent's: a damaged page may hold anything."""
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(_damaged(self.path, culprit, f"{type(error).__name__}: {error}")) from error

    @contextmanager
    def writing(self, culprit: str = "") -> Iterator[sqlite3.Connection]:
        """A transaction: all of it or nothing. ``culprit`` is named where the content cannot be stored."""
        with self._explained(culprit):
            yield from self._transaction("BEGIN IMMEDIATE")

    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        self.connection.execute(begin)
        try:
            yield self.connection
            self.connection.execute("COMMIT")
        finally:
            # After some errors, a full disk among them, SQLite has rolled back by itself.
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    @contextmanager
    def _explained(self, culprit: str) -> Iterator[None]:
        subject = culprit or self.path
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise StoreError(f"{subject}: cannot be stored, a value is missing or not a number ({error})") from error
        except sqlite3.Error as error:
            # An error about bytes that are not UTF-8 has no code.
            if _code(error) == sqlite3.SQLITE_CORRUPT or "decode" in str(error):
                raise StoreError(_damaged(self.path, culprit, str(error))) from error
            if self.read_only and _code(error) == sqlite3.SQLITE_READONLY:
                raise StoreError(f"{self.path}: {self.read_only}") from error
            advice = _advice(self.path, error)
            problem = f"{advice} ({error})" if advice else str(error)
            raise StoreError(f"{self.path}: {problem}") from error
        except UnicodeDecodeError as error:  # SQLite's own message quotes damaged bytes
            raise StoreError(_damaged(self.path, culprit, str(error))) from error
        except UnicodeEncodeError as error:
            code = ord(error.object[error.start])
            raise StoreError(
                f"{subject}: cannot be stored, U+{code:04X} at offset {error.start} is half of a character "
                "(a lone surrogate); remove it from the text"
            ) from error
        except OverflowError as error:
            raise StoreError(f"{subject}: cannot be stored, a number is too large ({error})") from error


def _code(error: sqlite3.Error) -> int:
    """The kind of error, from the low byte; the rest of the number is a detail of it."""
    return getattr(error, "sqlite_errorcode", -1) & 0xFF


def _advice(path: str, error: sqlite3.Error) -> str | None:
    """The problem and the way out, if known. On a full disk SQLite also reports "disk I/O error"."""
    if _code(error) == sqlite3.SQLITE_IOERR and path != MEMORY:
        with suppress(OSError):
            if shutil.disk_usage(Path(path).parent).free < _NO_ROOM:
                return _FULL
    return _ADVICE.get(_code(error))


def _unwritable(path: str, refusal: sqlite3.Error) -> str:
    """Why the store at ``path``, which can be read, cannot be written, and the way out."""
    if _code(refusal) in _FULL_CODES:
        return _advice(path, refusal) or str(refusal)
    return f"is read-only; {_ELSEWHERE} (a copy of it, to go on with its runs)"


def now() -> str:
    """The time in UTC, as the store writes it: ``2025-01-31 12:00:00.000``."""
    return datetime.now(UTC).isoformat(" ", "milliseconds")[:-6]


def user_folder() -> Path | None:
    """mtagent's folder in the user's data folder: ``$XDG_DATA_HOME``, or ``~/.local/share``; ``None`` without a home.

    It's never in the working folder: a relative ``$XDG_DATA_HOME`` is ignored, as XDG wants it.
    """
    data = Path(os.environ.get("XDG_DATA_HOME") or "")
    if not data.is_absolute():
        data = Path(os.path.expanduser("~/.local/share"))  # noqa: PTH111  its counterpart raises without a home
    return data / "mtagent" if data.is_absolute() else None


def make_private_folder(folder: Path) -> None:
    """Make ``folder`` and its missing parents, for this user alone; existing folders are left unchanged."""
    missing = [path for path in folder.parents if not path.exists()]
    for path in [*reversed(missing), folder]:
        if not path.is_dir():
            path.mkdir(mode=0o700, exist_ok=True)  # another process may be first
            path.chmod(0o700)  # whatever the umask takes away


def make_private_file(path: Path) -> None:
    """Make an empty file for this user alone. One that is there keeps its mode, which may have been chosen.

    SQLite gives the mode of a database to the log and the journal next to it.
    """
    try:
        made = os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError:
        return  # it exists, or SQLite will report why it cannot be made
    os.close(made)
    path.chmod(0o600)  # whatever the umask takes away


def _damaged(path: str, culprit: str, symptom: str) -> str:
    """One line: which store is damaged, where, and the page that tells how to save what was paid for."""
    line = " ".join(symptom.split())
    if len(line) > _SHOWN:
        line = line[:_SHOWN] + "…"
    where = f", at {culprit}" if culprit else ""
    return (
        f"{path}: is damaged{where} ({line}); restore a copy of it, or "
        "save the replies that it holds: docs/reference/store.md#a-damaged-store"
    )


def _open(path: str) -> sqlite3.Connection:
    if path != MEMORY:
        try:
            make_private_folder(Path(path).parent)
        except OSError as error:
            raise StoreError(f"{path}: its folder cannot be made; {_ELSEWHERE} ({error})") from error
        make_private_file(Path(path))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        _refuse_strangers(connection, path)
        _use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        if version(connection) < len(MIGRATIONS):
            migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _open_to_read(path: str, refusal: sqlite3.Error) -> sqlite3.Connection:
    """A connection to a file that cannot be written, because of ``refusal``.

    SQLite writes files next to a store. ``immutable`` promises that nobody else writes, so it needs no such
    files; but then it doesn't see the rows in a log next to the file. On a full disk the log's index can be kept in
    memory.
    """
    is_full = _code(refusal) in _FULL_CODES
    log = Path(f"{path}-wal").is_file() and Path(f"{path}-wal").stat().st_size
    options = "mode=rw" if is_full else "mode=ro"
    if not log:
        options = "mode=ro&immutable=1"
    connection = sqlite3.connect(f"file:{quote(path)}?{options}", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        if log and is_full:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA query_only = ON")
        _refuse_strangers(connection, path)
        if version(connection) < len(MIGRATIONS):
            raise StoreError(
                f"{path}: was made by an older mtagent, and can't be updated in its read-only folder: copy it to a "
                "writable folder, and name the copy with --store"
            )
    except sqlite3.OperationalError as error:
        connection.close()
        if not log or _code(error) not in _CANNOT_WRITE:
            raise
        why = _unwritable(path, refusal).partition(";")[0]
        raise StoreError(
            f"{path}: {why}, and the last changes are still in {path}-wal: copy both to a writable folder, "
            "and name the copy with --store"
        ) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    # For this statement alone SQLite does not wait: it fails at once where another process opens a new store as well.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _refuse_strangers(connection: sqlite3.Connection, path: str) -> None:
    """Look before anything is written: a file of another program or of a newer version stays as it is."""
    connection.execute("BEGIN")  # one state of the file: another process may be making the tables at this moment
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    connection.execute("COMMIT")
    if application != APPLICATION_ID and (application or tables):
        raise StoreError(f"{path}: is a database of another program; {_ELSEWHERE}")
    if version(connection) > len(MIGRATIONS):
        raise StoreError(
            f"{path}: was made by a newer mtagent (store version {version(connection)}, this one knows up to "
            f"{len(MIGRATIONS)}); update with pip install -U mtagent, or {_ELSEWHERE}"
        )
