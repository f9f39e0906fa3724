"""Error spans of an evaluator and of people in the same translations: which are compared, and where they lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from mtagent.errors import ConfigError, InputError
from mtagent.records import ErrorSpan, Severity
from mtagent.text.mqm import SEVERITIES
from mtagent.text.spans import find_spans

Unrated = Literal["refuse", "leave-out"]
Unlocated = Literal["refuse", "leave-out", "locate", "miss"]
Outside = Literal["leave-out", "source", "segment"]
Field = Literal["translation", "source", "omission", "source error"]
"""The text that a span lies in; the last two are one place for the whole segment."""

_MAJOR = {
    "linguistic conventions": "fluency",
    "linguistic convention": "fluency",
    "locale conventions": "locale convention",
    "locale": "locale convention",
    "source": "source error",
    "source issue": "source error",
    "source errors": "source error",
    "non-translation!": "non-translation",
    "no category": "other",
    "": "other",
}
_SUBTYPES = {
    "accuracy": "addition, mistranslation, omission, untranslated, untranslated text",
    "fluency": "grammar, inconsistency, punctuation, register, spelling, character encoding, word order",
    "style": "awkward",
    "terminology": "inappropriate for context, inconsistent use",
    "locale convention": "address format, currency format, date format, measurement format, name format, "
    "number format, telephone format, time format",
}
_MAJOR_OF_SUBTYPE = {subtype: major for major, subtypes in _SUBTYPES.items() for subtype in subtypes.split(", ")}


def major_category(category: str) -> str:
    """The major category in lower case: ``Accuracy/Mistranslation`` and ``mistranslation`` are both ``accuracy``.

    The names are those of Freitag et al. (2021): the MQM core's ``linguistic conventions`` is ``fluency`` here, and
    ``inconsistency`` belongs to it. A bare subtype gets its major category; any other name stays what it is.
    """
    major = plain_category(category).partition("/")[0].strip()
    major = _MAJOR.get(major, major)
    return _MAJOR_OF_SUBTYPE.get(major, major)


def plain_category(category: str) -> str:
    """The whole category in lower case, with spaces for underscores."""
    return " ".join(category.casefold().replace("_", " ").split()).replace("non translation", "non-translation")


class SegmentErrors(NamedTuple):
    """The errors that people (``gold``) and an evaluator (``predicted``) marked in one translation.

    ``()`` says that it is error-free, ``None`` that it was not rated, or that this evaluator marks no errors. Offsets
    are code points into the translation, of errors on the source's side into the source. ``name`` is for messages.
    """

    gold: Sequence[ErrorSpan] | None
    predicted: Sequence[ErrorSpan] | None
    translation: str
    source: str = ""
    name: str = ""


@dataclass(frozen=True)
class SpanRules:
    """What becomes of segments and spans that cannot simply be compared.

    ``unrated``: segments whose errors are ``None`` on either side.

    ``unlocated``: spans without offsets, or with offsets at which their words do not stand. ``locate`` searches their
    words (:func:`mtagent.text.spans.find_spans`) and leaves out those with no certain place; ``miss`` keeps these: they
    count as spans, and have no place to overlap with anything.

    ``outside``: omissions and source errors, which have no words in the translation. ``source``: they are spans of the
    source text (and unlocated, where they name no words of it). ``segment``: an omission matches any omission of the
    same segment, a source error any source error; each counts as one character.

    ``severities``: the others are left out. ``category``: the name by which categories are compared.
    """

    unrated: Unrated = "refuse"
    unlocated: Unlocated = "refuse"
    outside: Outside = "leave-out"
    severities: tuple[Severity, ...] = ("minor", "major", "critical")
    category: Callable[[str], str] = major_category

    def __post_init__(self) -> None:
        check_choice("unrated", self.unrated, get_args(Unrated))
        check_choice("unlocated", self.unlocated, get_args(Unlocated))
        check_choice("outside", self.outside, get_args(Outside))
        if not self.severities or set(self.severities) - set(SEVERITIES):
            raise ConfigError(f"severities: some of {', '.join(SEVERITIES)}, not {self.severities!r}")

    @property
    def signature(self) -> str:
        """The rules that change a number."""
        return f"severities:{','.join(self.severities)}|unlocated:{self.unlocated}|outside:{self.outside}"


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise :class:`ConfigError` for a value that is none of ``choices``."""
    if value not in choices:
        raise ConfigError(f"{name}: {' or '.join(map(repr, choices))}, not {value!r}")


class SegmentsLeftOut(NamedTuple):
    """Segments that were left out, because their errors are ``None`` on one side or on both."""

    gold: int = 0
    predicted: int = 0
    both: int = 0


class SpansLeftOut(NamedTuple):
    """Spans of one side that were left out, each for the first of these reasons.

    ``severity``: not one of the rules' severities. ``omissions`` and ``source_errors``: outside of the translation.
    ``unlocated``: no (certain) place. ``empty``: a place without a character.
    """

    severity: int = 0
    omissions: int = 0
    source_errors: int = 0
    unlocated: int = 0
    empty: int = 0


class Span(NamedTuple):
    """A span that is compared.

    ``start`` and ``end`` are offsets into ``field``, both −1 where it has no place. ``length`` is in characters,
    ``severity`` the place in ``mqm.SEVERITIES``.
    """

    field: Field
    start: int
    end: int
    length: int
    severity: int
    category: str
    words: str

    @property
    def placed(self) -> bool:
        """Whether it has a place."""
        return self.start >= 0


