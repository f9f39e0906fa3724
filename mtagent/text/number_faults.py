"""The numbers of a source and its translation: which have no partner on the other side, and what else is wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import regex

from mtagent.text.number_words import language, readings
from mtagent.text.numbers import Number, digits_of, numbers, other_numerals
from mtagent.text.scripts import remembered

# -- pairs of numbers


def unmatched(source: Sequence[Number], translation: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """The numbers of two texts that have no partner in the other: missing in the translation, and extra there.

    Numbers are paired by value, each at most once: first those with the same readings, then those that share one. The
    parts of a fraction without a partner may have some (a date).
    """
    missing, extra = _unpaired(source, translation)
    if missing and extra and any(number.fraction for number in (*missing, *extra)):
        missing_parts, extra_parts = _unpaired(_with_split_fractions(missing), _with_split_fractions(extra))
        return _whole_again(missing, missing_parts), _whole_again(extra, extra_parts)
    return missing, extra


def _with_split_fractions(numbers: list[Number]) -> list[Number]:
    """The ``numbers``, with the parts of a fraction as one number each."""
    split = []
    for number in numbers:
        if number.fraction:
            for part in number.parts:
                split.append(Number((part,), (part,), number.start, number.end, digits=part))
        else:
            split.append(number)
    return split


def _whole_again(numbers: list[Number], unpaired: list[Number]) -> list[Number]:
    """What is ``unpaired`` of the ``numbers``; fractions none of whose parts have a partner are one number again."""
    unpaired_parts = Counter(number.start for number in unpaired)
    fractions = {}
    for number in numbers:
        if number.fraction and unpaired_parts[number.start] == len(number.parts):
            fractions[number.start] = number
    whole_again = list(fractions.values())
    for number in unpaired:
        if number.start not in fractions:
            whole_again.append(number)
    return whole_again


def _unpaired(source: Sequence[Number], translation: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    same_readings = Counter(number.values for number in source) & Counter(number.values for number in translation)
    source, translation = _without(source, same_readings), _without(translation, same_readings)
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index, number in enumerate(translation):
        for value in number.values:
            places[value].append(index)
    paired: set[int] = set()
    missing = []
    for number in source:
        for value in number.values:
            if _take_place(places[value], paired) is not None:
                break
        else:
            missing.append(number)
    extra = _at_other_places(translation, paired)
    if missing and extra:
        missing, extra = _pair_by_parts(missing, extra)
        extra, missing = _pair_by_parts(extra, missing)
    return missing, extra


def _without(numbers: Iterable[Number], paired: Counter[tuple[str, ...]]) -> list[Number]:
    """``numbers`` without as many of each reading as are ``paired``."""
    waiting = paired.copy()
    rest = []
    for number in numbers:
        if waiting[number.values]:
            waiting[number.values] -= 1
        else:
            rest.append(number)
    return rest


def _take_place(places: list[int], used: set[int]) -> int | None:
    """The last of ``places`` that isn't ``used``, and is from then on; ``None`` if all are."""
    while places:
        place = places.pop()
        if place not in used:
            used.add(place)
            return place
    return None


def _pair_by_parts(joined: list[Number], singles: list[Number]) -> tuple[list[Number], list[Number]]:
    """10.30 is 10:30, and "1 234" may be two numbers: a joined number may stand for two or more single ones."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index, number in enumerate(singles):
        if len(number.parts) == 1:
            for value in {*number.values, *number.parts}:
                places[value].append(index)
    used: set[int] = set()
    left = []
    for number in joined:
        may_be_several = len(number.parts) > 1 and not number.fraction and max(map(len, number.parts)) <= 3
        if not may_be_several:
            left.append(number)
            continue
        taken: list[int] = []
        for part in number.parts:
            place = _take_place(places[part], used)
            if place is None:
                break
            taken.append(place)
        if len(taken) < len(number.parts):
            left.append(number)
            used.difference_update(taken)
            for part, place in zip(number.parts, taken, strict=False):
                places[part].append(place)
    return left, _at_other_places(singles, used)


def _at_other_places(numbers: Iterable[Number], places: set[int]) -> list[Number]:
    """The ``numbers`` that are at none of the ``places``."""
    others = []
    for index, number in enumerate(numbers):
        if index not in places:
            others.append(number)
    return others


# -- faults of a translation


class Faults(NamedTuple):
    """What is wrong with the numbers of a translation."""

    missing: tuple[Number, ...]
    """Numbers of the source that the translation doesn't have in digits. It may have them in words."""
    extra: tuple[Number, ...]
    """Numbers that the source has neither in digits nor in words."""
    other: tuple[str, ...]
    """Other faults, as people read them."""


