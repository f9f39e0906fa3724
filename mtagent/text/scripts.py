"""Characters: the script a language is written in, words and amounts of text in any script, invisible characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache, wraps
from inspect import signature
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import regex

if TYPE_CHECKING:
    from langcodes import Language


class Mark(NamedTuple):
    """Something in a text that must survive: ``text[start:end]``. Marks with equal ``key`` are worth the same."""

    key: str
    start: int
    end: int


# A segment at work asks about the same few texts again and again: its source, the texts before and after, and these
# without their marks. Between two of these questions other segments at work ask theirs. The answers about short texts
# are small, so those about all segments at work are kept. Of the answers about long texts so few are kept that their
# size stays a small multiple of the longest texts'.
_SHORT_TEXTS, _LONG_TEXTS = 256, 16
_LONGEST_SHORT = 1_000  # characters

Function = TypeVar("Function", bound=Callable[..., Any])


def remembered(function: Function) -> Function:
    """``function``, with its latest answers kept. Its positional arguments are texts, languages and sets."""
    if len(signature(function).parameters) == 1:
        return cast(Function, _Answers(function).__getitem__)
    of_short_texts = lru_cache(maxsize=_SHORT_TEXTS)(function)
    of_long_texts = lru_cache(maxsize=_LONG_TEXTS)(function)

    @wraps(function)
    def remember(*texts: Any, **options: Any) -> Any:
        for text in texts:
            if len(text) > _LONGEST_SHORT:
                return of_long_texts(*texts, **options)
        return of_short_texts(*texts, **options)

    return cast(Function, remember)


class _Answers(dict[str, Any]):
    """The latest answers of a function of one text.

    It is asked fifty times for each call to a model. A text that it knows costs no more than a look-up in a dict.
    """

    def __init__(self, function: Callable[[str], Any]) -> None:
        self._function = function
        self._of_long_texts = lru_cache(maxsize=_LONG_TEXTS)(function)
        self._lock = Lock()

    def __missing__(self, text: str) -> Any:
        if len(text) > _LONGEST_SHORT:
            return self._of_long_texts(text)
        answer = self._function(text)
        with self._lock:  # threads may share the answers
            if len(self) >= _SHORT_TEXTS:
                del self[next(iter(self))]  # the oldest
            self[text] = answer
        return answer


@lru_cache(maxsize=_LONG_TEXTS)  # so cheap that a choice between two caches would cost more
def alphabet(text: str) -> frozenset[str]:
    """The distinct characters of ``text``: the cheapest question that rules most marks out."""
    return frozenset(text)


# -- the script of a language

UNSPACED_SCRIPTS = (
    "Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Tibt", "Tale", "Talu", "Lana", "Tavt", "Java", "Bali",
)  # fmt: skip
"""The scripts (ISO 15924) that put no spaces between words: those whose lines Unicode breaks between any two characters
(Han, kana), by a dictionary (Thai and its neighbours, class SA of UAX 14) or by syllables (Tibetan, Javanese,
Balinese). Hangul is not among them: Korean has spaces between words.
"""
UNSPACED = "".join(rf"\p{{{script}}}" for script in UNSPACED_SCRIPTS) + "ーｰ"
"""The characters of :data:`UNSPACED_SCRIPTS` as the inside of a character class of :mod:`regex`.

Also the long vowel of kana, which Unicode counts as common to all scripts.
"""
UNSPACED_OR_HANGUL = UNSPACED + r"\p{Hangul}"
"""The same with Hangul: Korean puts spaces, but joins particles and counters to its words."""
CHINESE_OR_JAPANESE = r"[\p{Han}\p{Hiragana}\p{Katakana}ー]"
"""A pattern of one character of Chinese or Japanese, whose punctuation is full-width."""
_MIXED_SCRIPTS = {
    "Jpan": ("Hani", "Hira", "Kana"),
    "Hrkt": ("Hira", "Kana"),
    "Kore": ("Hang", "Hani"),
    "Hans": ("Hani", "Bopo"),
    "Hant": ("Hani", "Bopo"),
    "Hanb": ("Hani", "Bopo"),
}
WITHOUT_FINAL_MARKS = frozenset({"Thai", "Laoo"})
"""The scripts that end a sentence with a space."""
_RIGHT_TO_LEFT = frozenset({"Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm"})
IN_SEVERAL_SCRIPTS = frozenset(
    ["az", "bs", "kk", "ks", "ku", "ky", "mn", "ms", "pa", "sd", "sr", "tg", "tk", "tt", "ug", "uz", "yue"]
)
"""Languages that are written in several scripts alike, so that the script must be named."""
_ALSO_IN_ANOTHER_SCRIPT = frozenset([
    "ace", "ban", "ber", "bjn", "bm", "bug", "cdo", "cr", "crh", "ff", "gag", "ha", "hak", "iu", "jv", "kaa", "kab",
    "knc", "kok", "kr", "lad", "man", "min", "mni", "nan", "oj", "pi", "rif", "rom", "sa", "sat", "shi", "su",
    "tmh", "tzm", "zgh",
])  # fmt: skip
"""Languages that are sometimes written in a second script. A code without a script means the usual one."""


def known_language(lang: str) -> Language | None:
    """``lang`` as langcodes reads it; ``None`` if it isn't a code."""
    # Imported where it is used: its tables take longer to load than the rest of the package.
    from langcodes import Language
    from langcodes.tag_parser import LanguageTagError

    try:
        return Language.get(lang) if lang else None
    except LanguageTagError:
        return None


