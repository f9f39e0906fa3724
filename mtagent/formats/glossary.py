"""Glossaries and do-not-translate lists: read them, and find which of their terms a text holds."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import regex

from mtagent.errors import InputError
from mtagent.formats.files import lines_of, opened
from mtagent.formats.tables import Dialect, rows
from mtagent.records import Term
from mtagent.text.scripts import UNSPACED, language_of
from mtagent.text.terms import beginnings, roots, stands_at, words_of, words_of_term

_COLUMNS = ("source", "target", "pos", "case", "note", "forbidden")
_YES_NO = {"yes": True, "true": True, "1": True, "x": True, "no": False, "false": False, "0": False, "": False}
_CASE = {"sensitive": True, "case-sensitive": True, "insensitive": False, "case-insensitive": False, **_YES_NO}

# Words end where these characters do. Scripts without spaces have no such ends: their terms match anywhere.
_IN_WORD = regex.compile(rf"[[\w\p{{M}}]--[{UNSPACED}]]++", regex.V1)


class Glossary:
    """Terms, indexed once so that those which a text holds are found in one pass over the text.

    A term is found where it stands as whole words, in scripts that have them; a Korean term may carry an ending. Upper
    and lower case are the same unless the term is ``case_sensitive``, and so are composed and decomposed characters.
    Where the language is known, a term that is to be translated is found inflected too (:mod:`mtagent.text.terms`).
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = tuple(dict.fromkeys(terms))
        self._exact, self._folded = _Index(), _Index()
        for number, term in enumerate(self.terms):
            index = self._exact if term.case_sensitive else self._folded
            index.add(_view(term.source, term.case_sensitive), number)
        self._inflected: dict[str, _Inflected] = {}

    def relevant(self, source: str, lang: str = "") -> tuple[Term, ...]:
        """The terms that occur in ``source``, in the glossary's order; takes time linear in the text's length."""
        numbers = self._exact.within(_view(source, exact=True)) | self._folded.within(_view(source, exact=False))
        if lang := language_of(lang):
            if lang not in self._inflected:
                self._inflected[lang] = _Inflected(self.terms, lang)
            numbers |= self._inflected[lang].within(source)
        return tuple(self.terms[number] for number in sorted(numbers))


