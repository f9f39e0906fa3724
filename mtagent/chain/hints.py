"""Hints: questions for a judge to consider before it compares the texts before and after an edit.

A guard refuses certain damage. Whether another change is damage or a good rewording depends on its meaning: a judge can
decide that, a word count can't. :func:`hints` finds such places and makes a question of each. A question names words of
the *source* and fits both texts equally, so it favours neither. :func:`shown` puts the questions into the segment's
notes, which every request to a judge shows as data.

Hints are found without a model. A wrong hint costs only a line of a request, so hints need less certainty than damage.
A hint alone refuses no edit: the judge decides. Doubts of the guards come first, because the guards would refuse these
edits. Doubts that don't fit into the hints are refused: see :func:`are_asked`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

import regex

from mtagent.chain.guards import Damage, Guard, uncertain_damages
from mtagent.records import Segment
from mtagent.text import checks
from mtagent.text.alignment import Pair, pairs
from mtagent.text.omission import losses, quoted
from mtagent.text.terms import capitalised, stands_in
from mtagent.text.word_lists import AT_LEAST, AT_MOST, NEGATIONS, Phrases

MOST = 5
"""Hints for one decision. More would draw the judge away from the rest of the text."""
MOST_OF_A_KIND = 2
"""Hints of one kind, besides the doubts of the guards."""
DOUBTFUL = -1.0
"""A loss with more evidence, in log-odds, gets a question: less than a guard needs to refuse without a judge."""
HEADING = "To check in each translation:"
EVERYTHING = "Is everything that the source says said?"
"""The question about a loss whose source sentence is unknown."""
_LONGEST_QUOTE = 160
_STEM = 4
_BRACKET = regex.compile(r"[(（\[［【]")

Finder = Callable[[Segment, str, str], Iterable[str]]
"""``finder(segment, before, after)`` gives questions about what the change from ``before`` to ``after`` may damage."""


def hints(segment: Segment, before: str, after: str) -> tuple[str, ...]:
    """The questions to ask about ``before`` and ``after``, at most ``MOST``: first the doubts of the guards, then the
    others in the order of the finders; ``()`` if nothing is in doubt.
    """
    return _chosen([_questions(segment, before, after)])


class Questions(NamedTuple):
    """What to ask about a text."""

    about_doubts: dict[Damage, str]
    """By the damage that guards refuse without a judge; empty if one of the user's guards has the doubt."""
    others: list[str]

    @property
    def doubts(self) -> list[str]:
        """The different questions about doubts."""
        return list(dict.fromkeys(filter(None, self.about_doubts.values())))


def _questions(segment: Segment, before: str, after: str, instead: Mapping[str, Guard] | None = None) -> Questions:
    if before == after or not after.strip():
        return Questions({}, [])
    doubts = uncertain_damages(segment, before, after, instead=instead)
    others: list[str] = []
    for finder in (omissions, doublings, negations, bounds, names, brackets):
        others += _first(finder(segment, before, after), MOST_OF_A_KIND)
    return Questions(_asked_about(segment, before, after, doubts), others)


def _asked_about(segment: Segment, before: str, after: str, doubts: Sequence[Damage]) -> dict[Damage, str]:
    """The question about each of ``doubts``, the gravest first; empty where a guard of the user's has the doubt."""
    if not doubts:
        return {}
    questions = dict(_omitted(segment, before, after))
    for word, complaint in _doubled(segment, before, after):
        questions[complaint] = _on_doubling(word)
    places = {complaint: place for place, complaint in enumerate(questions)}
    in_order = sorted(doubts, key=lambda doubt: places.get(doubt.detail, len(places)))
    asked = {}
    for doubt in in_order:
        # A loss in one form of an ICU message isn't a loss of the message as a whole, so it has no question there.
        any_question = EVERYTHING if doubt.guard == "length" else ""
        asked[doubt] = questions.get(doubt.detail, any_question)
    return asked


def are_asked(segment: Segment, before: str, after: str, doubts: Sequence[Damage], asked: Collection[str]) -> bool:
    """Whether each of ``doubts`` about ``after`` is among the hints that were ``asked``. Other doubts must be refused,
    as without a judge.
    """
    return set(_asked_about(segment, before, after, doubts).values()) <= set(asked)


def _chosen(questions_by_text: Sequence[Questions]) -> tuple[str, ...]:
    """The chosen questions about several texts: doubts first, one of each text in turn, so that no text keeps all its
    questions while another loses all.
    """
    doubts = [questions.doubts for questions in questions_by_text]
    others = [questions.others for questions in questions_by_text]
    in_turn: list[str] = []
    for lists in (doubts, others):
        for questions_of_rank in zip_longest(*lists):
            in_turn += [question for question in questions_of_rank if question is not None]
    return tuple(_first(in_turn, MOST))


