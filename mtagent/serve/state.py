"""The state that outlives a restart, in one SQLite file: usage of keys, glossaries, and texts if the operator wants.

Several servers may share the file: amounts are added inside the database, so that none overwrites another's. What
cannot be written now (the disk is full, another program holds the file) stays in memory and is tried again every
second.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import secrets
import sqlite3
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mtagent.errors import StoreError
from mtagent.records import Chain
from mtagent.serve.access import ApiKey, QuotaExceeded, ServiceError, Spent

logger = logging.getLogger("mtagent.serve")
WRITE_SECONDS = 1.0
"""How long a write waits for another program that writes to the file."""
GLOSSARY_SECONDS = 0.2
"""The same for glossaries, which are written in the event loop's thread."""
CLOSE_SECONDS = 5.0
"""How long the last write is tried again when the server stops."""
MOST_UNWRITTEN = 10_000_000
"""Maximum number of characters of texts that wait in memory; further texts are not kept."""
Keep = Literal["none", "hashes", "texts"]
_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS usage (
    key TEXT NOT NULL, month TEXT NOT NULL, characters INTEGER NOT NULL, dollars REAL NOT NULL,
    unpriced INTEGER NOT NULL, PRIMARY KEY (key, month));
CREATE TABLE IF NOT EXISTS glossaries (
    id TEXT PRIMARY KEY, key TEXT NOT NULL, name TEXT NOT NULL, created TEXT NOT NULL, dictionaries TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS segments (
    at TEXT NOT NULL, key TEXT NOT NULL, source_lang TEXT NOT NULL, target_lang TEXT NOT NULL, source TEXT NOT NULL,
    given TEXT, text TEXT NOT NULL, state TEXT NOT NULL, dollars REAL);
CREATE TABLE IF NOT EXISTS days (day TEXT PRIMARY KEY, dollars REAL NOT NULL);
CREATE TABLE IF NOT EXISTS writes (server TEXT PRIMARY KEY, number INTEGER NOT NULL);
COMMIT;
"""
_ADD_USAGE = """INSERT INTO usage VALUES (?, ?, max(0, ?), ?, ?) ON CONFLICT DO UPDATE SET
    characters = max(0, characters + ?), dollars = dollars + excluded.dollars,
    unpriced = max(unpriced, excluded.unpriced)
"""
_ADD_DAY = "INSERT INTO days VALUES (?, ?) ON CONFLICT DO UPDATE SET dollars = dollars + excluded.dollars"
_ADD_TEXT = "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_OPEN_ACCOUNT = "INSERT OR IGNORE INTO usage VALUES (?, ?, 0, 0, 0)"
_CHARGE = """UPDATE usage SET characters = characters + :characters WHERE key = :key AND month = :month
    AND (:limit IS NULL OR characters + :characters <= :limit)"""
_LAST_WRITE = "SELECT max(number) FROM writes WHERE server = ?"
_SPENT = "SELECT characters, dollars, unpriced FROM usage WHERE key = ? AND month = ?"
Pair = tuple[str, str]
Month = str
"""A calendar month in UTC, such as ``2026-11``."""
KeyAndMonth = tuple[str, Month]


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary of a key, with the terms of each language pair."""

    id: str
    name: str
    created: str
    dictionaries: dict[Pair, dict[str, str]]


@dataclass(frozen=True)
class _Charge:
    """A request of a key with limits that waits until its characters are counted in the file."""

    key: ApiKey
    month: Month
    characters: int
    # Why the request is refused; None if it was charged.
    outcome: asyncio.Future[ServiceError | None]


class _OpenFile(NamedTuple):
    """The connections to a state file: one for the event loop, and one for the thread that writes usage."""

    db: sqlite3.Connection
    writer: sqlite3.Connection  # so that a write that waits for the file doesn't keep the event loop from reading
    salt: bytes
    # Of the file, whatever its name, and of the file next to it to which SQLite writes first; None in memory.
    identity: tuple[int, int] | None
    log_identity: tuple[int, int] | None

    def close(self) -> None:
        self.writer.close()
        self.db.close()


@dataclass
class _Unwritten:
    """Amounts to add to those in the file."""

    usage: dict[KeyAndMonth, Spent] = field(default_factory=dict)
    days: dict[str, float] = field(default_factory=dict)  # dollars, by day
    texts: list[Sequence[Any]] = field(default_factory=list)  # rows of segments

    def add(self, other: _Unwritten) -> None:
        """Add the amounts of ``other``, whose texts are the older ones."""
        for key_and_month, spent in other.usage.items():
            self.usage.setdefault(key_and_month, Spent()).add(spent)
        for day, dollars in other.days.items():
            self.days[day] = self.days.get(day, 0.0) + dollars
        self.texts[:0] = other.texts


class State:
    """The state in the file ``path``, or in memory without one; ``keep`` decides in which form texts are stored.

    It belongs to one event loop. A thread writes to the file, so that the loop never waits for it.
    """

    def __init__(self, path: Path | None, keep: Keep = "none") -> None:
        self._file = _opened(path)
        self._thread: ThreadPoolExecutor | None = None
        if path is not None:
            self._thread = ThreadPoolExecutor(1, "mtagent-state")
        self._former_file: _OpenFile | None = None  # one that was deleted or replaced, to be closed
        self._path = path
        self._keep = keep
        self._server = str(uuid.uuid4())
        # The file has the number of this server's last write, from which readers see whether it is complete.
        self._write_number = 0
        self._charges: list[_Charge] = []
        self._unwritten = _Unwritten()
        self._in_writing = _Unwritten()  # by the thread now
        self._writing: asyncio.Task[None] | None = None
        self._waiting_characters = 0  # of unwritten texts
        self.problem: str | None = None
        """Why the last write failed; ``None`` if it did not."""
        self.failed_writes = 0
        self.texts_lost = 0
        """How many texts were not kept, because too many could not be written."""

    # -- usage

    def spent_by(self, key: str) -> Spent:
        """The usage of ``key`` in this month. Raises :class:`sqlite3.Error`."""
        key_and_month = key, this_month()
        row, unwritten = self._read(_SPENT, key_and_month)
        spent = Spent(row[0], row[1], bool(row[2])) if row else Spent()
        for amounts in unwritten:
            spent.add(amounts.usage.get(key_and_month, Spent()))
        return spent

    def dollars_today(self) -> float:
        """The dollars of this day, with what other servers spent. Raises :class:`sqlite3.Error`."""
        day = today()
        row, unwritten = self._read("SELECT dollars FROM days WHERE day = ?", (day,))
        dollars = row[0] if row else 0.0
        return float(dollars + sum(amounts.days.get(day, 0.0) for amounts in unwritten))

    def _read(self, query: str, parameters: Sequence[str]) -> tuple[Sequence[Any] | None, list[_Unwritten]]:
        """The first row of a query, and the amounts in memory that were not in the file when it was read."""
        db = self._file.db
        with db:
            db.execute("BEGIN")  # both statements see the same state of the file
            row = db.execute(query, parameters).fetchone()
            ((last_write,),) = db.execute(_LAST_WRITE, (self._server,))
        if last_write == self._write_number:
            return row, [self._unwritten]
        return row, [self._in_writing, self._unwritten]

    @property
    def unwritten_characters(self) -> int:
        """Characters of requests that are counted, but not in the file yet."""
        counts = [*self._in_writing.usage.values(), *self._unwritten.usage.values()]
        return sum(abs(spent.characters) for spent in counts)

    async def charge(self, key: ApiKey, characters: int) -> Month:
        """Count the ``characters`` of a request, and return the month in which they count.

        Those of a key with limits are in the file before this returns. Raises :class:`QuotaExceeded` if they exceed
        a limit, and :class:`ServiceError` if they cannot be counted now.
        """
        month = this_month()
        if key.characters is None and key.dollars is None:
            self.spend(key.name, characters=characters, month=month)
            return month
        charge = _Charge(key, month, characters, asyncio.get_running_loop().create_future())
        self._charges.append(charge)
        while not charge.outcome.done():
            await self.flush()
        refusal = charge.outcome.result()
        if refusal is not None:
            raise refusal
        return month

    def spend(self, key: str, *, characters: int = 0, dollars: float | None = 0.0, month: Month | None = None) -> None:
        """Add to the usage of ``key``; dollars ``None`` means that the price is unknown."""
        spent = Spent(characters, dollars or 0.0, unpriced=dollars is None)
        self._unwritten.add(_Unwritten({(key, month or this_month()): spent}))

    def spend_today(self, dollars: float) -> None:
        """Add to the dollars of this day."""
        self._unwritten.add(_Unwritten(days={today(): dollars}))

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are stored as they are."""
        return self._keep == "texts"

    def keep(self, key: str, chains: Iterable[Chain], state: str | None = None) -> None:
        """Store ``chains`` in the form that the operator keeps, with their state or another one."""
        if self._keep == "none":
            return
        now = datetime.now(UTC).isoformat(timespec="seconds")
        for chain in chains:
            languages = (chain.segment.source_lang, chain.segment.target_lang)
            texts = (self._kept(chain.segment.source), self._kept(chain.given), self._kept(chain.text))
            self._waiting_characters += _length(texts)
            if self._waiting_characters > MOST_UNWRITTEN:
                self._waiting_characters -= _length(texts)
                if not self.texts_lost:
                    logger.error("texts are not kept from now on: too many could not be written to the state file")
                self.texts_lost += 1
                continue
            self._unwritten.texts.append((now, key, *languages, *texts, state or chain.state, chain.usage.cost))

    async def flush(self) -> None:
        """Write everything that is counted and not in the file yet. If that fails, ``problem`` has the reason."""
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        # A client that disconnects ends its request, but not the write, on which other requests depend.
        await asyncio.shield(self._writing)

    async def _write(self) -> None:
        """Write in one transaction, and wake the requests that wait for it."""
        charges, self._charges = self._charges, []
        self._in_writing, self._unwritten = self._unwritten, _Unwritten()
        self._write_number += 1
        failure = None
        try:
            if self._thread is None:
                refusals = self._commit(charges, self._in_writing)
            else:
                loop = asyncio.get_running_loop()
                refusals = await loop.run_in_executor(self._thread, self._commit, charges, self._in_writing)
            self._waiting_characters -= sum(_length(row[4:7]) for row in self._in_writing.texts)
        except Exception as error:  # noqa: BLE001 - whatever it is, requests wait for an outcome
            failure = str(error)
            if not isinstance(error, sqlite3.Error | StoreError):
                failure = f"{type(error).__name__}: {error}"
            refusals = [_uncounted() for _ in charges]
            self._unwritten.add(self._in_writing)
        finally:
            self._in_writing = _Unwritten()
            self._writing = None
            if self._former_file is not None:
                self._former_file.close()
                self._former_file = None
        self._note(failure)
        for charge, refusal in zip(charges, refusals, strict=True):
            if not charge.outcome.done():  # the client may have disconnected
                charge.outcome.set_result(refusal)

    def _commit(self, charges: Sequence[_Charge], unwritten: _Unwritten) -> list[ServiceError | None]:
        """Write in one transaction, and return which charges are refused. Raises :class:`sqlite3.Error`."""
        if self._path is not None and _identity(self._path) != self._file.identity:
            raise sqlite3.OperationalError(self._open_again(self._path))
        refusals: list[ServiceError | None] = []
        writer = self._file.writer
        writer.execute("BEGIN IMMEDIATE")
        with writer:
            for (key, month), spent in unwritten.usage.items():
                count = spent.characters
                writer.execute(_ADD_USAGE, (key, month, count, spent.dollars, spent.unpriced, count))
            writer.executemany(_ADD_DAY, unwritten.days.items())
            writer.executemany(_ADD_TEXT, unwritten.texts)
            if unwritten.usage or unwritten.days:
                writer.execute("INSERT OR REPLACE INTO writes VALUES (?, ?)", (self._server, self._write_number))
            for charge in charges:
                refusals.append(_refusal(writer, charge))
        return refusals

    def _open_again(self, path: Path) -> str:
        """Open the file that is now at ``path``, and return the fate of the former one.

        If it was deleted, it is written again: SQLite still has it open, with all that it held.
        """
        former = self._file
        former.writer.execute("BEGIN IMMEDIATE")  # other servers that have the former file open wait
        try:
            if not path.exists():
                problem = "the file was deleted; it was made again with all that it held"
                self._restore(path)
            else:
                problem = "another file has taken its place, and is used from now on"
                if _identity(_beside(path, "-wal")) == former.log_identity:
                    _remove_log(path)
            self._former_file, self._file = former, _opened(path)
        finally:
            former.writer.rollback()
        return problem

    def _restore(self, path: Path) -> None:
        copy = _beside(path, f".{uuid.uuid4()}")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            copy.touch(mode=0o600)
            self._file.db.execute("VACUUM INTO ?", (str(copy),))
            _remove_log(path)
            copy.rename(path)
        finally:
            copy.unlink(missing_ok=True)

    def _note(self, failure: str | None) -> None:
        """Report a failed write, and the first successful one after it; the log has each problem once."""
        if failure is not None:
            self.failed_writes += 1
        if failure == self.problem:
            return
        if failure is None:
            logger.warning("the state file is written again, with all that waited for it")
        else:
            logger.error("%s: usage cannot be written, and is tried again every second: %s", self._path, failure)
        self.problem = failure

    async def close(self) -> None:
        """Write the rest, and close the file. What cannot be written within :data:`CLOSE_SECONDS` is logged."""
        end = time.monotonic() + CLOSE_SECONDS
        while True:
            if self._writing is not None:
                await self._writing
            await self.flush()
            if self.problem is None or time.monotonic() >= end:
                break
            await asyncio.sleep(0.2)
        for (key, month), spent in self._unwritten.usage.items():
            logger.error(
                "%s: lost, because it could not be written: %d characters and %.6f dollars of the key %s in %s",
                *(self._path, spent.characters, spent.dollars, key, month),
            )
        if self._thread is not None:
            self._thread.shutdown()
        with suppress(sqlite3.Error), self._file.writer as writer:  # a row that stays does no harm
            writer.execute("DELETE FROM writes WHERE server = ?", (self._server,))
        self._file.close()

    # -- texts

    def _kept(self, text: str | None) -> str | None:
        """The stored form of ``text``: itself, or its keyed hash."""
        if text is None or self._keep == "texts":
            return text
        return hmac.new(self._file.salt, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    async def kept(self, key: str, source: str | None, limit: int) -> list[dict[str, Any]]:
        """The newest stored texts of ``key``, at most ``limit``; with ``source`` only texts that have this source.

        Texts that cannot be written now are missing. Raises :class:`sqlite3.Error`.
        """
        await self.flush()
        names = ("at", "source_lang", "target_lang", "source", "given", "text", "state", "dollars")
        query = f"SELECT {', '.join(names)} FROM segments WHERE key = ? AND (? IS NULL OR source = ?)"
        stored_source = self._kept(source)
        rows = self._file.db.execute(f"{query} ORDER BY rowid DESC LIMIT ?", (key, stored_source, stored_source, limit))
        return [dict(zip(names, row, strict=True)) for row in rows]

    # -- glossaries

    def add_glossary(self, key: str, name: str, dictionaries: dict[Pair, dict[str, str]]) -> StoredGlossary:
        """Store a glossary of ``key``."""
        created = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        glossary = StoredGlossary(str(uuid.uuid4()), name, created, dictionaries)
        self.put_glossary(key, glossary)
        return glossary

    def put_glossary(self, key: str, glossary: StoredGlossary) -> None:
        """Store ``glossary``, and replace one with the same id."""
        terms = json.dumps([[*pair, terms] for pair, terms in glossary.dictionaries.items()], ensure_ascii=False)
        row = glossary.id, key, glossary.name, glossary.created, terms
        with self._file.db as db:
            db.execute("INSERT OR REPLACE INTO glossaries VALUES (?, ?, ?, ?, ?)", row)

    def glossaries(self, key: str, number: str | None = None) -> list[StoredGlossary]:
        """All glossaries of ``key``, or the one with the id ``number``; none of other keys."""
        query = "SELECT id, name, created, dictionaries FROM glossaries WHERE key = ? AND (? IS NULL OR id = ?)"
        glossaries = []
        for id_, name, created, data in self._file.db.execute(f"{query} ORDER BY created", (key, number, number)):
            dictionaries = {(source, target): terms for source, target, terms in json.loads(data)}
            glossaries.append(StoredGlossary(id_, name, created, dictionaries))
        return glossaries

    def delete_glossary(self, key: str, number: str) -> bool:
        """Delete a glossary of ``key``, and return whether it existed."""
        with self._file.db as db:
            deletion = db.execute("DELETE FROM glossaries WHERE key = ? AND id = ?", (key, number))
        return deletion.rowcount > 0


def _opened(path: Path | None) -> _OpenFile:
    """Open the file, which is made if it is missing. Raises :class:`StoreError`."""
    identity = log_identity = None
    try:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            identity = _identity(path)
        db = sqlite3.connect(path or ":memory:", check_same_thread=False)
        if path is not None:
            _refuse_foreign(db, path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.executescript(_TABLES)
        db.execute("INSERT OR IGNORE INTO settings VALUES ('salt', ?)", (secrets.token_hex(32),))
        ((salt,),) = db.execute("SELECT value FROM settings WHERE name = 'salt'")
        db.commit()
        db.execute(f"PRAGMA busy_timeout = {int(1000 * GLOSSARY_SECONDS)}")
        writer = db
        if path is not None:
            writer = sqlite3.connect(path, timeout=WRITE_SECONDS, check_same_thread=False)
            writer.execute("PRAGMA synchronous = NORMAL")
            log_identity = _identity(_beside(path, "-wal"))
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path}: cannot be opened: {error}") from None
    return _OpenFile(db, writer, bytes.fromhex(salt), identity, log_identity)


def _refuse_foreign(db: sqlite3.Connection, path: Path) -> None:
    """Raise :class:`StoreError` for a database of another kind, before anything is written to it."""
    columns = _columns(db)
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(_TABLES)
        expected = _columns(empty)
    # A table such as "settings" with two columns may belong to anybody, but not this "usage". The operator may have
    # added tables and views.
    is_foreign = bool(columns) and "usage" not in columns
    for name in columns.keys() & expected.keys():
        is_foreign = is_foreign or columns[name] != expected[name]
    if is_foreign:
        db.close()
        raise StoreError(
            f"{path}: is not a state file of mtagent serve, but a run store or a database of another program; "
            "name another file, or a new one, with --state"
        )


def _columns(db: sqlite3.Connection) -> dict[str, str]:
    """The columns of each table, as one text."""
    columns = "SELECT group_concat(name) FROM pragma_table_info(tables.name)"
    return dict(db.execute(f"SELECT name, ({columns}) FROM sqlite_master tables WHERE type = 'table'"))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _remove_log(path: Path) -> None:
    """Remove SQLite's files next to a file that is no longer at ``path``: SQLite would apply them to the new file."""
    for suffix in ("-wal", "-shm"):
        _beside(path, suffix).unlink(missing_ok=True)


def _identity(path: Path) -> tuple[int, int] | None:
    """The numbers of the device and of the file at ``path``; ``None`` if there is no file."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_dev, stat.st_ino


def _refusal(db: sqlite3.Connection, charge: _Charge) -> ServiceError | None:
    """Charge within the key's limits, or return why that is not possible."""
    key = charge.key
    db.execute(_OPEN_ACCOUNT, (key.name, charge.month))
    _, dollars, unpriced = db.execute(_SPENT, (key.name, charge.month)).fetchone()
    if key.dollars is not None and dollars >= key.dollars:
        return QuotaExceeded()
    if key.dollars is not None and unpriced:
        return QuotaExceeded("the cost of a former call is unknown, and this key has a limit in dollars")
    values: Mapping[str, Any] = {
        "key": key.name,
        "month": charge.month,
        "characters": charge.characters,
        "limit": key.characters,
    }
    if db.execute(_CHARGE, values).rowcount == 0:
        return QuotaExceeded("the character limit is reached")
    return None


def _uncounted() -> ServiceError:
    return ServiceError(503, "the usage of this key cannot be counted now, and it has a limit", retry_after=1)


def _length(texts: Iterable[str | None]) -> int:
    return sum(len(text) for text in texts if text is not None)


def this_month() -> Month:
    """The calendar month in UTC, such as ``2026-11``."""
    return time.strftime("%Y-%m", time.gmtime())


def today() -> str:
    """The day in UTC, such as ``2026-11-28``."""
    return time.strftime("%Y-%m-%d", time.gmtime())
