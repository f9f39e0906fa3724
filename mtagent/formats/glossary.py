"""Glossaries and do-not-translate lists: read them, and find which of their terms a text holds."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import regex

from mtagent.errors import InputError
from mtagent.formats.files import Line, lines_of
from mtagent.formats.tables import Dialect, Row, rows, table_rows
from mtagent.records import Term
from mtagent.text.scripts import UNSPACED

_COLUMNS = ("source", "target", "pos", "case", "note", "forbidden")
_YES_NO = {"yes": True, "true": True, "1": True, "x": True, "no": False, "false": False, "0": False, "": False}
_CASE = {"sensitive": True, "case-sensitive": True, "insensitive": False, "case-insensitive": False, **_YES_NO}

# Words end where these characters do. Scripts without spaces have no such ends: their terms match anywhere.
_IN_WORD = regex.compile(rf"[[\w\p{{M}}]--[{UNSPACED}]]++", regex.V1)
_END = ""  # the key of a trie's node under which the terms that end there are kept
_Trie = dict[str, Any]


class Glossary:
    """Terms, indexed once so that those which a text holds are found in one pass over the text.

    A term is found where it stands as whole words, in scripts that have them; a Korean term may carry an ending. Upper
    and lower case are the same unless the term is ``case_sensitive``, and so are composed and decomposed characters.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = tuple(dict.fromkeys(terms))
        self._exact: _Trie = {}
        self._folded: _Trie = {}
        for index, term in enumerate(self.terms):
            _plant(self._exact if term.case_sensitive else self._folded, _view(term.source, term.case_sensitive), index)

    def relevant(self, source: str) -> tuple[Term, ...]:
        """The terms that occur in ``source``, in the glossary's order; takes time linear in the text's length."""
        found = _found(self._exact, _view(source, exact=True)) | _found(self._folded, _view(source, exact=False))
        return tuple(self.terms[index] for index in sorted(found))


@lru_cache(maxsize=8)
def _indexed(terms: tuple[Term, ...]) -> Glossary:
    return Glossary(terms)


def relevant(terms: tuple[Term, ...], source: str) -> tuple[Term, ...]:
    """The terms that occur in ``source``; for many texts make one :class:`Glossary` instead."""
    return _indexed(terms).relevant(source)


def read_glossary(path: Path) -> tuple[Term, ...]:
    """Read a CSV or TSV with the columns ``source``, ``target`` and, where needed, ``pos,case,note,forbidden``.

    The delimiter is the one in the header: comma, semicolon or tab; a ``.tsv`` is read without quoting. Raises
    :class:`InputError`, beginning with ``file:line``.
    """
    lines = lines_of(path)
    header = next(lines, None)
    if header is None:
        raise InputError(f"{path}: is empty; the first line must be a header: source,target")
    dialect = _dialect(header, path)
    names = _names(header, dialect, path)
    table = table_rows(rows(lines, dialect, path), len(names), dialect, path)
    return tuple(_term(dict(zip(names, row.cells, strict=True)), f"{path}:{row.line}") for row in table)


def read_do_not_translate(path: Path) -> tuple[Term, ...]:
    """Read a list of terms that stay as they are, one per line; empty lines are skipped. They are case-sensitive."""
    terms = (line.text.strip() for line in lines_of(path))
    return tuple(Term(source=term, case_sensitive=True) for term in terms if term)


def _dialect(header: Line, path: Path) -> Dialect:
    delimiter = next((mark for mark in "\t;," if mark in header.text), ",")
    return Dialect(delimiter, quoted=path.suffix.lower() not in (".tsv", ".tab"))


def _names(header: Line, dialect: Dialect, path: Path) -> list[str]:
    first: Row = next(rows(iter([header]), dialect, path))
    names = [name.strip().casefold() for name in first.cells]
    for name in names:
        if name not in _COLUMNS or names.count(name) > 1:
            raise InputError(f"{path}:1: unknown or repeated column {name!r}; the columns are {', '.join(_COLUMNS)}")
    if not {"source", "target"} <= set(names):
        raise InputError(f"{path}:1: the columns 'source' and 'target' must be there")
    return names


def _term(cells: dict[str, str], where: str) -> Term:
    source, target = cells["source"].strip(), cells["target"].strip()
    if not source:
        raise InputError(f"{where}: the source term is empty")
    if not target:
        raise InputError(f"{where}: {source!r} has no target; a term to keep belongs on a do-not-translate list")
    return Term(
        source=source,
        target=target,
        forbidden=_choice(cells, "forbidden", _YES_NO, where),
        case_sensitive=_choice(cells, "case", _CASE, where),
    )


def _choice(cells: dict[str, str], column: str, choices: dict[str, bool], where: str) -> bool:
    written = cells.get(column, "").strip().casefold()
    if written not in choices:
        raise InputError(f"{where}: {column} is {written!r}; use one of {', '.join(filter(None, choices))}")
    return choices[written]


def _view(text: str, exact: bool) -> str:
    """The text as it is compared; only whether a term occurs counts, so offsets may shift."""
    composed = unicodedata.normalize("NFC", text)
    return composed if exact else unicodedata.normalize("NFC", composed.casefold())


def _plant(trie: _Trie, term: str, index: int) -> None:
    for char in term:
        trie = trie.setdefault(char, {})
    trie.setdefault(_END, []).append(index)


def _found(trie: _Trie, text: str) -> set[int]:
    """The indices of the trie's terms in ``text``: from each start, walk as far as any term reaches."""
    found: set[int] = set()
    if not trie:
        return found
    inside = _inside_words(text)
    for start, char in enumerate(text):
        if char in trie and not inside[start]:
            found.update(*_walked(trie, text, start, inside))
    return found


def _walked(trie: _Trie, text: str, start: int, inside: bytearray) -> Iterator[list[int]]:
    for place in range(start, len(text)):
        node = trie.get(text[place])
        if node is None:
            return
        trie = node
        if _END in trie and (not inside[place + 1] or _is_hangul(text[place])):
            yield trie[_END]


def _inside_words(text: str) -> bytearray:
    """For each position, whether it lies inside a word: between two of its characters."""
    inside = bytearray(len(text) + 1)
    for word in _IN_WORD.finditer(text):
        for place in range(word.start() + 1, word.end()):
            inside[place] = 1
    return inside


def _is_hangul(char: str) -> bool:
    return "\uac00" <= char <= "\ud7a3"
