"""Units of measurement and currencies that stand beside a number."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from typing import NamedTuple

import regex

from mtagent.text.scripts import UNSPACED, UNSPACED_OR_HANGUL, language_of, remembered
from mtagent.text.word_lists import word_lists

_LISTS = word_lists("units")
"""``data/units.toml`` says how its tables are written."""
_LENGTHS = frozenset(["km", "m", "dm", "cm", "mm", "µm", "nm", "mi", "ft", "in", "yd"])


class Quantity(NamedTuple):
    """A unit beside a number: ``text[start:end]`` is the unit, ``kind`` what it measures."""

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
_PHRASE_UNITS: dict[str, str] = {}
_POWER_FORMS: dict[str, str] = {}
_LONGEST_STEM = 14


def _lines(name: str) -> list[str]:
    lines: str = _LISTS[name]
    return lines.strip().split("\n")


def _read_tables() -> None:
    """Fill the tables by form from those by unit."""
    for line in (*_lines("units"), *_lines("units_of")):
        head, _, entries = line.partition(": ")
        kind, _, unit = head.partition(" ")
        lang = ""
        if unit:
            _KINDS[unit], entries = kind, f"{unit} {entries}"
        else:
            lang = f"{head} "
        for entry in entries.split(";"):
            name, *its_forms = entry.split()
            for form in its_forms:
                _add_form(form, lang, name)
    for line in _lines("phrases"):
        unit, _, phrases = line.partition(": ")
        _PHRASE_UNITS.update(dict.fromkeys((phrase.replace(" ", "") for phrase in phrases.split("|")), unit))
    for power, forms in _LISTS["powers"].items():
        _POWER_FORMS.update((form.rstrip("*"), power) for form in forms.split())


def _add_form(form: str, lang: str, unit: str) -> None:
    known = (unit, _KINDS[unit])
    if form.endswith("*"):
        _STEMS[lang + form[:-1].casefold()].append(known)
        if not form.isascii():
            _EXACT[lang + form[:-1]].append(known)
    else:
        plain = form.casefold() if lang or len(form) > 4 else form
        _EXACT[lang + plain].append(known)


_read_tables()
_IS_UNSPACED = regex.compile(rf"[{UNSPACED_OR_HANGUL}℃℉％￥㎡㎥]")
_UNSPACED = "|".join(map(regex.escape, sorted(filter(_IS_UNSPACED.match, _EXACT), key=len, reverse=True)))


def _phrases() -> str:
    """A pattern of the units of several words, whatever space is in them."""
    patterns = []
    for line in _lines("phrases"):
        for phrase in line.partition(": ")[2].split("|"):
            patterns.append(r"[ \u00a0\u202f]?+".join(map(regex.escape, phrase.split(" "))))
    return "|".join(sorted(patterns, key=len, reverse=True))


def _power_words() -> str:
    """A pattern of the words for the square and the cube."""
    forms = []
    for words in _LISTS["powers"].values():
        forms += [form.replace("*", r"[\p{L}\p{M}]{0,5}+") for form in words.split()]
    return "|".join(sorted(forms, key=len, reverse=True))


_SPACE = r"[ \u00a0\u202f]"
_POWER_BEHIND = rf"[²³]|\^?[23](?![\d\p{{L}}]|[.,]\d)|{_SPACE}(?i:{_power_words()})(?![\p{{L}}\p{{M}}])"
_WORD = rf"(?:(?![{UNSPACED_OR_HANGUL}])[\p{{L}}\p{{M}}])++"
_HAN_NUMERAL = "一二三四五六七八九十百千万亿萬億两兩几半数"
_BEHIND = regex.compile(
    rf"""
    (?:\d(?:{_SPACE}|-)?+ (?:[万亿萬億만억천]++)?+ | (?<=[{_HAN_NUMERAL}])(?=[{UNSPACED}]))
    (?:(?P<power>(?i:{_power_words()}))\.?{_SPACE}*+(?=\p{{L}}))?
    (?P<unit> km/h | m/s | км/ч | км/год | (?:A|AU|C|CA|NZ|S|HK|NT|MX|R|US)\$ | [%％٪‰℃℉$€£¥￥₹₴₽₩₺₪฿₫₱Ω]
      | [°º]{_SPACE}?[CF]\b | (?i:{_phrases()})(?![\p{{L}}\p{{M}}]) | {_UNSPACED} | {_WORD} )
    (?:(?P<behind>{_POWER_BEHIND}))?
    (?:(?P<slash>/)(?P<per>{_WORD}))?
    """,
    flags=regex.VERBOSE,
)
_CODES = sorted(
    (form for form, units in _EXACT.items() if units[0][1] == "money" and form.isupper() and len(form) == 3), key=str
)
_BEFORE = regex.compile(
    r"(?P<unit>(?<![\p{L}\p{N}])(?:(?:A|AU|C|CA|NZ|S|HK|NT|MX|R|US)\$|"
    rf"(?:{'|'.join(_CODES)}|SFr\.?|Fr\.|Rp|RM|kr\.?|TL|zł|Kč|Ft))(?={_SPACE}?\d)|[$€£¥￥₹₴₽₩₺₪฿₫₱](?={_SPACE}?\d))"
    rf"|(?P<spoon>[大小](?:さじ|匙))(?={_SPACE}?[\d{_HAN_NUMERAL}])"
    r"|(?P<share>(?<!\S)[%٪])(?=\d)"
)


@remembered
def quantities(text: str, lang: str = "", named: frozenset[str] = frozenset()) -> tuple[Quantity, ...]:
    """Units and currencies that stand beside a number, by their canonical symbol: 5 km, 5 kilometres, 5 км.

    What is ambiguous is the one of the units ``named``, or the likeliest. What a unit is divided by is one of its own:
    mg and /dl.
    """
    quantities: dict[int, Quantity] = {}
    for match in _BEHIND.finditer(text):
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
    for match in _BEFORE.finditer(text):
        start, end = match.span()
        if units := units_of(match.group().rstrip("."), lang):
            quantities[start] = Quantity(*_likeliest(units, named), start, end)
    return tuple(quantities[start] for start in sorted(quantities))


def _likeliest(units: Units, named: frozenset[str]) -> tuple[str, str]:
    """The one of ambiguous ``units`` that is ``named``, or the first."""
    return next((unit for unit in units if unit[0] in named), units[0])


def _units_at(match: regex.Match[str], lang: str) -> Units:
    """What the match of a number with a unit may measure in."""
    form = match["unit"]
    if form == "s" and match.string[match.start("unit") - 1].isdigit():  # the 1990s
        return ()
    units = units_of(form, lang)
    before, behind = match["power"], match["behind"]
    if not before and not behind:
        return units
    lengths = tuple(unit for unit in units if unit[0] in _LENGTHS)
    if lengths:
        power = _power_of(before or behind)
        return tuple((unit + power, kind) for unit, kind in lengths)
    # The word for a power was none: 5 quadrants, 5 cubes.
    return units or (units_of(before + form, lang) if before else ())


@lru_cache(maxsize=1024)
def _power_of(form: str) -> str:
    """Which power ``form`` is a sign or a word for: ``²`` or ``³``."""
    folded = form.strip("^ .\u00a0\u202f").casefold()
    if folded in ("²", "2"):
        return "²"
    if folded in ("³", "3"):
        return "³"
    sizes = range(len(folded), 0, -1)
    return next((_POWER_FORMS[folded[:size]] for size in sizes if folded[:size] in _POWER_FORMS), "")


@lru_cache(maxsize=65_536)
def units_of(form: str, lang: str = "") -> Units:
    """The units that may be written as ``form`` in texts of ``lang``, each with its kind; the likeliest first."""
    if not form[0].isalpha() or " " in form or "." in form or "\u00a0" in form:
        phrase = _PHRASE_UNITS.get("".join(form.split()).casefold())
        if phrase:
            return ((phrase, _KINDS[phrase]),)
        form = "".join(form.split())
    folded, prefix = form.casefold(), f"{language_of(lang)} " if lang else ""
    exact = _EXACT.get(prefix + folded) if lang else None
    exact = exact or _EXACT.get(form) or _EXACT.get(folded if len(form) > 4 or len(form) == 3 else form)
    if exact or len(form) < 3:
        return tuple(exact or ())
    places = (prefix, "") if lang else ("",)
    for size in range(min(len(folded), _LONGEST_STEM), 2, -1):
        for place in places if len(form) > 3 else places[:-1]:
            if place + folded[:size] in _STEMS:
                return tuple(_STEMS[place + folded[:size]])
    return _raised_length(folded, lang)


def _raised_length(folded: str, lang: str) -> Units:
    """The area or volume that a length with a power before it is: Quadratmeter, 平方メートル."""
    for size in range(min(len(folded) - 1, _LONGEST_STEM), 1, -1):
        power = _POWER_FORMS.get(folded[:size])
        if power:
            lengths = [unit for unit in units_of(folded[size:], lang) if unit[0] in _LENGTHS]
            return tuple((unit + power, kind) for unit, kind in lengths)
    return ()


_LANGUAGES = frozenset(
    ["cs", "da", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "nb", "nl", "no", "pl", "pt", "ru", "sv", "uk", "zh"]
)
_NAMED = regex.compile(
    rf"""
    (?:(?P<power>(?<![\p{{L}}\p{{M}}])(?i:{_power_words()}))\.?{_SPACE}*+(?=\p{{L}}))?
    (?P<unit> [%％٪‰℃℉€£¥￥₹₴₽₩₺₪฿₫₱Ω] | (?:(?:A|AU|C|CA|NZ|S|HK|NT|MX|R|US)(?=\$))?\$ | [°º]{_SPACE}?[CF]\b
      | (?<![\p{{L}}\p{{M}}])(?i:{_phrases()})(?![\p{{L}}\p{{M}}]) | {_UNSPACED} | {_WORD} )
    (?:(?P<behind>{_POWER_BEHIND}))?
    (?:(?P<slash>/)(?P<per>{_WORD}))?
    """,
    flags=regex.VERBOSE,
)


_DIGIT = regex.compile(r"\d")
_PLAIN_WORD = regex.compile(rf"[[\p{{L}}\p{{M}}]--[{UNSPACED_OR_HANGUL}]]++", flags=regex.V1)
_SIGN = regex.compile(rf"[%％٪‰℃℉$€£¥￥₹₴₽₩₺₪฿₫₱Ω°º㎡㎥²³]|{_UNSPACED}")
_FIRST_OF_PHRASES = frozenset(
    _PLAIN_WORD.findall(phrase)[0]
    for line in _lines("phrases")
    for phrase in line.partition(": ")[2].casefold().split("|")
)


def _may_name_units(text: str, lang: str) -> bool:
    """Whether a word or sign of ``text`` may be a unit: the cheapest question that rules most texts out."""
    words = set(_PLAIN_WORD.findall(text))
    has_digits = _DIGIT.search(text) is not None
    if any(units_of(word, lang) for word in words if len(word) > 1 or has_digits):
        return True
    if not _FIRST_OF_PHRASES.isdisjoint(map(str.casefold, words)):
        return True
    return _SIGN.search(text) is not None


def _is_stray_letter(match: regex.Match[str]) -> bool:
    """Whether a single letter is no unit, as no number stands before it: A lamp, I'm."""
    form, start = match["unit"], match.start()
    if len(form) > 1 or not form.isalpha() or _IS_UNSPACED.match(form):
        return False
    return not match.string[max(0, start - 2) : start].strip(" \u00a0\u202f-").isdecimal()