@lru_cache(maxsize=1024)
def script_of(lang: str) -> str:
    """The ISO 15924 code of the script that ``lang`` (BCP-47) is most likely written in: ``Latn``, ``Cyrl``, ``Hans`` …

    ``""`` where the Unicode CLDR knows none: without data, langcodes answers as if every language were English.
    """
    from langcodes.data_dicts import LIKELY_SUBTAGS

    language = known_language(lang)
    if language is None or language.script:
        return str(language.script) if language else ""
    has_data = any(tag in LIKELY_SUBTAGS for tag in language.broader_tags() if not tag.startswith("und"))
    return str(language.maximize().script) if has_data else ""


@lru_cache(maxsize=1024)
def language_of(lang: str) -> str:
    """The bare language of a BCP-47 code: ``pt`` for ``pt-BR``; ``""`` = not known."""
    language = known_language(lang)
    return language.language or "" if language else ""


def only_script_of(lang: str) -> str:
    """The script that a text in ``lang`` is certainly written in; ``""`` where it may be in one of several."""
    language = known_language(lang)
    several = language and not language.script and language.language in IN_SEVERAL_SCRIPTS | _ALSO_IN_ANOTHER_SCRIPT
    return "" if several else script_of(lang)


def has_spaces(lang: str) -> bool:
    """Whether ``lang`` puts spaces between words; true where nothing is known of its script."""
    script = script_of(lang)
    return _MIXED_SCRIPTS.get(script, (script,))[0] not in UNSPACED_SCRIPTS


def runs_right_to_left(lang: str) -> bool:
    """Whether the script of ``lang`` runs from right to left."""
    return script_of(lang) in _RIGHT_TO_LEFT


def _characters_of(script: str) -> str:
    """The inside of a character class with the characters of ``script``."""
    long_vowel = "ーｰ" if script in ("Jpan", "Hrkt") else ""
    return "".join(rf"\p{{{part}}}" for part in _MIXED_SCRIPTS.get(script, (script,))) + long_vowel


def _pattern_of(script: str, pattern: str) -> regex.Pattern[str] | None:
    """``pattern``, which names the characters of ``script``, or ``None`` for a script that is not known."""
    try:
        return regex.compile(pattern, flags=regex.V1) if script else None
    except regex.error:
        return None


@lru_cache(maxsize=256)
def letters_of(script: str) -> regex.Pattern[str] | None:
    """A pattern of one letter of ``script`` (ISO 15924), or ``None`` for a script that is not known."""
    return _pattern_of(script, rf"[[{_characters_of(script)}]&&\p{{L}}]")


@lru_cache(maxsize=256)
def foreign_words_of(script: str) -> regex.Pattern[str] | None:
    """A pattern of a run of two or more letters that are neither of ``script`` nor Latin; ``None`` = not known."""
    return _pattern_of(script, rf"[\p{{L}}--[{_characters_of(script)}\p{{Latin}}\p{{Common}}\p{{Inherited}}]]{{2,}}+")


@lru_cache(maxsize=256)
def foreign_letters_of(script: str) -> regex.Pattern[str] | None:
    """A pattern of one letter that is neither of ``script`` nor Latin or Greek, and is next to no other such letter.

    Greek letters are symbols in any language.
    """
    letter = rf"[\p{{L}}--[{_characters_of(script)}\p{{Latin}}\p{{Greek}}\p{{Common}}\p{{Inherited}}]]"
    return _pattern_of(script, rf"{letter}(?<!{letter}{{2}})(?!{letter})")


