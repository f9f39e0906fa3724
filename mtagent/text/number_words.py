"""Numbers in words, by language: what "six", "fifteenth", "सात हजार", "a dozen" and 六 are in digits; names of months.

The words are data. ``number_words.json``, made from ICU's tables by ``scripts/make_number_words.py``, has those that
:func:`compose` cannot put together itself. ``data/number_phrases.toml`` has numbers in one word or phrase that are not
number words: double, ढाई (two and a half), hora e meia (an hour and a half).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import regex

from mtagent.text.scripts import has_spaces, remembered
from mtagent.text.word_lists import word_lists

_IGNORED = regex.compile(r"[\u00ad\u200b-\u200f\u0640\u064b-\u0652\u0591-\u05c7\u093c\u09bc]")  # vowel signs, joiners
_NASAL = regex.compile(r"[ङञणनम]्(?=[क-ह])|ँ")  # पाँच, पांच; पन्द्रह, पंद्रह
_SAME_LETTER = str.maketrans(
    {"ё": "е", "ş": "ș", "ţ": "ț", "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ة": "ه", "ی": "ي", "ک": "ك"}
)


def fold(text: str) -> str:
    """``text`` with variants of spelling made one: case, soft hyphens, vowel signs, nasals, hamzas."""
    if text.isascii():
        return text.casefold()
    return _NASAL.sub("ं", _IGNORED.sub("", text)).translate(_SAME_LETTER).casefold()


# -- phrases

_PHRASE_LINES: list[str] = word_lists("number_phrases")["phrases"].split("\n")
_WORD = regex.compile(r"[\p{L}\p{M}]++")
_SHORTEST_STEM = 3


class PhraseValue(NamedTuple):
    """What a phrase may have become in digits. It is never certain, as many phrases have other senses."""

    is_added: bool
    """Whether it is a part of one that is added to the number word next to it."""
    number: float


class NumberPhrases:
    """The phrases of one language; all texts and words are folded."""

    def __init__(self, code: str, *, anywhere: bool) -> None:
        self._anywhere = anywhere
        """Whether they are parts of longer words, or of a text without spaces."""
        self._words = defaultdict[str, list[PhraseValue]](list)
        self._stems = defaultdict[str, list[PhraseValue]](list)
        self._several_words = defaultdict[str, list[tuple[str, PhraseValue]]](list)
        """Phrases of several words by the first of them."""
        for line in _PHRASE_LINES:
            if not line.startswith(f"{code}: "):
                continue
            for entry in line.partition(": ")[2].split(";"):
                number, _, forms = entry.strip().partition(": ")
                value = PhraseValue(number[0] in "+-", float(number))
                for form in map(fold, forms.split()):
                    self._add(form, value)

    def _add(self, form: str, value: PhraseValue) -> None:
        first, _, rest = form.partition("_")
        if rest:
            self._several_words[first].append((form.replace("_", " "), value))
        elif form.endswith("*"):
            self._stems[form[:-1]].append(value)
        else:
            self._words[form].append(value)

    def values(self, text: str) -> list[PhraseValue]:
        """The values of the phrases in ``text``."""
        values: list[PhraseValue] = []
        if self._anywhere:
            for word, word_values in self._words.items():
                values += word_values * text.count(word)
            for phrases in self._several_words.values():
                for phrase, value in phrases:
                    values += [value] * text.count(phrase)
            return values
        words = _WORD.findall(text)
        for word in words:
            values += self._values_of(word)
        for first in self._several_words.keys() & set(words):
            plain = f" {' '.join(words)} "
            for phrase, value in self._several_words[first]:
                values += [value] * plain.count(f" {phrase} ")
        return values

    def places_of(self, number: float, text: str) -> list[tuple[int, int]]:
        """The places of single words of ``text`` that mean ``number``."""
        value = PhraseValue(False, number)
        places = []
        if self._anywhere:
            for form, form_values in self._words.items():
                if value in form_values:
                    places += [match.span() for match in regex.finditer(regex.escape(form), text)]
            return places
        for match in _WORD.finditer(text):
            if value in self._values_of(match.group()):
                places.append(match.span())
        return places

    @lru_cache(maxsize=16_384)  # noqa: B019 - each language has one object
    def _values_of(self, word: str) -> Sequence[PhraseValue]:
        if word in self._words:
            return self._words[word]
        for size in range(len(word), _SHORTEST_STEM - 1, -1):
            if word[:size] in self._stems:
                return self._stems[word[:size]]
        return ()


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


class Readings(NamedTuple):
    """How often each value is written in words: for ``certain``, or at least ``possible`` (inflected, or ambiguous)."""

    certain: Counter[str]
    possible: Counter[str]


class Language:
    """The words of one language, as in the data file."""

    def __init__(self, code: str, data: Mapping[str, Any]) -> None:
        self.code = code
        self.conjunctions = frozenset(map(fold, data.get("and", "").split()))
        self.values: dict[str, int] = {}
        """The values of number words, which are folded."""
        for value, phrases_of_value in data.get("words", {}).items():
            for phrase in phrases_of_value.split("|"):
                self.values[" ".join(_TOKEN.findall(fold(phrase)))] = int(value)
        self.names = _numbered_names(data)
        """Names of months and days of the week, and which they are: ``month 5``."""
        self.cut_names = _cut(self.names) if code in _IN_CASES else {}
        """These without the last vowel, which they lose in other cases."""
        self.names |= self.cut_names
        self.phrases = {name: data[name] for name in _PHRASES if name in data}
        self.day_parts = {half: data[half].split("|") for half in ("am", "pm", "night") if half in data}
        minus: str = data.get("minus", "")
        self.minus = (*minus.split("|"), *_MINUS) if minus else _MINUS
        """Words for the minus sign."""
        self.unspaced = bool(data.get("unspaced"))
        """Whether the number words are looked up anywhere in a text. Those of Chinese are numerals."""
        self.without_spaces = not has_spaces(code)
        self.magnitude_first = bool(data.get("magnitude_first"))
        """Whether a magnitude is before its number."""
        # Korean joins particles and counters to its words.
        self.number_phrases = NumberPhrases(code, anywhere=self.without_spaces or code == "ko")
        self.characters = frozenset("".join([*self.names, *self.values]))
        self.longest = max((phrase.count(" ") + 1 for phrase in self.values), default=1)
        """The words of the longest phrase."""

    def count(self, name: str, folded: str) -> int:
        """How often one of the phrases ``name`` (half, noon) is in a folded text."""
        pattern = self._phrase_patterns.get(name)
        return len(pattern.findall(folded)) if pattern else 0

    @cached_property
    def _phrase_patterns(self) -> dict[str, regex.Pattern[str]]:
        evening = "|".join(self.day_parts.get("pm", []) + self.day_parts.get("night", []))
        patterns = {}
        for name, forms in {**self.phrases, "evening": evening}.items():
            if not forms:
                continue
            any_form = "|".join(map(regex.escape, fold(forms).split("|")))
            if self.without_spaces:
                patterns[name] = regex.compile(f"(?:{any_form})")
            else:
                patterns[name] = regex.compile(rf"(?<![\p{{L}}\p{{M}}])(?:{any_form})(?![\p{{L}}\p{{M}}])")
        return patterns

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
        forms = []
        for name in sorted(self.names, key=len, reverse=True):
            form = regex.escape(name)
            if name in self.cut_names:
                form += r"(?=[\p{L}\p{M}]{1,3}(?![\p{L}\p{M}]))"
            forms.append(form)
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
        stems = defaultdict[str, set[int]](set)
        for word, value in self.values.items():
            if " " in word or len(word) < 3:
                continue
            longest_ending = 0
            if len(word) >= 7:
                longest_ending = 2
            elif len(word) >= 4:
                longest_ending = 1
            for ending in range(longest_ending + 1):
                stems[word[: len(word) - ending]].add(value)
        return dict(stems)

    @lru_cache(maxsize=4096)  # noqa: B019 - there is one Language for each code
    def word(self, token: str) -> tuple[tuple[int | str, ...], bool] | None:
        """The values that a single folded word is made of, and whether that is certain."""
        if len(token) > _LONGEST_WORD:
            return None
        if token in self.values:
            return (self.values[token],), True
        if token in self.conjunctions:
            return (_CONJUNCTION,), True
        shortest_compound = 2 if self.code == "ko" else 5
        compound = self._compound.fullmatch(token) if len(token) >= shortest_compound else None
        if compound:
            values_by_start: dict[int, int | str] = dict.fromkeys(compound.starts("link"), _CONJUNCTION)
            for start, word in zip(compound.starts("word"), compound.captures("word"), strict=True):
                values_by_start[start] = self.values[word]
            return tuple(values_by_start[start] for start in sorted(values_by_start)), True
        if prefix := _PREFIXES.get(self.code):
            bare = prefix.sub("", token)
            if bare != token and bare in self.values:
                link = (_CONJUNCTION,) if token[0] in "وו" else ()
                return (*link, self.values[bare]), True
        if self.code in _NOT_INFLECTED:
            return None
        return self._inflected(token)

    def _inflected(self, token: str) -> tuple[tuple[int | str, ...], bool] | None:
        """The value of the one number word that ``token`` begins with, without an ending: dreitägig, пятилетний."""
        for size in range(len(token), 2, -1):
            values = self._stems.get(token[:size])
            if not values or (size < 4 and len(token) - size >= 4):
                continue
            if len(values) > 1:
                return None
            return tuple(values), False
        return None

    def sequences(self, folded: str) -> Iterator[tuple[list[int | str], bool]]:
        """The runs of number words in a folded text, and whether each is certain."""
        if self.unspaced:
            for match in self._anywhere.finditer(folded):
                yield [self.values[word] for word in regex.findall(self._words, match.group())], True
            return
        tokens = _TOKEN.findall(folded)
        run: list[int | str] = []
        certain, after_digits = True, False
        index = 0
        while index < len(tokens):
            values: tuple[int | str, ...] | None = None
            is_certain = True
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
                    values, is_certain = word
            # A conjunction begins no number, and a magnitude behind digits belongs to them.
            is_continuation = values == (_CONJUNCTION,) or (after_digits and values and _is_power(values[0]))
            if values is None or (is_continuation and not run):
                if run:
                    yield run, certain
                run, certain = [], True
                after_digits = tokens[index][-1].isdecimal()
            else:
                run += values
                certain = certain and is_certain
                after_digits = False
            index += size
        if run:
            yield run, certain

    def elided(self, token: str) -> tuple[tuple[int | str, ...], bool] | None:
        """The number word of Italian that ``token`` is without its last vowel: trent'anni."""
        if self.code != "it":
            return None
        for vowel in "aeio":
            word = self.word(token + vowel)
            if word and word[1]:
                return word
        return None

    def and_a_half(self, folded: str) -> list[int]:
        """The numbers that are joined with a half: zweieinhalb, tweeënhalf."""
        if self.code not in _JOINED_HALF:
            return []
        numbers = []
        for spelled in _JOINED_HALF[self.code].findall(folded):
            word = self.word(spelled)
            if not word:
                continue
            (number, *_), is_certain = word
            if is_certain and isinstance(number, int):
                numbers.append(number)
        return numbers

    def half_hours(self, folded: str) -> Iterator[tuple[int, bool]]:
        """The hours that half hours lead to (halb neun), and whether they are certain."""
        pattern = self._phrase_patterns.get("half_to")
        if not pattern:
            return
        for match in pattern.finditer(folded):
            beside = _NEXT_TOKEN.match(folded, match.end())
            word = self.word(beside[1]) if beside else None
            if not word or len(word[0]) > 1:
                continue
            (hour,), is_certain = word
            if isinstance(hour, int) and 0 < hour <= _NOON:
                yield hour, is_certain

    @cached_property
    def _magnitudes(self) -> dict[str, int]:
        powers = {}
        without_last_letter = {}
        for word, value in self.values.items():
            if " " in word or not _is_power(value):
                continue
            powers[word] = value
            if value >= _MAGNITUDE and len(word) >= 6 and self.code not in _NOT_INFLECTED:
                without_last_letter[word[:-1]] = value
        return {**without_last_letter, **powers}

    def magnitude(self, word: str) -> int:
        """The power of ten that ``word`` multiplies a number with (million: 1,000,000); 0 for other words."""
        folded = fold(word)
        if folded in self._magnitudes:
            return self._magnitudes[folded]
        if self.unspaced:
            shortest = 2
        elif self.code in _NOT_INFLECTED:
            return 0
        else:
            shortest = max(4, len(folded) - 3)
        for size in range(len(folded) - 1, shortest - 1, -1):
            if folded[:size] in self._magnitudes:
                return self._magnitudes[folded[:size]]
        return 0


