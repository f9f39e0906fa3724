"""Glossaries, termbases and do-not-translate lists: read them, and find which of their terms a text holds."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from xml.parsers import expat

import regex

from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import lines_of, opened
from mtagent.formats.tables import open_table
from mtagent.records import Segment, Term
from mtagent.text.languages import closest
from mtagent.text.scripts import UNSPACED, language_of
from mtagent.text.terms import beginnings, roots, stands_at, words_of, words_of_term

_REQUIRED = ("source", "target")
_COLUMNS = (*_REQUIRED, "pos", "case", "note", "forbidden", "count")
_YES_NO = {"yes": True, "true": True, "1": True, "x": True, "no": False, "false": False, "0": False, "": False}
_CASE = {"sensitive": True, "case-sensitive": True, "insensitive": False, "case-insensitive": False, **_YES_NO}

# Words end where these characters do. Scripts without spaces have no such ends: their terms match anywhere.
_IN_WORD = regex.compile(rf"[[\w\p{{M}}]--[{UNSPACED}]]++", regex.V1)


class Glossary:
    """Terms, indexed once so that those which a text holds are found in one pass over the text.

    A term is found as whole words, in scripts that have words; a Korean term may carry an ending. Upper
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
        language = language_of(lang)
        if language:
            if language not in self._inflected:
                self._inflected[language] = _Inflected(self.terms, language)
            numbers |= self._inflected[language].within(source)
        return tuple(self.terms[number] for number in sorted(numbers))


