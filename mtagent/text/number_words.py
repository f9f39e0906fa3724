"""Number words by language: what "six", "fifteenth", "सात हजार" and 六 are in digits; month names, parts of the day.

The words are data (``number_words.json``, made from ICU's tables by ``scripts/make_number_words.py``): only those that
:func:`compose` cannot put together itself.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import regex

from mtagent.text.folding import fold
from mtagent.text.number_phrases import phrases
from mtagent.text.scripts import remembered


class Readings(NamedTuple):
    """How often each value is written in words: for ``certain``, or at least ``possible`` (inflected, or ambiguous)."""

    certain: Counter[str]
    possible: Counter[str]


# -- one language

_TOKEN = regex.compile(r"[\p{L}\p{M}]++|[^\p{L}\p{M}\s\-\u2010\u2011]++")
_CONJUNCTION = "&"
_LONGEST_WORD = 40
_PREFIXES = {
    "ar": regex.compile(r"^[وف]?[بلك]?(?:ال)?(?=.{2})"),
    "he": regex.compile(r"^ו?[בלהמשכ]?(?=.{2})"),
}
_NOT_INFLECTED = frozenset(["en", "ko", "vi", "id", "ms"])
_COUNTERS_KO = "개명번년월일시분초살가마층위차배대주달째권잔장곳건회"
_IN_CASES = frozenset(["be", "bs", "cs", "et", "hr", "hu", "lt", "lv", "pl", "ru", "sk", "sl", "sr", "uk"])
"""Languages where names of months and days lose their last vowel in other cases (środa, w środę; wtorek, wtorku)."""
_LAST_VOWEL = regex.compile(r"(?<=[\p{L}\p{M}]{4})[aeiouyąęěéíýаеиіїоуыюяьй]$|[eaoаеоі](?=[^aeiouyаеиіоуыюяьй]$)")
_NEXT_TOKEN = regex.compile(r"[ \u00a0-]([\p{L}\p{M}]{1,40}+)")
_NOON = 12
_HALF_IS_AN_HOUR = frozenset(["da", "de", "nl", "no", "sv"])  # not half of the eighth form
_JOINED_HALF = {
    "de": regex.compile(r"(?<![\p{L}\p{M}])(\p{L}{3,20}?)einhalb(?:e[nmrs]?)?(?![\p{L}\p{M}])"),
    "nl": regex.compile(r"(?<![\p{L}\p{M}])(\p{L}{3,20}?)[eë]n(?:een)?hal(?:f|ve)(?![\p{L}\p{M}])"),
}
_PHRASES = ("half", "half_to", "one_and_a_half", "quarter", "noon", "midnight")
_MAGNITUDE = 1000
_DOZEN, _MOST_DOZENS = 12, 20
_MINUS = ("minus", "负", "負", "零下", "マイナス", "氷点下", "영하")


class Language:
    """The words of one language, as in the data file."""

    def __init__(self, code: str, data: Mapping[str, Any]) -> None:
        self.code = code
        self.conjunctions = frozenset(map(fold, data.get("and", "").split()))
        self.values = {
            " ".join(_TOKEN.findall(fold(phrase))): int(value)
            for value, phrases in data.get("words", {}).items()
            for phrase in phrases.split("|")
        }
        self.names = {
            name: f"{what} {number}"
            for what in ("month", "weekday")
            for number, names in enumerate(data.get(f"{what}s", ()), start=1)
            for name in names.split("|")
        }
        for month in filter(None, data.get("more_months", "").split("|")):
            number, _, name = month.partition(" ")
            self.names[name] = f"month {number}"
        cut = ((_LAST_VOWEL.sub("", name, count=1), what) for name, what in self.names.items())
        cases = {name: what for name, what in cut if len(name) >= 4 and name not in self.names}
        self.cut_names = cases if code in _IN_CASES else {}
        self.names |= self.cut_names
        self.phrases = {name: data[name] for name in _PHRASES if name in data}
        self.day_parts = {half: data[half].split("|") for half in ("am", "pm", "night") if half in data}
        self.minus = (*filter(None, data.get("minus", "").split("|")), *_MINUS)
        self.unspaced = bool(data.get("unspaced"))
        self.without_spaces = self.unspaced or code in ("zh", "yue")
        self.magnitude_first = bool(data.get("magnitude_first"))
        self.characters = frozenset("".join([*self.names, *self.values]))
        self.longest = max((phrase.count(" ") + 1 for phrase in self.values), default=1)

    def count(self, name: str, folded: str) -> int:
        """How often one of the phrases ``name`` (half, noon) stands in a folded text."""
        pattern = self._phrase_patterns.get(name)
        return len(pattern.findall(folded)) if pattern else 0

    @cached_property
    def _phrase_patterns(self) -> dict[str, regex.Pattern[str]]:
        phrases = {**self.phrases, "evening": "|".join(self.day_parts.get("pm", []) + self.day_parts.get("night", []))}
        edges = ("", "") if self.without_spaces else (r"(?<![\p{L}\p{M}])", r"(?![\p{L}\p{M}])")
        return {
            name: regex.compile("|".join(map(regex.escape, fold(forms).split("|"))).join(("(?:", ")")).join(edges))
            for name, forms in phrases.items()
            if forms
        }

    @cached_property
    def _words(self) -> str:
        single = sorted((word for word in self.values if " " not in word), key=len, reverse=True)
        return "|".join(map(regex.escape, single)) or "(?!)"

    @cached_property
    def _compound(self) -> regex.Pattern[str]:
        links = "|".join(map(regex.escape, self.conjunctions)) or "(?!)"
        ending = rf"(?:[{_COUNTERS_KO}].*+)?" if self.code == "ko" else ""
        return regex.compile(rf"(?:(?P<word>{self._words})(?P<link>{links})?)+{ending}")

    @cached_property
    def name(self) -> regex.Pattern[str]:
        """A month or a day of the week, in its own letter case, with an ending where the language has them."""
        forms = (
            regex.escape(name) + (r"(?=[\p{L}\p{M}]{1,3}(?![\p{L}\p{M}]))" if name in self.cut_names else "")
            for name in sorted(self.names, key=len, reverse=True)
        )
        any_form = "|".join(forms) or "(?!)"
        if self.without_spaces:
            return regex.compile(f"({any_form})")
        ending = "" if self.code in _NOT_INFLECTED else r"(?:(?<=[\p{L}\p{M}]{4})[\p{L}\p{M}]{1,5}+)?"
        return regex.compile(rf"(?<![\p{{L}}\p{{M}}])({any_form}){ending}(?![\p{{L}}\p{{M}}])")

    @cached_property
    def _anywhere(self) -> regex.Pattern[str]:
        return regex.compile(rf"(?:{self._words})++")

    @cached_property
    def _stems(self) -> dict[str, set[int]]:
        stems: dict[str, set[int]] = {}
        for word, value in self.values.items():
            for cut in range(3 if len(word) >= 7 else 2 if len(word) >= 4 else 1):
                if " " not in word and len(word) >= 3:
                    stems.setdefault(word[: len(word) - cut], set()).add(value)
        return stems

    @lru_cache(maxsize=4096)  # noqa: B019 - there is one Language for each code
    def word(self, token: str) -> tuple[tuple[int | str, ...], bool] | None:
        """The values that a single folded word is made of, and whether that is certain."""
        if len(token) > _LONGEST_WORD:
            return None
        if token in self.values:
            return (self.values[token],), True
        if token in self.conjunctions:
            return (_CONJUNCTION,), True
        shortest = 2 if self.code == "ko" else 5
        if shortest <= len(token) <= _LONGEST_WORD and (match := self._compound.fullmatch(token)):
            pieces: list[tuple[int, int | str]] = [
                (start, self.values[word]) for start, word in _captures(match, "word")
            ]
            pieces += [(start, _CONJUNCTION) for start, _ in _captures(match, "link")]
            return tuple(value for _, value in sorted(pieces, key=lambda piece: piece[0])), True
        if prefix := _PREFIXES.get(self.code):
            bare = prefix.sub("", token)
            if bare != token and bare in self.values:
                link = (_CONJUNCTION,) if token[0] in "وו" else ()
                return (*link, self.values[bare]), True
        return None if self.code in _NOT_INFLECTED else self._inflected(token)

    def _inflected(self, token: str) -> tuple[tuple[int | str, ...], bool] | None:
        """The value of the one number word that ``token`` begins with, but for an ending: dreitägig, пятилетний."""
        for stem in (token[:size] for size in range(len(token), 2, -1)):
            values = self._stems.get(stem)
            if values and (len(stem) >= 4 or len(token) - len(stem) < 4):
                return ((next(iter(values)),), False) if len(values) == 1 else None
        return None

    def sequences(self, text: str) -> Iterator[tuple[list[int | str], bool]]:
        """The runs of number words in ``text``, and whether each is certain."""
        if self.unspaced:
            for match in self._anywhere.finditer(fold(text)):
                yield [self.values[word] for word in regex.findall(self._words, match.group())], True
            return
        tokens = _TOKEN.findall(fold(text))
        run: list[int | str] = []
        certain, after_digits = True, False
        index = 0
        while index < len(tokens):
            values: tuple[int | str, ...] | None = None
            known = True
            for size in range(min(self.longest, len(tokens) - index), 1, -1):
                phrase = " ".join(tokens[index : index + size])
                if phrase in self.values:
                    values = (self.values[phrase],)
                    break
            else:
                size = 1
                has_mark = index + 1 < len(tokens) and tokens[index + 1][0] in "'’"
                word = (has_mark and self.elided(tokens[index])) or self.word(tokens[index])
                if word:
                    values, known = word
            if values is None or (not run and (values == (_CONJUNCTION,) or (after_digits and _is_power(values[0])))):
                if run:
                    yield run, certain
                run, certain = [], True
                after_digits = tokens[index][-1].isdecimal()
            else:
                run += values
                certain = certain and known
                after_digits = False
            index += size
        if run:
            yield run, certain

    def elided(self, token: str) -> tuple[tuple[int | str, ...], bool] | None:
        """The number word of Italian that ``token`` is without its last vowel: trent'anni."""
        whole = (self.word(token + vowel) for vowel in "aeio") if self.code == "it" else ()
        return next((word for word in whole if word and word[1]), None)

    def and_a_half(self, folded: str) -> list[int]:
        """The numbers that are joined with a half: zweieinhalb, tweeënhalf."""
        if self.code not in _JOINED_HALF:
            return []
        words = map(self.word, _JOINED_HALF[self.code].findall(folded))
        return [word[0][0] for word in words if word and word[1] and isinstance(word[0][0], int)]

    def half_hours(self, folded: str) -> Iterator[tuple[int, bool]]:
        """The hours that half hours lead to (halb neun), and whether they are certain."""
        if pattern := self._phrase_patterns.get("half_to"):
            for match in pattern.finditer(folded):
                beside = _NEXT_TOKEN.match(folded, match.end())
                word = self.word(beside[1]) if beside else None
                if word and len(word[0]) == 1 and isinstance(word[0][0], int) and 0 < word[0][0] <= _NOON:
                    yield word[0][0], word[1]

    @cached_property
    def _magnitudes(self) -> dict[str, int]:
        powers = {word: value for word, value in self.values.items() if _is_power(value) and " " not in word}
        long = {word[:-1]: value for word, value in powers.items() if value >= _MAGNITUDE and len(word) >= 6}
        return {**long, **powers} if self.code not in _NOT_INFLECTED else powers

    def magnitude(self, word: str) -> int:
        """The power of ten that ``word`` multiplies a number with (million: 1,000,000); 0 = it is no such word."""
        folded = fold(word)
        shortest = 2 if self.unspaced else len(folded) if self.code in _NOT_INFLECTED else max(4, len(folded) - 3)
        sizes = (len(folded), *range(len(folded) - 1, shortest - 1, -1))
        return next((self._magnitudes[folded[:size]] for size in sizes if folded[:size] in self._magnitudes), 0)


