"""Translation memories: TMX 1.1 to 1.4 is read, and entries that equal a text or are similar to it are found."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mtagent.errors import ConfigError, InputError
from mtagent.formats.documents import content_of
from mtagent.formats.inline import InlineTag, numbered
from mtagent.formats.xml_spans import XmlFile, XmlToken
from mtagent.records import MemoryMatch, Segment
from mtagent.text import languages, scripts

logger = logging.getLogger("mtagent.formats")

LEAST_SIMILAR = 75
"""Percent: entries that are less similar to a text are not shown."""
MOST_SHOWN = 3
_MOST_COMPARED = 5_000
"""Entries that share the rarest words with a text, up to which they are compared with it character by character."""
_SHORTEST = LEAST_SIMILAR / (200 - LEAST_SIMILAR)
"""How much shorter the shorter of two texts may be if they are that similar."""
_CODES = {"bpt", "ept", "ph", "it", "ut"}


class MemoryEntry(NamedTuple):
    """An approved translation; ``origin`` is its file and line."""

    source: str
    target: str
    source_lang: str
    target_lang: str
    origin: str


class _Variant(NamedTuple):
    """A text of a unit in one language, as characters and inline tags."""

    lang: str
    pieces: list[str | InlineTag]


class _Unit(NamedTuple):
    line: int
    variants: list[_Variant]


class TmxFile:
    """A TMX file that has been read. Each of its languages may be source or target, whatever its ``srclang`` is.

    Raises :class:`InputError`, beginning with ``file:line``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._units = list(_units(XmlFile(path, content_of(path))))
        self.languages = sorted({variant.lang for unit in self._units for variant in unit.variants})

    def entries(self, source_lang: str, target_lang: str) -> Iterator[MemoryEntry]:
        """The entries for a language pair, also those of the same languages elsewhere: ``en-GB`` for ``en``."""
        sources = _same_language(source_lang, self.languages)
        targets = _same_language(target_lang, self.languages)
        for unit in self._units:
            for source in unit.variants:
                if source.lang not in sources:
                    continue
                for target in unit.variants:
                    if target is source or target.lang not in targets:
                        continue
                    # As in XLIFF: a tag has the same number in both texts.
                    source_text, target_text, _ = numbered(source.pieces, target.pieces)
                    if source_text.strip() and target_text.strip():
                        origin = f"{self.path}:{unit.line}"
                        yield MemoryEntry(source_text, target_text, source.lang, target.lang, origin)


def _same_language(lang: str, offered: Iterable[str]) -> frozenset[str]:
    return frozenset(code for code in offered if languages.closest(lang, [code]) is not None)


def _units(xml: XmlFile) -> Iterator[_Unit]:
    unit: _Unit | None = None
    lang: str | None = None
    tokens = xml.tokens()
    is_root = True
    for token in tokens:
        if token.kind == "end" and token.value == "tu" and unit is not None:
            yield unit
            unit = None
        if token.kind != "start":
            continue
        if is_root and token.value != "tmx":
            raise InputError(
                f"{xml.path}:{token.line}: the first element is <{token.value}>, not <tmx>; give a TMX file"
            )
        is_root = False
        if token.value == "tu":
            unit = _Unit(token.line, [])
        elif token.value == "tuv":
            lang = token.attributes.get("xml:lang") or token.attributes.get("lang")
            if not lang:
                raise InputError(f"{xml.path}:{token.line}: this <tuv> has no xml:lang; name its language")
        elif token.value == "seg" and unit is not None and lang is not None:
            unit.variants.append(_Variant(_canonical(lang), _pieces(tokens)))


def _canonical(lang: str) -> str:
    """The code of a language; one that is unknown stays as it is, and fits no text."""
    try:
        return languages.normalise(lang)
    except ConfigError:
        return lang


def _pieces(tokens: Iterator[XmlToken]) -> list[str | InlineTag]:
    """The text of a ``seg``, which has begun, up to its end. The native codes within its tags are left out."""
    pieces: list[str | InlineTag] = []
    seen: Counter[tuple[str, str]] = Counter()
    pairs: dict[str, tuple[str, str, int]] = {}  # the keys of pairs, by the number that both tags have
    in_code = 0
    for token in tokens:
        if token.kind == "end" and token.value == "seg":
            break
        if in_code:
            in_code += (token.kind == "start") - (token.kind == "end")
        elif token.kind in ("text", "cdata"):
            pieces.append(token.value)
        elif token.kind == "start" and token.value in _CODES:
            in_code = 1
            number = token.attributes.get("i", "")
            family = "bpt" if token.value == "ept" else token.value
            if token.value == "ept" and number in pairs:
                key = pairs[number]
            else:
                # A tag has the same x in all languages, if it has one.
                reference = token.attributes.get("x") or number
                key = (family, reference, seen[family, reference])
                seen[family, reference] += 1
            if token.value == "bpt":
                pairs[number] = key
            role = {"bpt": "open", "ept": "close"}.get(token.value, "empty")
            pieces.append(InlineTag(key, role, ""))
    return pieces


