"""Hints: questions that a judge is asked to look at before it compares the text before and after an edit.

A guard refuses what is surely damage. What may be damage or may be a good rewording is a matter of meaning: a judge can
tell, a word count cannot. :func:`hints` finds such places and makes a question of each. A question names what the
*source* has and fits both texts alike, so that it speaks for neither. :func:`shown` puts them into the segment's notes,
which every request to a judge shows as data.

The hints are found without a model. A wrong one costs a line of a request, so they are found with less certainty than
a damage. By itself, a hint refuses no edit: the judge decides. A part of an edit with a hint that the judge was not
shown is checked by the guards as strictly as where no judge is asked, and these may refuse it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

import regex

from mtagent.records import Segment
from mtagent.text.names import capitalised, stands_in
from mtagent.text.omission import losses, quoted
from mtagent.text.phrases import AT_LEAST, AT_MOST, NEGATIONS, Phrases
from mtagent.text.sentence_pairs import Pair, pairs

MOST = 5
"""Hints for one decision. More would draw the judge away from the rest of the text."""
MOST_OF_A_KIND = 2
DOUBTFUL = -1.0
"""Evidence for a loss, in log-odds, from which it is asked about: lower than what the guard refuses without a judge."""
HEADING = "To check in each translation:"
_LONGEST_QUOTE = 160
_STEM = 4
_BRACKET = regex.compile(r"[(（\[［【]")

Finder = Callable[[Segment, str, str], Iterable[str]]
"""``finder(segment, before, after)`` gives questions about what the change from ``before`` to ``after`` may damage."""


def hints(segment: Segment, before: str, after: str) -> tuple[str, ...]:
    """The questions to ask about ``before`` and ``after``, in the order of the finders, at most
    ``MOST``; ``()`` where nothing is in doubt.
    """
    if before == after or not after.strip():
        return ()
    found: list[str] = []
    for finder in (omissions, negations, bounds, names, brackets):
        found += _first(finder(segment, before, after), MOST_OF_A_KIND)
    return tuple(found[:MOST])


def _first(questions: Iterable[str], most: int) -> list[str]:
    """The first different ``questions``. The others are not looked for: in a long text that takes its time."""
    found: list[str] = []
    for question in questions:
        if question not in found:
            found.append(question)
        if len(found) == most:
            break
    return found


def shown(segment: Segment, before: str, texts: Sequence[str]) -> tuple[Segment, tuple[str, ...]]:
    """``segment`` with the hints in its notes, and the hints.

    Where several ``texts`` are compared with ``before`` and with one another, all are rated with the hints of all: the
    conditions stay equal, and a text is rated once.
    """
    of_each_text = [hints(segment, before, text) for text in texts]
    in_turn: list[str] = []  # so that no text keeps all its hints where another loses all
    for rank in zip_longest(*of_each_text):
        in_turn += [hint for hint in rank if hint is not None]
    chosen = tuple(_first(in_turn, MOST))
    if not chosen:
        return segment, ()
    listed = "\n".join([HEADING, *(f"- {hint}" for hint in chosen)])
    notes = f"{segment.notes}\n{listed}" if segment.notes else listed
    return segment.model_copy(update={"notes": notes}), chosen


def omissions(segment: Segment, before: str, after: str) -> Iterator[str]:
    """Sentences of the source that may be missing in ``after``, the likeliest first."""
    source, lang = segment.source, segment.target_lang
    stretches = [stretch for stretch in losses(source, before, after, lang) if stretch.evidence > DOUBTFUL]
    if not stretches:
        return
    paired = pairs(source, before, after, lang)
    for stretch in sorted(stretches, key=lambda stretch: -stretch.evidence):
        original = _source_of(stretch.text, paired)
        if original:
            yield f"Is {quoted(original, _LONGEST_QUOTE)} of the source said in full?"
        else:
            yield "Is everything that the source says said?"


def _source_of(stretch: str, paired: Sequence[Pair]) -> str:
    """The sentences of the source that ``stretch`` of the text before translates; empty where that is not known."""
    inside = " ".join(stretch.split())
    for pair in paired:
        if inside and inside in " ".join(pair.text.split()):
            return pair.text_source.strip()
    return ""


def negations(segment: Segment, before: str, after: str) -> Iterator[str]:
    """A negation that source and ``before`` have, and ``after`` has not."""
    if lost := _lost_phrase(NEGATIONS, segment, before, after):
        yield f"Is the negation {quoted(lost)} of the source kept?"


def bounds(segment: Segment, before: str, after: str) -> Iterator[str]:
    """An "at least" or "at most" that source and ``before`` have, and ``after`` has not."""
    for phrases in (AT_LEAST, AT_MOST):
        if lost := _lost_phrase(phrases, segment, before, after):
            yield f"Is {quoted(lost)} of the source kept?"


def _lost_phrase(phrases: Phrases, segment: Segment, before: str, after: str) -> str:
    """The first of ``phrases`` in the source, if ``before`` has one of them and ``after`` has none; else empty."""
    in_source = phrases.find(segment.source, segment.source_lang)
    lang = segment.target_lang
    if not in_source or not phrases.find(before, lang) or phrases.find(after, lang):
        return ""
    return in_source[0]


def names(segment: Segment, before: str, after: str) -> Iterator[str]:
    """Names that source and ``before`` spell alike, and that ``after`` has in no form."""
    for name in dict.fromkeys(name for name, _ in capitalised(segment.source, segment.source_lang)):
        stem = name[: max(_STEM, len(name) - 3)]
        if stands_in(name, before) and stem.casefold() not in after.casefold():
            yield f"Is the name {quoted(name)} of the source there?"


def brackets(segment: Segment, before: str, after: str) -> Iterator[str]:
    """Brackets that neither source nor ``before`` has."""
    known = max(len(_BRACKET.findall(text)) for text in (segment.source, before))
    if len(_BRACKET.findall(after)) > known:
        yield "If there are words in brackets: does the source say them?"
