"""Which sentences of a text are in another language than they should be, as far as that is certain.

The identifier is py3langid (BSD, 139 languages), of the extra ``languages``; without it nothing is found.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

import regex

from mtagent.records import Segment
from mtagent.text import foreign, paragraphs, scripts
from mtagent.text.word_lists import word_lists

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# With these, none of 4,471 sentences of 19 languages was taken for another language.
_FEWEST_LETTERS, _LEAST_TEXT = 10, 15  # the latter in Latin letters: a Chinese one counts as three
_LIKELY, _TIMES_LIKELIER = 0.7, 10
_CERTAIN = 0.99
_SHORTEST_ROW = 6  # words; fewer may be a name and what is next to it
_CODES = {"nb": "no", "fil": "tl", "cmn": "zh", "arb": "ar"}
_LISTS = word_lists("like_languages")
_ALIKE = [set(languages.split()) for languages in _LISTS["alike"]]
_KIN = [(set(group["languages"].split()), regex.compile(group["words"])) for group in _LISTS["kin"]]
_TIMES_LIKELIER_IF_TOLD = 2
_QUOTED = regex.compile(r"[\"“”„‟«»＂][^\"“”„‟«»＂]*+[\"“”„‟«»＂]")
_NOUNS_IN_CAPITALS = frozenset({"de", "lb", "gsw"})
_BRACKETS = regex.compile(r"\([^()]*+\)|（[^（）]*+）|\[[^\[\]]*+\]|[「『《][^「」『』《》]*+[」』》]")


@lru_cache(maxsize=1)
def _identifier() -> LanguageIdentifier | None:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@lru_cache(maxsize=1024)
def _probabilities(text: str) -> dict[str, float]:
    """How likely each language is, the likeliest first; nothing where it cannot be known."""
    identifier = _identifier()
    return dict(identifier.rank(text)) if identifier else {}


def identified(text: str) -> dict[str, float]:
    """How likely ``text`` is in each language, by code, the likeliest first; nothing without the extra."""
    probabilities = {}
    for code, probability in _probabilities(text).items():
        if code == "no":
            code = "nb"
        if code != "zxx":
            probabilities[code] = probability
    return probabilities


def forget() -> None:
    """Look for the identifier again, and forget its answers."""
    _identifier.cache_clear()
    _probabilities.cache_clear()


def _code(lang: str) -> str:
    language = scripts.language_of(lang)
    return _CODES.get(language, language)


def _own_words(sentence: str) -> str:
    """``sentence`` without quotations, remarks in brackets, addresses and placeholders."""
    return _QUOTED.sub(" ", _BRACKETS.sub(" ", foreign.language_words(sentence)))


def other_language(segment: Segment, sentence: str) -> str:
    """The language that ``sentence`` is certainly in if that is not the target language; ``""`` = none, or too short.

    Names and titles, whose words mostly begin with a capital letter (in German all of them), are in no language.
    Where the identifier does not know the target language, only the source language is looked for.
    """
    text = _own_words(sentence)
    letters = scripts.LETTER.findall(text)
    if len(letters) < _FEWEST_LETTERS or scripts.letters("".join(letters)) < _LEAST_TEXT:
        return ""
    probabilities = _probabilities(text)
    found, probability = next(iter(probabilities.items()), ("", 0.0))
    words = scripts.words(text)
    if foreign.is_name(words) and not (found in _NOUNS_IN_CAPITALS and any(word[0].islower() for word in words)):
        return ""
    target, source = _code(segment.target_lang), _code(segment.source_lang)
    if found in ("", "zxx", target):
        return ""
    for alike in _ALIKE:
        if found in alike and target in alike:
            return ""
    if target not in probabilities:
        return found if found == source and probability >= _CERTAIN else ""
    times = _TIMES_LIKELIER
    for kin, telling in _KIN:
        if found in kin and target not in kin and telling.search(text.casefold()):
            probability = sum(probabilities.get(lang, 0.0) for lang in kin)
            times = _TIMES_LIKELIER_IF_TOLD
    return found if probability >= max(_LIKELY, times * probabilities[target]) else ""


def _new_words(sentence: str, known: set[str]) -> str:
    """The longest row of words of ``sentence`` that are not ``known``; all of it where most are not."""
    words = sentence.split()
    if 2 * sum(word in known for word in words) < len(words):
        return sentence
    longest: list[str] = []
    for is_known, row in groupby(words, known.__contains__):
        row_words = list(row)
        if not is_known and len(row_words) > len(longest):
            longest = row_words
    return " ".join(longest) if len(longest) >= _SHORTEST_ROW else ""


def new_sentences(segment: Segment, before: str, after: str) -> list[tuple[str, str]]:
    """The sentences of ``after`` that are in another language than the target's, if more are than in ``before``.

    Each with its language. Of a sentence half of whose words stood in ``before``, the longest row of six new words or
    more counts.
    """
    lang = segment.target_lang
    old = [sentence.strip() for sentence in paragraphs.sentences(before, lang)]
    sentences_before, words_before = set(old), set(before.split())
    suspects = []
    for sentence in map(str.strip, paragraphs.sentences(after, lang)):
        if sentence in sentences_before:
            continue
        new_words = _new_words(sentence, words_before)
        language = other_language(segment, new_words)
        if language:
            suspects.append((new_words, language))
    if not suspects:
        return []
    former = Counter(other_language(segment, sentence) for sentence in old)
    if _code(lang) not in _probabilities(suspects[0][0]) and former[_code(segment.source_lang)]:
        return []  # the identifier takes this language for that of the source
    new = []
    for sentence, language in suspects:
        former[language] -= 1
        if former[language] < 0:
            new.append((sentence, language))
    return new
