"""What RATE looks up: the user's notes and glossaries in a full-text index, or a search server.

Notes are cut into entries:

=================  =============================================================================================
``.md``            an entry per section, titled with the headings it stands under
``.txt``           an entry per paragraph
``.csv`` ``.tsv``  an entry per row: a glossary (:func:`mtagent.formats.glossary.read_glossary`), or any table with a
                   header; the title is the column ``title``, ``source`` or ``term``, or else the first one
``.jsonl``         an entry per object ``{"text", "title"?, "language"?}``
=================  =============================================================================================

A search (:func:`open_search`) is one of these:

========================  ========================================================================================
``none``                  nothing
``local``                 the user's notes and glossaries (``mtagent knowledge add``)
``searxng:URL``           a SearXNG server whose settings allow the JSON format
``endpoint:URL``          any address with ``{query}`` (and ``{limit}``) that answers as SearXNG does
========================  ========================================================================================

An endpoint answers a GET with ``{"results": [{"title": "…", "content": "…", "url": "…"}]}``, or with the list alone;
``text`` may stand for ``content``. ``URL#key=NAME`` names the environment variable that holds its key: it goes where
the address has ``{key}``, or else as ``Authorization: Bearer``.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby, islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable
from urllib.parse import quote, urlsplit

import regex
from pydantic import ValidationError

from mtagent.errors import ConfigError, InputError, SearchError, StoreError
from mtagent.formats.files import Line, lines_of
from mtagent.formats.glossary import read_glossary
from mtagent.formats.json_text import parsed_lines
from mtagent.formats.tables import Dialect, rows
from mtagent.records import Found, Record
from mtagent.store.database import make_private_file, make_private_folder
from mtagent.store.store import default_path as store_path
from mtagent.text.masking import clean, key_in, masked, redirected
from mtagent.text.scripts import UNSPACED

APPLICATION_ID = 0x6D746B6E
"""Marks a database file as knowledge of mtagent (``mtkn`` in ASCII)."""

VERSION = 1
"""The version of the tables and of the way words are cut: a query finds only what was cut the same way."""

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
    """Where the index is by default: beside the store."""
    return store_path().with_name("knowledge.db")


class Entry(Record):
    """A piece of knowledge: a paragraph of notes, a glossary entry. ``line`` is where it begins in its source."""

    title: str
    text: str
    line: int | None = None
    language: str | None = None


class Added(NamedTuple):
    """What :meth:`Knowledge.add` did: the source's entries now, and how many are new or gone."""

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
        with self._explained():
            address = f"{self.path.as_uri()}?mode={'rwc' if writing else 'ro'}"
            self._connection = sqlite3.connect(address, uri=True, timeout=wait, isolation_level=None)
            try:
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
            except BaseException:
                self._connection.close()
                raise

    def __enter__(self) -> Knowledge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing twice does no harm."""
        self._connection.close()

    def add(self, source: str, entries: Iterable[Entry]) -> Added:
        """Replace the entries of ``source`` by ``entries``. Duplicates are kept once."""
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
        """Remove ``source``, and return its number of entries. Raises :class:`StoreError` if it is unknown."""
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
        """The best ``limit`` entries with a word of ``query``, best first (BM25). Nothing in a query is syntax."""
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
        """A hash of all entries, whatever their order and sources."""
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
            reason = f"{_ADVICE[code]} ({error})" if code in _ADVICE else str(error)
            raise StoreError(f"{self.path}: {reason}") from error
        except UnicodeEncodeError as error:
            code = ord(error.object[error.start])
            raise StoreError(f"{self.path}: U+{code:04X} is half of a character; remove it from the text") from error


def words(text: str) -> list[str]:
    """The words by which ``text`` is found. In scripts without spaces: each character with the next one.

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
"""In characters. Longer sections are cut between paragraphs, so that an entry fits into a prompt."""

