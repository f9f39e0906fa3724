"""What RATE looks up: the user's notes, or a search server.

A search (:func:`open_search`) is one of these:

========================  ========================================================================================
``none``                  nothing
``local``                 the user's notes and glossaries, as a full-text index in memory
``searxng:URL``           a SearXNG server whose settings allow the JSON format
``endpoint:URL``          any address with ``{query}`` (and ``{limit}``) that answers as SearXNG does
========================  ========================================================================================

An endpoint answers a GET with ``{"results": [{"title": "…", "content": "…", "url": "…"}]}``, or with the list alone;
``text`` may stand for ``content``. ``URL#key=NAME`` names the environment variable that holds its key: it goes where
the address has ``{key}``, or else as ``Authorization: Bearer``.

Notes are cut into entries:

=================  =============================================================================================
``.md``            an entry per section, titled with the headings above it
``.txt``           an entry per paragraph
``.csv`` ``.tsv``  an entry per row: a glossary (:func:`mtagent.formats.glossary.read_glossary`), or any table with a
                   header; the title is the column ``title``, ``source`` or ``term``, or else the first one
``.jsonl``         an entry per object ``{"text", "title"?, "language"?}``
=================  =============================================================================================
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice, zip_longest
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import quote, urlsplit

import regex
from pydantic import ValidationError

from mtagent.errors import ConfigError, InputError, SearchError
from mtagent.formats.files import TextLine, lines_of, parsed_lines
from mtagent.formats.glossary import read_glossary
from mtagent.formats.tables import open_table
from mtagent.records import Found, Record
from mtagent.text.masking import clean, key_in, masked, redirected
from mtagent.text.scripts import UNSPACED_OR_HANGUL


@runtime_checkable
class Search(Protocol):
    """Looks up background knowledge. An optional ``signature`` identifies it more exactly than its name."""

    name: str

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The best ``limit`` results, best first; ``[]`` if there are none. Raises :class:`SearchError`."""
        ...


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
            raise ConfigError("search: the address has no {query}, the place for the query")
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
            "search endpoint: only #key=NAME may follow the address, which must answer as SearXNG does: "
            '{"results": [{"title": "…", "content": "…", "url": "…"}]}'
        )
    return HTTPSearch(template, key=key)


def open_search(spec: str, knowledge: Sequence[Path] = ()) -> Search | None:
    """The search that ``spec`` names, ``None`` for none; ``knowledge`` are the files of the user's notes.

    Nothing stays open between searches. Raises :class:`ConfigError`.
    """
    kind, _, address = spec.strip().partition(":")
    if spec.strip() == "local":
        if not knowledge:
            raise ConfigError("search local: name your notes: search=local,knowledge=notes.md+glossary.csv")
        return Knowledge(knowledge)
    if knowledge:
        raise ConfigError(f"knowledge: only search=local reads notes, but the search is {spec.strip()!r}")
    if spec.strip() == "none":
        return None
    if kind == "searxng":
        return HTTPSearch(
            f"{address.rstrip('/').removesuffix('/search')}/search?q={{query}}&format=json",
            name="searxng",
            hint="allow JSON on the server: search.formats: [html, json] in its settings.yml",
        )
    if kind == "endpoint":
        return parse(address)
    raise ConfigError(f"no search {spec!r}; write one of none, local, searxng:URL, endpoint:URL")


# Notes

_MOST_WORDS = 64  # of a query; what a model writes beyond that adds nothing
_STEM = 4
_ENDING = 2
_TITLE_WEIGHT = 3.0

# Korean has spaces, but glues its grammar to its words: they too are found by pairs of characters.
_SPACELESS = regex.compile(rf"[{UNSPACED_OR_HANGUL}]")
_RUN = regex.compile(
    rf"(?P<spaceless>(?:{_SPACELESS.pattern}\p{{M}}*)+)|(?:(?!{_SPACELESS.pattern})[\p{{L}}\p{{N}}\p{{M}}])+"
)
_CLUSTER = regex.compile(r"\X")

# This tokenizer keeps ASCII letters, ASCII digits and all other characters: exactly what the words here consist of.
_INDEX = "CREATE VIRTUAL TABLE words USING fts5 (title, text, tokenize = 'ascii')"
_SEARCH = f"SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, {_TITLE_WEIGHT}, 1.0), rowid"


class Entry(Record):
    """A piece of knowledge: a section of notes, or a row of a table."""

    title: str
    text: str
    line: int | None = None
    """The line where it begins in its file."""
    language: str | None = None


class Knowledge:
    """Searches the notes in ``files`` and folders of files, which are read once. Of equal entries the first is kept.

    Raises :class:`InputError`, beginning with ``file:line``, for a file that cannot be read.
    """

    name = "local"

    def __init__(self, files: Sequence[Path]) -> None:
        entries: dict[tuple[str, str], Found] = {}
        for path in files_of_notes(files):
            for entry in read_notes(path):
                place = str(path) if entry.line is None else f"{path}:{entry.line}"
                found = Found(title=entry.title, text=entry.text, source=place)
                entries.setdefault((entry.title, entry.text), found)
        self._entries = list(entries.values())
        self._index = sqlite3.connect(":memory:", check_same_thread=False)  # an agent's calls come from any thread
        self._index.execute(_INDEX)
        for number, found in enumerate(self._entries):
            row = (number, " ".join(words(found.title)), " ".join(words(found.text)))
            self._index.execute("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", row)
        # A hash of all entries, in any order and any files.
        hashed = hashlib.sha256()
        for title, text in sorted(entries):
            hashed.update(f"{len(title)} {len(text)} {title}{text}".encode())
        self.digest = hashed.hexdigest()[:8]
        self.signature = f"{self.name}#{self.digest}"

    def __len__(self) -> int:
        return len(self._entries)

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The best ``limit`` entries, as :meth:`search` finds them."""
        return self.search(query, limit)

    def search(self, query: str, limit: int = 5) -> list[Found]:
        """The best ``limit`` entries with a word of ``query``, best first (BM25). Nothing in a query is syntax."""
        expression = match(query)
        if not expression:
            return []
        matches = self._index.execute(f"{_SEARCH} LIMIT ?", (expression, limit))
        return [self._entries[number] for (number,) in matches]


def files_of_notes(paths: Iterable[Path]) -> Iterator[Path]:
    """``paths``; a folder is replaced by the files of notes in it, by name."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for file in sorted(path.iterdir()):
            if file.suffix.casefold() in _READERS:
                yield file


