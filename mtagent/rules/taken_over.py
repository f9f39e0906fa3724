"""Rules over what a translation takes over from its source: placeholders, tags, links, numbers, terms, copied text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from mtagent import marks
from mtagent.records import ErrorSpan, Segment, Term
from mtagent.rules.spans import located, loosened, omitted


class _Lost(NamedTuple):
    """Marks of the source without a partner in the translation, and the other way round."""

    missing: list[marks.Mark]
    extra: list[marks.Mark]


def _lost(source: Sequence[marks.Mark], there: Sequence[marks.Mark]) -> _Lost:
    def rest(these: Sequence[marks.Mark], others: Sequence[marks.Mark]) -> list[marks.Mark]:
        free = Counter(mark.key for mark in others)
        free.subtract(Counter(mark.key for mark in these))
        left = []
        for mark in reversed(these):
            if free[mark.key] < 0:
                free[mark.key] += 1
                left.append(mark)
        return left[::-1]

    return _Lost(rest(source, there), rest(there, source))


def _as_marks(found: Sequence[marks.Tag]) -> list[marks.Mark]:
    return [marks.Mark(tag.key, tag.start, tag.end) for tag in found]


_FINDERS = {
    "placeholder": marks.placeholders,
    "tag": lambda text: _as_marks(marks.tags(text)),
    "URL": marks.urls,
    "e-mail address": marks.emails,
}
_FEW = 50
"""Where more marks are missing, the text is not misspelt but broken."""
_BRACES = ("{", "${", "%{", "#{")


def empty(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """No translation of a source that says something."""
    if segment.source.strip() and not translation.strip():
        yield omitted(segment.source, "accuracy/omission", "major", "there is no translation")


def taken_over(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Placeholders, tags, URLs and e-mail addresses that are missing, altered or not in the source."""
    for what, find in _FINDERS.items():
        there = find(translation)
        missing, extra = _lost(find(segment.source), there)
        if missing or extra:
            yield from _altered(segment.source, translation, what, missing, extra)


def _altered(
    source: str, translation: str, what: str, missing: list[marks.Mark], extra: list[marks.Mark]
) -> Iterator[ErrorSpan]:
    once = Counter(mark.key for mark in missing)
    done: list[tuple[int, int]] = []
    for mark in missing:
        original = source[mark.start : mark.end]
        few = len(missing) <= _FEW and once[mark.key] == 1
        place = _misspelt(original, translation, what, missing, extra) if few else None
        if place is None:
            yield omitted(original, "accuracy/omission", "major", f"{what} {original} is missing")
        elif not any(start < place[1] and place[0] < end for start, end in done):
            done.append(place)
            yield located(
                translation, *place, "accuracy/mistranslation", "major", f"{what} {original} is altered", original
            )
    for mark in extra:
        entity = mark.key.startswith("&")
        if not entity and not any(start < mark.end and mark.start < end for start, end in done):
            shown = f"{what} {mark.key} is not in the source"
            yield located(translation, mark.start, mark.end, "accuracy/addition", "major", shown)


def _misspelt(
    original: str, translation: str, what: str, missing: list[marks.Mark], extra: list[marks.Mark]
) -> tuple[int, int] | None:
    """Where the translation spells ``original`` wrongly; ``None`` where that is not certain."""
    pattern = loosened(original)
    places = [match.span() for match in pattern.finditer(translation)] if pattern else []
    places = [(start, end) for start, end in places if translation[start:end] != original]
    if len(places) == 1:
        return places[0]
    alone = what == "placeholder" and len(missing) == len(extra) == 1
    if alone and original.startswith(_BRACES) and extra[0].key.startswith(_BRACES) and " " not in extra[0].key:
        return extra[0].start, extra[0].end
    return None


_SMALL = 12
_CERTAIN_DIGITS = 3


