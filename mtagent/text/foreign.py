"""What is no translation: text that is missing, copied, commented on, or in another script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal, get_args

import regex

from mtagent.records import Segment
from mtagent.text import markup, paragraphs, scripts
from mtagent.text.omission import grown, lost

Guard = Callable[[Segment, str, str], Sequence[str]]
"""``guard(segment, before, after)`` names what going from ``before`` to ``after`` newly damages; empty = nothing."""

Complaints = Callable[[Segment, str], Iterable[str]]
"""``complaints(segment, text)`` lists, with repeats, what is wrong with ``text`` as a translation of the source."""


def newly(complaints: Complaints) -> Guard:
    """The guard that refuses what ``complaints`` says of the text after, but did not say of the text before.

    So old damage may stay, and may be repaired, but none may be added.
    """

    def guard(segment: Segment, before: str, after: str) -> list[str]:
        found = Counter(complaints(segment, after))
        if found:
            found -= Counter(complaints(segment, before))
        return list(found.elements())

    guard.__doc__ = complaints.__doc__
    return guard


def difference(source: Iterable[str], text: Iterable[str], what: str) -> list[str]:
    """Complaints about marks that must be the same in source and text: the lost ones and the added ones."""
    wanted, there = Counter(source), Counter(text)
    if wanted == there:
        return []
    lost = [f"{what}{mark} is missing" for mark in (wanted - there).elements()]
    return lost + [f"{what}{mark} is not in the source" for mark in (there - wanted).elements()]


_FIRST_NON_LATIN = "\u0370"
_LATIN_WORD = regex.compile(r"\p{Latin}{2,}+")
_SHARE_DROP = 0.25
_ENOUGH_LETTERS = 8


def foreign_script(segment: Segment, text: str) -> list[str]:
    """No word in a script that the target language is not written in. Latin words are another guard's matter."""
    script = scripts.script_of(segment.target_lang)
    if not script or (max(text, default="") < _FIRST_NON_LATIN):
        return []
    pattern = scripts.foreign_words_of(script)
    return (
        [f"{word!r} is not in the script of {segment.target_lang}" for word in pattern.findall(text)] if pattern else []
    )


def script_share(segment: Segment, before: str, after: str) -> list[str]:
    """In a script other than Latin, the share of letters in it does not drop by a quarter of all letters.

    Names of the source (words with a capital letter) do not count: many languages take them over in Latin letters.
    """
    had, has = share_in_script(segment, before), share_in_script(segment, after)
    if has is None or had is None or had - has < _SHARE_DROP:
        return []
    return [f"only {has:.0%} of the letters are in the script of {segment.target_lang}, before {had:.0%}"]


def share_in_script(segment: Segment, text: str) -> float | None:
    """The share of the letters of ``text`` in a script other than Latin; ``None`` where there are too few to tell."""
    script = scripts.script_of(segment.target_lang)
    pattern = None if script in ("", "Latn") else scripts.letters_of(script)
    if pattern is None:
        return None
    names = {word for word in _LATIN_WORD.findall(segment.source) if word != word.lower()}
    inside = len(pattern.findall(text))
    latin = sum(len(word) for word in _LATIN_WORD.findall(markup.prose(text)) if word not in names)
    return inside / (inside + latin) if inside + latin >= _ENOUGH_LETTERS else None


_COPIED_WORDS = 6
_COPIED_CHARACTERS = 14


def _run_length(source: tuple[str, ...]) -> int:
    """How many source words in a row make a copy: all of a short source, six of a longer one."""
    unspaced = sum(len(word) == 1 for word in source) > len(source) / 2
    return min(len(source), _COPIED_CHARACTERS if unspaced else _COPIED_WORDS)


def _is_name(run: tuple[str, ...]) -> bool:
    """Names, titles and tokens of a user interface are rightly copied: hardly a small word in them."""
    return any(word != word.swapcase() for word in run) and 2 * sum(word[0].islower() for word in run) < len(run)