@remembered
def faults(source: str, text: str, source_lang: str, target_lang: str) -> Faults:
    """The faults of ``text`` as a translation of ``source``, both without placeholders and addresses."""
    certain = language(source_lang) is not None and language(target_lang) is not None
    in_source = numbers(source, source_lang, certain=certain)
    in_text = numbers(text, target_lang, certain=certain)
    if not in_source and not in_text:
        return Faults((), (), ())
    missing, extra = unmatched(in_source, in_text)
    if len(missing) != len(extra):
        digits_missing = _in_row(missing, source)
        if digits_missing and digits_missing == _in_row(extra, text):
            missing, extra = [], []
    if extra:
        extra = not_in_words(_not_in_numerals(extra, source), readings(source, source_lang).possible)
    if missing:
        missing = _not_in_numerals(missing, text)
    # A name may be left out or added (COVID-19), but may not become another one.
    missing_without_names, extra_without_names = _without_names(missing), _without_names(extra)
    is_name_changed = missing_without_names != missing and extra_without_names != extra
    if not is_name_changed:
        missing, extra = missing_without_names, extra_without_names
    other: list[str] = []
    if any(number.negative for number in (*in_source, *in_text)):
        for value in _unsigned(in_source, in_text, text, target_lang):
            other.append(f"the minus sign of {value} is missing")
        for value in _unsigned(in_text, in_source, source, source_lang):
            other.append(f"{value} has no minus sign in the source")
    if any(number.precise for number in (*in_source, *in_text)):
        for spelling in _other_spellings(in_source, source, in_text, text):
            other.append(f"{spelling} is missing")
        for spelling in _other_spellings(in_text, text, in_source, source):
            other.append(f"{spelling} is not in the source")
    return Faults(tuple(missing), tuple(extra), tuple(other))


def _without_names(numbers: Iterable[Number]) -> list[Number]:
    """The ``numbers`` that aren't part of a name."""
    return [number for number in numbers if not number.name]


_BELOW_ZERO = regex.compile(
    r"[负負]|零下|マイナス|氷点下|영하|마이너스|(?i:\b(?:minus|negative|below|sub-?zero|unter\s+null|sotto|bajo|abaixo|menos"
    r"|meno|moins|négati\w*|negativ\w*|ниже|отрицательн\w*|poniżej|pod\s+nulou|under\s+noll|dưới)\b)"
)


def _unsigned(numbers: Sequence[Number], others: Sequence[Number], text: str, lang: str) -> list[str]:
    """The values that are negative among ``numbers``, but not among ``others``, which are in ``text``."""
    signed, plain = set[str](), set[str]()
    for number in others:
        if number.negative is False:
            plain.update(number.values)
        else:
            signed.update(number.values)
    only_plain = plain - signed
    unsigned: list[str] = []
    for number in numbers:
        if number.negative and number.values[0] in only_plain and number.values[0] not in unsigned:
            unsigned.append(number.values[0])
    if not unsigned or _BELOW_ZERO.search(text):
        return []
    words = language(lang)
    if words and any(word in text.casefold() for word in words.minus):
        return []
    return unsigned


def _other_spellings(numbers: Sequence[Number], text: str, others: Sequence[Number], other_text: str) -> list[str]:
    """How ``text`` spells its precise numbers, where the other text has the same value in another way: 2.10, 2.1."""
    spellings_of_others, values_of_others = set[str](), set[str]()
    for number in others:
        spellings_of_others.add(_spelling(number, other_text))
        values_of_others.update(number.values)
    spellings = []
    for number in numbers:
        if not number.precise or values_of_others.isdisjoint(number.values):
            continue
        spelling = _spelling(number, text)
        if spelling not in spellings_of_others:
            spellings.append(spelling)
    return spellings