def _is_power(value: int | str) -> bool:
    """Whether it is a hundred, a thousand, a million …, which stand behind a number."""
    return isinstance(value, int) and value >= 100 and str(value).strip("0") == "1"


def _captures(match: regex.Match[str], group: str) -> list[tuple[int, str]]:
    return list(zip(match.starts(group), match.captures(group), strict=True))


def compose(parts: Iterable[int | str]) -> list[int]:
    """The numbers that a run of number words says: 2, 100, 20, 5 is 225; 5, "and", 20 is 25; 7, 8 are two numbers."""
    numbers: list[int] = []
    total = current = 0
    begun = linked = False

    def begin(value: int) -> None:
        nonlocal total, current, begun
        if begun:
            numbers.append(total + current)
        total, current, begun = 0, value, True

    for part in parts:
        if isinstance(part, str):
            linked = begun
            continue
        if _is_power(part) and part >= _MAGNITUDE:
            if current and (not total or total % (part * 10) == 0):
                total, current = total + current * part, 0
            elif begun and total + current < part:  # mil millones
                total, current = (total + current) * part, 0
            else:
                begin(0)
                total = part
        elif part == 100 and 0 < current < 100 and not linked:
            current *= 100
        elif (linked and _turned(current, part)) or (begun and _fits(current or total, part)):
            current += part
        else:
            begin(part)
        linked = False
    if begun:
        numbers.append(total + current)
    return numbers