def copied(segment: Segment, text: str) -> list[str]:
    """No run of source words in the translation: they were left untranslated. Not between variants of a language."""
    if scripts.language_of(segment.source_lang) == scripts.language_of(segment.target_lang):
        return []
    source = scripts.words(markup.prose(segment.source))
    size = _run_length(source)
    there = scripts.words(markup.prose(text))
    if size < 3 or len(there) < size:
        return []
    common = set(source)
    if sum(word in common for word in there) < size:
        return []
    runs = set(_runs(source, size))
    return ["source text is copied" for run in _runs(there, size) if run in runs and not _is_name(run)]


def copied_paragraph(segment: Segment, before: str, after: str) -> list[str]:
    """No paragraph, however short, is newly the source's own. A name may, if half of it was there before."""
    if scripts.language_of(segment.source_lang) == scripts.language_of(segment.target_lang):
        return []
    new = set(paragraphs.split(after).texts) - set(paragraphs.split(before).texts)
    copies = [text for text in new & set(paragraphs.split(segment.source).texts) if text not in before]
    there = set(scripts.words(markup.prose(before)))
    return [
        "a paragraph of the source is copied"
        for words in (scripts.words(markup.prose(text)) for text in copies)
        if words and not (_is_name(words) and 2 * sum(word in there for word in words) >= len(words))
    ]


_TAG = regex.compile(r"[@#]\w++")


def copied_share(segment: Segment, text: str) -> float:
    """The share of the words of ``text`` in runs that are copied from the source; 1 where all of it is its source.

    The whole source may be shorter than a run; it is rightly taken over where it is a name, or has no letters but those
    of placeholders, addresses, @names and #tags.
    """
    if scripts.language_of(segment.source_lang) == scripts.language_of(segment.target_lang):
        return 0.0
    source, there = scripts.words(markup.prose(segment.source)), scripts.words(markup.prose(text))
    if [word.casefold() for word in there] == [word.casefold() for word in source]:
        wordless = not scripts.LETTER.search(_TAG.sub(" ", markup.prose(segment.source)))
        return 0.0 if wordless or (len(there) < _COPIED_WORDS and _is_name(there)) else 1.0
    size = _run_length(source)
    if size < 3:
        return 0.0
    runs = {run for run in _runs(source, size) if not _is_name(run)}
    copies = (range(at, at + size) for at, run in enumerate(_runs(there, size)) if run in runs)
    return len(set(chain.from_iterable(copies))) / max(len(there), 1)


def _runs(found: tuple[str, ...], size: int) -> Iterator[tuple[str, ...]]:
    return zip(*(found[shift:] for shift in range(size)), strict=False)


_FOREIGN, _COPIED = newly(foreign_script), newly(copied)


def script(segment: Segment, before: str, after: str) -> list[str]:
    """The target language's script stays, and no source text is copied."""
    copies = [*_COPIED(segment, before, after), *copied_paragraph(segment, before, after)]
    faults = [*_FOREIGN(segment, before, after), *copies[:1]]
    return faults + script_share(segment, before, after)


def control(segment: Segment, text: str) -> list[str]:
    """No control, private-use, replacement or odd invisible character that the source does not have."""
    found = scripts.control_characters(text, segment.target_lang)
    if not found:
        return []
    known = scripts.control_characters(segment.source, segment.source_lang)
    return [f"character {code}" for code in (Counter(found) - Counter(known)).elements()]


_STUTTER = regex.compile(r"(\p{L}{1,6}?)\1{7,}+")
_STUTTER_LETTERS = 8
_LOOP_TURNS = 4


