"""What a store holds: its tables, and the migrations that bring an older store up to date.

``docs/reference/store.md`` describes every column for people who ask a store with SQL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

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
    at TEXT NOT NULL)""",
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

MIGRATIONS: Sequence[Migration] = ((*_TABLES, _DIALOGUE),)
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