def words(text: str) -> list[str]:
    """The words by which ``text`` is found. In scripts without spaces: each character with the next one.

    The last character of such a run is a word of its own, so that a query of one character finds it as a beginning.
    """
    found: list[str] = []
    for run in _RUN.finditer(_plain(text)):
        if not run["spaceless"]:
            found.append(run[0])
            continue
        clusters = _CLUSTER.findall(run[0])
        for first, second in zip_longest(clusters, clusters[1:], fillvalue=""):
            found.append(first + second)
    return found


def match(query: str) -> str:
    """``query`` for FTS5: any of the words, quoted, also with other endings; ``""`` if it has none."""
    terms: list[str] = []
    for run in islice(_RUN.finditer(_plain(query)), _MOST_WORDS):
        word = run[0]
        if run["spaceless"]:
            pairs = words(word)[:-1]
            terms += [f'"{pair}"' for pair in pairs] if pairs else [f'"{word}" *']
        else:
            terms.append(f'"{word}"')
            if len(word) >= _STEM:
                stem = word[: max(_STEM, len(word) - _ENDING)]
                terms.append(f'"{stem}" *')
    different_terms = dict.fromkeys(terms)
    return " OR ".join(islice(different_terms, 2 * _MOST_WORDS))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


LONGEST = 1_500
"""Characters of an entry. Longer sections are cut between paragraphs, so that an entry fits into a prompt."""

_HEADING = regex.compile(r"(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_FENCE = regex.compile(r" {0,3}(`{3,}|~{3,})")
_TITLES = ("title", "source", "term")
_LANGUAGES = ("language", "lang")


def read_notes(path: Path) -> list[Entry]:
    """The entries of a file, in order. Entries without a title get the file's name.

    Raises :class:`InputError`, beginning with ``file:line``.
    """
    reader = _READERS.get(path.suffix.casefold())
    if reader is None:
        raise InputError(f"{path}: notes are {' '.join(sorted(_READERS))} files; rename or convert it")
    entries = list(reader(path, path.stem))
    if not entries:
        raise InputError(f"{path}: has no text")
    return entries


def _markdown(path: Path, title: str) -> Iterator[Entry]:
    """One entry per section, or several for a long one; its title has all headings above it."""
    headings: dict[int, str] = {}  # by level, from the outermost to the current one
    sections: list[tuple[str, list[TextLine]]] = [(title, [])]
    fence = ""  # the beginning of a code block, in which nothing is a heading
    for line in lines_of(path):
        mark = _FENCE.match(line.text)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        heading = None if fence else _HEADING.fullmatch(line.text)
        if heading is None:
            sections[-1][1].append(line)
            continue
        level = len(heading[1])
        headings = {above: text for above, text in headings.items() if above < level}
        headings[level] = heading[2] or ""
        sections.append((" › ".join(filter(None, headings.values())) or title, []))
    for name, section in sections:
        piece: list[list[TextLine]] = []  # whole paragraphs, as many as LONGEST allows
        length = 0
        for paragraph in _paragraphs(section):
            paragraph_length = sum(len(line.text) + 1 for line in paragraph)
            if piece and length + paragraph_length > LONGEST:
                yield _entry(piece, name)
                piece = []
                length = 0
            piece.append(paragraph)
            length += paragraph_length
        if piece:
            yield _entry(piece, name)


def _paragraphs(lines: Iterable[TextLine]) -> Iterator[list[TextLine]]:
    for has_text, group in groupby(lines, key=lambda line: bool(line.text.strip())):
        if has_text:
            yield list(group)


def _entry(paragraphs: list[list[TextLine]], title: str) -> Entry:
    text = "\n\n".join("\n".join(line.text for line in lines) for lines in paragraphs)
    return Entry(title=title, text=text, line=paragraphs[0][0].number)


def _table(path: Path, title: str) -> Iterator[Entry]:
    table = open_table(path, "\t;,", quoted=path.suffix.casefold() == ".csv", plain=str.strip)
    names = table.names
    plain = [name.casefold() for name in names]
    if {"source", "target"} <= set(plain):
        read_glossary(path)  # raises an error that names what is wrong in a glossary
    title_column = next((plain.index(name) for name in _TITLES if name in plain), 0)
    for row in table.rows:
        cells = {name: cell.strip() for name, cell in zip(names, row.cells, strict=True) if cell.strip()}
        texts = []
        languages = []
        for name, cell in cells.items():
            if name.casefold() in _LANGUAGES:
                languages.append(cell)
            else:
                texts.append(f"{name}: {cell}")
        if texts:
            language = languages[0] if languages else None
            row_title = row.cells[title_column].strip() or title
            yield Entry(title=row_title, text="\n".join(texts), line=row.line, language=language)


def _objects(path: Path, title: str) -> Iterator[Entry]:
    for number, values in parsed_lines(path):
        fields: dict[str, Any] = {"title": title}
        fields |= {name: value for name, value in values.items() if value is not None}
        fields["line"] = number
        try:
            yield Entry.model_validate(fields)
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