_CYRILLIC_ALPHABETS = {
    "ru": "а-яё",
    "uk": "а-щьюяєіїґ",
    "be": "а-зй-шыьэюяёіў",
    "bg": "а-ъьюя",
    "sr": "а-ик-шђјљњћџ",
    "mk": "а-ик-шѓѕјљњќџ",
}


@lru_cache(maxsize=64)
def other_alphabet_of(lang: str) -> regex.Pattern[str] | None:
    """A pattern of a word with a Cyrillic letter that ``lang`` does not write (ї in Russian); ``None``: unknown."""
    alphabet = _CYRILLIC_ALPHABETS.get(language_of(lang))
    if alphabet is None:
        return None
    other = rf"[\p{{Cyrillic}}&&\p{{L}}--[{alphabet}{alphabet.upper()}]]"
    return regex.compile(rf"\p{{Cyrillic}}*?{other}\p{{Cyrillic}}*+", flags=regex.V1)


def other_han(lang: str, text: str) -> list[str]:
    """The simplified characters in a text of traditional ones, or the other way round, as far as old encodings tell."""
    encodings = {"Hant": ("big5hkscs", "gb2312"), "Hans": ("gb2312", "big5")}.get(script_of(lang))
    if not encodings:
        return []
    encoding, other_encoding = encodings
    others = []
    for char in sorted(alphabet(text)):
        is_han = "一" <= char <= "鿿"
        if is_han and _is_in(other_encoding, char) and not _is_in(encoding, char):
            others.append(char)
    return others


@lru_cache(maxsize=20_000)
def _is_in(encoding: str, char: str) -> bool:
    try:
        return bool(char.encode(encoding))
    except UnicodeEncodeError:
        return False


_LATIN_BESIDE_OTHER = regex.compile(r"\p{Latin}\p{M}*+[\p{Cyrillic}\p{Greek}]|[\p{Cyrillic}\p{Greek}]\p{M}*+\p{Latin}")
_CYRILLIC_OR_GREEK = regex.compile(r"[\p{Cyrillic}\p{Greek}]")
_LETTERS = regex.compile(r"[\p{L}\p{M}]++")
_RUN_OF_SCRIPT = regex.compile(r"[\p{Latin}\p{M}]++|[\p{Cyrillic}\p{M}]++|[\p{Greek}\p{M}]++|\p{L}")


def mixed_words(text: str, source: str = "") -> list[str]:
    """The words of ``text`` that mix Latin letters with Cyrillic or Greek ones, such as "cаr" with a Cyrillic а.

    Not those that ``source`` has, not a name of the source or capitals with an ending (WhatsAppом, SMSка), and not
    Greek symbols (μm).
    """
    characters = "".join(alphabet(text))
    if not _CYRILLIC_OR_GREEK.search(characters) or not LATIN.search(characters):
        return []
    known = set(_LETTERS.findall(source))
    mixed = []
    for word in _LETTERS.findall(text):
        if word in known or not _LATIN_BESIDE_OTHER.search(word):
            continue
        if not _is_name_with_ending(word, known):
            mixed.append(word)
    return mixed


def _is_name_with_ending(word: str, names: set[str]) -> bool:
    first, *rest = _RUN_OF_SCRIPT.findall(word)
    if len(rest) != 1 or len(word) < 3:
        return len(word) < 3
    name = first if LATIN.match(first) else ""
    return len(name) > 1 and (name in names or name.isupper())


# -- words and amounts

LETTER = regex.compile(r"\p{L}")
LATIN = regex.compile(r"\p{Latin}")
UNSPACED_LETTER = regex.compile(rf"[[{UNSPACED}]&&[\p{{L}}\p{{N}}]]", flags=regex.V1)
SPACED_LETTER = regex.compile(rf"[[\p{{L}}\p{{N}}]--[{UNSPACED}]]", flags=regex.V1)
_WORD = regex.compile(
    rf"[[{UNSPACED}]&&[\p{{L}}\p{{N}}]]\p{{M}}*+|[[\p{{L}}\p{{M}}\p{{N}}]--[{UNSPACED}]]++", flags=regex.V1
)
_SPACED_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]++")
_FIRST_UNSPACED = "\u0e00"


def word_pattern(text: str) -> regex.Pattern[str]:
    """The pattern of a word of ``text``; in scripts without spaces, of a character with its marks."""
    return _WORD if max(alphabet(text), default="") >= _FIRST_UNSPACED else _SPACED_WORD


