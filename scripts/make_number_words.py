"""Make ``mtagent/text/number_words.json`` from the tables of ICU (libicu 72, Unicode licence) and ``number_words.txt``.

    python scripts/make_number_words.py

ICU is asked through ctypes, and only here: Debian's package libicu72 is enough. A word goes into the file where
``number_words.compose`` cannot put it together from the words that are there.
"""

from __future__ import annotations

import ctypes
import json
from collections import Counter
from pathlib import Path
from typing import Any

import regex

from mtagent.text.number_words import Language, compose, fold

I18N, COMMON = ctypes.CDLL("libicui18n.so.72"), ctypes.CDLL("libicuuc.so.72")
I18N.unum_open_72.restype = I18N.udat_open_72.restype = ctypes.c_void_p
COMMON.uloc_getAvailable_72.restype = ctypes.c_char_p

SCRIPTS = {"sr": ("sr", "sr_Latn"), "zh": ("zh", "zh_Hant")}
VALUES = (*range(101), *range(200, 1000, 100), 1000, 2000, 10_000, 100_000)
POWERS = (100, 1000, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9, 10**12)

ICU, *ADDED = (Path(__file__).parent / "number_words.txt").read_text(encoding="utf-8").splitlines()[1:]
LANGUAGES = ICU.removeprefix("ICU: ").split()
PHRASES = ("half", "half_to", "one_and_a_half", "quarter", "noon", "midnight", "more_months")
UNSPACED = frozenset(["ja", "km", "lo", "my", "th"])
MAGNITUDES = frozenset([100, 1000, *(10**power for power in range(4, 13))])
MAGNITUDE_FIRST = frozenset(["si", "sw"])
CONJUNCTIONS = {"hi": "", "en": "and", "pt": "e", "es": "y", "fr": "et", "eu": "eta", "gl": "e", "cs": "a", "sw": "na"}


def wide(text: str) -> Any:
    """``text`` as ICU takes it."""
    return (ctypes.c_uint16 * (len(text) + 1)).from_buffer_copy(text.encode("utf-16-le") + b"\0\0")


class Buffer:
    """Where an ICU function writes its text."""

    def __init__(self) -> None:
        self.units, self.size = (ctypes.c_uint16 * 20_000)(), 20_000
        self.status = ctypes.byref(ctypes.c_int(0))

    def text(self, length: int) -> str:
        """What was written."""
        return bytes(self.units)[: 2 * length].decode("utf-16-le")


def spelled(locale: str) -> dict[int, list[str]]:
    """All spellings of the values, cardinal and ordinal, in all genders and cases."""
    buffer = Buffer()
    formatter = ctypes.c_void_p(I18N.unum_open_72(5, None, 0, locale.encode(), None, buffer.status))
    names = buffer.text(I18N.unum_getTextAttribute_72(formatter, 7, buffer.units, buffer.size, buffer.status))
    spellings: dict[int, list[str]] = {}
    for name in names.split(";"):
        if "spellout" not in name or "financial" in name or "year" in name or (locale == "fi" and "plural" in name):
            continue
        I18N.unum_setTextAttribute_72(formatter, 6, wide(name), len(name), buffer.status)
        for value in [*VALUES, *(power * times for power in POWERS[4:] for times in (1, 2, 5)), -5]:
            number = ctypes.c_int64(value)
            length = I18N.unum_formatInt64_72(formatter, number, buffer.units, buffer.size, None, buffer.status)
            words = buffer.text(length).removesuffix("\u00ad")
            if words not in spellings.setdefault(value, []):
                spellings[value].append(words)
    return spellings


def formatted(locale: str, pattern: str, moment: float) -> str:
    """A date and time (milliseconds since 1970) by a pattern of CLDR."""
    buffer = Buffer()
    opened = I18N.udat_open_72(-2, -2, locale.encode(), wide("UTC"), 3, wide(pattern), len(pattern), buffer.status)
    date = ctypes.c_double(moment)
    length = I18N.udat_format_72(ctypes.c_void_p(opened), date, buffer.units, buffer.size, None, buffer.status)
    return buffer.text(length)


