"""What a translation leaves untranslated: text that is missing, copied, left over, or in another script."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, get_args

import regex

from mtagent.records import Segment
from mtagent.text import markup, paragraphs, scripts
from mtagent.text.word_lists import word_lists, words_by_language

UNKNOWN = "und"
"""The code for a language that is not known."""

# -- another script

_FIRST_NON_LATIN = "\u0370"
_LATIN_WORD = regex.compile(r"\p{Latin}{2,}+")
_LATIN_RUN = regex.compile(r"\p{Latin}[\p{Latin}\p{M}'’]*+(?:[ \u00a0/-]++\p{Latin}[\p{Latin}\p{M}'’]*+)*+")
_WORD_BREAK = regex.compile(r"[ \u00a0/-]++")
_ENOUGH_LETTERS = 8
_SHARE_DROP = 0.25
# @name, #tag, :emoji:, example.org, file_name.txt: no words of a language.
_TOKEN = regex.compile(r"[@#]\w++|:[a-z0-9_+-]++:|(?<![\w-])\w++(?:-\w++)*+(?:[._@]\w++(?:-\w++)*+)++")
# How many words of the source in a row are terms, as people mix them into a text of their own.
_INDIC = ("Deva", "Beng", "Guru", "Gujr", "Orya", "Taml", "Telu", "Knda", "Mlym", "Sinh")
_TERMS = {
    **dict.fromkeys(_INDIC, 3),
    **dict.fromkeys(("Hans", "Hant", "Hani", "Jpan", "Kore"), 1),
}


@scripts.remembered
def language_words(text: str) -> str:
    """``text`` without its placeholders, tags, addresses, names of users and files, and hashtags."""
    return _TOKEN.sub(" ", markup.prose(text))


def foreign_words(target_lang: str, text: str) -> list[str]:
    """The words of ``text`` in a script that ``target_lang`` is not written in; Latin is foreign to none."""
    if max(scripts.alphabet(text), default="") < _FIRST_NON_LATIN:
        return []
    pattern = scripts.foreign_words_of(scripts.script_of(target_lang))
    return pattern.findall(text) if pattern else []


def strange_words(segment: Segment, text: str) -> list[str]:
    """The words and single letters of ``text`` in a script that the target language is not written in, and words that
    mix two scripts. What the source quotes in a script that is not its own either may be quoted."""
    if max(scripts.alphabet(text), default="") < _FIRST_NON_LATIN:
        return []
    words = foreign_words(segment.target_lang, text)
    mixed = scripts.mixed_words(text, segment.source)
    letters = scripts.foreign_letters_of(scripts.script_of(segment.target_lang))
    other_alphabet = scripts.other_alphabet_of(segment.target_lang)
    if other_alphabet and other_alphabet.search("".join(scripts.alphabet(text))):
        words += other_alphabet.findall(text)
    if letters:
        in_source = scripts.alphabet(segment.source)
        words += [letter for letter in letters.findall(text) if letter not in in_source]
    if words:
        quoted = set(map(scripts.unaccented, _quoted_words(segment)))
        words = [word for word in words if scripts.unaccented(word) not in quoted]
    return words + mixed


def _quoted_words(segment: Segment) -> list[str]:
    """The words of the source in a script foreign to its own language; none where they are most of it."""
    words = foreign_words(segment.source_lang, segment.source)
    if 2 * sum(map(len, words)) >= len(scripts.LETTER.findall(segment.source)):
        return []
    return words


def foreign_share(target_lang: str, text: str) -> float:
    """The share of the letters of ``text`` that are in words of a foreign script."""
    foreign = sum(map(len, foreign_words(target_lang, text)))
    return foreign / len(scripts.LETTER.findall(text)) if foreign else 0.0


def share_in_script(segment: Segment, text: str) -> float | None:
    """The share of the letters of ``text`` in a script other than Latin; ``None`` where there are too few to tell.

    What many languages take over in Latin letters does not count: names (with a capital letter, all words or those of
    the source), @names, #tags and files, and a few terms of the source in a row in Indian languages, one in Chinese.
    """
    script = scripts.script_of(segment.target_lang)
    pattern = None if script == "Latn" else scripts.letters_of(script)
    if pattern is None:
        return None
    inside, latin = len(pattern.findall(text)), 0
    if scripts.LATIN.search(text):
        in_source = set(_LATIN_WORD.findall(segment.source))
        in_source_lowered = set(map(str.lower, in_source))
        for run in _LATIN_RUN.findall(language_words(text)):
            words = [word for word in _WORD_BREAK.split(run) if len(word) > 1]
            if len(words) > 1 and all(word[0].isupper() for word in words):  # names
                continue
            words = [word for word in words if word not in in_source or word == word.lower()]
            are_terms = len(words) <= _TERMS.get(script, 0) and in_source_lowered.issuperset(map(str.lower, words))
            if not are_terms:
                latin += sum(map(len, words))
    return inside / (inside + latin) if inside + latin >= _ENOUGH_LETTERS else None


def script_drop(segment: Segment, before: str, after: str) -> tuple[float, float] | None:
    """The shares in the script of the target language, before and after, if it drops by a quarter of all letters."""
    share_before, share_after = share_in_script(segment, before), share_in_script(segment, after)
    if share_before is None or share_after is None or share_before - share_after < _SHARE_DROP:
        return None
    return share_before, share_after


# -- source text

_COPIED_WORDS = 6
_COPIED_CHARACTERS = 14
_SHORTEST_RUN = 3  # of a source with fewer words
_SHORTEST_COPY = 3  # letters; "Oh" is a word of many languages

Run = tuple[str, ...]
"""Words in a row."""


def runs_of(words: Run, size: int) -> list[Run]:
    """All runs of ``size`` words in ``words``."""
    return [words[start : start + size] for start in range(len(words) - size + 1)]


def is_name(run: Run) -> bool:
    """Whether a run is a name, a title or a token of a user interface, which are rightly copied: few small words."""
    small_words = 0
    has_case = False
    for word in run:
        small_words += word[0].islower()
        has_case = has_case or word != word.swapcase()
    return has_case and 2 * small_words < len(run)


def copied_runs(segment: Segment, text: str) -> tuple[tuple[int, Run], ...]:
    """The runs of source words in ``text``, except names, each with the index of its first word.

    All of a short source make a run, six words of a longer one, fourteen characters where words have no spaces. Between
    variants of a language nothing is copied.
    """
    if is_within_language(segment) or not _runs(markup.prose(segment.source), markup.prose(text)):
        return ()
    source_words, words = language_words(segment.source), language_words(text)
    pattern = scripts.foreign_words_of(scripts.script_of(segment.source_lang))
    quoted = set(_quoted_words(segment))
    if pattern and quoted:

        def blanked(match: regex.Match[str]) -> str:
            return " " if match[0] in quoted else match[0]

        source_words, words = pattern.sub(blanked, source_words), pattern.sub(blanked, words)
    return _runs(source_words, words)


@scripts.remembered
def _runs(source_text: str, text: str) -> tuple[tuple[int, Run], ...]:
    source, words = scripts.words(source_text), scripts.words(text)
    shared = sum(map(set(source).__contains__, words))
    if shared < _SHORTEST_RUN:
        return ()
    unspaced = 0
    if scripts.UNSPACED_LETTER.search(source_text):
        unspaced = sum(scripts.UNSPACED_LETTER.match(word) is not None for word in source)
    size = min(len(source), _COPIED_CHARACTERS if 2 * unspaced > len(source) else _COPIED_WORDS)
    if size < _SHORTEST_RUN or shared < size:
        return ()
    runs_of_source = set(runs_of(source, size))
    copied = []
    for index, run in enumerate(runs_of(words, size)):
        if run in runs_of_source and not is_name(run):
            copied.append((index, run))
    return tuple(copied)


def copied_paragraphs(segment: Segment, before: str, after: str) -> list[str]:
    """The paragraphs, however short, that the edit took over from the source.

    A name may be copied if the text before has half of its words.
    """
    if is_within_language(segment):
        return []
    new = set(paragraphs.split(after).texts).difference(paragraphs.split(before).texts)
    copies = []
    for text in new.intersection(paragraphs.split(segment.source).texts):
        if text in before:
            continue
        words = scripts.words(language_words(text))
        words_before = set(scripts.words(language_words(before)))
        is_known_name = is_name(words) and 2 * sum(word in words_before for word in words) >= len(words)
        if sum(map(len, words)) >= _SHORTEST_COPY and not is_known_name:
            copies.append(text)
    return copies


def copied_share(segment: Segment, text: str) -> float:
    """The share of the words of ``text`` in runs that are copied from the source; 1 where all of it is its source.

    The whole source may be shorter than a run; it is rightly taken over where it is a name, or has no letters but those
    of placeholders, addresses, @names and #tags.
    """
    if is_within_language(segment):
        return 0.0
    source, words = scripts.words(markup.prose(segment.source)), scripts.words(markup.prose(text))
    if list(map(str.casefold, words)) == list(map(str.casefold, source)):
        has_words = scripts.LETTER.search(language_words(segment.source)) is not None
        is_short_name = len(words) < _COPIED_WORDS and is_name(words)
        return 1.0 if has_words and not is_short_name else 0.0
    copied = set[int]()
    for start, run in copied_runs(segment, text):
        copied.update(range(start, start + len(run)))
    return len(copied) / max(len(words), 1)


def is_within_language(segment: Segment) -> bool:
    """Whether source and target are variants of one language, so that equal words are not copies."""
    return scripts.language_of(segment.source_lang) == scripts.language_of(segment.target_lang)


# -- source words left untranslated

_LEFT_OVER = word_lists("left_over")
SMALL_WORDS = words_by_language(_LEFT_OVER["small_words"])
SMALL_WORDS["no"] = SMALL_WORDS["nb"]
_FOREIGN_SPELLINGS = {lang: regex.compile(pattern) for lang, pattern in _LEFT_OVER["foreign_spellings"].items()}
_LOANS = frozenset(pair for line in _LEFT_OVER["taken_over"]["en"].split("\n") for pair in pairwise(line.split()))
"""Pairs of words that other languages took over from English, and some harmless other pairs."""
_SMALL = regex.compile(r"\p{Ll}[\p{Ll}\p{M}]*+")
_GAP = regex.compile(r"[ \u00a0]++")
_OPENED = regex.compile(r"(?:\p{Ps}[ \u00a0]?|[\p{Pi}\"'`„*_<])\Z")
_CLOSED = regex.compile(r"['’\"]?[\p{Pe}\p{Pf}\"`“*_>]")
_FEWEST_LETTERS = 5
_CERTAIN_RUN = 3
_INDIC_RUN = 4
_ANY_LATIN_WORD = regex.compile(r"\p{Latin}[\p{Latin}\p{M}]*+")


def left_over(segment: Segment, before: str, after: str) -> Iterator[str]:
    """The runs of two or more source words that ``after`` leaves untranslated and ``before`` did not.

    Only sources in Latin script are compared. Names, quotations, words in brackets, the segment's terms, phrases that
    many languages took over from English, and words that the target language may share are left out.
    """
    source_lang, target_lang = scripts.language_of(segment.source_lang), scripts.language_of(segment.target_lang)
    if source_lang not in SMALL_WORDS or source_lang == target_lang:
        return
    new_words = set(scripts.words(after)).difference(scripts.words(before))
    if new_words.isdisjoint(scripts.words(segment.source)):
        return
    source = language_words(segment.source)
    pairs_of_source = set(_pairs(source, source_lang))
    text = language_words(after)
    if not pairs_of_source or pairs_of_source.isdisjoint(_pairs(text, source_lang)):
        return
    pairs_before = set(_pairs(language_words(before), source_lang))
    words_of_terms = set[str]()
    for term in segment.terms:
        words_of_terms.update((term.target or term.source).casefold().split())
    for run, start, end in _longest_runs(text, pairs_of_source - pairs_before, source_lang):
        is_quoted = _OPENED.search(text, max(0, start - 2), start) or _CLOSED.match(text, end)
        if is_quoted or words_of_terms.issuperset(run):
            continue
        if _is_foreign(run, source_lang, segment.target_lang):
            yield " ".join(run)


def _is_word(word: str, lang: str) -> bool:
    """Whether ``word`` may be left over, because it isn't a name. In German, nouns have capitals."""
    return _SMALL.fullmatch(word) is not None or (lang == "de" and len(word) > 1 and word[1:].islower())