class TranslationMemory:
    """Finds the entries that equal a text, or are similar to it; they are indexed when a language pair is first used.

    ``entries`` are further ones, such as the approved units of the files that are worked on. Without ``warns``, a file
    that lacks a language pair isn't reported.
    """

    def __init__(self, paths: Iterable[Path], entries: Iterable[MemoryEntry] = (), *, warns: bool = True) -> None:
        self._files = [TmxFile(path) for path in paths]
        self._entries = list(entries)
        self._warns = warns
        self._indices: dict[tuple[str, str], _Index] = {}

    def matches(self, segment: Segment) -> tuple[MemoryMatch, ...]:
        """The exact matches of the source of ``segment``, and then the similar ones: the best three, by similarity."""
        return self._index(segment).matches(segment.source)

    def has_source(self, segment: Segment) -> bool:
        """Whether an entry has the source of ``segment``. That is fast, unlike the search for similar ones."""
        return self._index(segment).has(segment.source)

    def _index(self, segment: Segment) -> _Index:
        pair = (segment.source_lang, segment.target_lang)
        if pair not in self._indices:
            self._indices[pair] = _Index(self._entries_for(*pair), segment.target_lang)
        return self._indices[pair]

    def _entries_for(self, source_lang: str, target_lang: str) -> list[MemoryEntry]:
        entries: list[MemoryEntry] = []
        for file in self._files:
            entries_of_file = list(file.entries(source_lang, target_lang))
            if not entries_of_file and self._warns:
                logger.warning(
                    "%s: has nothing for %s-%s; its languages: %s",
                    *(file.path, source_lang, target_lang, ", ".join(file.languages) or "none"),
                )
            entries += entries_of_file
        for entry in self._entries:
            if _same_language(source_lang, [entry.source_lang]) and _same_language(target_lang, [entry.target_lang]):
                entries.append(entry)
        return entries


class _Index:
    """The entries of a language pair: by their sources, and by the words in them."""

    def __init__(self, entries: Sequence[MemoryEntry], target_lang: str) -> None:
        self._target_lang = target_lang
        self._by_source: dict[str, list[MemoryEntry]] = defaultdict(list)
        for entry in entries:
            self._by_source[entry.source].append(entry)
        # In order of length, so that texts of a similar length are one slice of this list and of each list of numbers.
        self._sources = sorted(self._by_source, key=len)
        self._lengths = [len(source) for source in self._sources]
        self._numbers: dict[str, list[int]] = defaultdict(list)  # of the sources, by word
        for number, source in enumerate(self._sources):
            for word in _words(source):
                self._numbers[word].append(number)
        self._found: dict[str, tuple[MemoryMatch, ...]] = {}

    def has(self, text: str) -> bool:
        """See :meth:`TranslationMemory.has_source`."""
        return text in self._by_source

    def matches(self, text: str) -> tuple[MemoryMatch, ...]:
        """See :meth:`TranslationMemory.matches`."""
        if text not in self._found:
            self._found[text] = self._find(text)
        return self._found[text]

    def _find(self, text: str) -> tuple[MemoryMatch, ...]:
        from rapidfuzz import fuzz, process

        sources = [self._sources[number] for number in self._alike(text)]
        similar = process.extract(text, sources, scorer=fuzz.ratio, score_cutoff=LEAST_SIMILAR, limit=None)
        ranked = sorted(similar, key=lambda result: (-result[1], result[0]))
        matches: dict[tuple[str, str], MemoryMatch] = {}
        for source, similarity, _ in ranked[:MOST_SHOWN]:
            for entry in self._by_source[source]:
                match = MemoryMatch(
                    source=source,
                    target=entry.target,
                    similarity=int(similarity),
                    exact=source == text and _fits(entry.target_lang, self._target_lang),
                    origin=entry.origin,
                )
                known = matches.setdefault((source, entry.target), match)
                if match.exact and not known.exact:
                    matches[source, entry.target] = match
        exact = [match for match in matches.values() if match.exact]
        others = [match for match in matches.values() if not match.exact]
        return (*exact, *others[: max(0, MOST_SHOWN - len(exact))])

    def _alike(self, text: str) -> list[int]:
        """The numbers of the sources that may be similar to ``text``: they share its rarest words."""
        first = bisect_left(self._lengths, len(text) * _SHORTEST)
        last = bisect_right(self._lengths, len(text) / _SHORTEST)
        lists = []
        for word in _words(text):
            numbers = self._numbers.get(word, [])
            start, end = bisect_left(numbers, first), bisect_left(numbers, last)
            if start < end:
                lists.append(numbers[start:end])
        alike: set[int] = set()
        for numbers in sorted(lists, key=len):
            if alike and len(alike) + len(numbers) > _MOST_COMPARED:
                break
            alike.update(numbers)
        same = bisect_left(self._lengths, len(text))
        while text in self._by_source and self._sources[same] != text:
            same += 1
        if text in self._by_source:  # also one without words
            alike.add(same)
        return sorted(alike)


def _words(text: str) -> set[str]:
    return set(scripts.words(text.casefold()))


def _fits(lang: str, wanted: str) -> bool:
    """Whether a text in ``lang`` may be taken as it is: ``pt-BR`` for ``pt``, and not for ``pt-PT``."""
    return lang == wanted or "-" not in lang or "-" not in wanted


def with_matches(segments: Iterable[Segment], memory: TranslationMemory) -> Iterator[Segment]:
    """``segments``, each with what ``memory`` has for it."""
    for segment in segments:
        matches: tuple[MemoryMatch, ...] = ()
        if segment.source.strip():
            matches = memory.matches(segment)
        yield segment.model_copy(update={"matches": segment.matches + matches}) if matches else segment