_HEADING = regex.compile(r"(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_FENCE = regex.compile(r" {0,3}(`{3,}|~{3,})")
_TITLES = ("title", "source", "term")
_LANGUAGES = ("language", "lang")


def read_notes(path: Path, title: str | None = None) -> list[Entry]:
    """The entries of a file, in order. Those without a title get ``title``, or the file's name.

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
    sections: list[tuple[str, list[Line]]] = [(title, [])]
    fence = ""
    for line in lines_of(path):
        mark = _FENCE.match(line.text)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        heading = None if fence else _HEADING.fullmatch(line.text)
        if heading is None:
            sections[-1][1].append(line)
            continue
        level = len(heading[1])
        headings = {above: text for above, text in headings.items() if above < level} | {level: heading[2] or ""}
        sections.append((" › ".join(filter(None, headings.values())) or title, []))
    for name, section in sections:
        piece: list[list[Line]] = []  # whole paragraphs, as many as LONGEST allows
        for paragraph in _paragraphs(section):
            if piece and sum(len(line.text) + 1 for lines in [*piece, paragraph] for line in lines) > LONGEST:
                yield _entry(piece, name)
                piece = []
            piece.append(paragraph)
        if piece:
            yield _entry(piece, name)


def _paragraphs(lines: Iterable[Line]) -> Iterator[list[Line]]:
    for filled, group in groupby(lines, key=lambda line: bool(line.text.strip())):
        if filled:
            yield list(group)


def _entry(paragraphs: list[list[Line]], title: str) -> Entry:
    text = "\n\n".join("\n".join(line.text for line in lines) for lines in paragraphs)
    return Entry(title=title, text=text, line=paragraphs[0][0].number)


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
        cells = {name: cell.strip() for name, cell in zip(names, row.cells, strict=True) if cell.strip()}
        texts = [f"{name}: {cell}" for name, cell in cells.items() if name.casefold() not in _LANGUAGES]
        language = next((cell for name, cell in cells.items() if name.casefold() in _LANGUAGES), None)
        if texts:
            own_title = row.cells[titled].strip()
            yield Entry(title=own_title or title, text="\n".join(texts), line=row.line, language=language)


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
    ".txt": lambda path, title: (_entry([paragraph], title) for paragraph in _paragraphs(lines_of(path))),
    ".csv": _table,
    ".tsv": _table,
    ".jsonl": _objects,
    ".ndjson": _objects,
}


# Searches


@runtime_checkable
class Search(Protocol):
    """Looks up background knowledge. An optional ``signature`` says more about what it may find than its name."""

    name: str

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The best ``limit`` results, best first; ``[]`` if there are none. Raises :class:`SearchError`."""
        ...


class LocalSearch:
    """Searches the knowledge in the file ``path``.

    Raises :class:`ConfigError` where there is no such file: whoever asks for the notes has some.
    """

    name = "local"

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            Knowledge(path).close()
        except StoreError as error:
            raise ConfigError(f"search local: {error}") from error

    @property
    def signature(self) -> str:
        """With a hash of the notes as they are now: ``local#0a1b2c3d``. Raises :class:`SearchError`."""
        try:
            with Knowledge(self._path) as knowledge:
                return f"{self.name}#{knowledge.digest()}"
        except StoreError as error:
            raise SearchError(f"search local: {error}") from error

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The best entries of the notes. Raises :class:`SearchError`."""

        def find() -> list[Found]:
            with Knowledge(self._path) as knowledge:
                return knowledge.search(query, limit)

        try:
            return await asyncio.to_thread(find)
        except StoreError as error:
            raise SearchError(f"search local: {error}") from error


MOST_BYTES = 2_000_000
"""Longer answers are refused: no list of results needs more."""
_PLACE = re.compile(r"\{(query|limit|key)\}")


class HTTPSearch:
    """A search server. ``template`` is its address with ``{query}``; one find in ``timeout`` seconds or none.

    Connections are opened for a search and closed after it. Raises :class:`ConfigError` for an unusable address.
    """

    def __init__(
        self, template: str, *, key: str = "", name: str = "endpoint", hint: str = "", timeout: float = 20.0
    ) -> None:
        try:
            parts = urlsplit(template)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or not template.isprintable() or " " in template or "{" in parts.netloc:
            raise ConfigError("search: write the address of a server, for example searxng:http://localhost:8888")
        if secret := key_in(template):
            raise ConfigError(
                f"search: the address holds {secret}; keys are read from the environment only: write {{key}} there, "
                "and name the variable that holds the key with #key=NAME"
            )
        if "{query}" not in template:
            raise ConfigError("search: the address has no {query}, the place for what is looked for")
        if "{key}" in template and not key:
            raise ConfigError("search: name the environment variable that holds the key, with #key=NAME")
        if key and not key.isidentifier():
            raise ConfigError("search: #key= is the name of an environment variable, not the key itself")
        self.name = f"{name}:{parts.netloc}"  # stands in signatures: another server finds something else
        self._where = f"search {name}: {parts.netloc}"
        self._template, self._variable, self._hint, self._timeout = template, key, hint, timeout

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The first ``limit`` results of the server, in its order. Raises :class:`SearchError`."""
        if not query.strip() or limit < 1:
            return []
        key = os.environ.get(self._variable, "").strip() if self._variable else ""
        if self._variable and not key:
            raise self._failure(f"the environment variable {self._variable} is to hold the key; set it")
        body = await self._get({"query": query, "limit": str(limit), "key": key})
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            begins = clean(body.decode(errors="replace"), key)[:80]
            hint = self._hint or "the address must answer with JSON"
            raise self._failure(f"the answer is not JSON, it begins {begins!r}; {hint}") from None
        results = answer.get("results") if isinstance(answer, dict) else answer
        if not isinstance(results, list):
            raise self._failure('the answer is neither {"results": [...]} nor a list')
        finds = []
        for item in filter(lambda item: isinstance(item, dict), results):
            texts = (item.get("title"), item.get("content", item.get("text")), item.get("url"))
            # A server may repeat its key in a result, most likely in an address; models read and the store keeps these.
            title, text, url = (
                masked(text.strip(), key, hexadecimal=False) if isinstance(text, str) else "" for text in texts
            )
            if title or text:
                finds.append(Found(title=title, text=text, source=url))
        if results and not finds:
            raise self._failure("no result has a text under title, content or text")
        return finds[:limit]

    async def _get(self, values: dict[str, str]) -> bytes:
        from aiohttp import ClientError, ClientSession, ClientTimeout
        from yarl import URL

        # In one pass, because a query may itself contain {key}; other braces stay as they are.
        filled = _PLACE.sub(lambda place: quote(values[place[1]], safe=""), self._template)
        headers, key = {"Accept": "application/json"}, values["key"]
        if key and "{key}" not in self._template:
            headers["Authorization"] = f"Bearer {key}"
        body = bytearray()
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=self._timeout)) as session,
                session.get(
                    URL(quote(filled, safe="%/:?#[]@!$&'()*+,;=~"), encoded=True),
                    headers=headers,
                    allow_redirects=False,
                ) as response,
            ):
                if response.status != 200:
                    raise self._failure(self._status(response.status, response.headers.get("Location"), key))
                async for piece in response.content.iter_chunked(65_536):
                    body += piece
                    if len(body) > MOST_BYTES:
                        raise self._failure(f"the answer is longer than {MOST_BYTES:,} bytes; ask for fewer finds")
                return bytes(body)
        except TimeoutError:
            reason = f"no answer within {self._timeout:g} s"
        except (ClientError, OSError, ValueError) as error:  # the error's words may hold the address, and so the key
            reason = f"no connection, or it broke ({type(error).__name__})"
        raise self._failure(f"{reason}; is the address right, and the server there?")

    def _status(self, status: int, location: str | None, key: str) -> str:
        """What a status other than 200 means, and what to do about it."""
        if 300 <= status < 400 and location:
            return f"status {status}: {redirected(location, key, 'write it in the search')}"
        if status in (401, 403):
            named = f"check the key in {self._variable}" if self._variable else "name its variable with #key=NAME"
            return f"status {status}: {self._hint or f'the server wants a key; {named}'}"
        if status == 429:
            return "status 429: too many searches; wait, lower --concurrency, or allow more on the server"
        return (
            f"status {status}; {'the server has failed; try again later' if status >= 500 else 'is the address right?'}"
        )

    def _failure(self, reason: str) -> SearchError:
        return SearchError(f"{self._where}: {reason}")


def parse(address: str) -> HTTPSearch:
    """The endpoint that ``URL`` or ``URL#key=NAME`` describes. Raises :class:`ConfigError` naming the culprit."""
    template, _, described = address.partition("#")
    option, _, key = described.partition("=")
    if described and (option != "key" or "&" in key):
        raise ConfigError(
            "search endpoint: only #key=NAME may stand behind the address, which must answer as SearXNG does: "
            '{"results": [{"title": "…", "content": "…", "url": "…"}]}'
        )
    return HTTPSearch(template, key=key)


def searxng(url: str) -> HTTPSearch:
    """The SearXNG server at ``url``."""
    return HTTPSearch(
        f"{url.rstrip('/').removesuffix('/search')}/search?q={{query}}&format=json",
        name="searxng",
        hint="allow JSON on the server: search.formats: [html, json] in its settings.yml",
    )


def open_search(spec: str, knowledge: Path) -> Search | None:
    """The search that ``spec`` names, ``None`` for none; ``knowledge`` is the file of the user's notes.

    Nothing stays open between searches, so there is nothing to close. Raises :class:`ConfigError`.
    """
    kind, _, address = spec.strip().partition(":")
    if spec.strip() == "none":
        return None
    if spec.strip() == "local":
        return LocalSearch(knowledge)
    if kind in ("searxng", "endpoint"):
        return searxng(address) if kind == "searxng" else parse(address)
    raise ConfigError(f"no search {spec!r}; write one of none, local, searxng:URL, endpoint:URL")