def numbers(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Numbers that are missing, changed or not in the source. Small ones may be written as words."""
    source, text = marks.prose(segment.source), marks.prose(translation)
    missing, extra = marks.unmatched(marks.numbers(source), marks.numbers(text))
    missing = [
        number for number in missing if not _small(number) and number.values[0] not in marks.other_numerals(text)
    ]
    extra = [number for number in extra if not _small(number) and number.values[0] not in marks.other_numerals(source)]
    changed = len(missing) == len(extra) == 1 and _one_slip(
        source[missing[0].start : missing[0].end], text[extra[0].start : extra[0].end]
    )
    for number in extra:
        wanted = source[missing[0].start : missing[0].end] if changed else None
        category = "accuracy/mistranslation" if missing else "accuracy/addition"
        shown = f"number {number.values[0]} is not in the source"
        yield located(translation, number.start, number.end, category, "major", shown, wanted)
    for number in missing[len(extra) :]:
        lost = source[number.start : number.end]
        yield omitted(lost, "accuracy/omission", "major", f"number {lost} is missing")


def _small(number: marks.Number) -> bool:
    return number.values[0].isdecimal() and len(number.values[0]) <= 2 and int(number.values[0]) <= _SMALL


def _one_slip(wanted: str, found: str) -> bool:
    """Whether plain digits differ by one digit, or by two neighbours swapped: no conversion does that."""
    if not (wanted.isdecimal() and found.isdecimal()) or len(wanted) != len(found) or len(wanted) < _CERTAIN_DIGITS:
        return False
    places = [place for place, (one, other) in enumerate(zip(wanted, found, strict=True)) if one != other]
    swapped = len(places) == 2 and places[1] == places[0] + 1 and wanted[places[0]] == found[places[1]]
    return len(places) == 1 or (swapped and wanted[places[1]] == found[places[0]])


_APERTIUM = regex.compile(r"(?<![\p{L}\p{N}\p{Pc}\p{S}*@#/.&\\-])[*@#](?=\p{L})(?P<word>[\p{L}\p{M}'’-]++)(?![*@#_])")


def apertium_marks(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Apertium's marks of words that it could not translate or inflect: ``*word``, ``@word``, ``#word``."""
    for match in _APERTIUM.finditer(translation):
        if match.group()[0] not in segment.source:
            shown = "the MT system did not know this word"
            yield located(translation, *match.span(), "accuracy/untranslated text", "minor", shown, match.group("word"))


_ENOUGH_WORDS = 4


def untranslated(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """A translation that is a copy of its source, and words in a script that the target language does not use."""
    if marks.language_of(segment.source_lang) == marks.language_of(segment.target_lang):
        return
    copied = marks.words(marks.prose(translation))
    small = sum(word[0].islower() or word.upper() == word.lower() for word in copied)
    if len(copied) >= _ENOUGH_WORDS and 2 * small >= len(copied) and copied == marks.words(marks.prose(segment.source)):
        shown = "the source is copied"
        yield located(translation, 0, len(translation), "accuracy/untranslated text", "major", shown)
        return
    pattern = marks.foreign_words_of(marks.script_of(segment.target_lang))
    if not marks.script_of(segment.target_lang) or pattern is None or translation.isascii():
        return
    for match in pattern.finditer(translation):
        if match.group() in segment.source:
            shown = f"not in the script of {segment.target_lang}"
            yield located(translation, *match.span(), "accuracy/untranslated text", "minor", shown)


def terms(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Do-not-translate terms, glossary terms and forbidden words."""
    for term in segment.terms:
        there = marks.occurrences(term.source, segment.source, case_sensitive=term.case_sensitive)
        if there and term.forbidden:
            yield from _forbidden(term, translation)
        elif there and term.target is None:
            yield from _not_kept(term.source, len(there), translation)
        elif there and not _has_target(term, translation):
            shown = f"the glossary has {term.target!r} for {term.source!r}"
            yield omitted(term.source, "terminology/inappropriate for context", "major", shown)


def _has_target(term: Term, translation: str) -> bool:
    return bool(
        marks.occurrences(
            term.target or term.source, translation, case_sensitive=term.case_sensitive, suffixes=True, inflected=True
        )
    )


def _forbidden(term: Term, translation: str) -> Iterator[ErrorSpan]:
    word = term.target or term.source
    for mark in marks.occurrences(word, translation, case_sensitive=term.case_sensitive):
        shown = f"the glossary forbids {word!r} for {term.source!r}"
        yield located(translation, mark.start, mark.end, "terminology/inappropriate for context", "major", shown)


def _not_kept(term: str, wanted: int, translation: str) -> Iterator[ErrorSpan]:
    lost = wanted - len(marks.occurrences(term, translation, case_sensitive=True, suffixes=True))
    if lost <= 0:
        return
    shown = f"{term!r} must not be translated"
    other_case = [mark for mark in marks.occurrences(term, translation) if mark.key != term]
    for mark in other_case[:lost]:
        yield located(translation, mark.start, mark.end, "terminology/inappropriate for context", "minor", shown, term)
    for _ in range(lost - len(other_case)):
        yield omitted(term, "terminology/inappropriate for context", "major", shown)