def _first(questions: Iterable[str], most: int) -> list[str]:
    """The first different ``questions``. It stops there, since finding all takes long in a long text."""
    first: list[str] = []
    for question in questions:
        if question not in first:
            first.append(question)
        if len(first) == most:
            break
    return first


class Shown(NamedTuple):
    """The segment as judges see it."""

    segment: Segment
    """It has the hints in its notes."""
    hints: tuple[str, ...]
    unasked: frozenset[str]
    """The texts with a doubt that is not among the hints."""


def shown(
    segment: Segment,
    before: str,
    texts: Sequence[str],
    *,
    skip: Collection[str] = frozenset(),
    instead: Mapping[str, Guard] | None = None,
) -> Shown:
    """``segment`` with the hints in its notes, and the hints.

    If several ``texts`` are compared with ``before`` and with one another, all are rated with the hints of all. So the
    conditions are equal, and each text is rated once. ``instead``: the user's guards, as in ``guards.damages``; doubts
    of the guards in ``skip`` need no question.
    """
    questions_by_text = [_questions(segment, before, text, instead) for text in texts]
    chosen = _chosen(questions_by_text)
    unasked: set[str] = set()
    for text, questions in zip(texts, questions_by_text, strict=True):
        for doubt, question in questions.about_doubts.items():
            if doubt.guard not in skip and question not in chosen:
                unasked.add(text)
    if chosen:
        listed = "\n".join([HEADING, *(f"- {hint}" for hint in chosen)])
        notes = f"{segment.notes}\n{listed}" if segment.notes else listed
        segment = segment.model_copy(update={"notes": notes})
    return Shown(segment, chosen, frozenset(unasked))


def omissions(segment: Segment, before: str, after: str) -> Iterator[str]:
    """Sentences of the source that may be missing in ``after``, the likeliest first."""
    for _, question in _omitted(segment, before, after):
        yield question


def _omitted(segment: Segment, before: str, after: str) -> Iterator[tuple[str, str]]:
    """The length guard's complaint about each possible loss, and the question about it."""
    source, lang = segment.source, segment.target_lang
    stretches = [stretch for stretch in losses(source, before, after, lang) if stretch.evidence > DOUBTFUL]
    if not stretches:
        return
    paired = pairs(source, before, after, lang)
    for stretch in sorted(stretches, key=lambda stretch: -stretch.evidence):
        original = _source_of(stretch.text, paired)
        question = f"Is {quoted(original, _LONGEST_QUOTE)} of the source said in full?" if original else EVERYTHING
        yield stretch.complaint, question


def doublings(segment: Segment, before: str, after: str) -> Iterator[str]:
    """Words that newly follow themselves, and that the language may double."""
    for word, _ in _doubled(segment, before, after):
        yield _on_doubling(word)


def _doubled(segment: Segment, before: str, after: str) -> Iterator[tuple[str, str]]:
    """The repetition guard's complaints about doubled words, and the questions about them."""
    doubled_before = Counter(
        doubled.complaint for doubled in checks.doublings(segment.source, before, segment.target_lang)
    )
    for doubled in checks.doublings(segment.source, after, segment.target_lang):
        if doubled_before[doubled.complaint]:
            doubled_before[doubled.complaint] -= 1
        elif not doubled.certain:
            yield doubled.word, doubled.complaint


def _on_doubling(word: str) -> str:
    return f"If {quoted(word)} stands twice in a row: is it meant to?"


def _source_of(stretch: str, paired: Sequence[Pair]) -> str:
    """The sentences of the source that ``stretch`` of the text before translates; empty where that is not known."""
    inside = " ".join(stretch.split())
    for pair in paired:
        if inside and inside in " ".join(pair.text.split()):
            return pair.text_source.strip()
    return ""


def negations(segment: Segment, before: str, after: str) -> Iterator[str]:
    """A negation that source and ``before`` have, and ``after`` doesn't."""
    lost = _lost_phrase(NEGATIONS, segment, before, after)
    if lost:
        yield f"Is the negation {quoted(lost)} of the source kept?"


def bounds(segment: Segment, before: str, after: str) -> Iterator[str]:
    """An "at least" or "at most" that source and ``before`` have, and ``after`` doesn't."""
    for phrases in (AT_LEAST, AT_MOST):
        lost = _lost_phrase(phrases, segment, before, after)
        if lost:
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
    most_before = max(len(_BRACKET.findall(segment.source)), len(_BRACKET.findall(before)))
    if len(_BRACKET.findall(after)) > most_before:
        yield "If there are words in brackets: does the source say them?"
