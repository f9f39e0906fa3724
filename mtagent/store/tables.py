"""What a store holds: its tables, and the migrations that bring those of earlier versions up to date."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from typing import Any

APPLICATION_ID = 0x6D746167
"""Marks a database file as a store of mtagent (``mtag`` in ASCII)."""

Migration = Sequence[str]
"""SQL statements."""

_TABLES = (
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, state TEXT NOT NULL, settings TEXT NOT NULL,
        inputs TEXT NOT NULL, total INTEGER, pid INTEGER, started TEXT NOT NULL, updated TEXT NOT NULL)""",
    """CREATE TABLE segments (
        run_id INTEGER NOT NULL, position INTEGER NOT NULL, segment TEXT NOT NULL, source_lang TEXT NOT NULL,
        target_lang TEXT NOT NULL, source TEXT NOT NULL, translation TEXT, reference TEXT, document TEXT, domain TEXT,
        context TEXT, notes TEXT, terms TEXT NOT NULL, state TEXT NOT NULL, text TEXT NOT NULL,
        PRIMARY KEY (run_id, position))""",
    "CREATE INDEX segments_by_id ON segments (run_id, segment)",
    "CREATE INDEX segments_by_state ON segments (run_id, state)",
    """CREATE TABLE steps (
        run_id INTEGER NOT NULL, position INTEGER NOT NULL, step INTEGER NOT NULL, segment TEXT NOT NULL,
        stage TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL, proposed TEXT,
        seconds REAL NOT NULL, calls TEXT NOT NULL,
        PRIMARY KEY (run_id, position, step))""",
    """CREATE TABLE edits (
        run_id INTEGER NOT NULL, position INTEGER NOT NULL, step INTEGER NOT NULL, number INTEGER NOT NULL,
        segment TEXT NOT NULL, stage TEXT NOT NULL, outcome TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL,
        start INTEGER, "end" INTEGER, category TEXT, severity TEXT, span TEXT, detail TEXT,
        PRIMARY KEY (run_id, position, step, number))""",
    """CREATE TABLE ratings (
        run_id INTEGER NOT NULL, position INTEGER NOT NULL, step INTEGER NOT NULL, number INTEGER NOT NULL,
        segment TEXT NOT NULL, stage TEXT NOT NULL, evaluator TEXT NOT NULL, score REAL NOT NULL,
        signature TEXT NOT NULL, explanation TEXT, errors TEXT, calls TEXT NOT NULL,
        PRIMARY KEY (run_id, position, step, number))""",
    """CREATE TABLE calls (
        id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL, segment TEXT NOT NULL, purpose TEXT NOT NULL,
        key TEXT NOT NULL, model TEXT NOT NULL, messages TEXT NOT NULL, reply TEXT, reply_model TEXT,
        finish_reason TEXT, logprobs TEXT, error TEXT, calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL, cost REAL,
        seconds REAL NOT NULL, at TEXT NOT NULL)""",
    "CREATE INDEX calls_by_key ON calls (key)",
    "CREATE INDEX calls_by_segment ON calls (run_id, segment)",
    "CREATE TABLE texts (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL)",
)

_DIALOGUE = """CREATE VIEW dialogue AS
    SELECT calls.id AS call, run_id, segment, purpose, message.key AS turn,
           json_extract(message.value, '$[0]') AS role, texts.text AS text
      FROM calls, json_each(calls.messages) AS message
      JOIN texts ON texts.hash = json_extract(message.value, '$[1]')
    UNION ALL
    SELECT calls.id, run_id, segment, purpose, json_array_length(calls.messages), 'reply', texts.text
      FROM calls JOIN texts ON texts.hash = calls.reply"""


_CALLED = """(SELECT group_concat(json_extract(value, '$.name') || '(' || json_extract(value, '$.arguments') || ')',
                    char(10)) FROM json_each({calls}))"""


def _said(calls: str) -> str:
    """SQL for a text and, each on a line after it, the tool calls that came with it: ``search({"query": "…"})``."""
    called = _CALLED.format(calls=calls)
    return f"texts.text || coalesce(CASE texts.text WHEN '' THEN '' ELSE char(10) END || {called}, '')"


