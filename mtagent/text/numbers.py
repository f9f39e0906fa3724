"""Numbers in a text, read by the customs of its language, and which of them have no counterpart in a translation."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import gcd
from typing import NamedTuple

import regex

from mtagent.text.number_words import language, readings, separators
from mtagent.text.scripts import UNSPACED_OR_HANGUL, alphabet, remembered
from mtagent.text.units import units_of

_NUMBER = regex.compile(
    r"""
    (?<!\d) (?: \d{1,3}+ (?:[ \u00a0\u202f\u2009] \d{3}(?!\d))++ (?:[.,٫]\d++)?+
              | \d++ (?:[.,'’٫٬·．，]\d++)*+ )
    """,
    flags=regex.VERBOSE,
)
_DIGITS = regex.compile(r"\d++")
_DECIMAL_MARKS = ".,٫·．，"
_SAME_MARK = {"．": ".", "，": ",", "’": "'", "\u00a0": " ", "\u202f": " ", "\u2009": " "}
_FULL_HOUR = regex.compile(r"(?<=\d[:：hH.])00(?!\d)")


class Number(NamedTuple):
    """A number in a text: ``text[start:end]``."""

    values: tuple[str, ...]
    """All its possible readings in canonical form: "1.234" is 1234 or 1.234."""
    parts: tuple[str, ...]
    """Its groups of digits, without zeros in front."""
    start: int
    end: int
    name: str = ""
    """The name that it belongs to: "covid" of COVID-19."""
    negative: bool | None = False
    """Whether it has a minus sign; ``None`` = perhaps (a dash that begins a line)."""
    precise: bool = False
    """Whether it is no quantity, but a version or a section, so that 2.10 is not 2.1."""
    digits: str = ""
    """All its digits as they are written."""
    fraction: bool = False
    """Whether it is written as a fraction (1½, 2/3), which may be a date as well."""


def _digits(token: str) -> list[str]:
    """The groups of digits in ``token``, in digits of ASCII."""
    if token.isascii():
        return _DIGITS.findall(token)
    return ["".join(str(int(digit)) for digit in group) for group in _DIGITS.findall(token)]


def _canonical(whole: str, fraction: str = "") -> str:
    fraction = fraction.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{fraction}" if fraction else whole


def _times(value: str, power: int) -> str:
    """``value`` with its decimal mark moved by ``power`` places."""
    whole, _, fraction = value.partition(".")
    fraction = fraction.ljust(power, "0")
    return _canonical(whole + fraction[:power], fraction[power:])


def _is_grouped(groups: list[str]) -> bool:
    """Whether groups of digits are one whole number: 12,345,678 or, in India, 1,23,45,678."""
    head, inner, last = groups[0], groups[1:-1], groups[-1]
    if not 1 <= len(head) <= 3 or head.startswith("0") or len(last) != 3:
        return False
    inner_sizes = {len(group) for group in inner}
    return inner_sizes <= {3} or (len(head) < 3 and inner_sizes <= {2})


def _readings(groups: list[str], marks: list[str], lang: str) -> tuple[str, ...]:
    """The values that groups of digits with ``marks`` between them can stand for in texts of ``lang``.

    ``()`` = it is not one number but a date, a version or a list. "3.500" is 3500 in German, 3.5 in English, and
    either where the language uses neither that mark or is not known.
    """
    whole = _canonical("".join(groups))
    if not marks:
        return (whole,)
    has_fraction = marks[-1] in _DECIMAL_MARKS and marks.count(marks[-1]) == 1
    fraction = _canonical("".join(groups[:-1]), groups[-1])
    if len(set(marks)) == 2 and has_fraction and _is_grouped(groups[:-1]):
        return (fraction,)  # 1,234.5
    if len(set(marks)) > 1:
        return ()
    is_grouped = _is_grouped(groups)
    if is_grouped and has_fraction:  # 1.234
        mark = _SAME_MARK.get(marks[0], marks[0])
        thousands, decimal = separators(lang)
        if mark in (decimal, "٫"):
            return (fraction,)
        if mark == thousands:
            return (whole,)
        return whole, fraction
    if is_grouped:  # 1,234,567
        return (whole,)
    return (fraction,) if has_fraction else ()


# -- magnitudes

_ABBREVIATIONS = {
    "k": 3, "K": 3, "m": 6, "M": 6, "b": 9, "B": 9, "mn": 6, "mln": 6, "mld": 9, "bn": 9, "tn": 12, "Mio": 6, "Mrd": 9,
    "mio": 6, "mrd": 9, "mia": 9, "md": 9, "Md": 9, "mill": 6, "тыс": 3, "млн": 6, "млрд": 9, "трлн": 12, "tis": 3,
    "tys": 3, "Tsd": 3, "cr": 7, "Cr": 7, "tr": 6, "rb": 3, "jt": 6, "bln": 9, "mlrd": 9, "tūkst": 3, "tkr": 3,
    "χιλ": 3, "εκατ": 6, "хил": 3, "тис": 3, "Mya": 6,
}  # fmt: skip
"""Abbreviations of powers of ten, by their zeros."""
_UNCERTAIN = frozenset(["k", "K", "m", "M", "b", "B", "md", "tr", "cr", "rb", "jt", "조", "tkr", "mill"])
"""Abbreviations and words that may mean something else: "5 m" is five metres."""
_EAST_ASIAN = {
    "백": 2,
    "千": 3,
    "천": 3,
    "百": 2,
    "万": 4,
    "萬": 4,
    "만": 4,
    "亿": 8,
    "億": 8,
    "억": 8,
    "兆": 12,
    "조": 12,
}
_EAST_ASIAN_RUN = regex.compile(
    r"[ ]?[余多几幾來来數数]?((?:[百千](?![米克瓦赫卡升帕分])|[万萬亿億兆])++)|((?:[백천만억]|조(?!각|건))++)"
)
_NEXT_WORD = regex.compile(r"[ \u00a0\u202f-]?+([\p{L}\p{M}]++)")
_WORD_BEFORE = regex.compile(r"([\p{L}\p{M}]++)[ \u00a0\u202f]\Z")


class _Magnitude(NamedTuple):
    """What multiplies a number."""

    power: int
    """The zeros of the power of ten."""
    end: int
    """Where it ends in the text."""
    certain: bool
    east_asian: bool = False


@lru_cache(maxsize=4096)
def _power_of(word: str, lang: str) -> int:
    """The zeros of the power of ten that ``word`` says in ``lang`` or English; 0 = none."""
    for words in (language(lang), language("en")):
        value = words.magnitude(word) if words else 0
        if value:
            return len(str(value)) - 1
    return 0


def _magnitude(text: str, start: int, end: int, lang: str) -> _Magnitude | None:
    """The word that multiplies the number at ``text[start:end]``: million, mil millones, 万."""
    if match := _EAST_ASIAN_RUN.match(text, end):
        word = match[1] or match[2]
        power = sum(_EAST_ASIAN[sign] for sign in word)
        return _Magnitude(power, match.end(), certain=word != "조", east_asian=True)
    power, certain = 0, True
    while match := _NEXT_WORD.match(text, end):
        word = match[1]
        if power and len(word) <= 2:  # behind a magnitude, short words mean something else
            break
        step = _ABBREVIATIONS.get(word, 0) or _power_of(word, lang)
        if not step:
            break
        power += step
        end = match.end()
        certain = certain and word not in _UNCERTAIN
    words = language(lang)
    if not power and words and words.magnitude_first:
        before = _WORD_BEFORE.search(text, max(0, start - 20), start)
        power = _power_of(before[1], lang) if before else 0
    return _Magnitude(power, end, certain) if power else None


# -- hours, years, signs, names

_LITERAL = r"(?i:(?<![\p{L}])(?P<half>[ap])\.?[ ]?m\b\.?)"
_HOURS = frozenset(map(str, range(1, 13)))
_CLOCK = regex.compile(r"[:：.hH]\d\d(?!\d)")
_BESIDE = 24
_UNSPACED_WORD = regex.compile(rf"[{UNSPACED_OR_HANGUL}]")


@lru_cache(maxsize=4096)
def _parts_of_the_day(lang: str) -> tuple[regex.Pattern[str], regex.Pattern[str], regex.Pattern[str]]:
    """Patterns for a part of the day behind and before an hour, and anywhere."""
    words = language(lang)
    day_parts = words.day_parts if words else {}
    groups = [_LITERAL]
    for half, parts in day_parts.items():
        forms = []
        for part in sorted(parts, key=len, reverse=True):
            form = regex.escape(part)
            if not _UNSPACED_WORD.match(form):
                form = rf"(?<![\p{{L}}\p{{M}}]){form}(?![\p{{L}}\p{{M}}])"
            forms.append(form)
        groups.append(f"(?P<{half}>{'|'.join(forms)})")
    any_part = "|".join(groups)
    behind = regex.compile(rf"(?:[:：.]\d\d)?[^\d.;,!?。，\n]{{0,16}}?(?:{any_part})", regex.IGNORECASE)
    before = regex.compile(rf"(?:{any_part})[^\d.;!?。\n]{{0,6}}\Z", regex.IGNORECASE)
    return behind, before, regex.compile(any_part, regex.IGNORECASE)


def _hours(text: str, start: int, end: int, hour: int, lang: str, certain: bool = True) -> tuple[str, ...]:
    """What ``hour`` from 1 to 12 is on a clock of 24 hours, by the part of the day beside it; ``()`` without one.

    If it isn't ``certain``, a translation may have the part of the day in words that are not known.
    """
    behind, before, _ = _parts_of_the_day(lang)
    match = behind.match(text, end, end + _BESIDE) or before.search(text, max(0, start - _BESIDE // 2), start)
    if not match:
        return ()
    is_literal = bool(match["half"])  # a.m. or p.m.
    half = f"{match['half'].casefold()}m" if is_literal else str(match.lastgroup)
    if hour == 12 and half == "pm":
        return ("12",)
    if hour == 12:
        return ("0", "24") if is_literal and certain else ("0", "24", "12")
    is_afternoon = half == "pm" or (half == "night" and hour >= 6)
    if not is_afternoon:
        return (str(hour),)
    is_clock = is_literal or _CLOCK.match(text, end) or match.end() == start
    return (str(hour + 12),) if is_clock else (str(hour + 12), str(hour))


_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "民國": 1911, "民国": 1911}
_CALENDARS = {"th": (2400, 2600, (-543,)), "ne": (1950, 2100, (-57, -56)), "fa": (1300, 1420, (621, 622))}
"""Other calendars by language: their years from and to (exclusive), and what makes each a year of the Western one."""
_DECADE_BEHIND = regex.compile(r"['’]?s\b|\s?年代|-?[хті][хиті]?\b|er[nx]?\b|-?tal|-luvu|-luku|-tych|-as\b|\s?년대")
_DECADE_BEFORE = regex.compile(r"(?:années|años|anos|anni|anii|lat|['’‘])[ '’‘]?\Z", regex.IGNORECASE)


def _years(text: str, start: int, end: int, value: str, lang: str) -> tuple[str, ...]:
    """Other ways to count the year or decade ``value``: 平成30年 is 2018, 2567 in Thailand 2024, the 1990s the 90s."""
    years = []
    number = int(value)
    era = text[max(0, start - 2) : start]
    if era in _ERAS and number < 70:
        years.append(_ERAS[era] + number)
    low, high, shifts = _CALENDARS.get(lang.partition("-")[0], (0, 0, ()))
    if low <= number < high:
        years += [number + shift for shift in shifts]
    if number % 10:
        return tuple(map(str, years))
    if _DECADE_BEHIND.match(text, end) or _DECADE_BEFORE.search(text, max(0, start - 8), start):
        if 1900 <= number < 2100:
            years.append(number % 100)
        elif number < 100:
            years += [1900 + number, 2000 + number]
    return tuple(map(str, years))


_DASHES = "-\u2010\u2011−–﹣－"
_SIGN = regex.compile(r"(?P<before>[^\u200e\u200f\u061c]?)[\u200e\u200f\u061c]?(?P<sign>[-−–﹣－])[\p{Sc}]?\Z")
_DEGREES = regex.compile(r"[\d.,]*\s?[°%‰\p{Sc}]")
_EXPONENT = regex.compile(r"(?<![\p{L}\p{M}])(?:[kcdmкс]?[mм]|ft|in|yd|mi)\Z")
_NAME = regex.compile(r"(?<![\p{L}\p{M}\d-])(?P<name>[\p{L}\p{M}]{4,})[-\u2010\u2011–]\Z")
_ROUND_THE_CLOCK = regex.compile(r"(?:.?.?\D)??(?<!\d)(?P<name>24/7)(?!\d)")
_LABEL = regex.compile(
    r"(?:(?<![\p{L}\p{M}])[vV]\.?|§|#|\p{Lu}\p{L}+|(?i:version|版本|バージョン|버전|第))[ \u00a0]?\Z"
)


def _is_negative(text: str, start: int, end: int, lang: str) -> bool | None:
    """Whether a minus sign or the word for it is before the number; ``None`` = perhaps: a dash or a bullet."""
    match = _SIGN.search(text, max(0, start - 4), start)
    if not match:
        words = language(lang)
        beside = text[max(0, start - 12) : start].rstrip().casefold()
        return bool(words and beside and beside.endswith(words.minus))
    before, sign = match["before"], match["sign"]
    is_unspaced = _UNSPACED_WORD.match(before) is not None
    if before and before in ")]":
        return False
    if before.isalnum() and not is_unspaced:
        return False
    if sign == "−" or _DEGREES.match(text, end):
        return True
    line = text[max(0, start - _BESIDE) : match.start("sign")].rpartition("\n")[2].strip()
    begins_line_or_range = not line or line[-1].isdigit()
    if sign == "–" or is_unspaced or begins_line_or_range:
        return None
    return True


def _is_precise(text: str, start: int, end: int, groups: list[str], marks: list[str]) -> bool:
    """Whether zeros at the end of a fraction matter, as in a version or a section (2.10)."""
    if len(groups) != 2 or len(groups[1]) > 2 or not groups[1].endswith("0"):
        return False
    if marks != ["."] or not _LABEL.search(text, max(0, start - 24), start):
        return False
    beside = _NEXT_WORD.match(text, end)
    has_unit = bool(beside and units_of(beside[1]))
    return not has_unit and not _DEGREES.match(text, end)


# -- the numbers of a text


@remembered
def numbers(text: str, lang: str = "", *, certain: bool = True) -> tuple[Number, ...]:
    """The numbers of ``text`` in order; number words are not numbers. A time or a date gives one number per part.

    The empty minutes of a full hour (5:00) do not count. Without ``lang`` a number has all readings that any language
    gives it; without ``certain`` a million may also be its bare number, for languages whose words are not known.
    """
    if not _DIGITS.search(text) and not _FRACTION.search(text):
        return ()
    empty_minutes = {match.start() for match in _FULL_HOUR.finditer(text)} if "00" in text else set()
    # What is nowhere in the text is not looked for beside each number.
    characters = alphabet(text)
    words = language(lang)
    has_hours = bool(_parts_of_the_day(lang)[2].search(text))
    has_dashes = not characters.isdisjoint(_DASHES)
    has_minus = has_dashes or (words is not None and any(word in text.casefold() for word in words.minus))
    has_halves = not characters.isdisjoint("半반")
    numbers: list[Number] = []
    magnitudes: dict[int, _Magnitude] = {}  # by the index of their number
    for match in _NUMBER.finditer(text):
        token, start, end = match.group(), match.start(), match.end()
        if token in ("2", "3") and _EXPONENT.search(text, max(0, start - 3), start):
            continue
        groups = _digits(token)
        marks = [character for character in token if not character.isdecimal()]
        values = _readings(groups, marks, lang)
        is_time = len(groups) == 2 and marks == ["."] and len(groups[1]) == 2 and groups[0].lstrip("0") in _HOURS
        if not values or (is_time and _HALF_BEHIND.match(text, end)):
            for digits, group in zip(_DIGITS.finditer(token), groups, strict=True):
                part = (_canonical(group),)
                numbers.append(Number(part, part, start + digits.start(), start + digits.end(), digits=group))
            if is_time:
                hour, minutes = numbers[-2:]
                hours = _hours(text, start, end, int(groups[0]), lang, certain)
                numbers[-2] = hour._replace(values=hours or hour.values)
                if groups[1] == "00":
                    empty_minutes.add(minutes.start)
            continue
        if magnitude := _magnitude(text, start, end, lang):
            scaled = tuple(_times(value, magnitude.power) for value in values)
            is_certain = certain and magnitude.certain
            values = scaled if is_certain else _distinct(*values, *scaled)
            magnitudes[len(numbers)] = magnitude
            end = magnitude.end
        elif not marks and len(token) <= 4:
            number = int(token)
            if has_hours and 1 <= number <= 12 and text[start - 1 : start] not in (":", "："):
                values = _hours(text, start, end, number, lang, certain) or values
            values = _distinct(*values, *_years(text, start, end, values[0], lang))
        if has_halves and not marks and _HALF_MORE.match(text, end):
            values = _distinct(f"{values[0]}.5", *values)
        name = _NAME.search(text, max(0, start - 24), start) if has_dashes else None
        if name is None and "/" in text[max(0, start - 1) : end + 1]:
            name = _ROUND_THE_CLOCK.match(text, max(0, start - 3))
        numbers.append(
            Number(
                values,
                parts=tuple(map(_canonical, groups)),
                start=start,
                end=end,
                name=name["name"].casefold() if name and not marks else "",
                negative=_is_negative(text, start, end, lang) if has_minus else False,
                precise=_is_precise(text, start, end, groups, marks),
                digits="".join(groups),
            )
        )
    if magnitudes:
        numbers = _joined(text, numbers, magnitudes)
    return tuple(number for number in _with_fractions(text, numbers, lang) if number.start not in empty_minutes)


def _distinct(*values: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


_HALF_MORE = regex.compile(r"(?:時間|小[时時]|年|[かヶカヵ]月|[个個](?:月)?|倍|日|시간|년|달|개월)[间間]?[ ]?[半반]")
"""What stands between a number and the half that is added to it: 1時間半, 两个半."""
_FRACTION = regex.compile(
    r"(?:(?<![\d/.,:])(?P<whole>\d{1,3})[ \u00a0\u202f]?)?(?P<sign>[¼-¾⅐-⅞])"
    r"|(?<![\d/.,:\u2044]|\p{Pd})(?:(?P<whole>\d{1,3})[ \u00a0\u202f])?"
    r"(?P<above>\d{1,2})[/\u2044](?P<below>\d{1,3})(?![\d/]|[.,]\d)"
)


def _with_fractions(text: str, numbers: list[Number], lang: str) -> list[Number]:
    """The ``numbers`` in order, with 1/2, ½ and 1½ as one number each."""
    if "/" not in text and text.isascii():
        return numbers
    fractions = []
    covered: set[int] = set()
    for match in _FRACTION.finditer(text):
        sign, whole, above, below = match.group("sign", "whole", "above", "below")
        if sign:
            above, below = unicodedata.normalize("NFKC", sign).split("\u2044")
        if not 0 < int(above) < int(below):
            continue
        start, end = match.span()
        numerator, denominator = int(whole or 0) * int(below) + int(above), int(below)
        if magnitude := _magnitude(text, start, end, lang):
            numerator *= 10**magnitude.power
            end = magnitude.end
        millionths, rest = divmod(numerator * 10**6, denominator)
        if rest:
            divisor = gcd(numerator, denominator)
            value = f"{numerator // divisor}/{denominator // divisor}"
        else:
            digits = f"{millionths:07}"
            value = _canonical(digits[:-6], digits[-6:])
        parts = tuple(str(int(part)) for part in (whole, above, below) if part)
        fractions.append(Number((value,), parts, start, end, digits="".join(parts), fraction=True))
        covered.update(range(start, match.end()))
    if not fractions:
        return numbers
    others = [number for number in numbers if number.start not in covered]
    return sorted(others + fractions, key=lambda number: number.start)


_HALF_BEHIND = regex.compile(rf"[ \u00a0\u202f]?{_LITERAL}")
_RANGE = regex.compile(r"[ \u00a0]?(?:\p{Pd}|[~～〜至到]|[\p{L}\p{M}]{1,5})[ \u00a0]?")


_LONGEST_NUMBER = 40


def _joined(text: str, numbers: list[Number], magnitudes: dict[int, _Magnitude]) -> list[Number]:
    """Ranges that share a magnitude (3 to 5 million), and numbers of several magnitudes (1亿2000万)."""
    joined: list[Number] = []
    power_before = 0  # of an East Asian magnitude, which more digits may follow
    for index, number in enumerate(numbers):
        magnitude = magnitudes.get(index)
        before = joined[-1] if joined else None
        gap = text[before.end : number.start] if before else ""
        if before and magnitude and index - 1 not in magnitudes and _RANGE.fullmatch(gap):
            scaled = [_times(value, magnitude.power) for value in before.values]
            joined[-1] = before._replace(values=(*before.values, *scaled))
        if before and power_before and gap in ("", " ") and _fills(before, number, power_before):
            value = str(int(before.values[0]) + int(number.values[0]))
            joined[-1] = before._replace(values=(value,), parts=before.parts + number.parts, end=number.end)
        else:
            joined.append(number)
        power_before = magnitude.power if magnitude and magnitude.east_asian else 0
    return joined


def _fills(number: Number, smaller: Number, power: int) -> bool:
    """Whether ``smaller`` fits into the last ``power`` zeros of ``number``: 2000万 into 1亿."""
    if len(number.values) != 1 or len(smaller.values) != 1:
        return False
    value, smaller_value = number.values[0], smaller.values[0]
    are_whole = "." not in value and "." not in smaller_value
    return are_whole and len(value) <= _LONGEST_NUMBER and len(smaller_value) <= power


# -- other numerals

# A single letter only behind a word that it may number (chapter V), an ordinal's ending only in small letters (XIXe).
_ROMAN = regex.compile(
    r"(?<![\p{L}\p{N}])(?:(?=[IVXLCDM]{2})|(?<=\p{L}[ \u00a0])(?=[IVX]))(?=[IVXLCDM])"
    r"(?P<numeral>M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))(?<=[IVXLCDM])"
    r"(?:er|re|[eè]re|[eè]me|es?|[ºª]|-\p{Cyrillic}{1,3})?(?![\p{L}\p{N}])"
)
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_CIRCLED = regex.compile(r"[①-⒛㉑-㉟㊱-㊿]")
_RAISED = regex.compile(r"[⁰¹²³⁴-⁹]++|[₀-₉]++")
_ROMAN_PAIRS = ("II", "IV", "IX", "VI", "XI", "XV", "XX")
_SMALL_NUMERAL = regex.compile(r"[IVX]{2,7}")


def _roman_value(numeral: str) -> str:
    digits = [_ROMAN_DIGITS[letter] for letter in numeral]
    value = 0
    for digit, following in zip(digits, [*digits[1:], 0], strict=True):
        if digit < following:
            value -= digit
        else:
            value += digit
    return str(value)


@remembered
def other_numerals(text: str) -> frozenset[str]:
    """The values of Roman numerals (XVIII → "18"), circled ones (③ → "3"), and raised or lowered ones (CO₂ → "2").

    A translation may write these in digits, and the other way round.
    """
    values = {f"{unicodedata.numeric(sign):.0f}" for sign in _CIRCLED.findall(text)}
    values |= {unicodedata.normalize("NFKC", digits) for digits in _RAISED.findall(text)}
    return frozenset(values | {_roman_value(match["numeral"]) for match in _ROMAN.finditer(text)})


def roman_numerals(text: str) -> Counter[str]:
    """How often each Roman numeral below 40 of two letters or more is in ``text``, by its value."""
    if not any(pair in text for pair in _ROMAN_PAIRS):
        return Counter()
    numerals = [match["numeral"] for match in _ROMAN.finditer(text)]
    return Counter(_roman_value(numeral) for numeral in numerals if _SMALL_NUMERAL.fullmatch(numeral))


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
    """What is ``unpaired`` of the ``numbers`` with split fractions: fractions none of whose parts have a partner become
    one number again.
    """
    parts_left = Counter(number.start for number in unpaired)
    whole = [number for number in numbers if number.fraction and parts_left[number.start] == len(number.parts)]
    starts = {number.start for number in whole}
    return whole + [number for number in unpaired if number.start not in starts]


def _unpaired(source: Sequence[Number], translation: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    source_readings, translation_readings = _readings_of(source), _readings_of(translation)
    if source_readings == translation_readings:
        return [], []
    same_readings = Counter(source_readings) & Counter(translation_readings)
    source, translation = _without(source, same_readings), _without(translation, same_readings)
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    for index, number in enumerate(translation):
        for value in number.values:
            waiting[value].append(index)
    paired: set[int] = set()
    missing = []
    for number in source:
        for value in number.values:
            while waiting[value] and waiting[value][-1] in paired:
                waiting[value].pop()
            if waiting[value]:
                paired.add(waiting[value].pop())
                break
        else:
            missing.append(number)
    extra = [number for index, number in enumerate(translation) if index not in paired]
    if missing and extra:
        missing, extra = _pair_by_parts(missing, extra)
        extra, missing = _pair_by_parts(extra, missing)
    return missing, extra


def _readings_of(numbers: Sequence[Number]) -> list[tuple[str, ...]]:
    return [number.values for number in numbers]


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
        parts = [_canonical(part) for part in number.parts]
        taken: list[int] = []
        may_be_several = len(parts) > 1 and not number.fraction and max(map(len, parts)) <= 3
        if may_be_several:
            for part in parts:
                while places[part] and places[part][-1] in used:
                    places[part].pop()
                if not places[part]:
                    break
                taken.append(places[part].pop())
                used.add(taken[-1])
        if taken and len(taken) == len(parts):
            continue
        left.append(number)
        used.difference_update(taken)
        for part, place in zip(parts, taken, strict=False):
            places[part].append(place)
    return left, [number for index, number in enumerate(singles) if index not in used]


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
    in_source, in_text = numbers(source, source_lang, certain=certain), numbers(text, target_lang, certain=certain)
    if not in_source and not in_text:
        return Faults((), (), ())
    missing, extra = unmatched(in_source, in_text)
    if len(missing) != len(extra):
        digits_missing = _in_row(missing, source)
        if digits_missing and digits_missing == _in_row(extra, text):
            missing, extra = [], []
    if extra:
        numerals, words = other_numerals(source), readings(source, source_lang).possible.copy()
        extra = [number for number in extra if numerals.isdisjoint(number.values) and not take(words, number)]
    if missing:
        numerals = other_numerals(text)
        missing = [number for number in missing if numerals.isdisjoint(number.values)]
    # A name may be left out or added (COVID-19), but may not become another one.
    is_name_changed = any(number.name for number in missing) and any(number.name for number in extra)
    if not is_name_changed:
        missing = [number for number in missing if not number.name]
        extra = [number for number in extra if not number.name]
    other: list[str] = []
    if any(number.negative for number in (*in_source, *in_text)):
        lost_signs = _unsigned(in_source, in_text, text, target_lang)
        new_signs = _unsigned(in_text, in_source, source, source_lang)
        other += [f"the minus sign of {value} is missing" for value in lost_signs]
        other += [f"{value} has no minus sign in the source" for value in new_signs]
    if any(number.precise for number in (*in_source, *in_text)):
        other += _changed_zeros(in_source, in_text, source, text)
    return Faults(tuple(missing), tuple(extra), tuple(other))


_BELOW_ZERO = regex.compile(
    r"[负負]|零下|マイナス|氷点下|영하|마이너스|(?i:\b(?:minus|negative|below|sub-?zero|unter\s+null|sotto|bajo|abaixo|menos"
    r"|meno|moins|négati\w*|negativ\w*|ниже|отрицательн\w*|poniżej|pod\s+nulou|under\s+noll|dưới)\b)"
)


def _unsigned(numbers: Sequence[Number], others: Sequence[Number], text: str, lang: str) -> list[str]:
    """The values that are negative among ``numbers``, but not among ``others``, which are in ``text``."""
    negative = Counter(number.values[0] for number in numbers if number.negative)
    signed, plain = set[str](), set[str]()
    for number in others:
        if number.negative is False:
            plain.update(number.values)
        else:
            signed.update(number.values)
    unsigned = [value for value in negative if value in plain and value not in signed]
    if not unsigned or _BELOW_ZERO.search(text):
        return []
    words = language(lang)
    if words and any(word in text.casefold() for word in words.minus):
        return []
    return unsigned


def _changed_zeros(in_source: Sequence[Number], in_text: Sequence[Number], source: str, text: str) -> list[str]:
    """Version 2.10 that became 2.1, or the other way round."""
    lost = _other_spellings(in_source, source, in_text, text)
    added = _other_spellings(in_text, text, in_source, source)
    return [f"{spelling} is missing" for spelling in lost] + [f"{spelling} is not in the source" for spelling in added]


def _other_spellings(numbers: Sequence[Number], text: str, others: Sequence[Number], other_text: str) -> list[str]:
    """How ``text`` spells its precise numbers, where the other text has the same value but not this spelling."""
    spellings_of_others = {_spelling(number, other_text) for number in others}
    values_of_others = {value for number in others for value in number.values}
    spellings = []
    for number in numbers:
        spelling = _spelling(number, text)
        if number.precise and spelling not in spellings_of_others and not values_of_others.isdisjoint(number.values):
            spellings.append(spelling)
    return spellings


def _spelling(number: Number, text: str) -> str:
    return ".".join(_digits(text[number.start : number.end]))


_GAP = regex.compile(r"[^\p{L}\p{M}\n]{0,3}")
_FEWEST_DIGITS = 4


def _in_row(numbers: Sequence[Number], text: str) -> str:
    """All digits of neighbours: 229 62 01 is the telephone number 229-6201. Empty if they aren't neighbours, or few."""
    for number, following in pairwise(numbers):
        if not _GAP.fullmatch(text, number.end, following.start):
            return ""
    if any(number.values[0] not in number.parts for number in numbers):
        return ""
    digits = "".join(number.digits for number in numbers)
    return digits if len(digits) >= _FEWEST_DIGITS else ""


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
