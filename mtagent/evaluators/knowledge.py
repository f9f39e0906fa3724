"""The user's notes and glossaries as a full-text index in memory.

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
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice, zip_longest
from pathlib import Path
from typing import Any

import regex
from pydantic import ValidationError

from mtagent.errors import InputError
from mtagent.formats.files import Line, lines_of
from mtagent.formats.glossary import read_glossary
from mtagent.formats.json_text import parsed_lines
from mtagent.formats.tables import Dialect, rows
from mtagent.records import Found, Record
from mtagent.text.scripts import UNSPACED_OR_HANGUL

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
    """A piece of knowledge: a paragraph of notes, a glossary entry. ``line`` is where it begins in its file."""

    title: str
    text: str
    line: int | None = None
    language: str | None = None


class Knowledge:
    """The notes in ``files``, and in the folders among them, read once. Equal entries are kept once, the first of them.

    Raises :class:`InputError`, beginning with ``file:line``, for a file that cannot be read.
    """

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
        self._index.executemany(
            "INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)",
            (
                (number, " ".join(words(entry.title)), " ".join(words(entry.text)))
                for number, entry in enumerate(self._entries)
            ),
        )
        self.digest = _digest(entries)
        """A hash of all entries, whatever their order and files."""

    def __len__(self) -> int:
        return len(self._entries)

    def search(self, query: str, limit: int = 5) -> list[Found]:
        """The best ``limit`` entries with a word of ``query``, best first (BM25). Nothing in a query is syntax."""
        expression = match(query)
        if not expression:
            return []
        matches = self._index.execute(f"{_SEARCH} LIMIT ?", (expression, limit))
        return [self._entries[number] for (number,) in matches]


def _digest(entries: Iterable[tuple[str, str]]) -> str:
    hashed = hashlib.sha256()
    for title, text in sorted(entries):
        hashed.update(f"{len(title)} {len(text)} {title}{text}".encode())
    return hashed.hexdigest()[:8]


def files_of_notes(paths: Iterable[Path]) -> Iterator[Path]:
    """``paths``, with the files of notes in a folder in its place, by name."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for file in sorted(path.iterdir()):
            if file.suffix.casefold() in _READERS:
                yield file


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