def _numbered_names(data: Mapping[str, Any]) -> dict[str, str]:
    numbered = {}
    for kind in ("month", "weekday"):
        for number, names in enumerate(data.get(f"{kind}s", ()), start=1):
            for name in names.split("|"):
                numbered[name] = f"{kind} {number}"
    for month in filter(None, data.get("more_months", "").split("|")):
        number_in_digits, _, name = month.partition(" ")
        numbered[name] = f"month {number_in_digits}"
    return numbered


def _cut(names: Mapping[str, str]) -> dict[str, str]:
    cut_names = {}
    for name, numbered in names.items():
        cut_name = _LAST_VOWEL.sub("", name, count=1)
        if len(cut_name) >= 4 and cut_name not in names:
            cut_names[cut_name] = numbered
    return cut_names


def _is_power(value: int | str) -> bool:
    """Whether it is a hundred, a thousand, a million …, which follow a number."""
    return isinstance(value, int) and value >= 100 and str(value).strip("0") == "1"


def compose(parts: Iterable[int | str]) -> list[int]:
    """The numbers of a run of number words: 2, 100, 20, 5 is 225; 5, "and", 20 is 25; 7, 8 are two numbers."""
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
    if _HAN_POWERS.keys().isdisjoint(numeral):
        return _in_row(numeral)
    total = section = digit = 0
    for part in _HAN_PART.findall(numeral):
        if part[0] in _HAN_DIGITS:
            digit = _in_row(part)  # 一五〇万
            if len(part) == 2 and part[1] not in "零〇":  # 七八十: seventy or eighty
                digit = _HAN_DIGITS[part[1]]
            continue
        power = _HAN_POWERS[part]
        if power >= 10**4:
            section = (section + digit) or 1
            total, section, digit = total + section * power, 0, 0
        else:
            section, digit = section + (digit or 1) * power, 0
    return total + section + digit


