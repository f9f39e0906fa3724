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
from mtagent.formats.files import TextLine, lines_of, parsed_lines
from mtagent.formats.glossary import read_glossary
from mtagent.formats.tables import open_table
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
    """A piece of knowledge: a section of notes, or a row of a table."""

    title: str
    text: str
    line: int | None = None
    """The line where it begins in its file."""
    language: str | None = None


class Knowledge:
    """The notes in ``files`` and folders of files, read once. Of equal entries the first is kept.

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
        for number, found in enumerate(self._entries):
            row = (number, " ".join(words(found.title)), " ".join(words(found.text)))
            self._index.execute("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", row)
        self.digest = _digest(entries)
        """A hash of all entries, in any order and any files."""

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