_TOOLS = (
    "ALTER TABLE calls ADD COLUMN tool_calls TEXT",
    "ALTER TABLE ratings ADD COLUMN correction TEXT",
    "ALTER TABLE ratings ADD COLUMN confidence REAL",
    "ALTER TABLE ratings ADD COLUMN gaps TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE ratings ADD COLUMN warnings TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE ratings ADD COLUMN seconds REAL NOT NULL DEFAULT 0",
    "DROP VIEW dialogue",
    f"""CREATE VIEW dialogue AS
    SELECT calls.id AS call, run_id, segment, purpose, message.key AS turn,
           json_extract(message.value, '$[0]') AS role, {_said("message.value, '$[2].tool_calls'")} AS text
      FROM calls, json_each(calls.messages) AS message
      JOIN texts ON texts.hash = json_extract(message.value, '$[1]')
    UNION ALL
    SELECT calls.id, run_id, segment, purpose, json_array_length(calls.messages), 'reply', {_said("calls.tool_calls")}
      FROM calls JOIN texts ON texts.hash = calls.reply""",
)


_RATED = (
    "ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'chain'",
    """CREATE TABLE rated (
        run_id INTEGER NOT NULL, position INTEGER NOT NULL, number INTEGER NOT NULL, segment TEXT NOT NULL,
        system TEXT NOT NULL, translation TEXT NOT NULL, evaluator TEXT, score REAL, signature TEXT, explanation TEXT,
        errors TEXT, calls TEXT, correction TEXT, confidence REAL, gaps TEXT, warnings TEXT, seconds REAL, error TEXT,
        paid TEXT, took REAL NOT NULL, CHECK ((evaluator IS NULL) = (score IS NULL)),
        PRIMARY KEY (run_id, position, number))""",
    "CREATE INDEX rated_by_system ON rated (run_id, system, position)",
)


# Until version 4 a rating's role was its place among the others, and a cause was a sentence.
_ROLES_AND_CAUSES = (
    'ALTER TABLE steps ADD COLUMN cause TEXT NOT NULL DEFAULT \'{"kind":"other"}\'',
    "ALTER TABLE edits ADD COLUMN guards TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE ratings ADD COLUMN role TEXT",
    "UPDATE segments SET state = 'unchanged' WHERE state = 'kept'",
    "UPDATE steps SET cause = cause_of(verdict, reason)",
    "UPDATE edits SET guards = guards_of(detail) WHERE outcome = 'refused'",
    """UPDATE ratings SET role = CASE
        WHEN stage = 'postedit' AND number = 0 THEN 'editor'
        WHEN number = (SELECT max(number) FROM ratings AS other
                        WHERE other.run_id = ratings.run_id AND other.position = ratings.position
                          AND other.step = ratings.step) THEN 'after'
        ELSE 'before' END""",
)


_OUTPUTS = ("ALTER TABLE runs ADD COLUMN outputs TEXT",)

_SENTENCES = {
    "nothing to translate": "blank",
    "no error found": "error-free",
    "nothing to change": "no-edit",
    "kept without a check": "unchecked",
    "the guards found no new damage": "guards",
    "several lines were made of one, which no setting allows": "lines",
}
_SCORES = re.compile(r"(.+) (\S+) -> (\S+): (?:better|worse|below the margin|a tie keeps the earlier text)")
_CHOICES = re.compile(r"compared in both orders(?: by (.+))?: (before|after|tie), (before|after|tie)")
_GUARD = re.compile(
    r"(placeholders|tags|urls|emails|numbers|units|markdown|paragraphs|whitespace|terms|brackets|quotes|script|control"
    r"|repetition|end|length|size|words): "
)


