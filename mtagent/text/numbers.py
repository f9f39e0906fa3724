"""Numbers in a text, read by the customs of its language."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache
from math import gcd
from typing import NamedTuple

import regex

from mtagent.text.number_words import language, separators
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
    """Whether it is a version or a section instead of a quantity, so that 2.10 is not 2.1."""
    digits: str = ""
    """All its digits as they are written."""
    fraction: bool = False
    """Whether it is written as a fraction (1½, 2/3), which may be a date as well."""


def digits_of(token: str) -> list[str]:
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
    if len(head) > 3 or head.startswith("0") or len(last) != 3:
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
    kinds_of_marks = len(set(marks))
    has_fraction = marks[-1] in _DECIMAL_MARKS and marks.count(marks[-1]) == 1
    fraction = _canonical("".join(groups[:-1]), groups[-1])
    if kinds_of_marks == 2 and has_fraction and _is_grouped(groups[:-1]):  # 1,234.5
        return (fraction,)
    if kinds_of_marks > 1:
        return ()
    if not _is_grouped(groups):
        return (fraction,) if has_fraction else ()
    if not has_fraction:  # 1,234,567
        return (whole,)
    mark = _SAME_MARK.get(marks[0], marks[0])  # 1.234
    thousands, decimal = separators(lang)
    if mark in (decimal, "٫"):
        return (fraction,)
    if mark == thousands:
        return (whole,)
    return whole, fraction


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
    "百": 2, "백": 2, "千": 3, "천": 3, "万": 4, "萬": 4, "만": 4, "亿": 8, "億": 8, "억": 8, "兆": 12, "조": 12,
}  # fmt: skip
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
    """The zeros of the power of ten that ``word`` means in ``lang`` or English; 0 = none."""
    for words in (language(lang), language("en")):
        if words is None:
            continue
        value = words.magnitude(word)
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
        if before:
            power = _power_of(before[1], lang)
    return _Magnitude(power, end, certain) if power else None


# -- hours, years, signs, names

_LITERAL = r"(?i:(?<![\p{L}])(?P<half>[ap])\.?[ ]?m\b\.?)"
_HOURS = frozenset(map(str, range(1, 13)))
_CLOCK = regex.compile(r"[:：.hH]\d\d(?!\d)")
_BESIDE = 24
_UNSPACED_WORD = regex.compile(rf"[{UNSPACED_OR_HANGUL}]")


@lru_cache(maxsize=4096)
def _parts_of_the_day(lang: str) -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Patterns for a part of the day behind and before an hour."""
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
    return behind, before