@scripts.remembered
def _stutters(text: str) -> tuple[str, ...]:
    """Letters that follow themselves eight times or more within a word ("looooooooong")."""
    suspects = (w for w in scripts.words(text) if len(w) >= _STUTTER_LETTERS and len(set(w)) <= len(w) // 2)
    return tuple(found.group(1) for word in suspects if (found := _STUTTER.search(word)))


@scripts.remembered
def _loops(text: str) -> int:
    """How often the most repeated phrase of ``text`` follows itself; 1 = no phrase repeats.

    A phrase that comes back after p words makes each group of three words in it come back after p words. A single
    character (laughter in Chinese) counts half.
    """
    found = scripts.words(text)
    if len(found) - len(set(found)) < _LOOP_TURNS - 1:
        return 1
    last: dict[tuple[str, str, str], int] = {}
    most = run = period = 0
    for index, group in enumerate(zip(found, found[1:], found[2:], strict=False)):
        distance = index - last.get(group, index)
        last[group] = index
        run = run + 1 if distance and distance == period else int(distance > 0)
        period = distance
        if distance:
            turns = (run + 2) // distance + 1
            most = max(most, turns // 2 if distance == len(group[0]) == 1 else turns)
    return max(most, 1)


def repetition(segment: Segment, text: str) -> list[str]:
    """No phrase follows itself four times or more, and no letters eight times, unless the source does the like."""
    turns = _loops(text)
    faults = []
    if turns >= _LOOP_TURNS and turns > _loops(segment.source) + 1:
        faults = [f"a phrase is repeated {turns} times"]
    if (stutters := _stutters(text)) and not _stutters(segment.source):
        faults += [f"{letters!r} is repeated" for letters in stutters]
    return faults


def length(segment: Segment, before: str, after: str) -> list[str]:
    """The text is not emptied, no sentence is lost and no commentary added (see ``mtagent.text.omission``)."""
    if before.strip() and not after.strip():
        return ["the text is empty"]
    lang = segment.target_lang
    return [fault for measure in (lost, grown) for fault in measure(segment.source, before, after, target_lang=lang)]


Flag = Literal["missing", "empty", "copied", "script"]
FLAGS: tuple[Flag, ...] = get_args(Flag)
UNKNOWN = "und"
"""The language of texts whose language nobody says."""
_FOREIGN_SHARE = 0.25  # of the letters, and more than the reference has
_LEAST_SHARE = 0.5  # without a reference: names and hashtags are often written in Latin letters
_FLAGS_COPIED = newly(copied)


def flags(segment: Segment, translation: str | None) -> tuple[Flag, ...]:
    """What is wrong with ``translation`` as a whole; ``()`` for nothing.

    ``missing``: there never was one (``None``); ``empty``: no text for a source or a reference that has some;
    ``copied``: source text (a paragraph, or six words in a row) that the reference does not copy; ``script``: a quarter
    of the letters are foreign to the target language's script, or, where there is no reference, fewer than half of them
    are in it. One language in Latin script is not told from another.
    """
    if translation is None:
        return ("missing",)
    if not translation.strip():
        return ("empty",) if segment.source.strip() or (segment.reference or "").strip() else ()
    wanted = segment.reference or ""
    copies = _FLAGS_COPIED(segment, wanted, translation) or (wanted and copied_paragraph(segment, wanted, translation))
    found: tuple[Flag, ...] = ("copied",) if copies else ()
    return (*found, "script") if _is_strange(segment, wanted, translation) else found


def _is_strange(segment: Segment, wanted: str, translation: str) -> bool:
    """Whether the script is another than that of ``wanted``, or of the target language where there is no reference."""
    foreign = _foreign_share(segment.target_lang, translation) - _foreign_share(segment.target_lang, wanted)
    if foreign >= _FOREIGN_SHARE or (wanted.strip() and script_share(segment, wanted, translation)):
        return True
    share = None if wanted.strip() else share_in_script(segment, translation)
    return share is not None and share < _LEAST_SHARE


def _foreign_share(target_lang: str, text: str) -> float:
    """The share of the letters that are in words of a foreign script; Latin is foreign to none."""
    script = "" if target_lang == UNKNOWN else scripts.script_of(target_lang)
    pattern = scripts.foreign_words_of(script) if script else None
    letters = len(scripts.LETTER.findall(text))
    if pattern is None or not letters or text.isascii():
        return 0.0
    return sum(map(len, pattern.findall(text))) / letters


def translated_share(segment: Segment, translation: str) -> float:
    """How much of ``translation`` is one at all: neither copied from the source nor in a foreign script; 0 to 1.

    Looks at no reference. A text in a script other than Latin may be half in Latin letters before that takes anything
    away, some names not counted. One language in Latin script is not told from another.
    """
    inside = share_in_script(segment, translation)
    own = 1.0 if inside is None else min(1.0, inside / _LEAST_SHARE)
    return min(own, 1 - copied_share(segment, translation), 1 - _foreign_share(segment.target_lang, translation))
