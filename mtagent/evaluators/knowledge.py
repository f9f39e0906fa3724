"""The user's notes and glossaries: cut into entries, and kept in an index in which they are found one by one.

=================  =============================================================================================
``.md``            an entry per section, titled with the headings it stands under
``.txt``           an entry per paragraph
``.csv`` ``.tsv``  an entry per row: a glossary (:func:`mtagent.formats.glossary.read_glossary`), or any table with a
                   header; the title is the column ``title``, ``source`` or ``term``, or else the first one
``.jsonl``         an entry per object ``{"text", "title"?, "language"?}``
=================  =============================================================================================
"""

from __future__ import annotations

import hashlib
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby, islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import regex
from pydantic import ValidationError

from mtagent.errors import InputError, StoreError
from mtagent.formats.files import Line, lines_of
from mtagent.formats.glossary import read_glossary
from mtagent.formats.json_text import parsed_lines
from mtagent.formats.tables import Dialect, rows
from mtagent.records import Found, Record
from mtagent.store.database import make_private_file, make_private_folder
from mtagent.store.store import default_path as store_path
from mtagent.text.scripts import UNSPACED

APPLICATION_ID = 0x6D746B6E
"""Marks a database file as knowledge of mtagent (``mtkn`` in ASCII)."""

VERSION = 1
"""Of the tables, and of how words are cut: a query finds only what was cut like it."""

BUSY_SECONDS = 10.0
_MOST_WORDS = 64  # of a query; what a model writes beyond that says nothing new
_STEM = 4
_ENDING = 2
_TITLE_WEIGHT = 3.0

# Korean has spaces, but glues its grammar to its words: they too are found by pairs of characters.
_SPACELESS = regex.compile(rf"[{UNSPACED}\p{{Hangul}}]")
_RUN = regex.compile(
    rf"(?P<spaceless>(?:{_SPACELESS.pattern}\p{{M}}*)+)|(?:(?!{_SPACELESS.pattern})[\p{{L}}\p{{N}}\p{{M}}])+"
)
_CLUSTER = regex.compile(r"\X")

