"""From the errors of people and of an evaluator to spans that can be compared: which segments, and at which places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mtagent.errors import InputError
from mtagent.meta_eval.marked import FIELDS, Ints, Marked, SegmentsLeftOut, Side, SpanPairs, SpanRules, SpansLeftOut
from mtagent.mqm import SEVERITIES
from mtagent.records import ErrorSpan
from mtagent.spans import find_spans

DEFAULT_RULES = SpanRules()
_TRANSLATION, _SOURCE, _OMITTED, _IN_SOURCE = range(FIELDS)
_SLOT_WORDS = {_OMITTED: "omission", _IN_SOURCE: "source error"}
_NO_PLACE = -1
_WAY_OUT = "give its offsets, or search for its words (unlocated='locate'), or leave it out (unlocated='leave-out')"


def span_pairs(marked: Iterable[Marked], rules: SpanRules = DEFAULT_RULES) -> SpanPairs:
    """Put the spans of both sides into arrays.

    Raises :class:`InputError` for what ``rules`` refuse, and where no segment is left.
    """
    rows = list(marked)
    kept, left_out = _rated(rows, rules)
    if not kept:
        raise InputError("there is no segment in which people and the evaluator marked errors, or said there are none")
    lengths = [length for at in kept for length in (len(rows[at].translation), len(rows[at].source), 1, 1)]
    starts = np.r_[0, np.cumsum(np.array(lengths, dtype=np.int64))]
    categories: dict[str, int] = {}
    chosen = [(_named(rows[at], at), rows[at]) for at in kept]
    gold = _Reader("the human", rules, categories).side([(name, row.gold or (), row) for name, row in chosen], starts)
    theirs = [(name, row.predicted or (), row) for name, row in chosen]
    predicted = _Reader("the evaluator's", rules, categories).side(theirs, starts)
    return SpanPairs(gold, predicted, tuple(kept), starts, tuple(categories), left_out, rules)


def _rated(rows: Sequence[Marked], rules: SpanRules) -> tuple[list[int], SegmentsLeftOut]:
    kept: list[int] = []
    counts = [0, 0, 0]
    for at, row in enumerate(rows):
        if row.gold is not None and row.predicted is not None:
            kept.append(at)
            continue
        if rules.unrated == "refuse":
            why = (
                "was not rated by people"
                if row.gold is None
                else "was not rated by the evaluator, or it marks no spans"
            )
            raise InputError(
                f"{_named(row, at)}: {why} (its errors are None); leave such segments out (unrated='leave-out')"
            )
        counts[(row.gold is None) + 2 * (row.predicted is None) - 1] += 1
    return kept, SegmentsLeftOut(*counts)


def _named(row: Marked, at: int) -> str:
    return f"segment {row.name!r}" if row.name else f"segment number {at + 1}"


class _Place(NamedTuple):
    field: int
    start: int
    end: int


@dataclass
class _Reader:
    """Reads the spans of one side, row by row."""

    whose: str
    rules: SpanRules
    categories: dict[str, int]
    known: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SpansLeftOut._fields, 0))

    def side(self, rows: Iterable[tuple[str, Sequence[ErrorSpan], Marked]], starts: Ints) -> Side:
        found: list[tuple[int, ...]] = []
        words: list[str] = []
        for segment, (name, errors, row) in enumerate(rows):
            for error, place in self._places(errors, row, name):
                category = self._number(error.category)
                length = max(1, len(error.text)) if place.start < 0 else place.end - place.start
                found.append((segment, *place, length, SEVERITIES.index(error.severity), category))
                words.append(_words(error, place, row))
        return _sorted(found, words, starts, SpansLeftOut(**self.counts))

    def _number(self, category: str) -> int:
        """The number of a category's name; the rules are asked once for each."""
        if category not in self.known:
            self.known[category] = self.categories.setdefault(self.rules.category(category), len(self.categories))
        return self.known[category]

    def _places(self, errors: Sequence[ErrorSpan], row: Marked, name: str) -> list[tuple[ErrorSpan, _Place]]:
        found = []
        for error, place in self._located([error for error in errors if not self._left_out(error)], row):
            if place is None and self.rules.unlocated == "refuse":
                raise InputError(f"{name}: {self.whose} span {_shown(error)} has no place in the text; {_WAY_OUT}")
            if place is None and self.rules.unlocated != "miss":
                self.counts["unlocated"] += 1
            elif place is not None and place.start == place.end:
                self.counts["empty"] += 1
            else:
                found.append((error, place or _Place(self._field(error), _NO_PLACE, _NO_PLACE)))
        return found

    def _left_out(self, error: ErrorSpan) -> bool:
        if error.severity not in self.rules.severities:
            self.counts["severity"] += 1
        elif error.side != "translation" and self.rules.outside == "leave-out":
            self.counts["omissions" if error.side == "omission" else "source_errors"] += 1
        else:
            return False
        return True

    def _field(self, error: ErrorSpan) -> int:
        if error.side == "translation":
            return _TRANSLATION
        if self.rules.outside == "source":
            return _SOURCE
        return _OMITTED if error.side == "omission" else _IN_SOURCE

    def _located(self, errors: Sequence[ErrorSpan], row: Marked) -> list[tuple[ErrorSpan, _Place | None]]:
        places = [_given(error, self._field(error), row) for error in errors]
        if self.rules.unlocated in ("locate", "miss"):
            for wanted, text in ((_TRANSLATION, row.translation), (_SOURCE, row.source)):
                lost = [at for at, place in enumerate(places) if not place and self._field(errors[at]) == wanted]
                searched = find_spans(text, [_bare(errors[at]) for at in lost]) if lost else []
                for at, finding in zip(lost, searched, strict=True):
                    places[at] = _Place(wanted, *finding.places[0]) if finding.certain else None
        return list(zip(errors, places, strict=True))