def units_named(text: str, lang: str) -> Counter[str] | None:
    """How often ``text`` names each unit, beside a number or not; ``None``: their words in ``lang`` are not known.

    A word for several units counts for each of them.
    """
    if lang.partition("-")[0] not in _LANGUAGES:
        return None
    named = Counter[str]()
    if not _may_name_units(text, lang):
        return named
    for match in _NAMED.finditer(text):
        if _is_stray_letter(match):
            continue
        named.update(unit for unit, _ in _units_at(match, lang))
        if match["per"]:
            below = units_of(match["per"], lang)
            named.update(unit for unit, _ in below)
            named.update(f"/{unit}" for unit, _ in below)
            named.update(unit for unit, _ in units_of(f"{match['unit']}/{match['per']}", lang))
    return named


_LAST_WORD = regex.compile(r"([\p{L}\p{M}\p{N}.,]++)[\p{Pd} \u00a0]*+\Z")
_LONGEST_WORD_BEFORE = 24
_FEWEST_LETTERS = 4  # of a unit's name that counts without a number beside it
_FEWEST_SIGNS = 2  # the same in scripts without spaces


class NamedUnit(NamedTuple):
    """A unit that a text spells, what it measures, and the word or number before it."""

    unit: str
    kind: str
    word_before: str


def units_in_words(text: str, lang: str, named: frozenset[str]) -> list[NamedUnit]:
    """The units that ``text`` spells, beside a number or not: 20 degrees Celsius, two weeks."""
    spelled = []
    for match in _NAMED.finditer(text):
        form = match["unit"]
        unspaced = _IS_UNSPACED.match(form) is not None
        if len(form) >= (_FEWEST_SIGNS if unspaced else _FEWEST_LETTERS):
            units = _units_at(match, lang)
            if units:
                before = _LAST_WORD.search(text, max(0, match.start() - _LONGEST_WORD_BEFORE), match.start())
                spelled.append(NamedUnit(*_likeliest(units, named), before[1].casefold() if before else ""))
    return spelled