def _fits(number: int, smaller: int) -> bool:
    """Whether ``smaller`` goes where ``number`` has its last zeros: 5 into 20 and into 100, but not into 0 or 7."""
    return number > 0 and smaller > 0 and number % 10 ** len(str(smaller)) == 0


def _turned(unit: int, tens: int) -> bool:
    """Whether the unit goes before the tens, as in "ein und zwanzig"."""
    return 0 < unit % 100 < 10 and 20 <= tens < 100 and tens % 10 == 0


# -- Chinese numerals

_HAN_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_HAN_POWERS = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
_HAN_NUMERAL = regex.compile(rf"(?<!\d[余多几幾来數数]?)[{''.join(_HAN_DIGITS | _HAN_POWERS)}]{{1,24}}+")

_HAN_PART = regex.compile(rf"[{''.join(_HAN_DIGITS)}]++|[{''.join(_HAN_POWERS)}]")


def han_value(numeral: str) -> int:
    """The value of a number in Chinese numerals: 一百二十三, 三万五千, 二〇二四."""
    if not any(character in _HAN_POWERS for character in numeral):
        return int("".join(str(_HAN_DIGITS[character]) for character in numeral))
    total = section = digit = 0
    for part in _HAN_PART.findall(numeral):
        if part[0] in _HAN_DIGITS:
            digits = [_HAN_DIGITS[character] for character in part]
            digit = (
                digits[-1] if len(digits) == 2 and digits[-1] else int("".join(map(str, digits)))
            )  # 七八十, 一五〇万
            continue
        power = _HAN_POWERS[part]
        if power >= 10**4:
            section = (section + digit) or 1
            total, section, digit = total + section * power, 0, 0
        else:
            section, digit = section + (digit or 1) * power, 0
    return total + section + digit