@remembered
def words(text: str) -> tuple[str, ...]:
    """The words of ``text`` as they are written; in scripts without spaces every character is one."""
    return tuple(word_pattern(text).findall(text))


# How many Latin letters one character of the script is worth.
_LETTERS_PER_CHARACTER = (
    (regex.compile(r"\p{Han}"), 3.2),
    (regex.compile(r"[\p{Hiragana}\p{Katakana}]"), 1.8),
    (regex.compile(r"\p{Hangul}"), 2.2),
    (regex.compile(r"[\p{Arabic}\p{Hebrew}]"), 1.25),
)


@remembered
def letters(text: str) -> float:
    """The amount of ``text`` in Latin letters: a Chinese character counts as about three. At least 1."""
    size = float(sum(map(len, text.split())))
    if not text.isascii():
        size += sum((weight - 1) * len(script.findall(text)) for script, weight in _LETTERS_PER_CHARACTER)
    return max(size, 1.0)


_WIDE_PUNCTUATION = r"\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_NO_SPACE_BESIDE = regex.compile(f"[{UNSPACED}{_WIDE_PUNCTUATION}]")


def unaccented(text: str) -> str:
    """``text`` without accents and other marks on its letters."""
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))


def is_spaced(char: str) -> bool:
    """Whether a space may be next to ``char``: not next to letters and marks of scripts without spaces."""
    return not _NO_SPACE_BESIDE.match(char)


# -- invisible characters

_ODD = regex.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u2028\u2029\u2060-\u2064\ufeff\ufff9-\ufffd"
    r"\u202a-\u202e\u2066-\u2069\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff]"
)
_DIRECTION = regex.compile(r"[\u200e\u200f]")
# Letters of Persian, Hindi and many others are joined or kept apart; emoji are joined.
_UNJOINED = r"\p{Latn}\p{Cyrl}\p{Grek}\p{Hani}\p{Hira}\p{Kana}\p{Hang}\p{Thai}\p{Laoo}"
_JOINED = rf"[[\p{{L}}\p{{M}}]--[{_UNJOINED}]]"
# UTF-8 read as Latin-1 or Windows-1252: TÃ¼r, donâ€™t, ÐŸÑ€.
_MISREAD = regex.compile(r"[ÂÃ][\u0080-\u00bf]|â€[\u0080-\u00bf\u0152-\u2122]|(?:[ÐÑ][\u0080-\u00bf\u0152-\u2122]){2}")
_ODD_JOINER = regex.compile(
    rf"(?<!{_JOINED})\u200c(?!{_JOINED})|(?<!{_JOINED}|[\p{{Extended_Pictographic}}\p{{Emoji_Modifier}}\ufe0f])\u200d",
    flags=regex.V1,
)
_BREAKS_IN_WORDS = frozenset({"Thai", "Laoo", "Khmr", "Mymr", "Tibt", "Lana", "Talu", "Tale", "Java", "Bali"})


def control_characters(text: str, lang: str = "") -> list[str]:
    """Control, private-use, replacement and odd invisible characters and lone surrogates, as ``U+XXXX``.

    Direction marks count only where the script of ``lang`` runs from left to right, joiners only where there is nothing
    to join, and zero-width spaces only in scripts whose words they do not divide.
    """
    if text.isascii() and text.isprintable():
        return []
    odd = _ODD.findall(text) + [misread[0] for misread in _MISREAD.findall(text)]
    if "\u200b" in odd and script_of(lang) in _BREAKS_IN_WORDS:
        odd = [character for character in odd if character != "\u200b"]
    if "\u200c" in text or "\u200d" in text:
        odd += _ODD_JOINER.findall(text)
    if not runs_right_to_left(lang):
        odd += _DIRECTION.findall(text)
    return [f"U+{ord(character):04X}" for character in odd]


_DIVIDED = "".join(rf"\p{{{script}}}" for script in sorted(_BREAKS_IN_WORDS))
_STRAY_SPACE = regex.compile(rf"(?<![{_DIVIDED}])[\u200b\ufeff](?![{_DIVIDED}])")


def without_stray_spaces(text: str, like: str = "") -> str:
    """``text`` without zero-width spaces and byte order marks, except where ``like`` has any.

    Between letters of scripts whose words they divide (Thai, Khmer) they stay. Joiners are not touched.
    """
    if ("\u200b" not in text and "\ufeff" not in text) or not alphabet(like).isdisjoint("\u200b\ufeff"):
        return text
    return _STRAY_SPACE.sub("", text)