Spans = tuple[Span, ...]


@dataclass(frozen=True)
class SpanPairs:
    """The spans of people and of an evaluator by segment, each segment's in a fixed order.

    ``kept``: the places of the compared segments among those given.
    """

    gold: tuple[Spans, ...]
    predicted: tuple[Spans, ...]
    kept: tuple[int, ...]
    left_out: SegmentsLeftOut
    gold_left_out: SpansLeftOut
    predicted_left_out: SpansLeftOut
    rules: SpanRules

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def signature(self) -> str:
        """The rules, and how many segments, human spans and spans of the evaluator they left out."""
        counts = map(sum, (self.left_out, self.gold_left_out, self.predicted_left_out))
        return f"{self.rules.signature}|left-out:{','.join(map(str, counts))}"


DEFAULT_RULES = SpanRules()


def span_pairs(segments: Iterable[SegmentErrors], rules: SpanRules = DEFAULT_RULES) -> SpanPairs:
    """Put the spans of both sides side by side.

    Raises :class:`InputError` for what ``rules`` refuse, and where no segment is left.
    """
    kept: list[int] = []
    sides: tuple[list[Spans], list[Spans]] = [], []
    lost: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    unrated = Counter[str]()
    for at, segment in enumerate(segments):
        name = f"segment {segment.name!r}" if segment.name else f"segment number {at + 1}"
        if segment.gold is None or segment.predicted is None:
            if rules.unrated == "refuse":
                who = "people" if segment.gold is None else "the evaluator, or it marks no spans"
                raise InputError(
                    f"{name}: was not rated by {who} (its errors are None); leave such segments out "
                    "(unrated='leave-out')"
                )
            both = segment.gold is None and segment.predicted is None
            unrated["both" if both else "gold" if segment.gold is None else "predicted"] += 1
            continue
        kept.append(at)
        sides[0].append(_compared_spans(segment.gold, segment, rules, lost[0], f"{name}: the human span"))
        sides[1].append(_compared_spans(segment.predicted, segment, rules, lost[1], f"{name}: the evaluator's span"))
    if not kept:
        raise InputError("there is no segment in which people and the evaluator marked errors, or said there are none")
    gold, predicted = map(tuple, sides)
    gold_left_out, predicted_left_out = (SpansLeftOut(**counts) for counts in lost)
    left_out = SegmentsLeftOut(**unrated)
    return SpanPairs(gold, predicted, tuple(kept), left_out, gold_left_out, predicted_left_out, rules)


def _compared_spans(
    errors: Sequence[ErrorSpan], segment: SegmentErrors, rules: SpanRules, lost: Counter[str], name: str
) -> Spans:
    """The spans of one side of a segment; what the rules leave out is counted in ``lost``."""
    compared: list[tuple[ErrorSpan, Field]] = []
    for error in errors:
        if error.severity not in rules.severities:
            lost["severity"] += 1
        elif error.side == "translation":
            compared.append((error, "translation"))
        elif rules.outside == "leave-out":
            lost["omissions" if error.side == "omission" else "source_errors"] += 1
        elif rules.outside == "source":
            compared.append((error, "source"))
        else:
            compared.append((error, "omission" if error.side == "omission" else "source error"))
    places = [_given_place(error, field, segment) for error, field in compared]
    if rules.unlocated in ("locate", "miss"):
        for searched, text in (("translation", segment.translation), ("source", segment.source)):
            unplaced = [at for at, (_, field) in enumerate(compared) if field == searched and places[at] is None]
            bare = []
            for at in unplaced:  # what stands around an omission is of the translation, not of the source
                around = {"before": None, "after": None} if compared[at][0].side == "omission" else {}
                bare.append(compared[at][0].model_copy(update={"start": None, "end": None, **around}))
            findings = find_spans(text, bare) if bare else []
            for at, finding in zip(unplaced, findings, strict=True):
                places[at] = (finding.places[0].start, finding.places[0].end) if finding.certain else None
    spans = []
    for (error, field), place in zip(compared, places, strict=True):
        if place is None and rules.unlocated == "refuse":
            offsets = "" if error.start is None else f" at {error.start}–{error.end}"
            raise InputError(
                f"{name} {error.text[:40]!r}{offsets} has no place in the text; give its offsets, or search for its "
                "words (unlocated='locate'), or leave it out (unlocated='leave-out')"
            )
        if place is None and rules.unlocated != "miss":
            lost["unlocated"] += 1
            continue
        if place is not None and place[0] == place[1]:
            lost["empty"] += 1
            continue
        start, end = place or (-1, -1)
        length = end - start if place else max(1, len(error.text))
        words = error.text
        if field in ("omission", "source error"):
            words = field
        elif place and not words:
            words = (segment.translation if field == "translation" else segment.source)[start:end]
        rank = SEVERITIES.index(error.severity)
        spans.append(Span(field, start, end, length, rank, rules.category(error.category), words))
    return tuple(sorted(spans))


def _given_place(error: ErrorSpan, field: Field, segment: SegmentErrors) -> tuple[int, int] | None:
    """The place that the offsets give, if the span's words stand there."""
    if field in ("omission", "source error"):
        return 0, 1
    if error.start is None or error.end is None or (error.side == "omission" and error.start == error.end):
        return None
    text = segment.translation if field == "translation" else segment.source
    stands = error.end <= len(text) and error.text in ("", text[error.start : error.end])
    return (error.start, error.end) if stands else None