class _Index:
    """The positions of the terms in the glossary, and the lengths of the terms by their first character."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[int]] = defaultdict(list)
        self._lengths: dict[str, set[int]] = defaultdict(set)

    def add(self, term: str, number: int) -> None:
        self._numbers[term].append(number)
        self._lengths[term[:1]].add(len(term))

    def within(self, text: str) -> set[int]:
        """The numbers of the terms in ``text``, as whole words."""
        numbers: set[int] = set()
        if not self._numbers:
            return numbers
        inside = bytearray(len(text) + 1)  # for each offset, whether it is between two characters of a word
        for word in _IN_WORD.finditer(text):
            inside[word.start() + 1 : word.end()] = b"\1" * (len(word[0]) - 1)
        for start, char in enumerate(text):
            if inside[start] or char not in self._lengths:
                continue
            for length in self._lengths[char]:
                end = start + length
                if end > len(text):
                    continue
                is_hangul = "\uac00" <= text[end - 1] <= "\ud7a3"  # an ending may follow
                if is_hangul or not inside[end]:
                    numbers.update(self._numbers.get(text[start:end], ()))
        return numbers


class _Inflected:
    """The terms of a glossary by how the forms of their first words begin in one language."""

    def __init__(self, terms: Sequence[Term], lang: str) -> None:
        self._terms, self._lang = terms, lang
        self._numbers: dict[str, list[int]] = defaultdict(list)
        for number, term in enumerate(terms):
            if term.target is None:
                continue
            words = words_of_term(term.source)
            if words:
                for root in roots(words[0].text, lang):
                    self._numbers[root].append(number)
        self._lengths = sorted(set(map(len, self._numbers)))

    def within(self, text: str) -> set[int]:
        """The numbers of the terms in ``text``, inflected or not."""
        numbers: set[int] = set()
        words = words_of(text) if self._numbers else ()
        for index, word in enumerate(words):
            for root in beginnings(word.text, self._lang, self._lengths):
                for number in self._numbers.get(root, ()):
                    if number in numbers:
                        continue
                    term = self._terms[number]
                    term_words = words_of_term(term.source)
                    if stands_at(term_words, words, index, self._lang, case_sensitive=term.case_sensitive):
                        numbers.add(number)
        return numbers


def is_tbx(path: Path) -> bool:
    """Whether a glossary is XML, which no table begins like."""
    with opened(path) as file:
        start = file.read(64).lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")
    if not start and path.suffix.lower() in (".tbx", ".xml"):
        raise InputError(f"{path}: is empty, and not TBX")
    return start.startswith(b"<")


def read_glossary(path: Path) -> tuple[Term, ...]:
    """Read a CSV or TSV with the columns ``source``, ``target`` and, where needed, ``pos,case,note,forbidden,count``.

    The delimiter is the one in the header: comma, semicolon or tab; a ``.tsv`` is read without quoting. TBX has several
    languages: :func:`read_tbx`. Raises :class:`InputError`, beginning with ``file:line``.
    """
    table = open_table(
        path,
        "\t;,",
        quoted=path.suffix.lower() not in (".tsv", ".tab"),
        required=_REQUIRED,
        plain=lambda name: name.strip().casefold(),
        empty="the first line must be a header: source,target",
    )
    table.refuse_unknown(_COLUMNS)
    table.refuse_repeated()
    table.require(_REQUIRED, "a glossary has both 'source' and 'target'")
    terms = []
    for where, record in table.records():
        cells = {column: cell.strip() for column, cell in record.items()}
        source, target = cells["source"], cells["target"]
        if not source:
            raise InputError(f"{where}: the source term is empty")
        if not target:
            raise InputError(f"{where}: {source!r} has no target; a term to keep belongs on a do-not-translate list")
        term = Term(
            source=source,
            target=target,
            forbidden=_choice(cells, "forbidden", _YES_NO, where),
            case_sensitive=_choice(cells, "case", _CASE, where),
            note=cells.get("note") or None,
        )
        terms.append(term)
    if not terms:
        raise InputError(f"{path}: has a header and no terms")
    return tuple(terms)


def read_do_not_translate(path: Path) -> tuple[Term, ...]:
    """Read a list of terms that stay as they are, one per line; empty lines are skipped. They are case-sensitive."""
    words = [line.text.strip() for line in lines_of(path)]
    return tuple(Term(source=word, case_sensitive=True) for word in words if word)


def _choice(cells: dict[str, str], column: str, choices: dict[str, bool], where: str) -> bool:
    written = cells.get(column, "").casefold()
    if written not in choices:
        raise InputError(f"{where}: {column} is {written!r}; use one of {', '.join(filter(None, choices))}")
    return choices[written]


def _view(text: str, exact: bool) -> str:
    """The text as it is compared; only whether a term occurs counts, so offsets may shift."""
    composed = unicodedata.normalize("NFC", text)
    return composed if exact else unicodedata.normalize("NFC", composed.casefold())


GlossaryFor = Callable[[str, str], Glossary]
"""The terms for a source and a target language."""


def read_terms(
    glossary: Path | None, keep: Path | None, terms: Sequence[Term] = (), kept: Sequence[Term] = ()
) -> GlossaryFor:
    """The terms of a ``glossary`` and of a ``keep`` list of words, and other ``terms`` and words to be ``kept``.

    Raises :class:`ConfigError` for terms that contradict each other.
    """
    if keep is not None:
        kept = (*read_do_not_translate(keep), *kept)
    tbx = glossary if glossary is not None and is_tbx(glossary) else None
    if glossary is not None and tbx is None:
        terms = (*read_glossary(glossary), *terms)
    kept_words = {term.source for term in kept}

    def refuse_contradictions(terms: Sequence[Term]) -> None:
        translations = set()
        for term in terms:
            if term.source in kept_words and term.target not in (None, term.source) and not term.forbidden:
                other = glossary or "the glossary"
                raise ConfigError(
                    f"{keep or 'keep'}: {term.source!r} is to be kept, but {other} has a translation of it"
                )
            if term.target and not term.forbidden:
                translations.add((term.source, term.target))
        for term in terms:
            if term.forbidden and (term.source, term.target) in translations:
                pair = f"{term.target!r} for {term.source!r}"
                raise ConfigError(f"{glossary or 'glossary'}: {pair} is both required and forbidden")

    refuse_contradictions(terms)
    always = (*terms, *kept)

    @lru_cache(maxsize=64)
    def glossary_for(source_lang: str, target_lang: str) -> Glossary:
        if tbx is None:
            return Glossary(always)
        terms_of_pair = read_tbx(tbx, source_lang, target_lang)
        refuse_contradictions(terms_of_pair)
        return Glossary((*terms_of_pair, *always))

    return glossary_for


def with_terms(segments: Iterable[Segment], glossary_for: GlossaryFor) -> Iterator[Segment]:
    """``segments``, each with the terms for its languages that its source has."""
    for segment in segments:
        glossary = glossary_for(segment.source_lang, segment.target_lang)
        relevant = glossary.relevant(segment.source, segment.source_lang) if glossary.terms else ()
        yield segment.model_copy(update={"terms": segment.terms + relevant}) if relevant else segment


# TBX, the exchange format of termbases (ISO 30042): TBX-Basic and the other dialects of v2 and v3, DCA and DCT. Of an
# entry count its terms by language, their administrative status, and a definition or note. Entities that the file
# declares are refused, so that a small file cannot grow in memory, and nothing outside the file is read.

_ENTRY = frozenset({"termEntry", "conceptEntry"})
_LANGUAGE = frozenset({"langSet", "langSec"})
_TERM = frozenset({"tig", "ntig", "termSec"})
_NOTES = ("definition", "note", "subjectField")
"""What tells the senses of a term apart: the first of these that an entry has."""
_FORBIDDEN = ("deprecated", "superseded", "forbidden", "obsolete")
_LONGEST_NOTE, _DEEPEST = 200, 100
_INLINE = frozenset({"hi", "foreign", "ph", "bpt", "ept", "sub"})


class _Entry:
    """A concept: its terms by language, each with whether it is forbidden, and its notes by kind.

    The notes on a language have its code as their kind.
    """

    def __init__(self) -> None:
        self.terms: dict[str, list[tuple[str, bool]]] = {}
        self.notes: dict[tuple[str, str], str] = {}

    def note(self, lang: str) -> str | None:
        """The note on the concept in this ``lang``, or else on the concept as a whole, shortened."""
        for kind in _NOTES:
            note = self.notes.get((lang, kind)) or self.notes.get(("", kind))
            if note and len(note) > _LONGEST_NOTE:
                return f"{note[:_LONGEST_NOTE].rsplit(' ', 1)[0]} …"
            if note:
                return note
        return None


class _Reader:
    """Collects the entries while the parser goes through the file; names of elements lose their namespace."""

    def __init__(self, path: Path) -> None:
        self._path, self.entries = path, list[_Entry]()
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._entity
        self._parser.SkippedEntityHandler = self._undeclared
        self._open: list[tuple[str, str]] = []
        self._text: list[str] = []
        self._lang = ""  # of the open langSet
        self._term = ""  # in the open element of a term, with its administrative status
        self._status = ""
        self._line = 0  # where the term is

    def read(self) -> list[_Entry]:
        """The entries of the file. Raises :class:`InputError`, beginning with ``file:line``."""
        try:
            with opened(self._path) as file:
                self._parser.ParseFile(file)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise InputError(f"{self._path}:{error.lineno}: is not well-formed XML: {reason}") from error
        except (ValueError, LookupError) as error:  # an encoding that Python does not know
            raise InputError(f"{self._where}: {error}; save the file as UTF-8") from error
        if not self.entries:
            raise InputError(f"{self._path}: has no termEntry or conceptEntry; is it a TBX file?")
        return self.entries

    @property
    def _where(self) -> str:
        return f"{self._path}:{self._parser.CurrentLineNumber}"

    def _entity(self, name: str, *_: object) -> None:
        raise InputError(f"{self._where}: declares the entity {name!r}, which is not read; write the text in its place")

    def _undeclared(self, name: str, _: bool) -> None:
        raise InputError(f"{self._where}: the entity &{name}; is not declared; write the character in its place")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rsplit(" ", 1)[-1]
        if not self._open and name not in ("martif", "tbx"):
            raise InputError(f"{self._where}: is not TBX: the outermost element is {name}, not martif or tbx")
        if name in _ENTRY:
            self.entries.append(_Entry())
            self._lang = ""
        elif name in _LANGUAGE:
            lang = next((value for key, value in attributes.items() if key.endswith((" lang", "xml:lang"))), "")
            if not lang.strip():
                raise InputError(f"{self._where}: a {name} without xml:lang")
            self._lang = lang.strip()
        elif name in _TERM:
            self._term = self._status = ""
            self._line = self._parser.CurrentLineNumber
        if len(self._open) == _DEEPEST:
            raise InputError(f"{self._where}: more than {_DEEPEST} elements within each other; no TBX is so deep")
        # DCT writes <min:administrativeStatus>, DCA <termNote type="administrativeStatus">
        self._open.append((name, attributes.get("type", name)))
        self._text = self._text if name in _INLINE else []

    def _characters(self, text: str) -> None:
        self._text.append(text)

    def _end(self, name: str) -> None:
        name, kind = self._open.pop()
        if not self.entries or name in _INLINE:
            return
        text, entry = " ".join("".join(self._text).split()), self.entries[-1]
        if name == "term":
            self._term, self._line = text, self._parser.CurrentLineNumber
        elif kind in ("administrativeStatus", "normativeAuthorization", "usageStatus"):
            self._status = text.casefold()
        elif kind in _NOTES and text and not any(outer in _TERM for outer, _ in self._open):
            entry.notes.setdefault((self._lang, kind), text)
        elif name in _TERM:
            if not self._term:
                raise InputError(f"{self._path}:{self._line}: a {name} without a term in it")
            if not self._lang:
                raise InputError(f"{self._path}:{self._line}: {self._term!r} is in no langSet or langSec")
            forbidden = self._status.startswith(_FORBIDDEN)
            entry.terms.setdefault(self._lang, []).append((self._term, forbidden))
        elif name in _LANGUAGE:
            self._lang = ""
        self._text = []


def read_tbx(path: Path, source_lang: str, target_lang: str) -> tuple[Term, ...]:
    """The terms of a termbase for a language pair; ``pt`` is used for ``pt-BR`` without a nearer one.

    A term whose status is deprecated or superseded is forbidden as a target; as a source it still has the concept's
    targets. Raises :class:`InputError`, beginning with ``file:line`` where a line is to blame.
    """
    entries = _Reader(path).read()
    langs = sorted({lang for entry in entries for lang in entry.terms})
    for lang in (source_lang, target_lang):
        if closest(lang, langs) is None:
            raise InputError(f"{path}: has no terms in {lang}; it has {', '.join(langs) or 'no terms at all'}")
    terms = []
    for entry in entries:
        source, target = (closest(lang, list(entry.terms)) for lang in (source_lang, target_lang))
        if source is None or target is None or source == target:
            continue
        note = entry.note(source) or entry.note(target)
        for (source_term, _), (target_term, forbidden) in product(entry.terms[source], entry.terms[target]):
            terms.append(Term(source=source_term, target=target_term, forbidden=forbidden, note=note))
    return tuple(terms)
