"""Rows with their scores, the way from row to row, and what a gain costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mtagent.candidates import FINAL
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
    labels = _labels([entries[0].score.metric for entries in report.entries])
    cells = {
        row.name: [
            (
                entries[number].score.model_copy(update={"metric": label}),
                entries[number].interval,
                entries[number].p_value,
            )
            for label, entries in zip(labels, report.entries, strict=True)
        ]
        for number, row in enumerate(rows)
    }
    return tuple(
        replace(row, cells=tuple(
            Cell(score, None if row.former is None else score.value - cells[row.former][i][0].value, interval, p_value)
            for i, (score, interval, p_value) in enumerate(cells[row.name])
        ))
        for row in rows
    ), report  # fmt: skip


def _labels(names: Sequence[str]) -> list[str]:
    """``names``, each once: BLEU with another tokenizer is ``BLEU (2)``; the signatures say what it is."""
    seen = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name} ({before + 1})" if before else name for name, before in zip(names, seen, strict=True)]


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


def _since(former: Row | None, row: Row) -> float | None:
    """The dollars that brought the text from ``former`` to ``row``: the costs of ``final`` are those of the whole run,
    and what its first row took is among them.
    """
    paid = None if row.cost is None else row.cost.usage.cost
    if row.stage != FINAL or former is None or former.cost is None or paid is None:
        return paid
    first = former.cost.usage.cost
    return None if first is None else max(0.0, paid - first)


def _priced(row: Row, former: Row | None, place: int | None) -> Cost | None:
    if row.cost is None or (dollars := _since(former, row)) is None:
        return row.cost
    edits = (row.outcomes.edits or {}).get("applied", 0) if row.outcomes else 0
    gain = 0.0 if former is None or place is None else gained(former.cells[place].score, row.cells[place].score)
    return replace(
        row.cost,
        per_kept_edit=dollars / edits if edits else None,
        per_point=dollars / gain if gain > _NOISE else None,
    )