def _in_row(digits: str) -> int:
    """The value of Chinese digits in a row."""
    return int("".join(str(_HAN_DIGITS[digit]) for digit in digits))


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
        if len(numeral) == 2 and _HAN_POWERS.keys().isdisjoint(numeral):  # 七八十, 三四
            possible.update(str(_HAN_DIGITS[digit]) for digit in numeral)
    words = language(lang)
    if words is None:
        return Readings(certain, possible)
    folded = fold(text)
    for parts, is_certain in words.sequences(folded):
        values = compose(parts)
        if not is_certain and len(values) < len(parts):  # of ten three
            possible.update(str(part) for part in parts if isinstance(part, int))
        for number in values:
            possible[str(number)] += 1
            if is_certain and number > 1:
                certain[str(number)] += 1
    _read_phrases(words, folded, certain, possible)
    for name in words.name.findall(text):
        numbered = words.names[name]
        certain[numbered] += 1
        possible[numbered.partition(" ")[2]] += 1
    certain.update(f"month {month}" for month in _EAST_ASIAN_MONTH.findall(text))
    certain.update(f"month {han_value(month)}" for month in _HAN_MONTH.findall(text))
    return Readings(+certain, possible)


def _read_phrases(words: Language, folded: str, certain: Counter[str], possible: Counter[str]) -> None:
    """Add the values of phrases next to the number words: half, noon, halb neun (8:30), seven in the evening."""
    in_words = [int(value) for value in possible if value.isdecimal()]
    for name, values in _VALUES.items():
        if count := words.count(name, folded):
            possible.update(dict.fromkeys(values, count))
    has_half = words.count("half", folded) > 0
    joined_with_half = words.and_a_half(folded)
    if joined_with_half or has_half:
        for value in in_words:  # deux ans et demi, dos millones y medio
            period = 1000 ** ((len(str(value)) - 1) // 3)
            possible[str(value + period // 2) if period > 1 else f"{value}.5"] += 1
    possible.update(f"{value}.5" for value in joined_with_half)
    phrases = words.number_phrases.values(folded)
    if phrases:
        _read_number_phrases(phrases, in_words, possible)
        if PhraseValue(False, _DOZEN) in phrases:
            multiples = _multiples_of_dozens(words, folded)
            possible.update(multiples)
            certain[f"{_DOZEN}"] -= len(multiples)  # two dozen are not twelve
    _multiply_magnitudes(phrases, has_half, in_words, possible)
    if words.count("evening", folded):
        possible.update(str(value + _NOON) for value in in_words if 0 < value < _NOON)
    for hour, is_certain in words.half_hours(folded):
        before = (hour - 2) % _NOON + 1
        possible.update([str(before), str(before + _NOON), "30"])
        if is_certain and hour > 1:
            certain[str(hour)] -= 1
            certain[str(before)] += 1
            possible[str(hour)] -= words.code in _HALF_IS_AN_HOUR


def _read_number_phrases(phrases: Sequence[PhraseValue], in_words: Sequence[int], possible: Counter[str]) -> None:
    """Add the values of ``phrases`` (double), and of those that are added to a number ``in_words``: साढ़े तीन is 3.5."""
    spelled = Counter(f"{number:g}" for is_added, number in phrases if not is_added)
    possible |= spelled
    for is_added, part in phrases:
        if not is_added:
            continue
        for value in in_words:
            zeros = len(str(value)) - len(str(value).rstrip("0")) if value else 0
            possible.update({f"{value + part:g}", f"{value + part * 10**zeros:g}"})


def _multiply_magnitudes(
    phrases: Sequence[PhraseValue], has_half: bool, in_words: Sequence[int], possible: Counter[str]
) -> None:
    """Add what magnitudes ``in_words`` are times a fraction: ढाई लाख is 250,000."""
    powers = [value for value in in_words if _is_power(value)]
    if not powers:
        return
    fractions = {float(value) for value in possible if value.endswith(".5")}
    if has_half:
        fractions.add(0.5)
    for is_added, number in phrases:
        if is_added:
            fractions.update(value + number for value in in_words)
        elif number % 1:
            fractions.add(number)
    for fraction in fractions:
        possible.update(f"{fraction * power:.15g}" for power in powers)


def _multiples_of_dozens(words: Language, folded: str) -> list[str]:
    """The value of each dozen in a text with the number word before it: two dozen, half a dozen."""
    multiples: list[str] = []
    for start, end in words.number_phrases.places_of(_DOZEN, folded):
        before = folded[max(0, start - _LONGEST_WORD) : start].rstrip(" -")
        word = before[-1:] if words.without_spaces else before.rpartition(" ")[2]
        numbers = {han_value(numeral) for numeral in _HAN_NUMERAL.findall(word)}
        for parts, _ in words.sequences(word):
            numbers.update(compose(parts))
        counts = numbers.intersection(range(2, _MOST_DOZENS + 1)) - {_DOZEN}
        two_words = " ".join(before.split(" ")[-2:])
        if counts:
            multiples.append(f"{_DOZEN * max(counts)}")
        elif words.count("half", f"{two_words} {folded[start:end]}"):
            multiples.append(f"{_DOZEN // 2}")
    return multiples


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
