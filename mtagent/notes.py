"""Notes and glossaries as files: cut into the entries that :mod:`mtagent.knowledge` finds one by one.

=================  =============================================================================================
``.md``            an entry per section, titled with the headings it stands under
``.txt``           an entry per paragraph
``.csv`` ``.tsv``  an entry per row: a glossary (:func:`mtagent.glossary.read_glossary`), or any table with a
                   header; the title is the column ``title``, ``source`` or ``term``, or else the first one
``.jsonl``         an entry per object ``{"text", "title"?, "language"?}``
=================  =============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import regex
from pydantic import ValidationError

from mtagent.errors import InputError
from mtagent.formats.files import Line, lines_of
from mtagent.formats.jsonl import parsed_lines
from mtagent.formats.rows import Dialect, rows, table_rows
from mtagent.glossary import read_glossary
from mtagent.knowledge import Entry

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
        yield from _pieces(section, _path(headings, title))
        section = []
        level = len(heading[1])
        headings = {above: text for above, text in headings.items() if above < level} | {level: heading[2] or ""}
    yield from _pieces(section, _path(headings, title))


def _path(headings: dict[int, str], title: str) -> str:
    return " › ".join(filter(None, headings.values())) or title


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


def _plain(path: Path, title: str) -> Iterator[Entry]:
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
    for row in table_rows(rows(lines, dialect, path), len(names), dialect, path):
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
    ".txt": _plain,
    ".csv": _table,
    ".tsv": _table,
    ".jsonl": _objects,
    ".ndjson": _objects,
}
