"""Rows with their scores, the way from row to row, and what a gain costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mtagent.comparison.rows import Cell, Cost, Moved, Row
from mtagent.errors import ConfigError
from mtagent.metrics.distance import characters_to, ter_to
from mtagent.protocols import Metric
from mtagent.records import Score, Segment
from mtagent.scoring import Corpus, ScoreReport, Wanted, score_corpus

_NOISE = 1e-9
PREFERRED = "chrF2"
"""The deciding metric, where it is scored and the user names none."""


def scored(rows: Sequence[Row], segments: Sequence[Segment], wanted: Wanted) -> tuple[tuple[Row, ...], ScoreReport]:
    """``rows`` with their cells, and the report that these are from. The first row is the baseline of a test."""
    report = score_corpus(Corpus(list(segments), {row.name: list(row.texts) for row in rows}), wanted)
    by_row = zip(*report.entries, strict=True) if report.entries else [()] * len(rows)
    cells = {
        row.name: [(e.score, e.interval, e.p_value) for e in entries] for row, entries in zip(rows, by_row, strict=True)
    }
    return tuple(
        replace(row, cells=tuple(
            Cell(score, None if row.former is None else score.value - cells[row.former][i][0].value, interval, p_value)
            for i, (score, interval, p_value) in enumerate(cells[row.name])
        ))
        for row in rows
    ), report  # fmt: skip


def deciding_metric(metrics: Sequence[Metric], rows: Sequence[Row], named: str | None) -> int | None:
    """The place of the metric that regressions and gains go by; ``None`` where nothing is scored.

    ``named`` is what the user calls it, by the name in tables or as in ``-m``. Raises :class:`ConfigError`.
    """
    printed = [cell.score.metric for cell in rows[0].cells]
    if named is None:
        return printed.index(PREFERRED) if PREFERRED in printed else 0 if printed else None
    for place, (metric, label) in enumerate(zip(metrics, printed, strict=True)):
        if named.casefold() in (metric.name.casefold(), label.casefold()):
            return place
    there = f"scored are: {', '.join(printed)}" if printed else "nothing is scored"
    raise ConfigError(f"--deciding {named!r}: no such metric here; {there} (-m NAME adds one)")


def moved(rows: Sequence[Row], place: int | None, target_lang: str) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """``rows`` with what changed on the way from their former rows, and the signatures of that."""
    by_name = {row.name: row for row in rows}
    signatures: dict[str, None] = {}
    found = []
    for row in rows:
        if row.former is None:
            found.append(row)
            continue
        former = by_name[row.former]
        ter, characters = ter_to(former.texts, row.texts, target_lang), characters_to(former.texts, row.texts)
        signatures |= dict.fromkeys([f"TER between rows|{ter.signature}", f"characters|{characters.signature}"])
        found.append(replace(row, moved=_moved(former, row, place, ter.value, int(characters.value))))
    return tuple(found), tuple(signatures)


def _moved(former: Row, row: Row, place: int | None, ter: float, characters: int) -> Moved:
    changed = sum(one != other for one, other in zip(former.texts, row.texts, strict=True)) / len(row.texts)
    if place is None:
        return Moved(ter, characters, changed)
    before, after = former.cells[place].score, row.cells[place].score
    worse = sum(
        _gain(*pair, after.higher_is_better) < -_NOISE for pair in zip(before.segments, after.segments, strict=True)
    )
    return Moved(
        ter=ter,
        characters=characters,
        changed=changed,
        regressed=worse / len(row.texts),
        gain_to_edit=gained(before, after) / ter if ter > 0 else None,
    )


def gained(before: Score, after: Score) -> float:
    """How much better ``after`` is; negative where it is worse, whichever direction is better."""
    return _gain(before.value, after.value, after.higher_is_better)


def _gain(before: float, after: float, higher_is_better: bool) -> float:
    return after - before if higher_is_better else before - after


def priced(rows: Sequence[Row], place: int | None) -> tuple[Row, ...]:
    """``rows`` with the dollars for each edit that was kept and for each point that was gained."""
    by_name = {row.name: row for row in rows}
    return tuple(
        row if row.cost is None else replace(row, cost=_priced(row, by_name.get(row.former or ""), place))
        for row in rows
    )  # fmt: skip


def _priced(row: Row, former: Row | None, place: int | None) -> Cost | None:
    if row.cost is None or row.cost.usage.cost is None:
        return row.cost
    dollars = row.cost.usage.cost
    edits = (row.outcomes.edits or {}).get("applied", 0) if row.outcomes else 0
    gain = 0.0 if former is None or place is None else gained(former.cells[place].score, row.cells[place].score)
    return replace(
        row.cost,
        per_kept_edit=dollars / edits if edits else None,
        per_point=dollars / gain if gain > _NOISE else None,
    )
