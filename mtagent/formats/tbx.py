"""TBX, the exchange format of termbases (ISO 30042): TBX-Basic and the other dialects of v2 and v3, DCA and DCT.

Of an entry count its terms by language, their administrative status, and a definition or note. Entities that the file
declares are refused, so that a small file cannot grow in memory, and nothing outside the file is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from mtagent.errors import InputError
from mtagent.formats.files import opened
from mtagent.records import Term
from mtagent.text.languages import closest

_ENTRY = frozenset({"termEntry", "conceptEntry"})
_LANGUAGE = frozenset({"langSet", "langSec"})
_TERM = frozenset({"tig", "ntig", "termSec"})
_NOTES = ("definition", "note", "subjectField")
"""What tells the senses of a term apart: the first of these that an entry has."""
_FORBIDDEN = ("deprecated", "superseded", "forbidden", "obsolete")
_LONGEST_NOTE, _DEEPEST = 200, 100
_INLINE = frozenset({"hi", "foreign", "ph", "bpt", "ept", "sub"})


class _TermOfEntry(NamedTuple):
    text: str
    forbidden: bool
    line: int


class _Entry:
    """A concept: its terms by language, and its notes by kind, those of a language under its code."""

    def __init__(self) -> None:
        self.terms: dict[str, list[_TermOfEntry]] = {}
        self.notes: dict[tuple[str, str], str] = {}

    def note(self, lang: str) -> str | None:
        """What is said of the concept in its ``lang``, or of the concept as a whole."""
        found = (self.notes.get((where, kind)) for kind in _NOTES for where in (lang, ""))
        note = next(filter(None, found), None)
        return note if note is None or len(note) <= _LONGEST_NOTE else f"{note[:_LONGEST_NOTE].rsplit(' ', 1)[0]} …"


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
        self._lang, self._term, self._status, self._line = "", "", "", 0

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
            raise InputError(f"{self._path}: there is no termEntry or conceptEntry in it; is it a TBX file?")
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
            raise InputError(f"{self._where}: is no TBX: the outermost element is {name}, not martif or tbx")
        if name in _ENTRY:
            self.entries.append(_Entry())
            self._lang = ""
        elif name in _LANGUAGE:
            lang = next((value for key, value in attributes.items() if key.endswith((" lang", "xml:lang"))), "")
            if not lang.strip():
                raise InputError(f"{self._where}: a {name} without xml:lang")
            self._lang = lang.strip()
        elif name in _TERM:
            self._term, self._status, self._line = "", "", self._parser.CurrentLineNumber
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
            entry.terms.setdefault(self._lang, []).append(_TermOfEntry(self._term, forbidden, self._line))
        elif name in _LANGUAGE:
            self._lang = ""
        self._text = []


def read_tbx(path: Path, source_lang: str, target_lang: str) -> tuple[Term, ...]:
    """The terms of a termbase for a language pair; ``pt`` stands for ``pt-BR`` where there is no nearer one.

    A term whose status is deprecated or superseded is forbidden as a target; as a source it still has the concept's
    targets. Raises :class:`InputError`, beginning with ``file:line`` where a line is to blame.
    """
    entries = _Reader(path).read()
    langs = sorted({lang for entry in entries for lang in entry.terms})
    for lang in (source_lang, target_lang):
        if closest(lang, langs) is None:
            raise InputError(f"{path}: has no terms in {lang}; it has {', '.join(langs) or 'no terms at all'}")
    return tuple(term for entry in entries for term in _terms(entry, source_lang, target_lang))


def _terms(entry: _Entry, source_lang: str, target_lang: str) -> Iterator[Term]:
    source, target = (closest(lang, list(entry.terms)) for lang in (source_lang, target_lang))
    if source is None or target is None or source == target:
        return
    note = entry.note(source) or entry.note(target)
    for original in entry.terms[source]:
        for wanted in entry.terms[target]:
            yield Term(source=original.text, target=wanted.text, forbidden=wanted.forbidden, note=note)