def _spelling(number: Number, text: str) -> str:
    return ".".join(digits_of(text[number.start : number.end]))


_GAP = regex.compile(r"[^\p{L}\p{M}\n]{0,3}")
_FEWEST_DIGITS = 4


def _in_row(numbers: Sequence[Number], text: str) -> str:
    """All digits of neighbours: 229 62 01 is the telephone number 229-6201. Empty if they aren't neighbours, or few."""
    for number, following in pairwise(numbers):
        if not _GAP.fullmatch(text, number.end, following.start):
            return ""
    digits = ""
    for number in numbers:
        if number.values[0] not in number.parts:
            return ""
        digits += number.digits
    return digits if len(digits) >= _FEWEST_DIGITS else ""


def _not_in_numerals(numbers: list[Number], text: str) -> list[Number]:
    """The ``numbers`` that ``text`` doesn't have in numerals other than digits."""
    numerals = other_numerals(text)
    return [number for number in numbers if numerals.isdisjoint(number.values)]


def not_in_words(numbers: Iterable[Number], values: Counter[str]) -> list[Number]:
    """The ``numbers`` without a reading among the ``values`` of a text's words, each of which counts once."""
    unused = values.copy()
    return [number for number in numbers if not take(unused, number)]


def take(values: Counter[str], number: Number) -> bool:
    """Whether one of the number's readings is in ``values``; if so, it is used up."""
    for value in number.values:
        if values[value] > 0:
            values[value] -= 1
            return True
    if number.fraction and all(values[part] > 0 for part in number.parts):
        values.subtract(number.parts)
        return True
    return False


# -- faults in words


class NumberMessages:
    """Words for the faults of ``text`` as a translation of ``source``: what is missing, and what is not in the source.

    Each message begins with the number, and with "number 20 is missing" where the text lacks it.
    """

    def __init__(self, source: str, text: str, source_lang: str, target_lang: str) -> None:
        certain = language(source_lang) is not None and language(target_lang) is not None
        in_source = numbers(source, source_lang, certain=certain)
        in_text = numbers(text, target_lang, certain=certain)
        self._in_source = _Occurrences(in_source, readings(source, source_lang).possible)
        self._in_text = _Occurrences(in_text, readings(text, target_lang).possible)
        self._source = source
        self._of_parts = dict[tuple[str, ...], Number]()
        for number in in_source:
            self._of_parts.setdefault(number.parts, number)

    def missing(self, number: Number, shown: str = "") -> str:
        """The message about a number of the source that the text lacks; ``shown``: as the source writes it."""
        message = f"number {shown or number.values[0]} is missing"
        in_text = self._in_text.count(number)
        in_source = self._in_source.count(number)
        if not 0 < in_text < in_source:
            return message
        return f"{message}: in the text {_times(in_text)}, in the source {_times(in_source)}"

    def extra(self, number: Number) -> str:
        """The message about a number of the text that the source lacks, or has less often, or reads differently."""
        value = number.values[0]
        in_source, in_text = self._in_source.count(number), self._in_text.count(number)
        if 0 < in_source < in_text:
            return f"number {value} is there {_times(in_text)}, in the source {_times(in_source)}"
        if in_source:
            return f"number {value} has no counterpart in the source"
        message = f"number {value} is not in the source"
        other = self._of_parts.get(number.parts)
        if other is None:
            return message
        # 11 pm is 23, and 100,000 is 100 where the comma is a decimal mark.
        return f"{message}, where {self._source[other.start : other.end]} means {other.values[0]}"


class _Occurrences:
    """How often a text has a number, in digits (``found``) or in ``words``."""

    def __init__(self, found: Sequence[Number], words: Counter[str]) -> None:
        self._words = words
        self._places = defaultdict[str, list[int]](list)
        for place, number in enumerate(found):
            for value in set(number.values):
                self._places[value].append(place)
        self._counts = dict[tuple[str, ...], int]()

    def count(self, number: Number) -> int:
        if number.values not in self._counts:
            places = set[int]()
            for value in number.values:
                places.update(self._places.get(value, ()))
            in_words = max(self._words[value] for value in number.values)
            self._counts[number.values] = len(places) + in_words
        return self._counts[number.values]


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
