"""Numbers in a text, read by the customs of its language, and which of them have no counterpart in a translation."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import gcd
from typing import NamedTuple

import regex

from mtagent.text.number_words import language, readings, separators
from mtagent.text.scripts import UNSPACED, alphabet, remembered
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
    """A number in a text: ``text[start:end]``.

    ``values`` are all its possible readings in canonical form ("1.234" is 1234 or 1.234); ``parts`` are its groups of
    digits, ``digits`` all of them as they are written. ``name``: it belongs to a name such as COVID-19. ``negative``:
    it has a minus sign; ``None`` = perhaps (a dash that begins a line). ``precise``: it is no quantity, but a version
    or a section, and 2.10 is not 2.1. ``fraction``: it is written as one (1½, 2/3), which may be a date as well.
    """

    values: tuple[str, ...]
    parts: tuple[str, ...]
    start: int
    end: int
    name: str = ""
    negative: bool | None = False
    precise: bool = False
    digits: str = ""
    fraction: bool = False


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
    return all(len(group) == 3 for group in inner) or (len(head) < 3 and all(len(group) == 2 for group in inner))


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
    if len(set(marks)) == 1:  # 1.234, 1,234,567
        is_grouped = _is_grouped(groups)
        if is_grouped and has_fraction:
            mark = _SAME_MARK.get(marks[0], marks[0])
            thousands, decimal = separators(lang)
            if mark in (decimal, "٫"):
                return (fraction,)
            if mark == thousands:
                return (whole,)
        return ((whole,) if is_grouped else ()) + ((fraction,) if has_fraction else ())
    if len(set(marks)) == 2 and has_fraction and _is_grouped(groups[:-1]):
        return (fraction,)  # 1,234.5
    return ()


# -- magnitudes

_ABBREVIATIONS = {
    "k": 3, "K": 3, "m": 6, "M": 6, "b": 9, "B": 9, "mn": 6, "mln": 6, "mld": 9, "bn": 9, "tn": 12, "Mio": 6, "Mrd": 9,
    "mio": 6, "mrd": 9, "mia": 9, "md": 9, "Md": 9, "mill": 6, "тыс": 3, "млн": 6, "млрд": 9, "трлн": 12, "tis": 3,
    "tys": 3, "Tsd": 3, "cr": 7, "Cr": 7, "tr": 6, "rb": 3, "jt": 6, "bln": 9, "mlrd": 9, "tūkst": 3, "tkr": 3,
    "χιλ": 3, "εκατ": 6, "хил": 3, "тис": 3, "Mya": 6,
}  # fmt: skip
_UNCERTAIN = frozenset(["k", "K", "m", "M", "b", "B", "md", "tr", "cr", "rb", "jt", "조", "tkr", "mill"])
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
    power: int
    end: int
    certain: bool
    east_asian: bool = False


@lru_cache(maxsize=4096)
def _power_of(word: str, lang: str) -> int:
    for words in (language(lang), language("en")):
        if words and (value := words.magnitude(word)):
            return len(str(value)) - 1
    return 0


def _magnitude(text: str, start: int, end: int, lang: str) -> _Magnitude | None:
    """The word that multiplies the number at ``text[start:end]``: million, mil millones, 万."""
    if match := _EAST_ASIAN_RUN.match(text, end):
        word = match[1] or match[2]
        return _Magnitude(sum(map(_EAST_ASIAN.__getitem__, word)), match.end(), word != "조", east_asian=True)
    power, certain = 0, True
    while match := _NEXT_WORD.match(text, end):
        word = match[1]
        step = (_ABBREVIATIONS.get(word, 0) or _power_of(word, lang)) if not power or len(word) > 2 else 0
        if not step:
            break
        power, end, certain = power + step, match.end(), certain and word not in _UNCERTAIN
    words = language(lang)
    if (
        not power
        and words
        and words.magnitude_first
        and (before := _WORD_BEFORE.search(text, max(0, start - 20), start))
    ):
        power = _power_of(before[1], lang)
    return _Magnitude(power, end, certain) if power else None


# -- hours, years, signs, names

_LITERAL = r"(?i:(?<![\p{L}])(?P<half>[ap])\.?[ ]?m\b\.?)"
_HOURS = frozenset(map(str, range(1, 13)))
_CLOCK = regex.compile(r"[:：.hH]\d\d(?!\d)")
_BESIDE = 24
_UNSPACED_WORD = regex.compile(rf"[{UNSPACED}\p{{Hangul}}]")


@lru_cache(maxsize=4096)
def _parts_of_the_day(lang: str) -> tuple[regex.Pattern[str], regex.Pattern[str], regex.Pattern[str]]:
    """Patterns for a part of the day behind and before an hour, and anywhere."""
    words = language(lang)
    groups = []
    for half, parts in (words.day_parts if words else {}).items():
        forms = (regex.escape(part) for part in sorted(parts, key=len, reverse=True))
        whole = (
            form if _UNSPACED_WORD.match(form) else rf"(?<![\p{{L}}\p{{M}}]){form}(?![\p{{L}}\p{{M}}])"
            for form in forms
        )
        groups.append(f"(?P<{half}>{'|'.join(whole)})")
    either = "|".join([_LITERAL, *groups])
    behind = regex.compile(rf"(?:[:：.]\d\d)?[^\d.;,!?。，\n]{{0,16}}?(?:{either})", regex.IGNORECASE)
    before = regex.compile(rf"(?:{either})[^\d.;!?。\n]{{0,6}}\Z", regex.IGNORECASE)
    return behind, before, regex.compile(either, regex.IGNORECASE)


def _hours(text: str, start: int, end: int, hour: int, lang: str, certain: bool = True) -> tuple[str, ...]:
    """What ``hour`` from 1 to 12 is on a clock of 24 hours, by the part of the day beside it; ``()`` = none is.

    Without ``certain`` a translation may say the part of the day in words that are not known.
    """
    behind, before, _ = _parts_of_the_day(lang)
    match = behind.match(text, end, end + _BESIDE) or before.search(text, max(0, start - _BESIDE // 2), start)
    if not match:
        return ()
    half = f"{match['half'].casefold()}m" if match["half"] else str(match.lastgroup)
    is_clock = bool(match["half"] or _CLOCK.match(text, end) or match.end() == start)
    afternoon = half == "pm" or (half == "night" and hour >= 6)
    if hour == 12:
        return ("12",) if half == "pm" else ("0", "24") if match["half"] and certain else ("0", "24", "12")
    if not afternoon:
        return (str(hour),)
    return (str(hour + 12),) if is_clock else (str(hour + 12), str(hour))


_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "民國": 1911, "民国": 1911}
_CALENDARS = {"th": (2400, 2600, (-543,)), "ne": (1950, 2100, (-57, -56)), "fa": (1300, 1420, (621, 622))}
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
    if number % 10 == 0 and (_DECADE_BEHIND.match(text, end) or _DECADE_BEFORE.search(text, max(0, start - 8), start)):
        years += [number % 100] if 1900 <= number < 2100 else [1900 + number, 2000 + number] if number < 100 else []
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
    """Whether a minus sign or the word for it stands before the number; ``None`` = perhaps: a dash or a bullet."""
    match = _SIGN.search(text, max(0, start - 4), start)
    if not match:
        words = language(lang)
        beside = text[max(0, start - 12) : start].rstrip().casefold()
        return bool(words and beside and words.minus and beside.endswith(words.minus))
    before, sign = match["before"], match["sign"]
    unspaced = _UNSPACED_WORD.match(before) is not None
    if (before.isalnum() and not unspaced) or (before and before in ")]"):
        return False
    if sign == "−" or _DEGREES.match(text, end):
        return True
    line = text[max(0, start - _BESIDE) : match.start("sign")].rpartition("\n")[2].strip()
    return None if sign == "–" or unspaced or not line or line[-1].isdigit() else True


def _is_precise(text: str, start: int, end: int, groups: list[str], marks: list[str]) -> bool:
    """Whether zeros at the end of a fraction say something: in a version or a section (2.10)."""
    if len(groups) != 2 or len(groups[1]) > 2 or not groups[1].endswith("0"):
        return False
    beside = _NEXT_WORD.match(text, end)
    if marks == ["."] and _LABEL.search(text, max(0, start - 24), start):
        return not (beside and units_of(beside[1])) and not _DEGREES.match(text, end)
    return False


# -- the numbers of a text


@remembered
def numbers(text: str, lang: str = "", *, certain: bool = True) -> tuple[Number, ...]:
    """The numbers of ``text`` in order; number words are not numbers. A time or a date gives one number per part.

    The empty minutes of a full hour (5:00) do not count. Without ``lang`` a number has all readings that any language
    gives it; without ``certain`` a million may also be its bare number, for languages whose words are not known.
    """
    if not _DIGITS.search(text) and not _FRACTION.search(text):
        return ()
    empty = {match.start() for match in _FULL_HOUR.finditer(text)} if "00" in text else set()
    # What is nowhere in the text is not looked for beside each number.
    has_hours = bool(_parts_of_the_day(lang)[2].search(text))
    has_dashes, words = not alphabet(text).isdisjoint(_DASHES), language(lang)
    has_minus = has_dashes or bool(words and any(word in text.casefold() for word in words.minus))
    has_halves = not alphabet(text).isdisjoint("半반")
    numbers: list[Number] = []
    powers: dict[int, _Magnitude] = {}
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
                hours = _hours(text, start, end, int(groups[0]), lang, certain)
                numbers[-2] = numbers[-2]._replace(values=hours or numbers[-2].values)
                empty |= {numbers[-1].start} if groups[1] == "00" else set()
            continue
        if magnitude := _magnitude(text, start, end, lang):
            scaled = tuple(_times(value, magnitude.power) for value in values)
            values = scaled if certain and magnitude.certain else tuple(dict.fromkeys((*values, *scaled)))
            powers[len(numbers)], end = magnitude, magnitude.end
        elif not marks and len(token) <= 4:
            number = int(token)
            if has_hours and 1 <= number <= 12 and text[start - 1 : start] not in (":", "："):
                values = _hours(text, start, end, number, lang, certain) or values
            values = tuple(dict.fromkeys((*values, *_years(text, start, end, values[0], lang))))
        if has_halves and not marks and _HALF_MORE.match(text, end):
            values = tuple(dict.fromkeys((f"{values[0]}.5", *values)))
        name = _NAME.search(text, max(0, start - 24), start) if has_dashes else None
        if name is None and "/" in text[max(0, start - 1) : end + 1]:
            name = _ROUND_THE_CLOCK.match(text, max(0, start - 3))
        numbers.append(
            Number(
                values,
                tuple(map(_canonical, groups)),
                start,
                end,
                name["name"].casefold() if name and not marks else "",
                _is_negative(text, start, end, lang) if has_minus else False,
                _is_precise(text, start, end, groups, marks),
                "".join(groups),
            )
        )
    if powers:
        numbers = _joined(text, numbers, powers)
    return tuple(number for number in _with_fractions(text, numbers, lang) if number.start not in empty)


_HALF_MORE = regex.compile(r"(?:時間|小[时時]|年|[かヶカヵ]月|[个個](?:月)?|倍|日|시간|년|달|개월)[间間]?[ ]?[半반]")
"""What stands between a number and the half that is added to it: 1時間半, 两个半."""
_FRACTION = regex.compile(
    r"(?:(?<![\d/.,:])(?P<whole>\d{1,3})[ \u00a0\u202f]?)?(?P<sign>[¼-¾⅐-⅞])"
    r"|(?<![\d/.,:\u2044]|\p{Pd})(?:(?P<whole>\d{1,3})[ \u00a0\u202f])?"
    r"(?P<above>\d{1,2})[/\u2044](?P<below>\d{1,3})(?![\d/]|[.,]\d)"
)


def _with_fractions(text: str, numbers: list[Number], lang: str) -> list[Number]:
    """The ``numbers`` in order, with 1/2, ½ and 1½ as one number each."""
    fractions = []
    covered: set[int] = set()
    for match in _FRACTION.finditer(text) if "/" in text or not text.isascii() else ():
        sign, whole = match["sign"], match["whole"]
        above, below = unicodedata.normalize("NFKC", sign).split("\u2044") if sign else (match["above"], match["below"])
        if not 0 < int(above) < int(below):
            continue
        start, end = match.span()
        top, bottom = int(whole or 0) * int(below) + int(above), int(below)
        if magnitude := _magnitude(text, start, end, lang):
            top, end = top * 10**magnitude.power, magnitude.end
        exact, rest = divmod(top * 10**6, bottom)
        factor = gcd(top, bottom)
        written = f"{top // factor}/{bottom // factor}" if rest else _canonical(f"{exact:07}"[:-6], f"{exact:07}"[-6:])
        parts = tuple(str(int(part)) for part in (whole, above, below) if part)
        fractions.append(Number((written,), parts, start, end, digits="".join(parts), fraction=True))
        covered.update(range(start, match.end()))
    if not fractions:
        return numbers
    return sorted([number for number in numbers if number.start not in covered] + fractions, key=lambda n: n.start)


def _split(number: Number) -> list[Number]:
    """The numbers that a fraction is written with."""
    return [Number((part,), (part,), number.start, number.end, digits=part) for part in number.parts]


_HALF_BEHIND = regex.compile(rf"[ \u00a0\u202f]?{_LITERAL}")
_RANGE = regex.compile(r"[ \u00a0]?(?:\p{Pd}|[~～〜至到]|[\p{L}\p{M}]{1,5})[ \u00a0]?")


_LONGEST_NUMBER = 40


def _joined(text: str, numbers: list[Number], powers: dict[int, _Magnitude]) -> list[Number]:
    """Ranges that share a magnitude (3 to 5 million), and numbers of several magnitudes (1亿2000万)."""
    joined: list[Number] = []
    power = 0
    for index, number in enumerate(numbers):
        magnitude = powers.get(index)
        before = joined[-1] if joined else None
        gap = text[before.end : number.start] if before else ""
        if before and magnitude and index - 1 not in powers and _RANGE.fullmatch(gap):
            more = (_times(value, magnitude.power) for value in before.values)
            joined[-1] = before._replace(values=(*before.values, *more))
        fits = before and power and gap in ("", " ") and len(before.values) == len(number.values) == 1
        if (
            fits
            and before
            and len(before.values[0]) <= _LONGEST_NUMBER
            and len(number.values[0]) <= power
            and "." not in number.values[0] + before.values[0]
        ):
            value = str(int(before.values[0]) + int(number.values[0]))
            joined[-1] = before._replace(values=(value,), parts=before.parts + number.parts, end=number.end)
        else:
            joined.append(number)
        power = magnitude.power if magnitude and magnitude.east_asian else 0
    return joined


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
    following = [*digits[1:], 0]
    return str(sum(-now if now < then else now for now, then in zip(digits, following, strict=True)))


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
    numerals = (match["numeral"] for match in _ROMAN.finditer(text))
    return Counter(_roman_value(numeral) for numeral in numerals if _SMALL_NUMERAL.fullmatch(numeral))


# -- pairs of numbers


def unmatched(ours: Sequence[Number], theirs: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """The numbers of two texts that have no partner in the other: ours, and theirs.

    Numbers are paired by value, each at most once: first those with the same readings, then those that share one. The
    parts of a fraction without a partner may have some (a date).
    """
    missing, extra = _unpaired(ours, theirs)
    if missing and extra and any(number.fraction for number in (*missing, *extra)):
        sides = (
            [one for number in side for one in (_split(number) if number.fraction else [number])]
            for side in (missing, extra)
        )
        rest = _unpaired(*sides)
        missing, extra = (_whole_again(*sides) for sides in zip((missing, extra), rest, strict=True))
    return missing, extra


def _whole_again(numbers: list[Number], rest: list[Number]) -> list[Number]:
    """The ``rest`` of the split ``numbers``, with the fractions of which all parts are left."""
    left = Counter(number.start for number in rest)
    whole = [number for number in numbers if number.fraction and left[number.start] == len(number.parts)]
    starts = {number.start for number in whole}
    return whole + [number for number in rest if number.start not in starts]


def _unpaired(ours: Sequence[Number], theirs: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    if [number.values for number in ours] == [number.values for number in theirs]:
        return [], []
    same = Counter(number.values for number in ours) & Counter(number.values for number in theirs)
    ours, theirs = (_without(numbers, same, lambda number: number.values) for numbers in (ours, theirs))
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    for index, number in enumerate(theirs):
        for value in number.values:
            waiting[value].append(index)
    taken: set[int] = set()
    missing = []
    for number in ours:
        for value in number.values:
            while waiting[value] and waiting[value][-1] in taken:
                waiting[value].pop()
            if waiting[value]:
                taken.add(waiting[value].pop())
                break
        else:
            missing.append(number)
    extra = [number for index, number in enumerate(theirs) if index not in taken]
    if missing and extra:
        missing, extra = _pair_by_parts(missing, extra)
        extra, missing = _pair_by_parts(extra, missing)
    return missing, extra


def _pair_by_parts(joined: list[Number], singles: list[Number]) -> tuple[list[Number], list[Number]]:
    """10.30 is 10:30, and "1 234" may be two numbers: a joined number may stand for two or more single ones."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index, number in enumerate(singles):
        for value in {*number.values, *number.parts} if len(number.parts) == 1 else ():
            places[value].append(index)
    used: set[int] = set()
    left = []
    for number in joined:
        parts = [_canonical(part) for part in number.parts]
        taken: list[int] = []
        if len(parts) > 1 and not number.fraction and max(map(len, parts)) <= 3:
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


