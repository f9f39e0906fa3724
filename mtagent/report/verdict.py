"""The first sentence of a report: what was changed, whether it paid off, what it cost, and what got worse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mtagent.comparison.rows import Cell, Comparison, Row
from mtagent.metrics.significance import FEW, SIGNIFICANT
from mtagent.records import Chain, Usage

_NOISE = 1e-9
_WORK = {"postedit": "post-editing", "proofread": "proofreading"}


@dataclass
class Tally:
    """Segments of a run as they are counted, chain by chain. ``total`` is how many the run was begun with."""

    total: int | None = None
    segments: int = 0
    given: int = 0
    translated: int = 0
    changed: int = 0
    failed: int = 0
    stages: tuple[str, ...] = ()

    def add(self, chain: Chain) -> None:
        """Count ``chain``."""
        self.segments += 1
        self.given += chain.segment.translation is not None
        self.translated += any(step.stage == "translate" and step.verdict == "kept" for step in chain.steps)
        self.changed += chain.changed
        self.failed += chain.failed is not None
        self.stages = tuple(dict.fromkeys((*self.stages, *(step.stage for step in chain.steps))))


@dataclass(frozen=True)
class Way:
    """The first and the last row of one run, and each segment's gain by the deciding metric (positive: better)."""

    first: Row
    last: Row
    place: int | None
    tested: bool = False
    gains: tuple[float, ...] = ()

    @property
    def worse(self) -> int:
        """Segments whose own score is worse than before."""
        return sum(gain < -_NOISE for gain in self.gains)


def way(comparison: Comparison, run: str) -> Way:
    """The way of ``run`` from its first row to its last."""
    rows = [row for row in comparison.rows if row.run == run]
    first, last = rows[0], rows[-1]
    place = None if comparison.deciding is None else comparison.metrics.index(comparison.deciding)
    if place is None:
        return Way(first, last, None)
    before, after = first.cells[place].score, last.cells[place].score
    sign = 1 if after.higher_is_better else -1
    gains = tuple(sign * (b - a) for a, b in zip(before.segments, after.segments, strict=True))
    return Way(first, last, place, comparison.rows[0] is first, gains)


def sentence(tally: Tally, way: Way | None, usage: Usage) -> str:
    """The verdict in one sentence, for example ``Post-editing changed 30 of 63 segments; chrF2 rose by 1.2 …``."""
    parts = [*_changes(tally), *_quality(tally, way), _paid(usage), *_losses(tally, way)]
    found = "; ".join(parts) + "."
    return found[0].upper() + found[1:]


def dollars(cost: float | None) -> str:
    """``$0.12``; small sums with the digits that say something; ``price unknown``."""
    if cost is None:
        return "price unknown"
    if cost == 0 or cost >= 0.01:
        return f"${cost:,.2f}"
    return f"${cost:.2g}" if cost >= 0.0001 else "under $0.0001"


def number(value: float, digits: int = 2) -> str:
    """With a true minus sign."""
    return f"{value:,.{digits}f}".replace("-", "−")


def p_text(p: float) -> str:
    """``p = 0.004`` or ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _changes(tally: Tally) -> Iterator[str]:
    work, whole = _work(tally), max(tally.segments, tally.total or 0)
    if "translate" in tally.stages:
        yield f"{_of(tally.translated, whole)} translated"
    if work:
        yield f"{_joined(work)} changed {tally.changed:,} of {tally.segments:,} {_plural(tally.segments, 'segment')}"
    elif "translate" not in tally.stages:
        yield f"nothing was done to {_of(tally.segments, whole)}"


def _work(tally: Tally) -> list[str]:
    return [_WORK[stage] for stage in tally.stages if stage in _WORK]


def _of(count: int, whole: int) -> str:
    return f"{'' if count == whole else f'{count:,} of '}{whole:,} {_plural(whole, 'segment')}"


def _quality(tally: Tally, way: Way | None) -> Iterator[str]:
    if way is None or way.place is None:
        yield "whether that was for the better is not scored" if tally.changed else "nothing is scored"
        return
    before, cell = way.first.cells[way.place], way.last.cells[way.place]
    name, digits = cell.score.metric, 2 if abs(cell.score.value) < 2 else 1
    change = cell.score.value - before.score.value
    if way.first is way.last or not _work(tally):
        yield f"{name} {number(cell.score.value, digits)}"
    elif abs(change) < _NOISE:
        yield f"{name} is the same, {number(cell.score.value, digits)}"
    else:
        digits = digits if abs(round(change, digits)) > 0 else 3
        by = number(abs(change), digits) if abs(round(change, digits)) > 0 else "less than 0.001"
        went = "rose" if change > 0 else "fell"
        better = "" if cell.score.higher_is_better else " (lower is better)"
        tested = _test(cell, len(way.gains)) if way.tested else ""
        yield f"{name} {went} by {by} to {number(cell.score.value, digits)}{better}{tested}"


def _test(cell: Cell, segments: int) -> str:
    if cell.p_value is None:
        return ""
    chance = "" if cell.p_value < SIGNIFICANT else ": may be chance"
    return f" ({p_text(cell.p_value)}{': too few segments to tell' if segments < FEW else chance})"


def _paid(usage: Usage) -> str:
    if usage.calls == 0:
        return "it cost nothing" if usage.reused == 0 else "all replies came from the store, so it cost nothing"
    if usage.cost is None:
        return f"price unknown ({usage.input_tokens + usage.output_tokens:,} tokens)"
    return f"it cost {dollars(usage.cost)}"


def _losses(tally: Tally, way: Way | None) -> Iterator[str]:
    if way is not None and way.place is not None and way.first is not way.last and (tally.changed or way.worse):
        yield f"{way.worse or 'no'} {_plural(way.worse, 'segment')} got worse"
    if tally.failed:
        yield f"{tally.failed:,} failed"


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def _joined(words: Sequence[str]) -> str:
    return " and ".join(words)