# -- all languages

_OTHER_NAMES = {"nb": "no", "nn": "no", "bho": "hi", "mai": "hi", "bs": "hr", "tl": "fil", "iw": "he", "in": "id"}
_VALUES = {
    "half": ("50", "0.5", "30"),  # per cent, of one, of an hour
    "quarter": ("4", "25", "0.25", "15", "45"),
    "one_and_a_half": ("1.5",),
    "noon": ("12",),
    "midnight": ("0", "12", "24"),
}
_EAST_ASIAN_MONTH = regex.compile(r"(?<!\d)(1[0-2]|[1-9])[月월]")
_HAN_MONTH = regex.compile(r"(?<![一二三四五六七八九十第个個])(十[一二]?|[一二三四五六七八九])月")


@cache
def _data() -> dict[str, Any]:
    text = (files("mtagent.text") / "number_words.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


@lru_cache(maxsize=1024)
def language(code: str) -> Language | None:
    """The words of the language ``code`` (BCP-47); ``None`` where there is no table."""
    bare = code.replace("_", "-").partition("-")[0].casefold()
    bare = _OTHER_NAMES.get(bare, bare)
    data = _data()["languages"].get(bare)
    return Language(bare, data) if data else None


@lru_cache(maxsize=1024)
def separators(code: str) -> tuple[str, str]:
    """How ``code`` (BCP-47) separates thousands, and how decimals: ``(".", ",")``; empty where that is not known."""
    table = _data()["separators"]
    bare = code.replace("_", "-")
    marks: str = table.get(bare) or table.get(bare.partition("-")[0].casefold()) or "  "
    return marks[0].strip(), marks[1].strip()


@remembered
def readings(text: str, lang: str) -> Readings:
    """The numbers that ``text`` has in words, in Chinese numerals and in names of months."""
    certain, possible = Counter[str](), Counter[str]()
    for numeral in _HAN_NUMERAL.findall(text):
        value = str(han_value(numeral))
        possible[value] += 1
        certain[value] += value != "1"
        if len(numeral) == 2 and numeral[0] in _HAN_DIGITS and numeral[1] in _HAN_DIGITS:  # 七八十, 三四
            possible.update(str(_HAN_DIGITS[character]) for character in numeral)
    words = language(lang)
    if words is None:
        return Readings(certain, possible)
    for parts, is_certain in words.sequences(text):
        values = compose(parts)
        if not is_certain and len(values) < len(parts):  # of ten three
            possible.update(str(part) for part in parts if isinstance(part, int))
        possible.update(map(str, values))
        certain.update(str(value) for value in values if is_certain and value > 1)
    _read_phrases(words, fold(text), certain, possible)
    names = [words.names[match] for match in words.name.findall(text)]
    certain.update(names)
    possible.update(name.partition(" ")[2] for name in names)
    certain.update(f"month {month}" for month in _EAST_ASIAN_MONTH.findall(text))
    certain.update(f"month {han_value(month)}" for month in _HAN_MONTH.findall(text))
    return Readings(+certain, possible)


def _read_phrases(words: Language, folded: str, certain: Counter[str], possible: Counter[str]) -> None:
    """Add what a text says in phrases beside its number words: half, noon, halb neun (8:30), seven in the evening."""
    plain = [int(value) for value in possible if value.isdecimal()]
    for name, values in _VALUES.items():
        if count := words.count(name, folded):
            possible.update(dict.fromkeys(values, count))
    joined = words.and_a_half(folded)
    if joined or words.count("half", folded):
        for value in plain:  # deux ans et demi, dos millones y medio
            period = 1000 ** ((len(str(value)) - 1) // 3)
            possible[str(value + period // 2) if period > 1 else f"{value}.5"] += 1
    possible.update(f"{value}.5" for value in joined)
    _read_other_phrases(words, folded, plain, certain, possible)
    if words.count("evening", folded):
        possible.update(str(value + 12) for value in plain if 0 < value < _NOON)
    for hour, is_certain in words.half_hours(folded):
        before = (hour - 2) % 12 + 1
        possible.update(map(str, (before, before + 12, 30)))
        if is_certain and hour > 1:
            certain[str(hour)] -= 1
            certain[str(before)] += 1
            possible[str(hour)] -= words.code in _HALF_IS_AN_HOUR


def _read_other_phrases(
    words: Language, folded: str, plain: Sequence[int], certain: Counter[str], possible: Counter[str]
) -> None:
    """Add what one word says (double), and a part of one that multiplies a magnitude: ढाई लाख is 250,000."""
    found = phrases(folded, words.code)
    for spelled, count in Counter(f"{value:g}" for value in found.values).items():
        possible[spelled] = max(possible[spelled], count)
    fractions = {value for value in found.values if value % 1}
    for value in plain if found.added else ():
        zeros = len(str(value)) - len(str(value).rstrip("0")) if value else 0
        for part in found.added:
            fractions.add(value + part)
            possible.update({f"{value + part:g}", f"{value + part * 10**zeros:g}"})
    is_halved = bool(words.count("half", folded))
    if _DOZEN in found.values:
        multiples: set[float] = {_DOZEN * value for value in plain if 1 < value <= _MOST_DOZENS and value != _DOZEN}
        if is_halved:
            multiples.add(_DOZEN / 2)
        possible.update(f"{multiple:g}" for multiple in multiples)
        if multiples:  # two dozen are not twelve
            certain[f"{_DOZEN}"] = 0
    if is_halved:
        fractions.add(0.5)
    fractions.update(float(value) for value in possible if value.endswith(".5"))
    powers = [value for value in plain if _is_power(value)]
    for fraction in fractions if powers else ():
        for power in powers:
            possible[f"{fraction * power:.15g}"] += 1


@lru_cache(maxsize=16384)
def is_number_word(word: str, lang: str) -> bool:
    """Whether ``word`` is for certain a number above 1, a month or a day of the language, or has a Chinese numeral."""
    if len(word) > _LONGEST_WORD:
        return False
    if _HAN_NUMERAL.search(word):
        return word != "一"
    words = language(lang)
    if words is None:
        return False
    if words.name.fullmatch(word) or (words.without_spaces and word in words.characters):
        return True
    folded = fold(word)
    reading = words.elided(folded) or words.word(folded)
    return reading is not None and reading[1] and reading[0] not in ((_CONJUNCTION,), (1,))