_TABLES = (
    "CREATE TABLE sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE entries (
        id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL, line INTEGER, title TEXT NOT NULL, text TEXT NOT NULL,
        language TEXT)""",
    "CREATE INDEX entries_by_source ON entries (source_id)",
    # Of ASCII this tokenizer takes letters and digits, and all other characters: just what the words here consist of.
    "CREATE VIRTUAL TABLE words USING fts5 (title, text, tokenize = 'ascii')",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)
_SEARCH = f"""SELECT entries.title, entries.text, sources.name, entries.line
    FROM words JOIN entries ON entries.id = words.rowid JOIN sources ON sources.id = entries.source_id
    WHERE words MATCH ? ORDER BY bm25(words, {_TITLE_WEIGHT}, 1.0), entries.id"""

_ELSEWHERE = "choose another file with --knowledge FILE"
_ADVICE = {
    sqlite3.SQLITE_FULL: f"the disk is full; free some space, or {_ELSEWHERE}",
    sqlite3.SQLITE_BUSY: "another process keeps it locked; try again later",
    sqlite3.SQLITE_CANTOPEN: f"cannot be opened; {_ELSEWHERE}",
    sqlite3.SQLITE_READONLY: f"is read-only; {_ELSEWHERE}",
    sqlite3.SQLITE_NOTADB: f"is not a SQLite database; {_ELSEWHERE}",
    sqlite3.SQLITE_CORRUPT: "is damaged; delete it and add its sources again",
}


def default_path() -> Path:
    """Where the index is unless the user says otherwise: beside the store."""
    return store_path().with_name("knowledge.db")


class Entry(Record):
    """A piece of knowledge: a paragraph of notes, a glossary entry. ``line`` is where it begins in its source."""

    title: str
    text: str
    line: int | None = None
    language: str | None = None


class Added(NamedTuple):
    """What :meth:`Knowledge.add` did: entries of the source now, and how many of them are new or gone."""

    entries: int
    new: int
    gone: int


class Knowledge:
    """The index in the file ``path``. Made for one thread.

    Opened to read only, unless ``writing``: then the file is made where there is none. ``wait`` is how many seconds to
    wait for another process. Raises :class:`StoreError`.
    """

    def __init__(self, path: Path, *, writing: bool = False, wait: float = BUSY_SECONDS) -> None:
        self.path = path.expanduser().absolute()
        if not writing and not self.path.is_file():
            raise StoreError(f"{path}: there is no knowledge yet; `mtagent knowledge add FILE` makes it")
        if writing:
            try:
                make_private_folder(self.path.parent)
            except OSError as error:
                raise StoreError(f"{path}: its folder cannot be made; {_ELSEWHERE} ({error})") from error
            make_private_file(self.path)
        address = f"{self.path.as_uri()}?mode={'rwc' if writing else 'ro'}"
        with self._explained():
            self._connection = sqlite3.connect(address, uri=True, timeout=wait, isolation_level=None)
            try:
                self._prepare(writing)
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, writing: bool) -> None:
        """Refuse the database of another program, and make the tables of a new one."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE" if writing else "BEGIN")
        [(owner,)] = execute("PRAGMA application_id")
        [(tables,)] = execute("SELECT count(*) FROM sqlite_master")
        [(version,)] = execute("PRAGMA user_version")
        if owner != APPLICATION_ID and (owner or tables or not writing):
            raise StoreError(f"{self.path}: holds no knowledge, but something else; {_ELSEWHERE}")
        if owner == APPLICATION_ID and version != VERSION:
            raise StoreError(
                f"{self.path}: was made by another version of mtagent; delete it and add its sources again"
            )
        for statement in () if owner == APPLICATION_ID else _TABLES:
            execute(statement)
        execute("COMMIT")

    def __enter__(self) -> Knowledge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing twice does no harm."""
        self._connection.close()

    def add(self, source: str, entries: Iterable[Entry]) -> Added:
        """Make ``entries`` those of ``source``, in place of former ones. What comes twice is kept once."""
        wanted = {(entry.title, entry.text, entry.language): entry.line for entry in reversed(list(entries))}
        with self._writing() as connection:
            connection.execute("INSERT OR IGNORE INTO sources (name) VALUES (?)", (source,))
            [(source_id,)] = connection.execute("SELECT id FROM sources WHERE name = ?", (source,))
            rows = connection.execute("SELECT title, text, language, id FROM entries WHERE source_id = ?", (source_id,))
            former = {(title, text, language): entry for title, text, language, entry in rows}
            self._forget(entry for key, entry in former.items() if key not in wanted)
            for (title, text, language), line in reversed(wanted.items()):
                if (kept := former.get((title, text, language))) is not None:
                    connection.execute("UPDATE entries SET line = ? WHERE id = ?", (line, kept))
                    continue
                added = connection.execute(
                    "INSERT INTO entries (source_id, line, title, text, language) VALUES (?, ?, ?, ?, ?)",
                    (source_id, line, title, text, language),
                )
                searched = (added.lastrowid, " ".join(words(title)), " ".join(words(text)))
                connection.execute("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", searched)
        return Added(len(wanted), len(wanted.keys() - former.keys()), len(former.keys() - wanted.keys()))

    def sources(self) -> list[tuple[str, int]]:
        """The sources in alphabetical order, each with the number of its entries."""
        counted = "SELECT name, count(entries.id) FROM sources LEFT JOIN entries ON source_id = sources.id"
        with self._explained():
            return self._connection.execute(f"{counted} GROUP BY sources.id ORDER BY name").fetchall()

    def remove(self, source: str) -> int:
        """Remove ``source``; the number of entries it had. Raises :class:`StoreError` if there is no such source."""
        with self._writing() as connection:
            row = connection.execute("SELECT id FROM sources WHERE name = ?", (source,)).fetchone()
            if row is None:
                raise StoreError(f"{self.path}: no source {source!r}; `mtagent knowledge list` shows them")
            entries = [entry for (entry,) in connection.execute("SELECT id FROM entries WHERE source_id = ?", row)]
            self._forget(entries)
            connection.execute("DELETE FROM sources WHERE id = ?", row)
        return len(entries)

    def _forget(self, entries: Iterable[int]) -> None:
        rows = [(entry,) for entry in entries]
        self._connection.executemany("DELETE FROM words WHERE rowid = ?", rows)
        self._connection.executemany("DELETE FROM entries WHERE id = ?", rows)

    def search(self, query: str, limit: int = 5) -> list[Found]:
        """The best ``limit`` entries that hold a word of ``query``, best first (BM25). Nothing in it is syntax."""
        matched = match(query)
        if not matched:
            return []
        with self._explained():
            finds: dict[tuple[str, str], Found] = {}  # the same content of several sources is found once
            for title, text, source, line in self._connection.execute(_SEARCH, (matched,)):
                if len(finds) >= limit:
                    break
                place = source if line is None else f"{source}:{line}"
                finds.setdefault((title, text), Found(title=title, text=text, source=place))
            return list(finds.values())

    def digest(self) -> str:
        """A hash of all that can be found, in whatever order and from whichever source it was added."""
        with self._explained():
            rows = self._connection.execute("SELECT title, text FROM entries ORDER BY title, text")
            hashed = hashlib.sha256()
            for title, text in rows:
                hashed.update(f"{len(title)} {len(text)} {title}{text}".encode())
        return hashed.hexdigest()[:8]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # The low byte is the kind of error, the rest says more precisely where it happened.
            code = getattr(error, "sqlite_errorcode", -1) & 0xFF
            said = f"{_ADVICE[code]} ({error})" if code in _ADVICE else str(error)
            raise StoreError(f"{self.path}: {said}") from error
        except UnicodeEncodeError as error:
            code = ord(error.object[error.start])
            raise StoreError(f"{self.path}: U+{code:04X} is half of a character; remove it from the text") from error


def words(text: str) -> list[str]:
    """The words that ``text`` is found by. Of scripts without spaces: each character with the next one.

    The last character of such a run stands alone, so that a query of one character finds it as a beginning.
    """
    cut: list[str] = []
    for run in _RUN.finditer(_plain(text)):
        clusters = _CLUSTER.findall(run[0]) if run["spaceless"] else []
        cut += [first + second for first, second in zip_longest(clusters, clusters[1:], fillvalue="")] or [run[0]]
    return cut


def match(query: str) -> str:
    """``query`` as FTS5 wants it: any of the words, quoted, also with other endings; ``""`` if it has none."""
    terms: dict[str, None] = {}
    for run in islice(_RUN.finditer(_plain(query)), _MOST_WORDS):
        if run["spaceless"]:
            pairs = words(run[0])
            terms.update(dict.fromkeys([f'"{pair}"' for pair in pairs[:-1]] or [f'"{run[0]}" *']))
        else:
            terms[f'"{run[0]}"'] = None
            if len(run[0]) >= _STEM:
                terms[f'"{run[0][: max(_STEM, len(run[0]) - _ENDING)]}" *'] = None
    return " OR ".join(islice(terms, 2 * _MOST_WORDS))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


LONGEST = 1_500
"""Characters: a longer section is cut between paragraphs, so that a find is something a prompt can hold."""

_HEADING = regex.compile(r"(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_FENCE = regex.compile(r" {0,3}(`{3,}|~{3,})")
_TITLES = ("title", "source", "term")
_LANGUAGES = ("language", "lang")


def read_notes(path: Path, title: str | None = None) -> list[Entry]:
    """The entries of a file, in its order; those without a title of their own have ``title``, or the file's name.

    Raises :class:`InputError`, beginning with ``file:line``.
    """
    reader = _READERS.get(path.suffix.casefold())
    if reader is None:
        raise InputError(f"{path}: notes are {' '.join(sorted(_READERS))} files; rename or convert it")
    entries = list(reader(path, title or path.stem))
    if not entries:
        raise InputError(f"{path}: there is no text in it")
    return entries


def _markdown(path: Path, title: str) -> Iterator[Entry]:
    headings: dict[int, str] = {}
    section: list[Line] = []
    fence = ""
    for line in lines_of(path):
        mark = _FENCE.match(line.text)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        heading = None if fence else _HEADING.fullmatch(line.text)
        if heading is None:
            section.append(line)
            continue
        yield from _pieces(section, " › ".join(filter(None, headings.values())) or title)
        section = []
        level = len(heading[1])
        headings = {above: text for above, text in headings.items() if above < level} | {level: heading[2] or ""}
    yield from _pieces(section, " › ".join(filter(None, headings.values())) or title)


def _pieces(section: list[Line], title: str) -> Iterator[Entry]:
    """A section in pieces of whole paragraphs, each as long as :data:`LONGEST` allows."""
    piece: list[list[Line]] = []
    for paragraph in _paragraphs(section):
        if piece and sum(len(line.text) + 1 for lines in [*piece, paragraph] for line in lines) > LONGEST:
            yield _entry(piece, title)
            piece = []
        piece.append(paragraph)
    if piece:
        yield _entry(piece, title)


def _entry(paragraphs: list[list[Line]], title: str) -> Entry:
    text = "\n\n".join("\n".join(line.text for line in lines) for lines in paragraphs)
    return Entry(title=title, text=text, line=paragraphs[0][0].number)


def _plain_text(path: Path, title: str) -> Iterator[Entry]:
    return (_entry([paragraph], title) for paragraph in _paragraphs(lines_of(path)))


def _paragraphs(lines: Iterable[Line]) -> Iterator[list[Line]]:
    for filled, group in groupby(lines, key=lambda line: bool(line.text.strip())):
        if filled:
            yield list(group)


def _table(path: Path, title: str) -> Iterator[Entry]:
    lines = lines_of(path)
    header = next(lines, None)
    if header is None:
        return
    quoted = path.suffix.casefold() == ".csv"
    dialect = Dialect(next((mark for mark in "\t;," if mark in header.text), ","), quoted)
    names = [name.strip() for name in next(rows(iter([header]), dialect, path)).cells]
    plain = [name.casefold() for name in names]
    if {"source", "target"} <= set(plain):
        read_glossary(path)  # finds what is wrong in a glossary, and says where
    titled = next((plain.index(name) for name in _TITLES if name in plain), 0)
    for row in rows(lines, dialect, path, len(names)):
        cells = dict(zip(names, map(str.strip, row.cells), strict=True))
        own = row.cells[titled].strip()
        told = [f"{name}: {cell}" for name, cell in cells.items() if cell and name.casefold() not in _LANGUAGES]
        language = next((cell for name, cell in cells.items() if cell and name.casefold() in _LANGUAGES), None)
        if told:
            yield Entry(title=own or title, text="\n".join(told), line=row.line, language=language)


def _objects(path: Path, title: str) -> Iterator[Entry]:
    for number, values in parsed_lines(path):
        fields: dict[str, Any] = {"title": title, **{k: v for k, v in values.items() if v is not None}}
        try:
            yield Entry.model_validate(fields | {"line": number})
        except ValidationError as error:
            first = error.errors()[0]
            reason = f"field {first['loc'][0]!r}: {first['msg'].lower()}; an entry has text, title, language"
            raise InputError(f"{path}:{number}: {reason}") from None


_READERS: dict[str, Callable[[Path, str], Iterator[Entry]]] = {
    ".md": _markdown,
    ".markdown": _markdown,
    ".txt": _plain_text,
    ".csv": _table,
    ".tsv": _table,
    ".jsonl": _objects,
    ".ndjson": _objects,
}