def _without(
    numbers: Iterable[Number], counted: Counter[tuple[str, ...]], key: Callable[[Number], tuple[str, ...]]
) -> list[Number]:
    """``numbers`` without as many of each ``key`` as are ``counted``."""
    waiting = counted.copy()
    rest = []
    for number in numbers:
        if waiting[key(number)]:
            waiting[key(number)] -= 1
        else:
            rest.append(number)
    return rest


# -- faults of a translation


class Faults(NamedTuple):
    """What is wrong with the numbers of a translation: what it lacks of the source, what it adds, and the rest.

    ``missing`` is about digits: the translation may have the number in words. ``extra`` is in no words of the source.
    """

    missing: tuple[Number, ...]
    extra: tuple[Number, ...]
    other: tuple[str, ...]


@remembered
def faults(source: str, text: str, source_lang: str, target_lang: str) -> Faults:
    """The faults of ``text`` as a translation of ``source``, both without placeholders and addresses."""
    certain = language(source_lang) is not None and language(target_lang) is not None
    ours, theirs = numbers(source, source_lang, certain=certain), numbers(text, target_lang, certain=certain)
    if not ours and not theirs:
        return Faults((), (), ())
    missing, extra = unmatched(ours, theirs)
    if len(missing) != len(extra) and (row := _in_row(missing, source)) and row == _in_row(extra, text):
        missing, extra = [], []
    if extra:
        numerals, words = other_numerals(source), readings(source, source_lang).possible.copy()
        extra = [number for number in extra if not numerals & set(number.values) and not take(words, number)]
    if missing:
        numerals = other_numerals(text)
        missing = [number for number in missing if not numerals & set(number.values)]
    if not all(any(number.name for number in numbers) for numbers in (missing, extra)):  # one of another name is wrong
        missing, extra = ([number for number in numbers if not number.name] for numbers in (missing, extra))
    other: list[str] = []
    if any(number.negative for number in (*ours, *theirs)):
        other += [f"the minus sign of {value} is missing" for value in _unsigned(ours, theirs, text, target_lang)]
        other += [f"{value} has no minus sign in the source" for value in _unsigned(theirs, ours, source, source_lang)]
    if any(number.precise for number in (*ours, *theirs)):
        other += _lost_zeros(ours, theirs, source, text)
    return Faults(tuple(missing), tuple(extra), tuple(other))