def months(locale: str) -> list[str]:
    """The twelve names of months, each in all its forms."""
    forms = []
    for month in range(12):
        middle = (month * 30.44 + 14) * 86_400_000
        names = {formatted(locale, pattern, middle) for pattern in ("MMMM", "LLLL")}
        names |= {name for pattern in ("MMM", "LLL") if len(name := formatted(locale, pattern, middle).rstrip(".")) > 2}
        forms.append("|".join(sorted(name for name in names if regex.fullmatch(r"[\p{L}\p{M} ’'\u200d]+", name))))
    return forms if all(forms) and locale[:2] != "zh" else []


def weekdays(locale: str) -> list[str]:
    """The names of Monday to Sunday, each in all its forms."""
    days = []
    for day in range(4, 11):  # 5 January 1970 was a Monday
        names = {formatted(locale, pattern, day * 86_400_000) for pattern in ("EEEE", "cccc")}
        names |= {formatted(locale, "EEE", day * 86_400_000)} if locale in ("zh", "zh_Hant") else set()
        days.append("|".join(sorted(names)))
    return days


def day_parts(locale: str) -> dict[str, str]:
    """What is said next to an hour, before noon, after noon and at night."""
    hours: dict[str, set[int]] = {}
    for hour in range(24):
        for pattern in ("a", "B"):
            part = formatted(locale, pattern, hour * 3_600_000)
            if part and not part.isdigit():
                hours.setdefault(part, set()).add(hour)
    halves: dict[str, list[str]] = {"am": [], "pm": [], "night": []}
    for part, when in hours.items():
        halves["am" if max(when) < 12 else "pm" if min(when) >= 12 else "night"].append(part)
    return {half: "|".join(sorted(parts)) for half, parts in halves.items() if parts}


