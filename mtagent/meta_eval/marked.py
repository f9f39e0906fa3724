"""The errors that people and an evaluator marked in the same translations, side by side; what is left out is counted.

All texts are thought of as one long text, so that spans of all segments can be compared at once. A segment's part of it
has four fields: the translation, the source, and a place of one character each for omissions and for source errors
(used only with ``outside="segment"``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mtagent.errors import ConfigError
from mtagent.meta_eval.categories import major_category
from mtagent.mqm import SEVERITIES
from mtagent.records import ErrorSpan, Severity

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Unrated = Literal["refuse", "leave-out"]
Unlocated = Literal["refuse", "leave-out", "locate", "miss"]
Outside = Literal["leave-out", "source", "segment"]

FIELDS = 4
"""Fields of a segment in the one long text."""


class Marked(NamedTuple):
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
    words (:func:`mtagent.spans.find_spans`) and leaves out those with no certain place; ``miss`` keeps these: they
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
        for name, allowed in (("unrated", Unrated), ("unlocated", Unlocated), ("outside", Outside)):
            if getattr(self, name) not in get_args(allowed):
                raise ConfigError(f"{name}: one of {', '.join(get_args(allowed))}, not {getattr(self, name)!r}")
        if not self.severities or set(self.severities) - set(SEVERITIES):
            raise ConfigError(f"severities: some of {', '.join(SEVERITIES)}, not {self.severities!r}")

    @property
    def signature(self) -> str:
        """The rules that change a number."""
        return f"severities:{','.join(self.severities)}|unlocated:{self.unlocated}|outside:{self.outside}"


class SegmentsLeftOut(NamedTuple):
    """Segments that were left out, because their errors are ``None`` on one side or on both."""

    gold: int = 0
    predicted: int = 0
    both: int = 0

    @property
    def total(self) -> int:
        """All that were left out."""
        return sum(self)


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

    @property
    def total(self) -> int:
        """All that were left out."""
        return sum(self)


@dataclass(frozen=True, eq=False)
class Side:
    """The spans of one side, all arrays with an entry for each, ordered by segment, field and place.

    ``segment``: the place in ``SpanPairs.kept``. ``start`` and ``end``: offsets into the one long text; both −1 where a
    span has no place. ``length``: characters. ``severity``: the place in ``mqm.SEVERITIES``. ``category``: the place in
    ``SpanPairs.categories``.
    """

    segment: Ints
    field: Ints
    start: Ints
    end: Ints
    length: Ints
    severity: Ints
    category: Ints
    words: tuple[str, ...]
    left_out: SpansLeftOut

    def __len__(self) -> int:
        return len(self.words)

    @property
    def placed(self) -> Bools:
        """Which spans have a place."""
        return self.start >= 0

    def chosen(self, mask: Bools) -> Side:
        """Only the spans where ``mask`` is true."""
        words = tuple(word for word, wanted in zip(self.words, mask.tolist(), strict=True) if wanted)
        return Side(
            segment=self.segment[mask],
            field=self.field[mask],
            start=self.start[mask],
            end=self.end[mask],
            length=self.length[mask],
            severity=self.severity[mask],
            category=self.category[mask],
            words=words,
            left_out=self.left_out,
        )


@dataclass(frozen=True, eq=False)
class SpanPairs:
    """The spans of people and of an evaluator in the same segments, as ``pairing.span_pairs`` makes them.

    ``kept``: the places of the compared segments among those given. ``starts``: where each of their fields begins in
    the one long text, segments × :data:`FIELDS`, and at the end where it ends.
    """

    gold: Side
    predicted: Side
    kept: tuple[int, ...]
    starts: Ints
    categories: tuple[str, ...]
    left_out: SegmentsLeftOut
    rules: SpanRules

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def signature(self) -> str:
        """The rules, and how many segments, human spans and spans of the evaluator they left out."""
        counts = (self.left_out.total, self.gold.left_out.total, self.predicted.left_out.total)
        return f"{self.rules.signature}|left-out:{','.join(map(str, counts))}"
