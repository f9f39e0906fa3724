"""Rules over words and spaces: doubled words, double spaces, the first capital, the locale's number format."""

from __future__ import annotations

import html
from collections.abc import Iterator

import regex

from mtagent import marks
from mtagent.records import ErrorSpan, Segment
from mtagent.rules.spans import located

# Words that grammar never lets follow themselves. Words that may ("had had", "nous nous", "die die", "que que") and
# languages that double words to make new ones (Indonesian, Turkish, Hindi …) are left out on purpose.
_NEVER_DOUBLED = {
    lang: frozenset(words.split())
    for lang, words in {
        "en": "the a an of and or with from my your his their our its",
        "de": "und oder mit von ein eine einen einem eines einer für im am zum zur",
        "nl": "en een de van met voor",
        "sv": "och en ett med av",
        "da": "og en et med af",
        "nb": "og en et med av",
        "is": "og með frá til",
        "fr": "et le les de du des un une avec pour dans par au aux",
        "es": "el los las de del y un una con por para en",
        "pt": "o os as de do da dos das um uma com por para em",
        "it": "il i gli di del della un una con per",
        "ro": "și cu din pentru un o de",
        "pl": "i w na z do że",
        "cs": "a v na z do že pro",
        "sk": "a v na z do že pre",
        "ru": "и в на с из для от по",
        "uk": "і в у на з для від",
    }.items()
}
_DOUBLED = regex.compile(
    r"(?<![\p{L}\p{N}\p{Pd}'’])(\p{L}++)(?P<again>[ \u00a0]++\1)(?![\p{L}\p{N}\p{Pd}'’])", regex.IGNORECASE
)


def doubled_words(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """A word that follows itself, where the target language never does that and the source does not either."""
    never = _NEVER_DOUBLED.get(marks.language_of(segment.target_lang))
    if not never or _DOUBLED.search(segment.source):
        return
    for match in _DOUBLED.finditer(translation):
        if match.group(1).lower() in never and match.group("again").strip().islower():
            first = match.group(1)
            yield located(translation, *match.span(), "fluency/grammar", "minor", f"{first!r} is doubled", first)


_SPACES = regex.compile(r"(?<=[\p{L}\p{N},;:.!?)\]»”\"])[ ]{2,}+(?=[\p{L}\p{N}(\[«„“\"])")
_ALIGNED = regex.compile(r"[`|\t]|^ {2,}", regex.MULTILINE)


def double_spaces(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """More than one space between words, where the source has none and nothing is aligned by spaces."""
    if "  " not in translation or "  " in segment.source or _ALIGNED.search(translation):
        return
    for match in _SPACES.finditer(translation):
        yield located(translation, *match.span(), "fluency/punctuation", "minor", "more than one space", " ")


_FIRST_WORD = regex.compile(r"[\s\p{Ps}\p{Pi}\"'„¿¡*_]*+(?P<word>[\p{L}\p{M}'’-]++)")
_SENTENCE = regex.compile(r"[.!?…][\p{Pe}\p{Pf}\"'*_\s]*+\Z")
_CASED = frozenset({"Latn", "Cyrl", "Grek", "Armn"})


def first_capital(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """A sentence that starts with a small letter, where the source's starts with a capital."""
    if marks.script_of(segment.target_lang) not in _CASED or not _SENTENCE.search(translation[-20:]):
        return
    wanted, there = _FIRST_WORD.match(segment.source), _FIRST_WORD.match(translation)
    if not wanted or not there or not _SENTENCE.search(segment.source[-20:]):
        return
    word = there["word"]
    if wanted["word"][0].isupper() and word[0].islower() and word.islower() and word not in marks.words(segment.source):
        start, end = there.span("word")
        elided = translation[max(0, start - 1) : start] in ("'", "’")
        if not elided and translation[end : end + 1] not in ("@", ".", "/", "_", ":"):
            capital = word[0].upper() + word[1:]
            yield located(translation, start, end, "fluency/spelling", "minor", "a sentence starts small", capital)


_COMMA_LANGUAGES = frozenset(["de", "nl", "it", "id", "tr", "da", "is", "el", "ro", "hr", "sl", "sr"])
_POINT_LANGUAGES = frozenset(["en", "zh", "ja", "ko", "th", "he"])
_POINT_REGIONS = ("de-CH", "de-LI", "it-CH", "en-ZA")
_ENGLISH_NUMBER = regex.compile(r"(?<![\p{L}\d.,])\d{1,3}+(?:,\d{3})++\.\d{1,2}+(?![\p{L}\d.,]*+\d)")
_GERMAN_NUMBER = regex.compile(r"(?<![\p{L}\d.,])\d{1,3}+(?:\.\d{3})++,\d{1,2}+(?![\p{L}\d.,]*+\d)")
_SWAP = str.maketrans(",.", ".,")


def number_format(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """1,234.5 where the language writes 1.234,5, and the other way round; never a number that could be read as both."""
    lang = marks.language_of(segment.target_lang)
    if segment.target_lang in _POINT_REGIONS or lang not in _COMMA_LANGUAGES | _POINT_LANGUAGES:
        return
    pattern = _ENGLISH_NUMBER if lang in _COMMA_LANGUAGES else _GERMAN_NUMBER
    for match in pattern.finditer(marks.prose(translation)):
        shown = f"number format is not that of {segment.target_lang}"
        fixed = match.group().translate(_SWAP)
        yield located(translation, *match.span(), "locale convention/number format", "minor", shown, fixed)


_ENTITY = regex.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,31}+|#\d{1,7}+|#[xX][0-9A-Fa-f]{1,6}+);")


def entities(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """HTML entities such as ``&quot;`` where the source is plain text without entities and tags."""
    if "&" not in translation or marks.tags(segment.source) or _ENTITY.search(segment.source):
        return
    for match in _ENTITY.finditer(translation):
        plain = html.unescape(match.group())
        if plain != match.group() and plain.isprintable():
            yield located(translation, *match.span(), "fluency/character encoding", "minor", "an HTML entity", plain)