def _pairs(text: str, lang: str) -> Iterator[tuple[str, str]]:
    for first, second in pairwise(_ANY_LATIN_WORD.finditer(text)):
        if _is_pair(text, first, second, lang):
            yield first.group(), second.group()


def _is_pair(text: str, first: regex.Match[str], second: regex.Match[str], lang: str) -> bool:
    """Whether two words follow each other, neither is a name, and they are not both capitalised."""
    if not _GAP.fullmatch(text, first.end(), second.start()):
        return False
    words = first.group(), second.group()
    return all(_is_word(word, lang) for word in words) and any(word.islower() for word in words)


def _longest_runs(text: str, pairs: set[tuple[str, str]], lang: str) -> Iterator[tuple[list[str], int, int]]:
    """The longest runs of words that are made of ``pairs``, with their places in ``text``."""
    run: list[str] = []
    start = end = 0
    for first, second in pairwise(_ANY_LATIN_WORD.finditer(text)):
        if not _is_pair(text, first, second, lang) or (first.group(), second.group()) not in pairs:
            continue
        if run and end == first.end():
            run.append(second.group())
        else:
            if run:
                yield run, start, end
            run, start = [first.group(), second.group()], first.start()
        end = second.end()
    if run:
        yield run, start, end


def _is_foreign(run: list[str], source_lang: str, target_lang: str) -> bool:
    """Whether a run of source words is certainly no text of the target language."""
    if sum(map(len, run)) < _FEWEST_LETTERS:
        return False
    target = scripts.language_of(target_lang)
    is_latin = scripts.script_of(target_lang) == "Latn"
    small_words, small_words_of_target = SMALL_WORDS[source_lang], SMALL_WORDS.get(target, frozenset[str]())
    gives_away = not small_words_of_target.issuperset(small_words.intersection(run))
    if gives_away and not is_latin:
        return True
    if gives_away and target in SMALL_WORDS:
        return small_words_of_target.isdisjoint(run) or len(run) >= _CERTAIN_RUN
    if source_lang == "en" and all(pair in _LOANS for pair in pairwise(run)):
        return False
    if scripts.script_of(target_lang) in _INDIC:
        return len(run) >= _INDIC_RUN
    if not is_latin:
        return True
    spelling = _FOREIGN_SPELLINGS.get(target)
    return spelling is not None and source_lang == "en" and any(map(spelling.search, run))


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
    is_copied = len(copied_runs(segment, translation)) > len(copied_runs(segment, reference))
    if reference and copied_paragraphs(segment, reference, translation):
        is_copied = True
    is_strange = foreign_share(lang, translation) - foreign_share(lang, reference) >= _FOREIGN_SHARE
    share = share_in_script(segment, translation)
    if reference.strip():
        is_strange = is_strange or script_drop(segment, reference, translation) is not None
    elif share is not None and share < _LEAST_SHARE:
        is_strange = True
    flags: list[Flag] = []
    if is_copied:
        flags.append("copied")
    if is_strange:
        flags.append("script")
    return tuple(flags)


def translated_share(segment: Segment, translation: str) -> float:
    """How much of ``translation`` is one at all: neither copied from the source nor in a foreign script; 0 to 1.

    Looks at no reference. A text in a script other than Latin may be half in Latin letters before that takes anything
    away, some names not counted. One language in Latin script is not told from another.
    """
    share = share_in_script(segment, translation)
    in_script = 1.0 if share is None else min(1.0, share / _LEAST_SHARE)
    return min(in_script, 1 - copied_share(segment, translation), 1 - foreign_share(segment.target_lang, translation))
