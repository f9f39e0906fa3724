"""What is no translation of its source: text that is missing, copied, or in another script."""

from __future__ import annotations

from itertools import chain
from typing import Literal, get_args

import regex

from mtagent.records import Segment
from mtagent.text import markup, paragraphs, scripts

UNKNOWN = "und"
"""The code for a language that is not known."""

# -- another script

_FIRST_NON_LATIN = "\u0370"
_LATIN_WORD = regex.compile(r"\p{Latin}{2,}+")
_ENOUGH_LETTERS = 8
_SHARE_DROP = 0.25


def foreign_words(target_lang: str, text: str) -> list[str]:
    """The words of ``text`` in a script that ``target_lang`` is not written in; Latin is foreign to none."""
    if max(scripts.alphabet(text), default="") < _FIRST_NON_LATIN:
        return []
    pattern = scripts.foreign_words_of(scripts.script_of(target_lang))
    return pattern.findall(text) if pattern else []


def foreign_share(target_lang: str, text: str) -> float:
    """The share of the letters of ``text`` that are in words of a foreign script."""
    foreign = sum(map(len, foreign_words(target_lang, text)))
    return foreign / len(scripts.LETTER.findall(text)) if foreign else 0.0


def share_in_script(segment: Segment, text: str) -> float | None:
    """The share of the letters of ``text`` in a script other than Latin; ``None`` where there are too few to tell.

    Names of the source (words with a capital letter) do not count: many languages take them over in Latin letters.
    """
    script = scripts.script_of(segment.target_lang)
    pattern = None if script == "Latn" else scripts.letters_of(script)
    if pattern is None:
        return None
    names = {word for word in _LATIN_WORD.findall(segment.source) if word != word.lower()}
    inside = len(pattern.findall(text))
    latin = sum(len(word) for word in _LATIN_WORD.findall(markup.prose(text)) if word not in names)
    return inside / (inside + latin) if inside + latin >= _ENOUGH_LETTERS else None


def script_drop(segment: Segment, before: str, after: str) -> tuple[float, float] | None:
    """The shares in the script of the target language, before and after, if it drops by a quarter of all letters."""
    had, has = share_in_script(segment, before), share_in_script(segment, after)
    return (had, has) if has is not None and had is not None and had - has >= _SHARE_DROP else None


# -- source text

_COPIED_WORDS = 6
_COPIED_CHARACTERS = 14
_TAG = regex.compile(r"[@#]\w++")

Run = tuple[str, ...]
"""Words in a row."""


def runs_of(words: Run, size: int) -> list[Run]:
    """All runs of ``size`` words in ``words``."""
    return list(zip(*(words[shift:] for shift in range(size)), strict=False))


def is_name(run: Run) -> bool:
    """Whether a run is a name, a title or a token of a user interface, which are rightly copied: few small words."""
    return any(word != word.swapcase() for word in run) and 2 * sum(word[0].islower() for word in run) < len(run)


def copied_runs(segment: Segment, text: str) -> list[tuple[int, Run]]:
    """The runs of source words in ``text`` that are no names, with the number of their first word.

    All of a short source make a run, six words of a longer one, fourteen characters where words have no spaces. Between
    variants of a language nothing is copied.
    """
    if is_within_language(segment):
        return []
    source, words = scripts.words(markup.prose(segment.source)), scripts.words(markup.prose(text))
    unspaced = sum(scripts.UNSPACED_LETTER.match(word) is not None for word in source) > len(source) / 2
    size = min(len(source), _COPIED_CHARACTERS if unspaced else _COPIED_WORDS)
    common = set(source)
    if size < 3 or sum(word in common for word in words) < size:
        return []
    known = set(runs_of(source, size))
    return [(at, run) for at, run in enumerate(runs_of(words, size)) if run in known and not is_name(run)]


def copied_paragraphs(segment: Segment, before: str, after: str) -> list[str]:
    """The paragraphs, however short, that the edit took over from the source.

    A name may be taken over if half of its words stood there before.
    """
    if is_within_language(segment):
        return []
    new = set(paragraphs.split(after).texts) - set(paragraphs.split(before).texts)
    copies = [text for text in new & set(paragraphs.split(segment.source).texts) if text not in before]
    words_before = set(scripts.words(markup.prose(before)))

    def may_stay(words: Run) -> bool:
        return not words or (is_name(words) and 2 * sum(word in words_before for word in words) >= len(words))

    return [text for text in copies if not may_stay(scripts.words(markup.prose(text)))]


def copied_share(segment: Segment, text: str) -> float:
    """The share of the words of ``text`` in runs that are copied from the source; 1 where all of it is its source.

    The whole source may be shorter than a run; it is rightly taken over where it is a name, or has no letters but those
    of placeholders, addresses, @names and #tags.
    """
    if is_within_language(segment):
        return 0.0
    source, words = scripts.words(markup.prose(segment.source)), scripts.words(markup.prose(text))
    if [word.casefold() for word in words] == [word.casefold() for word in source]:
        wordless = not scripts.LETTER.search(_TAG.sub(" ", markup.prose(segment.source)))
        return 0.0 if wordless or (len(words) < _COPIED_WORDS and is_name(words)) else 1.0
    copies = (range(at, at + len(run)) for at, run in copied_runs(segment, text))
    return len(set(chain.from_iterable(copies))) / max(len(words), 1)


def is_within_language(segment: Segment) -> bool:
    """Whether source and target are variants of one language, so that equal words are no copies."""
    return scripts.language_of(segment.source_lang) == scripts.language_of(segment.target_lang)


# -- a translation as a whole

Flag = Literal["missing", "empty", "copied", "script"]
FLAGS: tuple[Flag, ...] = get_args(Flag)
_FOREIGN_SHARE = 0.25  # of the letters, and more than the reference has
_LEAST_SHARE = 0.5  # without a reference: names and hashtags are often written in Latin letters


def flags(segment: Segment, translation: str | None) -> tuple[Flag, ...]:
    """What is wrong with ``translation`` as a whole; ``()`` for nothing.

    ``missing``: there never was one (``None``); ``empty``: no text for a source or a reference that has some;
    ``copied``: source text (a paragraph, or six words in a row) that the reference does not copy; ``script``: a quarter
    of the letters are foreign to the target language's script, or, where there is no reference, fewer than half of them
    are in it. One language in Latin script is not told from another.
    """
    if translation is None:
        return ("missing",)
    lang, reference = segment.target_lang, segment.reference or ""
    if not translation.strip():
        return ("empty",) if segment.source.strip() or reference.strip() else ()
    copied = len(copied_runs(segment, translation)) > len(copied_runs(segment, reference))
    copied = copied or bool(reference and copied_paragraphs(segment, reference, translation))
    strange = foreign_share(lang, translation) - foreign_share(lang, reference) >= _FOREIGN_SHARE
    if reference.strip():
        strange = strange or script_drop(segment, reference, translation) is not None
    else:
        share = share_in_script(segment, translation)
        strange = strange or (share is not None and share < _LEAST_SHARE)
    return (*(("copied",) if copied else ()), *(("script",) if strange else ()))


def translated_share(segment: Segment, translation: str) -> float:
    """How much of ``translation`` is one at all: neither copied from the source nor in a foreign script; 0 to 1.

    Looks at no reference. A text in a script other than Latin may be half in Latin letters before that takes anything
    away, some names not counted. One language in Latin script is not told from another.
    """
    inside = share_in_script(segment, translation)
    own = 1.0 if inside is None else min(1.0, inside / _LEAST_SHARE)
    return min(own, 1 - copied_share(segment, translation), 1 - foreign_share(segment.target_lang, translation))
