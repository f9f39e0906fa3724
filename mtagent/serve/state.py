"""What outlives a restart, in one SQLite file: what each key has used, glossaries, and what the operator keeps."""

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
    """A glossary of a key, with the terms of each pair of languages."""

    id: str
    name: str
    created: str
    dictionaries: dict[Pair, dict[str, str]]


class State:
    """The file ``path``, or memory alone; ``keep`` says what is written down of texts."""

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
        self._keep, self._salt = keep, bytes.fromhex(salt)
        self._spent: dict[Pair, Spent] = {}
        self._changed: set[Pair] = set()

    def spent_by(self, key: str) -> Spent:
        """What ``key`` has used this month; add to it with :meth:`spend`."""
        place = key, _month()
        if place not in self._spent:
            query = "SELECT characters, dollars, unpriced FROM usage WHERE key = ? AND month = ?"
            row = self._db.execute(query, place).fetchone()
            self._spent[place] = Spent(row[0], row[1], bool(row[2])) if row else Spent()
        return self._spent[place]

    def spend(self, key: str, *, characters: int = 0, dollars: float | None = 0.0) -> None:
        """Count what ``key`` has used; dollars ``None``: nobody knows how many."""
        spent = self.spent_by(key)
        spent.characters = max(0, spent.characters + characters)
        spent.dollars += dollars or 0.0
        spent.unpriced = spent.unpriced or dollars is None
        self._changed.add((key, _month()))

    def keep(self, key: str, chains: Iterable[Chain]) -> None:
        """Write down what the operator keeps of ``chains``."""
        if self._keep == "none":
            return
        kept = self._kept
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._db.executemany(
            "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (now, key, chain.segment.source_lang, chain.segment.target_lang, kept(chain.segment.source),
                 kept(chain.given), kept(chain.text), chain.state, chain.usage.cost)
                for chain in chains
            ],
        )  # fmt: skip

    def _kept(self, text: str | None) -> str | None:
        """``text`` as it is written down."""
        if text is None or self._keep == "texts":
            return text
        return hmac.new(self._salt, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def kept(self, key: str, source: str | None, most: int) -> list[dict[str, Any]]:
        """The newest texts of ``key`` that are written down, or those with this ``source``, at ``most`` so many."""
        names = ("at", "source_lang", "target_lang", "source", "given", "text", "state", "dollars")
        query = f"SELECT {', '.join(names)} FROM segments WHERE key = ? AND (? IS NULL OR source = ?)"
        wanted = self._kept(source)
        rows = self._db.execute(f"{query} ORDER BY rowid DESC LIMIT ?", (key, wanted, wanted, most))
        return [dict(zip(names, row, strict=True)) for row in rows]

    def flush(self) -> None:
        """Write what was counted since the last time."""
        changed, self._changed = self._changed, set()
        rows = [(*place, spent.characters, spent.dollars, spent.unpriced) for place in changed
                if (spent := self._spent[place])]  # fmt: skip
        self._db.executemany("INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?)", rows)
        self._db.commit()

    def close(self) -> None:
        """Write the rest, and close the file."""
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
        """Store ``glossary`` in place of what has its id."""
        terms = json.dumps([[*pair, terms] for pair, terms in glossary.dictionaries.items()], ensure_ascii=False)
        row = glossary.id, key, glossary.name, glossary.created, terms
        self._db.execute("INSERT OR REPLACE INTO glossaries VALUES (?, ?, ?, ?, ?)", row)
        self._db.commit()

    def glossaries(self, key: str, number: str | None = None) -> list[StoredGlossary]:
        """The glossaries of ``key``, or the one with an id; those of others are not there."""
        query = "SELECT id, name, created, dictionaries FROM glossaries WHERE key = ? AND (? IS NULL OR id = ?)"
        return [
            StoredGlossary(id_, name, created, {(source, target): terms for source, target, terms in json.loads(data)})
            for id_, name, created, data in self._db.execute(f"{query} ORDER BY created", (key, number, number))
        ]

    def delete_glossary(self, key: str, number: str) -> bool:
        """Delete a glossary of ``key``; whether it was there."""
        done = self._db.execute("DELETE FROM glossaries WHERE key = ? AND id = ?", (key, number))
        self._db.commit()
        return done.rowcount > 0


def _month() -> str:
    now = time.gmtime()
    return f"{now.tm_year}-{now.tm_mon:02}"