class Entry:
    """The entry of one language while it grows: words that compose() needs, conjunctions, months, parts of the day."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.words: dict[int, list[str]] = {}
        self.rest: dict[str, Any] = {}
        self.language: Language | None = None

    def known(self) -> Language:
        """The language as far as it is known."""
        if self.language is None:
            words = {str(value): "|".join(phrases) for value, phrases in self.words.items()}
            self.language = Language(self.code, {**self.rest, "words": words})
        return self.language

    def add(self, value: int, phrase: str) -> None:
        """Take a phrase up, unless it has digits or is read already."""
        plain = fold(phrase).strip()
        if regex.fullmatch(r"\p{Han}+", plain):  # number_words.han_value reads them
            return
        readings = [(compose(parts), certain) for parts, certain in self.known().sequences(plain)]
        if plain and not any(map(str.isdigit, plain)) and readings != [([value], True)]:
            self.words.setdefault(value, []).append(plain)
            self.language = None

    def add_power(self, value: int, phrase: str) -> None:
        """Find the word for 1,000,000 in "two million": what is left when the words that are known are taken away."""
        left, known, values = [], 1, self.known().values
        for token in fold(phrase.replace("\u00ad", " ").replace("\u200b", " ")).split():
            if token in values:
                known *= values[token]
            else:
                left.append(token)
        if len(left) == 1 and known and value % known == 0 and value // known in MAGNITUDES:
            self.add(value // known, left[0])

    def data(self) -> dict[str, Any]:
        """As it goes into the file."""
        words = {str(value): "|".join(phrases) for value, phrases in sorted(self.words.items())}
        rest = {key: value for key, value in self.rest.items() if value}
        return {"words": words, **rest}


def entry(code: str) -> dict[str, Any]:
    """The entry of one language."""
    entry = Entry(code)
    locales = SCRIPTS.get(code, (code,))
    tables = [spelled(locale) for locale in locales] if code in LANGUAGES else []
    entry.rest["and"] = CONJUNCTIONS.get(code, " ".join(conjunctions(tables)))
    for line in ADDED:
        if line.startswith(f"{code}: "):
            for item in line.partition(": ")[2].split("; "):
                name, _, phrases = item.partition(" ")
                if name in PHRASES:
                    entry.rest[name] = phrases
                    continue
                for phrase in phrases.split("|"):
                    entry.add(int(name), phrase)
    for table in tables:
        for value in sorted(value for value in table if value >= 0):
            for phrase in table[value]:
                if value >= 100:
                    entry.add_power(value, phrase)
                entry.add(value, phrase)
        entry.rest["minus"] = "|".join(sorted({fold(words).split()[0] for words in table[-5]} - {"-5"}))
    for locale in locales:
        for half, parts in day_parts(locale).items():
            known = entry.rest.get(half, "").split("|")
            entry.rest[half] = "|".join(dict.fromkeys(filter(None, [*known, *parts.split("|")])))
        noon = formatted(locale, "b", 12 * 3_600_000)
        if noon != formatted(locale, "a", 12 * 3_600_000) and len(noon) > 2:
            known = entry.rest.get("noon", "").split("|")
            entry.rest["noon"] = "|".join(dict.fromkeys(filter(None, [*known, noon])))
        for what, names in (("months", months(locale)), ("weekdays", weekdays(locale))):
            if names:
                forms = zip(entry.rest.get(what, [""] * len(names)), names, strict=True)
                entry.rest[what] = ["|".join(filter(None, (old, new))) for old, new in forms]
    entry.rest["magnitude_first"] = code in MAGNITUDE_FIRST
    entry.rest["unspaced"] = code in UNSPACED
    return entry.data()


def conjunctions(tables: list[dict[int, list[str]]]) -> list[str]:
    """The words between the parts of a number: those of many numbers from 21 to 99 that are no number themselves."""
    counts: Counter[str] = Counter()
    whole = {fold(word) for table in tables for words in table.values() for word in words}
    for table in tables:
        for value in range(21, 100):
            for phrase in table[value][:3]:
                pieces = fold(phrase.replace("\u00ad", " ").replace("\u200b", " ").replace("-", " ")).split()
                counts.update(set(pieces[1:-1]) - whole)
    return [word for word, count in counts.items() if count > 40]


def separators() -> dict[str, str]:
    """The mark between thousands and the decimal mark, by language, and by region where it differs."""
    table: dict[str, str] = {}
    count = COMMON.uloc_countAvailable_72()
    for locale in sorted(COMMON.uloc_getAvailable_72(index).decode() for index in range(count)):
        buffer = Buffer()
        opened = ctypes.c_void_p(I18N.unum_open_72(1, None, 0, locale.encode(), None, buffer.status))
        marks = ""
        for symbol in (1, 0):  # grouping, decimal
            marks += buffer.text(I18N.unum_getSymbol_72(opened, symbol, buffer.units, buffer.size, buffer.status))[:1]
        code = locale.replace("_", "-")
        if table.get(code.rpartition("-")[0], table.get(code.partition("-")[0])) != marks:
            table[code] = marks
    return table


def write(data: dict[str, Any]) -> None:
    """Write the file, one line for each language."""
    path = Path(__file__).parent.parent / "mtagent" / "text" / "number_words.json"
    separators = json.dumps(data["separators"], ensure_ascii=False)
    entries = (f'"{code}": {json.dumps(entry, ensure_ascii=False)}' for code, entry in data["languages"].items())
    text = f'{{"separators": {separators},\n"languages": {{\n' + ",\n".join(entries) + "}}\n"
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Make the file."""
    added = {line.partition(": ")[0] for line in ADDED}
    write({"separators": separators(), "languages": {code: entry(code) for code in sorted({*LANGUAGES, *added})}})


if __name__ == "__main__":
    main()
