"""Guards over what a translation must take over from its source: placeholders, tags, links, numbers, units, terms."""

from __future__ import annotations

from collections import Counter

import regex

from mtagent import marks
from mtagent.guards.newly import difference
from mtagent.records import Segment, Term


def placeholders(segment: Segment, text: str) -> list[str]:
    """The multiset of placeholders is that of the source."""
    wanted, there = marks.placeholders(segment.source), marks.placeholders(text)
    return difference((mark.key for mark in wanted), (mark.key for mark in there), "") if wanted or there else []


def tags(segment: Segment, text: str) -> list[str]:
    """The multiset of tags is that of the source, and none is crossed, stray or left open."""
    wanted, there = marks.tags(segment.source), marks.tags(text)
    if not wanted and not there:
        return []
    faults = Counter(marks.nesting_faults(there)) - Counter(marks.nesting_faults(wanted))
    return difference((tag.key for tag in wanted), (tag.key for tag in there), "") + list(faults.elements())


def urls(segment: Segment, text: str) -> list[str]:
    """Every URL of the source is there, and no other."""
    wanted, there = marks.urls(segment.source), marks.urls(text)
    return difference((mark.key for mark in wanted), (mark.key for mark in there), "") if wanted or there else []


def emails(segment: Segment, text: str) -> list[str]:
    """Every e-mail address of the source is there, and no other."""
    wanted, there = marks.emails(segment.source), marks.emails(text)
    return difference((mark.key for mark in wanted), (mark.key for mark in there), "") if wanted or there else []


def numbers(segment: Segment, text: str) -> list[str]:
    """The numbers are those of the source by value, in any locale's format."""
    wanted, there = marks.numbers(marks.prose(segment.source)), marks.numbers(marks.prose(text))
    if not wanted and not there:
        return []
    missing, extra = marks.unmatched(wanted, there)
    if not missing and not extra:
        return []
    written_there, written_wanted = marks.other_numerals(text), marks.other_numerals(segment.source)
    lost = [f"number {number.values[0]} is missing" for number in missing if number.values[0] not in written_there]
    return lost + [
        f"number {number.values[0]} is not in the source" for number in extra if number.values[0] not in written_wanted
    ]


def units(segment: Segment, before: str, after: str) -> list[str]:
    """No unit beside a number is swapped for another of its kind (km → mi), or dropped while its number stays."""
    old, new = marks.quantities(before), marks.quantities(after)
    if not old and not new:
        return []
    had, has = (Counter((found.kind, found.unit) for found in side) for side in (old, new))
    if had == has:
        return []
    wanted = Counter((found.kind, found.unit) for found in marks.quantities(segment.source))
    lost, added = (had - has), (has - had)
    faults = []
    for (kind, unit), count in added.items():
        others = [other for (other_kind, other) in lost if other_kind == kind]
        if others and wanted[kind, unit] < has[kind, unit]:
            faults += [f"unit {others[0]} became {unit}"] * count
    bare = (lost & wanted).keys() if lost else ()
    return faults + [f"unit {unit} is missing" for kind, unit in bare if _is_bare(kind, unit, before, after)]


_NEAR = 2
_WORD_BESIDE = regex.compile(r"[ \u00a0\u202f-]?+[\p{L}\p{Sc}%°]")
_SIGN_BEFORE = regex.compile(r"[\p{Sc}%][ \u00a0\u202f-]?+\Z")


def _is_bare(kind: str, unit: str, before: str, after: str) -> bool:
    """Whether a number that had ``unit`` beside it now has no word there that could spell the unit out."""
    places = [found for found in marks.quantities(before) if (found.kind, found.unit) == (kind, unit)]
    edges = {place.start for place in places} | {place.end for place in places}
    reach = {edge + shift for edge in edges for shift in range(-_NEAR, _NEAR + 1)}
    values = {number.values for number in marks.numbers(before) if number.start in reach or number.end in reach}
    return any(
        not _WORD_BESIDE.match(after, number.end)
        and not _SIGN_BEFORE.search(after, max(0, number.start - _NEAR), number.start)
        for number in marks.numbers(after)
        if number.values in values
    )


def terms(segment: Segment, text: str) -> list[str]:
    """Do-not-translate terms stay, glossary targets stay, and forbidden words stay out."""
    return [complaint for term in segment.terms for complaint in _about_term(term, segment.source, text)]


def _about_term(term: Term, source: str, text: str) -> list[str]:
    wanted = len(marks.occurrences(term.source, source, case_sensitive=term.case_sensitive))
    if not wanted:
        return []
    if term.forbidden:
        word = term.target or term.source
        return [f"forbidden word {word!r}"] * len(marks.occurrences(word, text, case_sensitive=term.case_sensitive))
    if term.target is None:
        there = len(marks.occurrences(term.source, text, case_sensitive=True, suffixes=True))
        return [f"do-not-translate term {term.source!r} is missing"] * (wanted - there)
    if marks.occurrences(term.target, text, case_sensitive=term.case_sensitive, suffixes=True, inflected=True):
        return []
    return [f"glossary term {term.target!r} is missing"]