class _Index:
    """Where in the glossary each term stands, and how long the terms are that begin with a character."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[int]] = defaultdict(list)
        self._lengths: dict[str, set[int]] = defaultdict(set)

    def add(self, term: str, number: int) -> None:
        self._numbers[term].append(number)
        self._lengths[term[:1]].add(len(term))

    def within(self, text: str) -> set[int]:
        """The numbers of the terms that stand in ``text`` between the ends of words."""
        numbers: set[int] = set()
        if not self._numbers:
            return numbers
        inside = bytearray(len(text) + 1)  # whether a place is between two characters of a word
        for word in _IN_WORD.finditer(text):
            inside[word.start() + 1 : word.end()] = b"\1" * (len(word[0]) - 1)
        for start, char in enumerate(text):
            if inside[start] or char not in self._lengths:
                continue
            for length in self._lengths[char]:
                end = start + length
                if end <= len(text) and (not inside[end] or "\uac00" <= text[end - 1] <= "\ud7a3"):  # Hangul
                    numbers.update(self._numbers.get(text[start:end], ()))
        return numbers


class _Inflected:
    """The terms of a glossary by how the forms of their first words begin in one language."""

    def __init__(self, terms: Sequence[Term], lang: str) -> None:
        self._terms, self._lang = terms, lang
        self._numbers: dict[str, list[int]] = defaultdict(list)
        for number, term in enumerate(terms):
            if term.target is not None and (words := words_of_term(term.source)):
                for root in roots(words[0].text, lang):
                    self._numbers[root].append(number)
        self._lengths = sorted(set(map(len, self._numbers)))

    def within(self, text: str) -> set[int]:
        """The numbers of the terms that stand in ``text``, inflected or not."""
        numbers: set[int] = set()
        words = words_of(text) if self._numbers else ()
        for place, word in enumerate(words):
            for root in beginnings(word.text, self._lang, self._lengths):
                for number in self._numbers.get(root, ()):
                    term = self._terms[number]
                    wanted, exact = words_of_term(term.source), term.case_sensitive
                    if number not in numbers and stands_at(wanted, words, place, self._lang, case_sensitive=exact):
                        numbers.add(number)
        return numbers


def is_tbx(path: Path) -> bool:
    """Whether a glossary is XML, which no table begins like."""
    with opened(path) as file:
        start = file.read(64).lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")
    if not start and path.suffix.lower() in (".tbx", ".xml"):
        raise InputError(f"{path}: is empty, and no TBX")
    return start.startswith(b"<")


def read_glossary(path: Path) -> tuple[Term, ...]:
    """Read a CSV or TSV with the columns ``source``, ``target`` and, where needed, ``pos,case,note,forbidden``.

    The delimiter is the one in the header: comma, semicolon or tab; a ``.tsv`` is read without quoting. Raises
    :class:`InputError`, beginning with ``file:line``. TBX has several languages: :func:`mtagent.formats.tbx.read_tbx`.
    """
    lines = lines_of(path)
    header = next(lines, None)
    if header is None:
        raise InputError(f"{path}: is empty; the first line must be a header: source,target")
    delimiter = next((mark for mark in "\t;," if mark in header.text), ",")
    dialect = Dialect(delimiter, quoted=path.suffix.lower() not in (".tsv", ".tab"))
    names = [name.strip().casefold() for name in next(rows([header], dialect, path)).cells]
    for name in names:
        if name not in _COLUMNS or names.count(name) > 1:
            near = [column for column in get_close_matches(name, _COLUMNS, 1) if column not in names]
            hint = f"did you mean {near[0]!r}?" if near else f"the columns are {', '.join(_COLUMNS)}"
            raise InputError(f"{path}:1: unknown or repeated column {name!r}; {hint}")
    if not {"source", "target"} <= set(names):
        raise InputError(f"{path}:1: the columns 'source' and 'target' must be there")
    terms = []
    for row in rows(lines, dialect, path, len(names)):
        cells, where = dict(zip(names, map(str.strip, row.cells), strict=True)), f"{path}:{row.line}"
        source, target = cells["source"], cells["target"]
        if not source:
            raise InputError(f"{where}: the source term is empty")
        if not target:
            raise InputError(f"{where}: {source!r} has no target; a term to keep belongs on a do-not-translate list")
        forbidden, case_sensitive = _choice(cells, "forbidden", _YES_NO, where), _choice(cells, "case", _CASE, where)
        note = cells.get("note") or None
        terms.append(Term(source=source, target=target, forbidden=forbidden, case_sensitive=case_sensitive, note=note))
    if not terms:
        raise InputError(f"{path}: has a header and no terms")
    return tuple(terms)


def read_do_not_translate(path: Path) -> tuple[Term, ...]:
    """Read a list of terms that stay as they are, one per line; empty lines are skipped. They are case-sensitive."""
    terms = (line.text.strip() for line in lines_of(path))
    return tuple(Term(source=term, case_sensitive=True) for term in terms if term)


def _choice(cells: dict[str, str], column: str, choices: dict[str, bool], where: str) -> bool:
    written = cells.get(column, "").casefold()
    if written not in choices:
        raise InputError(f"{where}: {column} is {written!r}; use one of {', '.join(filter(None, choices))}")
    return choices[written]


def _view(text: str, exact: bool) -> str:
    """The text as it is compared; only whether a term occurs counts, so offsets may shift."""
    composed = unicodedata.normalize("NFC", text)
    return composed if exact else unicodedata.normalize("NFC", composed.casefold())