def _hours(text: str, start: int, end: int, hour: int, lang: str, certain: bool) -> tuple[str, ...]:
    """What ``hour`` from 1 to 12 is on a clock of 24 hours, by the part of the day next to it; ``()`` without one.

    If it isn't ``certain``, a translation may have the part of the day in words that are not known.
    """
    behind, before = _parts_of_the_day(lang)
    match = behind.match(text, end, end + _BESIDE) or before.search(text, max(0, start - _BESIDE // 2), start)
    if not match:
        return ()
    is_literal = bool(match["half"])  # a.m. or p.m.
    half = f"{match['half'].casefold()}m" if is_literal else str(match.lastgroup)
    if hour == 12:
        if half == "pm":
            return ("12",)
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


class _Beside(NamedTuple):
    """What a text may have besides its numbers. What is nowhere in the text is not looked for at each of them."""

    has_dashes: bool
    has_minus: bool
    has_halves: bool


def _beside(text: str, lang: str) -> _Beside:
    characters = alphabet(text)
    words = language(lang)
    has_dashes = not characters.isdisjoint(_DASHES)
    has_minus = has_dashes
    if words and not has_minus:
        folded = text.casefold()
        has_minus = any(word in folded for word in words.minus)
    return _Beside(
        has_dashes=has_dashes,
        has_minus=has_minus,
        has_halves=not characters.isdisjoint("半반"),
    )


@remembered
def numbers(text: str, lang: str = "", *, certain: bool = True) -> tuple[Number, ...]:
    """The numbers of ``text`` in order; number words are not numbers. A time or a date gives one number per part.

    The empty minutes of a full hour (5:00) do not count. Without ``lang`` a number has all readings that any language
    gives it; without ``certain`` a million may also be its bare number, for languages whose words are not known.
    """
    if not _DIGITS.search(text) and not _FRACTION.search(text):
        return ()
    beside = _beside(text, lang)
    numbers: list[Number] = []
    magnitudes: dict[int, _Magnitude] = {}  # by the index of their number
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        if match.group() in ("2", "3") and _EXPONENT.search(text, max(0, start - 3), start):
            continue
        groups = digits_of(match.group())
        marks = [character for character in match.group() if not character.isdecimal()]
        values = _readings(groups, marks, lang)
        if not values:
            numbers += _one_per_group(match, groups)
            continue
        if _is_time(groups, marks) and _HALF_BEHIND.match(text, end):
            hour, minutes = _one_per_group(match, groups)
            hours = _hours(text, start, end, int(groups[0]), lang, certain)
            numbers += [hour._replace(values=hours or hour.values), minutes]
            continue
        magnitude = _magnitude(text, start, end, lang)
        if magnitude:
            scaled = tuple(_times(value, magnitude.power) for value in values)
            values = scaled if certain and magnitude.certain else _distinct(*values, *scaled)
            magnitudes[len(numbers)] = magnitude
            end = magnitude.end
        elif not marks and len(groups[0]) <= 4:
            value = int(groups[0])
            if 1 <= value <= 12 and text[start - 1 : start] not in (":", "："):
                values = _hours(text, start, end, value, lang, certain) or values
            values = _distinct(*values, *_years(text, start, end, values[0], lang))
        if beside.has_halves and not marks and _HALF_MORE.match(text, end):
            values = _distinct(f"{values[0]}.5", *values)
        numbers.append(
            Number(
                values,
                parts=tuple(map(_canonical, groups)),
                start=start,
                end=end,
                name="" if marks else _name(text, start, end, beside.has_dashes),
                negative=_is_negative(text, start, end, lang) if beside.has_minus else False,
                precise=_is_precise(text, start, end, groups, marks),
                digits="".join(groups),
            )
        )
    if magnitudes:
        numbers = _joined(text, numbers, magnitudes)
    numbers = _with_fractions(text, numbers, lang)
    if "00" in text:
        empty_minutes = {match.start() for match in _FULL_HOUR.finditer(text)}
        numbers = [number for number in numbers if number.start not in empty_minutes]
    return tuple(numbers)


def _is_time(groups: list[str], marks: list[str]) -> bool:
    """Whether a number may be hours and minutes: 5.30."""
    return marks == ["."] and len(groups[1]) == 2 and groups[0].lstrip("0") in _HOURS


def _one_per_group(match: regex.Match[str], groups: list[str]) -> list[Number]:
    """A number for each of the ``groups`` of digits."""
    numbers = []
    for digits, group in zip(_DIGITS.finditer(match.string, *match.span()), groups, strict=True):
        value = (_canonical(group),)
        numbers.append(Number(value, value, *digits.span(), digits=group))
    return numbers


def _name(text: str, start: int, end: int, has_dashes: bool) -> str:
    """The name that a number belongs to (COVID-19, 24/7), in small letters; empty if there is none."""
    name = _NAME.search(text, max(0, start - 24), start) if has_dashes else None
    if name is None and "/" in text[max(0, start - 1) : end + 1]:
        name = _ROUND_THE_CLOCK.match(text, max(0, start - 3))
    return name["name"].casefold() if name else ""


def _distinct(*values: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


_HALF_MORE = regex.compile(r"(?:時間|小[时時]|年|[かヶカヵ]月|[个個](?:月)?|倍|日|시간|년|달|개월)[间間]?[ ]?[半반]")
"""What is between a number and the half that is added to it: 1時間半, 两个半."""
_FRACTION = regex.compile(
    r"(?:(?<![\d/.,:])(?P<whole>\d{1,3})[ \u00a0\u202f]?)?(?P<sign>[¼-¾⅐-⅞])"
    r"|(?<![\d/.,:\u2044]|\p{Pd})(?:(?P<whole>\d{1,3})[ \u00a0\u202f])?"
    r"(?P<above>\d{1,2})[/\u2044](?P<below>\d{1,3})(?![\d/]|[.,]\d)"
)


_FRACTION_SIGNS = "/\u2044¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"


def _with_fractions(text: str, numbers: list[Number], lang: str) -> list[Number]:
    """The ``numbers`` in order, with 1/2, ½ and 1½ as one number each."""
    if alphabet(text).isdisjoint(_FRACTION_SIGNS):
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
        magnitude = _magnitude(text, start, end, lang)
        if magnitude:
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
    value = before = 0
    for letter in numeral:
        digit = _ROMAN_DIGITS[letter]
        value += digit
        if before < digit:  # IV
            value -= 2 * before
        before = digit
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