_BELOW_ZERO = regex.compile(
    r"[负負]|零下|マイナス|氷点下|영하|마이너스|(?i:\b(?:minus|negative|below|sub-?zero|unter\s+null|sotto|bajo|abaixo|menos"
    r"|meno|moins|négati\w*|negativ\w*|ниже|отрицательн\w*|poniżej|pod\s+nulou|under\s+noll|dưới)\b)"
)


def _unsigned(ours: Sequence[Number], theirs: Sequence[Number], text: str, lang: str) -> list[str]:
    """The values that are negative in ``ours``, but not in ``theirs``, the numbers of ``text``."""
    values = Counter(number.values[0] for number in ours if number.negative)
    signed = {value for number in theirs if number.negative is not False for value in number.values}
    plain = {value for number in theirs if number.negative is False for value in number.values}
    lost = [value for value in values if value in plain and value not in signed]
    words = language(lang)
    if not lost or _BELOW_ZERO.search(text) or (words and any(word in text.casefold() for word in words.minus)):
        return []
    return lost


def _lost_zeros(ours: Sequence[Number], theirs: Sequence[Number], source: str, text: str) -> list[str]:
    """Version 2.10 that became 2.1, or the other way round."""

    def written(number: Number, where: str) -> str:
        return ".".join(_digits(where[number.start : number.end]))

    sides = ((ours, source), (theirs, text))
    (our_writing, their_writing) = ({written(number, where) for number in numbers} for numbers, where in sides)
    faults = [
        f"{writing} is missing"
        for number in ours
        if number.precise and (writing := written(number, source)) not in their_writing
        if any(set(number.values) & set(other.values) for other in theirs)
    ]
    return faults + [
        f"{writing} is not in the source"
        for number in theirs
        if number.precise and (writing := written(number, text)) not in our_writing
        if any(set(number.values) & set(other.values) for other in ours)
    ]


_GAP = regex.compile(r"[^\p{L}\p{M}\n]{0,3}")
_FEWEST_DIGITS = 4


def _in_row(numbers: Sequence[Number], text: str) -> str:
    """All digits of neighbours: 229 62 01 is the telephone number 229-6201. ``""`` = they are no neighbours, or few."""
    near = all(_GAP.fullmatch(text, one.end, other.start) for one, other in pairwise(numbers))
    digits = "".join(number.digits for number in numbers)
    plain = near and all(number.values[0] in number.parts for number in numbers)
    return digits if plain and len(digits) >= _FEWEST_DIGITS else ""


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