def _cause_of(verdict: str, sentence: str) -> str:
    """The cause as JSON that a sentence of version 4 or earlier told."""
    words = sentence.removeprefix("gate: ")
    cause: dict[str, Any] = {"kind": "other", "detail": words}
    if words.startswith("there is no translation"):
        cause = {"kind": "no-translation"}
    elif verdict == "failed":
        error, colon, detail = sentence.partition(": ")
        if colon and error.isidentifier():
            cause = {"kind": "error", "error": error, "detail": detail}
    elif sentence in _SENTENCES:
        cause = {"kind": _SENTENCES[sentence]}
    elif sentence.startswith("translated by "):
        by, lost, detail = sentence.removeprefix("translated by ").partition(", which lost: ")
        cause = {"kind": "translated", "by": by} | ({"guards": _guards_of(detail), "detail": detail} if lost else {})
    elif sentence.startswith("no edit could be made: "):
        cause = {"kind": "unplaced", "detail": sentence.removeprefix("no edit could be made: ")}
    elif sentence.startswith("guards: "):
        detail = sentence.removeprefix("guards: ")
        cause = {"kind": "guards", "guards": _guards_of(detail) or ["other"], "detail": detail}
    elif match := _CHOICES.fullmatch(words):
        cause = {"kind": "choices", "judgements": [{"judge": match[1] or "a model", "choices": [match[2], match[3]]}]}
    elif match := _SCORES.fullmatch(words):
        try:
            scores = {"before": float(match[2]), "after": float(match[3])}
        except ValueError:
            return json.dumps(cause)
        cause = {"kind": "scores", "judgements": [{"judge": match[1], **scores}]}
        if words.endswith("below the margin"):
            cause["margin"] = None  # how large it was, the sentence does not say
    return json.dumps(cause, ensure_ascii=False)


def _guards_of(detail: str) -> list[str]:
    """The guards that a detail names: ``numbers: 5 is missing; tags: <b> is missing``."""
    parts = detail.removeprefix("together with other edits: ").split("; ")
    return list(dict.fromkeys(match[1] for part in parts if (match := _GUARD.match(part))))


_CANDIDATES = ("ALTER TABLE segments ADD COLUMN candidates TEXT NOT NULL DEFAULT '[]'",)

_MAX_LENGTH = ("ALTER TABLE segments ADD COLUMN max_length INTEGER",)

_DECISIONS = (
    """CREATE TABLE decisions (
        id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL, position INTEGER NOT NULL, segment TEXT NOT NULL,
        edit INTEGER, verdict TEXT NOT NULL, text TEXT, reason TEXT, who TEXT NOT NULL,
        at TEXT NOT NULL, seconds REAL, stage TEXT, chain TEXT NOT NULL,
        approves TEXT NOT NULL, withdraws INTEGER, command INTEGER NOT NULL)""",
    "CREATE INDEX decisions_by_segment ON decisions (run_id, position)",
    # AUTOINCREMENT: who still holds the number of a deleted run must not read another run by it
    """CREATE TABLE numbered (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, state TEXT NOT NULL, settings TEXT NOT NULL,
        inputs TEXT NOT NULL, total INTEGER, pid INTEGER, started TEXT NOT NULL, updated TEXT NOT NULL,
        kind TEXT NOT NULL DEFAULT 'chain', outputs TEXT)""",
    """INSERT INTO numbered
        SELECT id, name, state, settings, inputs, total, pid, started, updated, kind, outputs FROM runs""",
    "DROP TABLE runs",
    "ALTER TABLE numbered RENAME TO runs",
)

MIGRATIONS: Sequence[Migration] = (
    *(_TABLES, (_DIALOGUE,), _TOOLS, _RATED, _ROLES_AND_CAUSES, _OUTPUTS, _CANDIDATES),
    *(_MAX_LENGTH, _DECISIONS),
)


def version(connection: sqlite3.Connection) -> int:
    """The version of the tables in the database; 0 = none yet."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the tables to the newest version, in one transaction: all of it or nothing."""
    connection.create_function("cause_of", 2, _cause_of, deterministic=True)
    connection.create_function("guards_of", 1, lambda detail: json.dumps(_guards_of(detail or "")), deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again inside the transaction: another process may have migrated while this one waited.
        for number, migration in enumerate(migrations[version(connection) :], start=version(connection) + 1):
            for statement in migration:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
