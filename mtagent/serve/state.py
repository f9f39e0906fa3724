"""The state that outlives a restart, in one SQLite file: usage of keys, glossaries, and texts if the operator wants."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sqlite3
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from mtagent.errors import StoreError
from mtagent.records import Chain
from mtagent.serve.access import Spent

Keep = Literal["none", "hashes", "texts"]
_TABLES = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS usage (
    key TEXT NOT NULL, month TEXT NOT NULL, characters INTEGER NOT NULL, dollars REAL NOT NULL,
    unpriced INTEGER NOT NULL, PRIMARY KEY (key, month));
CREATE TABLE IF NOT EXISTS glossaries (
    id TEXT PRIMARY KEY, key TEXT NOT NULL, name TEXT NOT NULL, created TEXT NOT NULL, dictionaries TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS segments (
    at TEXT NOT NULL, key TEXT NOT NULL, source_lang TEXT NOT NULL, target_lang TEXT NOT NULL, source TEXT NOT NULL,
    given TEXT, text TEXT NOT NULL, state TEXT NOT NULL, dollars REAL);
"""
Pair = tuple[str, str]


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary of a key, with the terms of each language pair."""

    id: str
    name: str
    created: str
    dictionaries: dict[Pair, dict[str, str]]


class State:
    """The state in the file ``path``, or in memory without one; ``keep`` decides what is stored of texts."""

    def __init__(self, path: Path | None, keep: Keep = "none") -> None:
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(mode=0o600)
            self._db = sqlite3.connect(path or ":memory:", check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_TABLES)
            self._db.execute("INSERT OR IGNORE INTO settings VALUES ('salt', ?)", (secrets.token_hex(32),))
            ((salt,),) = self._db.execute("SELECT value FROM settings WHERE name = 'salt'")
            self._db.commit()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path}: cannot be opened: {error}") from None
        self._keep = keep
        self._salt = bytes.fromhex(salt)
        # By key and month; what changed since the last flush isn't in the file yet.
        self._spent: dict[tuple[str, str], Spent] = {}
        self._changed: set[tuple[str, str]] = set()

    def spent_by(self, key: str) -> Spent:
        """The usage of ``key`` in this month; add to it with :meth:`spend`."""
        key_and_month = key, _month()
        if key_and_month not in self._spent:
            query = "SELECT characters, dollars, unpriced FROM usage WHERE key = ? AND month = ?"
            row = self._db.execute(query, key_and_month).fetchone()
            self._spent[key_and_month] = Spent(row[0], row[1], bool(row[2])) if row else Spent()
        return self._spent[key_and_month]

    def spend(self, key: str, *, characters: int = 0, dollars: float | None = 0.0) -> None:
        """Add to the usage of ``key``; dollars ``None`` means that the price is unknown."""
        spent = self.spent_by(key)
        spent.characters = max(0, spent.characters + characters)
        spent.dollars += dollars or 0.0
        spent.unpriced = spent.unpriced or dollars is None
        self._changed.add((key, _month()))

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are stored as they are."""
        return self._keep == "texts"

    def keep(self, key: str, chains: Iterable[Chain], state: str | None = None) -> None:
        """Store what the operator keeps of ``chains``, with their state or another one."""
        if self._keep == "none":
            return
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rows = []
        for chain in chains:
            languages = (chain.segment.source_lang, chain.segment.target_lang)
            texts = (self._kept(chain.segment.source), self._kept(chain.given), self._kept(chain.text))
            rows.append((now, key, *languages, *texts, state or chain.state, chain.usage.cost))
        self._db.executemany("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def _kept(self, text: str | None) -> str | None:
        """``text`` as it is stored: itself, or its keyed hash."""
        if text is None or self._keep == "texts":
            return text
        return hmac.new(self._salt, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def kept(self, key: str, source: str | None, limit: int) -> list[dict[str, Any]]:
        """The newest stored texts of ``key``, at most ``limit``; with ``source`` only texts that have this source."""
        names = ("at", "source_lang", "target_lang", "source", "given", "text", "state", "dollars")
        query = f"SELECT {', '.join(names)} FROM segments WHERE key = ? AND (? IS NULL OR source = ?)"
        stored_source = self._kept(source)
        rows = self._db.execute(f"{query} ORDER BY rowid DESC LIMIT ?", (key, stored_source, stored_source, limit))
        return [dict(zip(names, row, strict=True)) for row in rows]

    def flush(self) -> None:
        """Write the usage that was counted since the last flush."""
        rows = []
        for key_and_month in self._changed:
            spent = self._spent[key_and_month]
            rows.append((*key_and_month, spent.characters, spent.dollars, spent.unpriced))
        self._changed = set()
        self._db.executemany("INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?)", rows)
        self._db.commit()

    def close(self) -> None:
        """Write the rest of the usage, and close the file."""
        self.flush()
        self._db.close()

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
        self._db.execute("INSERT OR REPLACE INTO glossaries VALUES (?, ?, ?, ?, ?)", row)
        self._db.commit()

    def glossaries(self, key: str, number: str | None = None) -> list[StoredGlossary]:
        """All glossaries of ``key``, or the one with the id ``number``; none of other keys."""
        query = "SELECT id, name, created, dictionaries FROM glossaries WHERE key = ? AND (? IS NULL OR id = ?)"
        glossaries = []
        for id_, name, created, data in self._db.execute(f"{query} ORDER BY created", (key, number, number)):
            dictionaries = {(source, target): terms for source, target, terms in json.loads(data)}
            glossaries.append(StoredGlossary(id_, name, created, dictionaries))
        return glossaries

    def delete_glossary(self, key: str, number: str) -> bool:
        """Delete a glossary of ``key``, and return whether it existed."""
        deletion = self._db.execute("DELETE FROM glossaries WHERE key = ? AND id = ?", (key, number))
        self._db.commit()
        return deletion.rowcount > 0


def _month() -> str:
    now = time.gmtime()
    return f"{now.tm_year}-{now.tm_mon:02}"
