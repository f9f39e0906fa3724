"""What neural metrics have computed, on disk: equal texts are not scored twice, whatever command scores them.

The file is ``scores.db`` in the user's data folder. It holds hashes and numbers, no texts. It may be deleted at any
time. A file that cannot be used is reported once, and nothing is remembered.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from mtagent.store.database import make_private_file, make_private_folder, user_folder

logger = logging.getLogger(__name__)

_TABLE = "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
_BUSY_SECONDS = 10.0
_AT_ONCE = 500


def key_of(parts: Sequence[object]) -> bytes:
    """The key of an answer that depends on ``parts``: everything that was asked, and the model that answered."""
    return hashlib.sha256(json.dumps(parts).encode()).digest()


class ScoreCache:
    """Answers by their keys (:func:`key_of`). Any number of processes and threads may use the file at once."""

    def __init__(self) -> None:
        folder = user_folder()
        self._path = folder and folder / "scores.db"

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """The answers to ``keys`` that are remembered."""
        answers: dict[bytes, Any] = {}

        def read(connection: sqlite3.Connection) -> None:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                for key, answer in connection.execute(f"SELECT key, answer FROM scores WHERE key IN ({marks})", some):
                    answers[key] = json.loads(answer)

        self._use(read)
        return answers

    def remember(self, answers: Mapping[bytes, Any]) -> None:
        """Add ``answers``, as plain data, by their keys."""
        rows = [(key, json.dumps(answer)) for key, answer in answers.items()]
        if rows:
            self._use(lambda connection: connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows))

    def _use(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Call ``work`` with the open file, in a transaction. After an error of the file it isn't used any more."""
        if self._path is None:
            return
        try:
            make_private_folder(self._path.parent)
            make_private_file(self._path)
            with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as connection, connection:
                connection.execute(_TABLE)
                work(connection)
        except (sqlite3.Error, OSError, ValueError) as error:
            logger.warning(f"{self._path}: scores are not remembered: {error}; delete the file if it is damaged")
            self._path = None
