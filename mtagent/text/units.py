"""Units of measurement and currencies next to a number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple

import regex

from mtagent.text.scripts import UNSPACED, UNSPACED_OR_HANGUL, alphabet, language_of, remembered
from mtagent.text.word_lists import word_lists

_LISTS = word_lists("units")
"""``data/units.toml`` explains how its tables are written."""
_LENGTHS = frozenset(["km", "m", "dm", "cm", "mm", "µm", "nm", "mi", "ft", "in", "yd"])


class Quantity(NamedTuple):
    """A unit next to a number: ``text[start:end]`` is the unit, ``kind`` what it measures."""

    unit: str
    kind: str
    start: int
    end: int


Units = tuple[tuple[str, str], ...]
"""Units, each with its kind."""

_EXACT: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
_STEMS: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
"""The units, each with its kind, by language and form: ``pl mil``; by the form alone where any language has it."""
_KINDS = {
    "10km": "space", "century": "time", "decade": "time", "fl oz": "space", "fortnight": "time",
}  # fmt: skip
_PHRASES: list[str] = []
_PHRASE_UNITS: dict[str, str] = {}
"""The units of the phrases, by phrase without its spaces."""
_POWER_FORMS: dict[str, str] = {}
"""The power that each word for one means."""
_POWER_PATTERNS: list[str] = []
_LONGEST_STEM = 14


def _lines(name: str) -> list[str]:
    lines: str = _LISTS[name]
    return lines.strip().split("\n")


def _read_tables() -> None:
    """Fill the tables by form from those by unit."""
    for line in _lines("units"):
        kind_and_unit, _, forms = line.partition(": ")
        kind, unit = kind_and_unit.split(" ", 1)
        _KINDS[unit] = kind
        for form in forms.split():
            _add_form(form, "", unit)
    for line in _lines("units_of"):
        lang, _, units = line.partition(": ")
        for entry in units.split(";"):
            unit, *forms_of_unit = entry.split()
            for form in forms_of_unit:
                _add_form(form, f"{lang} ", unit)
    for line in _lines("phrases"):
        unit, _, phrases = line.partition(": ")
        for phrase in phrases.split("|"):
            _PHRASE_UNITS[phrase.replace(" ", "")] = unit
            _PHRASES.append(phrase)
    for power, powers in _LISTS["powers"].items():
        for form in powers.split():
            _POWER_FORMS[form.rstrip("*")] = power
            _POWER_PATTERNS.append(form.replace("*", r"[\p{L}\p{M}]{0,5}+"))


def _add_form(form: str, lang: str, unit: str) -> None:
    with_kind = (unit, _KINDS[unit])
    if form.endswith("*"):
        _STEMS[lang + form[:-1].casefold()].append(with_kind)
        if not form.isascii():
            _EXACT[lang + form[:-1]].append(with_kind)
    else:
        plain = form.casefold() if lang or len(form) > 4 else form
        _EXACT[lang + plain].append(with_kind)


_read_tables()


def _longest_first(patterns: Iterable[str]) -> str:
    return "|".join(sorted(patterns, key=len, reverse=True))


_SPACE = r"[ \u00a0\u202f]"
_DIGIT = regex.compile(r"\d")
_HAN_NUMERAL = "一二三四五六七八九十百千万亿萬億两兩几半数"
_IS_UNSPACED = regex.compile(rf"[{UNSPACED_OR_HANGUL}℃℉％￥㎡㎥]")
_UNSPACED = _longest_first(regex.escape(form) for form in _EXACT if _IS_UNSPACED.match(form))
_ANY_PHRASE = _longest_first(rf"{_SPACE}?+".join(map(regex.escape, phrase.split(" "))) for phrase in _PHRASES)
"""A pattern of the units of several words, whatever space is in them."""
_POWER = _longest_first(_POWER_PATTERNS)
"""A pattern of the words for the square and the cube."""
_POWER_BEFORE = rf"(?P<power>(?i:{_POWER}))\.?{_SPACE}*+(?=\p{{L}})"
_POWER_BEHIND = rf"[²³]|\^?[23](?![\d\p{{L}}]|[.,]\d)|{_SPACE}(?i:{_POWER})(?![\p{{L}}\p{{M}}])"
_WORD = rf"(?:(?![{UNSPACED_OR_HANGUL}])[\p{{L}}\p{{M}}])++"
_DOLLARS = "(?:A|AU|C|CA|NZ|S|HK|NT|MX|R|US)"


@cache
def _unit_behind(*, has_han_numerals: bool) -> regex.Pattern[str]:
    """A number and the unit behind it. Compiled when needed: it takes longer than the start of a command.

    A search for Han numerals stops at every character, so that it takes thirty times as long as one for digits.
    """
    number = rf"\d(?:{_SPACE}|-)?+ (?:[万亿萬億만억천]++)?+"
    if has_han_numerals:
        number += rf"| (?<=[{_HAN_NUMERAL}])(?=[{UNSPACED}])"
    return regex.compile(
        rf"""
        (?:{number})
        (?:{_POWER_BEFORE})?
        (?P<unit> km/h | m/s | км/ч | км/год | {_DOLLARS}\$ | [%％٪‰℃℉$€£¥￥₹₴₽₩₺₪฿₫₱Ω]
          | [°º]{_SPACE}?[CF]\b | (?i:{_ANY_PHRASE})(?![\p{{L}}\p{{M}}]) | {_UNSPACED} | {_WORD} )
        (?:(?P<behind>{_POWER_BEHIND}))?
        (?:/(?P<per>{_WORD}))?
        """,
        flags=regex.VERBOSE,
    )


def _currency_codes() -> list[str]:
    codes = []
    for form, units in _EXACT.items():
        is_money = units[0][1] == "money"
        if is_money and len(form) == 3 and form.isupper():
            codes.append(form)
    return codes


@cache
def _unit_before() -> regex.Pattern[str]:
    """A unit before its number."""
    return regex.compile(
        rf"(?P<unit>(?<![\p{{L}}\p{{N}}])(?:{_DOLLARS}\$|"
        rf"(?:{'|'.join(_currency_codes())}|SFr\.?|Fr\.|Rp|RM|kr\.?|TL|zł|Kč|Ft))(?={_SPACE}?\d)|[$€£¥￥₹₴₽₩₺₪฿₫₱](?={_SPACE}?\d))"
        rf"|(?P<spoon>[大小](?:さじ|匙))(?={_SPACE}?[\d{_HAN_NUMERAL}])"
        r"|(?P<share>(?<!\S)[%٪])(?=\d)"
    )


@remembered
def quantities(text: str, lang: str = "", named: frozenset[str] = frozenset()) -> tuple[Quantity, ...]:
    """Units and currencies next to a number, by their canonical symbol: 5 km, 5 kilometres, 5 км.

    What is ambiguous is the one of the units ``named``, or the likeliest. What a unit is divided by is one of its own:
    mg and /dl.
    """
    quantities: dict[int, Quantity] = {}
    has_han_numerals = not alphabet(text).isdisjoint(_HAN_NUMERAL)
    if not has_han_numerals and not _DIGIT.search(text):
        return ()
    for match in _unit_behind(has_han_numerals=has_han_numerals).finditer(text):
        start, end = match.span("unit")
        units = _units_at(match, lang)
        if not units:
            continue
        quantities[start] = Quantity(*_likeliest(units, named), start, end)
        divisors = units_of(match["per"], lang) if match["per"] else ()
        if divisors:
            unit, kind = _likeliest(divisors, named)
            start, end = match.span("per")
            quantities[start] = Quantity(f"/{unit}", f"/{kind}", start, end)
    for match in _unit_before().finditer(text):
        start, end = match.span()
        units = units_of(match.group().rstrip("."), lang)
        if units:
            quantities[start] = Quantity(*_likeliest(units, named), start, end)
    return tuple(quantities[start] for start in sorted(quantities))


def _likeliest(units: Units, named: frozenset[str]) -> tuple[str, str]:
    """The one of ambiguous ``units`` that is ``named``, or the first."""
    for unit in units:
        if unit[0] in named:
            return unit
    return units[0]


def _units_at(match: regex.Match[str], lang: str) -> Units:
    """What the match of a number with a unit may measure in."""
    form = match["unit"]
    if form == "s" and match.string[match.start("unit") - 1].isdigit():  # the 1990s
        return ()
    units = units_of(form, lang)
    before, behind = match["power"], match["behind"]
    if not before and not behind:
        return units
    raised = _raised(units, _power_of(before or behind))
    if raised or units or not before:
        return raised or units
    # The word for a power was none: 5 quadrants, 5 cubes.
    return units_of(before + form, lang)


def _raised(units: Units, power: str) -> Units:
    """The lengths among ``units``, to a power."""
    return tuple((unit + power, kind) for unit, kind in units if unit in _LENGTHS)


@lru_cache(maxsize=1024)
def _power_of(form: str) -> str:
    """Which power ``form`` is a sign or a word for: ``²`` or ``³``."""
    folded = form.strip("^ .\u00a0\u202f").casefold()
    if folded in ("²", "2"):
        return "²"
    if folded in ("³", "3"):
        return "³"
    for size in range(len(folded), 0, -1):
        if folded[:size] in _POWER_FORMS:
            return _POWER_FORMS[folded[:size]]
    return ""


@lru_cache(maxsize=65_536)
def units_of(form: str, lang: str = "") -> Units:
    """The units that may be written as ``form`` in texts of ``lang``, each with its kind; the likeliest first."""
    if not form[0].isalpha() or " " in form or "." in form or "\u00a0" in form:
        phrase = _PHRASE_UNITS.get("".join(form.split()).casefold())
        if phrase:
            return ((phrase, _KINDS[phrase]),)
        form = "".join(form.split())
    folded = form.casefold()
    prefix = f"{language_of(lang)} " if lang else ""
    exact = _EXACT.get(prefix + folded) if lang else None
    if exact is None:
        # Case tells short units apart: Mm, mm.
        has_case = len(form) <= 4 and len(form) != 3
        exact = _EXACT.get(form) or _EXACT.get(form if has_case else folded)
    if exact or len(form) < 3:
        return tuple(exact or ())
    prefixes = [prefix] if lang else []
    if len(form) > 3:
        prefixes.append("")
    for size in range(min(len(folded), _LONGEST_STEM), 2, -1):
        for prefix in prefixes:
            if prefix + folded[:size] in _STEMS:
                return tuple(_STEMS[prefix + folded[:size]])
    # A power may be before a length: Quadratmeter, 平方メートル.
    for size in range(min(len(folded) - 1, _LONGEST_STEM), 1, -1):
        if folded[:size] in _POWER_FORMS:
            return _raised(units_of(folded[size:], lang), _POWER_FORMS[folded[:size]])
    return ()


_LANGUAGES = frozenset(
    ["cs", "da", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "nb", "nl", "no", "pl", "pt", "ru", "sv", "uk", "zh"]
)


@cache
def _named_unit() -> regex.Pattern[str]:
    """A unit, next to a number or not."""
    return regex.compile(
        rf"""
        (?:(?<![\p{{L}}\p{{M}}]){_POWER_BEFORE})?
        (?P<unit> [%％٪‰℃℉€£¥￥₹₴₽₩₺₪฿₫₱Ω] | (?:{_DOLLARS}(?=\$))?\$ | [°º]{_SPACE}?[CF]\b
          | (?<![\p{{L}}\p{{M}}])(?i:{_ANY_PHRASE})(?![\p{{L}}\p{{M}}]) | {_UNSPACED} | {_WORD} )
        (?:(?P<behind>{_POWER_BEHIND}))?
        (?:/(?P<per>{_WORD}))?
        """,
        flags=regex.VERBOSE,
    )


_PLAIN_WORD = regex.compile(rf"[[\p{{L}}\p{{M}}]--[{UNSPACED_OR_HANGUL}]]++", flags=regex.V1)
_SIGN = regex.compile(rf"[%％٪‰℃℉$€£¥￥₹₴₽₩₺₪฿₫₱Ω°º㎡㎥²³]|{_UNSPACED}")
_FIRST_OF_PHRASES = frozenset(_PLAIN_WORD.findall(phrase.casefold())[0] for phrase in _PHRASES)


def _may_name_units(text: str, lang: str) -> bool:
    """Whether a word or sign of ``text`` may be a unit: the cheapest question that rules most texts out."""
    if _SIGN.search(text):
        return True
    has_digits = _DIGIT.search(text) is not None
    for word in set(_PLAIN_WORD.findall(text)):
        if word.casefold() in _FIRST_OF_PHRASES:
            return True
        may_be_unit = has_digits or len(word) > 1
        if may_be_unit and units_of(word, lang):
            return True
    return False


def _is_stray_letter(match: regex.Match[str]) -> bool:
    """Whether a single letter isn't a unit, because no number is before it: A lamp, I'm."""
    form, start = match["unit"], match.start()
    if len(form) > 1 or not form.isalpha() or _IS_UNSPACED.match(form):
        return False
    return not match.string[max(0, start - 2) : start].strip(" \u00a0\u202f-").isdecimal()


@remembered
def units_named(text: str, lang: str) -> Mapping[str, int] | None:
    """How often ``text`` names each unit, next to a number or not; ``None``: their words in ``lang`` are not known.

    A word for several units counts for each of them. A unit that isn't named has 0. The mapping is read-only, because
    later calls return the same one.
    """
    if lang.partition("-")[0] not in _LANGUAGES:
        return None
    named = Counter[str]()
    if not _may_name_units(text, lang):
        return MappingProxyType(named)
    for match in _named_unit().finditer(text):
        if _is_stray_letter(match):
            continue
        named.update(unit for unit, _ in _units_at(match, lang))
        if match["per"]:
            below = units_of(match["per"], lang)
            named.update(unit for unit, _ in below)
            named.update(f"/{unit}" for unit, _ in below)
            named.update(unit for unit, _ in units_of(f"{match['unit']}/{match['per']}", lang))
    return MappingProxyType(named)


_LAST_WORD = regex.compile(r"([\p{L}\p{M}\p{N}.,]++)[\p{Pd} \u00a0]*+\Z")
_LONGEST_WORD_BEFORE = 24
_FEWEST_LETTERS = 4  # of a unit's name that counts without a number next to it
_FEWEST_SIGNS = 2  # the same in scripts without spaces


class NamedUnit(NamedTuple):
    """A unit that a text spells, what it measures, and the word or number before it."""

    unit: str
    kind: str
    word_before: str


def units_in_words(text: str, lang: str, named: frozenset[str]) -> list[NamedUnit]:
    """The units that ``text`` spells, next to a number or not: 20 degrees Celsius, two weeks."""
    spelled = []
    for match in _named_unit().finditer(text):
        form = match["unit"]
        shortest = _FEWEST_SIGNS if _IS_UNSPACED.match(form) else _FEWEST_LETTERS
        units = _units_at(match, lang) if len(form) >= shortest else ()
        if units:
            before = _LAST_WORD.search(text, max(0, match.start() - _LONGEST_WORD_BEFORE), match.start())
            spelled.append(NamedUnit(*_likeliest(units, named), before[1].casefold() if before else ""))
    return spelled