def _given(error: ErrorSpan, where: int, row: Marked) -> _Place | None:
    """The place that the offsets give, if the span's words stand there."""
    if where in _SLOT_WORDS:
        return _Place(where, 0, 1)
    if error.start is None or error.end is None or (error.side == "omission" and error.start == error.end):
        return None
    text = row.translation if where == _TRANSLATION else row.source
    stands = error.end <= len(text) and error.text in ("", text[error.start : error.end])
    return _Place(where, error.start, error.end) if stands else None


def _bare(error: ErrorSpan) -> ErrorSpan:
    """``error`` as it is searched for. What stands around an omission is of the translation, not of the source."""
    around = {} if error.side != "omission" else {"before": None, "after": None}
    return error.model_copy(update={"start": None, "end": None, **around})


def _words(error: ErrorSpan, place: _Place, row: Marked) -> str:
    if place.field in _SLOT_WORDS:
        return _SLOT_WORDS[place.field]
    text = row.translation if place.field == _TRANSLATION else row.source
    return error.text or text[place.start : place.end]


def _shown(error: ErrorSpan) -> str:
    at = "" if error.start is None else f" at {error.start}–{error.end}"
    return f"{error.text[:40]!r}{at}"


def _sorted(found: Sequence[tuple[int, ...]], words: Sequence[str], starts: Ints, left_out: SpansLeftOut) -> Side:
    """In one order whatever the order given, and with offsets into the one long text."""
    order = sorted(range(len(found)), key=lambda at: (found[at], words[at]))
    table = np.array([found[at] for at in order], dtype=np.int64).reshape(-1, 7)
    segment, where, start, end, length, severity, category = (column.copy() for column in table.T)
    base = starts[segment * FIELDS + where]
    placed = start >= 0
    start, end = np.where(placed, start + base, _NO_PLACE), np.where(placed, end + base, _NO_PLACE)
    return Side(segment, where, start, end, length, severity, category, tuple(words[at] for at in order), left_out)
