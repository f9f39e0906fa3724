"""Whether a stage pays off: runs and other systems side by side, with scores, edits, outcomes and costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from mtagent.analysis.comparison import (
    Bills,
    Cell,
    Comparison,
    Cost,
    HeldRun,
    Moved,
    Part,
    Row,
    aligned,
    held_run,
    texts_for,
    unaccounted,
)
from mtagent.analysis.score import Corpus, ScoreReport, Wanted, score_corpus
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.formats.ratings import FINAL, GIVEN
from mtagent.metrics.named import make_metrics
from mtagent.metrics.overlap import Overlap, characters_to, ter_to
from mtagent.metrics.protocol import BySystem, Metric, Releases
from mtagent.metrics.significance import FEW, counted
from mtagent.metrics.ter import MOST_CHANGES, MOST_WORDS, NO_SHIFTS, REPLACED
from mtagent.records import Score, Segment, Usage
from mtagent.store.store import Store, open_existing
from mtagent.text import scripts
from mtagent.text.foreign import FLAGS

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
    metric = Overlap("ter", target_lang)
    signatures: dict[str, None] = {}
    found = []
    for row in rows:
        if row.former is None:
            found.append(row)
            continue
        former = by_name[row.former]
        ter = ter_to(former.texts, row.texts, target_lang, metric)
        characters = characters_to(former.texts, row.texts)
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


Grouping = Literal["domain", "length", "document"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
_UP_TO = {"words": (10, 20, 40, 80), "characters": (20, 40, 80, 160)}
_Scorer = Callable[[Sequence[int]], float]


def parts_by(
    grouping: Grouping, rows: Sequence[Row], segments: Sequence[Segment], metrics: Sequence[Sequence[Metric]]
) -> tuple[Part, ...]:
    """The parts of ``grouping``: by length from short to long, others in the order of the segments.

    ``metrics`` holds, for each cell, a metric for each row.
    """
    scorers = [
        [_scorer(of_row[number], segments, row, place) for place, of_row in enumerate(metrics)]
        for number, row in enumerate(rows)
    ]
    parts = tuple(
        Part(name, len(places), tuple(tuple(scorer(places) for scorer in of_row) for of_row in scorers))
        for name, places in grouped(grouping, segments)
    )
    for metric in (one for of_row in metrics for one in of_row if isinstance(one, Releases)):
        metric.release()
    return parts


def grouped(grouping: Grouping, segments: Sequence[Segment]) -> list[tuple[str, list[int]]]:
    """The names of the parts, each with the places of its segments, in the order of :func:`parts_by`."""
    if grouping not in GROUPINGS:
        raise ConfigError(f"no grouping {grouping!r}; there are: {', '.join(GROUPINGS)}")
    found: dict[Any, list[int]] = {}
    key = _length if grouping == "length" else lambda segment: getattr(segment, grouping) or None
    for place, segment in enumerate(segments):
        found.setdefault(key(segment), []).append(place)
    if grouping == "length":
        return [(_bucket(*size), found[size]) for size in sorted(found, key=lambda size: (size[0] != "words", size[1]))]
    return [(f"no {grouping}" if name is None else name, places) for name, places in found.items()]


def _length(segment: Segment) -> tuple[str, int]:
    """What the length of the source is counted in, and the number of its bucket."""
    unit = "words" if scripts.has_spaces(segment.source_lang) else "characters"
    size = len(scripts.words(segment.source)) if unit == "words" else sum(not c.isspace() for c in segment.source)
    return unit, sum(size > most for most in _UP_TO[unit])


def _bucket(unit: str, number: int) -> str:
    bounds = (0, *_UP_TO[unit])
    return (
        f"over {bounds[-1]} {unit}"
        if number == len(bounds) - 1
        else f"{bounds[number] + bool(number)}–{bounds[number + 1]} {unit}"
    )


def _scorer(metric: Metric, segments: Sequence[Segment], row: Row, place: int) -> _Scorer:
    """The score of ``row`` on some of the segments: from the counts of all where these add up, else scored anew."""
    try:
        rows, combined = counted(metric, segments, row.texts, row.cells[place].score)
    except ConfigError:
        return lambda places: metric.score(_at(segments, places), _at(row.texts, places)).value
    return lambda places: float(combined(np.asarray(rows)[places].sum(axis=0, keepdims=True))[0])


def _at(values: Sequence[Any], places: Iterable[int]) -> list[Any]:
    return [values[place] for place in places]


_SHORTEST = 5  # a judge's name in a metric's: "cometkiwi" in "wmt22-cometkiwi-da", but not "rate" in "error rate"
_SHOWN = 5


def about_run(run: HeldRun, bills: Bills) -> list[str]:
    """What is not complete in ``run``, and which of its costs stand in no stage."""
    return [*_incomplete(run), *_failed(run), *_costs(run, bills)]


def _incomplete(run: HeldRun) -> list[str]:
    if run.stored >= run.total:
        return []
    return [f"run {run.name!r} is {run.state}: {run.total - run.stored} of its {run.total} segments are not in it yet"]


def _failed(run: HeldRun) -> list[str]:
    failed = run.outcomes("final").failed
    empty = [one.segment.id for one in run.passed if one.text("final") is None]
    found = []
    if failed:
        found.append(f"run {run.name!r}: {_segments(failed)} failed and kept the last accepted text")
    if empty:
        found.append(
            f"run {run.name!r}: {_segments(len(empty))} without any translation, scored as empty: {_ids(empty)}"
        )
    return found


def _costs(run: HeldRun, bills: Bills) -> list[str]:
    found = []
    rest = unaccounted(run, bills)
    if rest is not None:
        found.append(
            f"run {run.name!r} also paid for {_calls(rest)} that no stored step holds (failed tries, segments under "
            "way): they are in its row final, in none of its stages"
        )
    reused = sum(call.reused for call in run.spent("final"))
    if reused:
        found.append(
            f"run {run.name!r}: {_replies(reused)} came from the store and cost nothing here: its tokens and "
            "dollars are those of the others"
        )
    return found


def _replies(number: int) -> str:
    return "1 reply" if number == 1 else f"{number} replies"


def _calls(usage: Usage) -> str:
    dollars = "unknown dollars" if usage.cost is None else f"${usage.cost:.4f}"
    calls = "1 call" if usage.calls == 1 else f"{usage.calls} calls"
    return f"{calls} ({usage.input_tokens + usage.output_tokens:,} tokens, {dollars})"


def about_references(runs: Sequence[HeldRun]) -> list[str]:
    """The segments that runs have different references for."""
    held = zip(*([one.segment for one in run.passed] for run in runs), strict=True)
    unlike = [one[0].id for one in held if len({segment.reference for segment in one} - {None}) > 1]
    told = f"the runs have other references for {_segments(len(unlike))} ({_ids(unlike)})"
    return [f"{told}: those of the run named first are taken (-r FILE gives others)"] if unlike else []


def about_gates(runs: Iterable[HeldRun], metrics: Sequence[Metric], printed: Sequence[str]) -> list[str]:
    """Which of the metrics decided, in the gate of a run, what its texts are."""
    found = []
    for run in runs:
        judges = run.judges | _named(run)
        own = [
            label
            for metric, label in zip(metrics, printed, strict=True)
            if any(_same(judge, name) for judge in judges for name in (metric.name, label))
        ]
        found += [_gate_warning(run.name, label, alone=len(own) == len(printed)) for label in own]
    return found


def about_leaks(runs: Iterable[HeldRun], segments: Sequence[Segment]) -> list[str]:
    """Who was shown the references by which the texts are scored."""
    if not any(segment.reference for segment in segments):
        return []
    roles = {"postedit": "its editor", "judge": "its judge"}
    found = []
    for run in runs:
        signed = run.settings.get("signatures") or {}
        saw = [who for role, who in roles.items() if "|reference:yes" in str(signed.get(role, ""))]
        if saw:
            found.append(
                f"run {run.name!r} showed the references to {' and '.join(saw)}: scores against them prove nothing"
            )
    return found


def _named(run: HeldRun) -> set[str]:
    """The judge that the settings of ``run`` name."""
    settings = run.settings
    gate, judge = str(settings.get("gate", "")), settings.get("judge")
    named = judge.get("evaluator") if isinstance(judge, dict) else None
    decides = gate in ("rate", "qe") or named is not None
    return (
        {str(one).partition(":")[0] for one in (gate, named or settings.get("evaluator")) if one} if decides else set()
    )


def _same(judge: str, metric: str) -> bool:
    ours, theirs = (re.sub(r"[^a-z0-9]", "", name.casefold()) for name in (judge, metric))
    return bool(ours) and (ours == theirs or (len(ours) >= _SHORTEST and ours in theirs))


def _gate_warning(run: str, metric: str, *, alone: bool) -> str:
    why = (
        f"run {run!r} let its gate keep only what {metric} finds better, so that {metric} must rise: no proof of a gain"
    )
    return f"{why}. {'Never report it alone: add another metric (-m)' if alone else 'Go by the other metrics'}"


def about_test(report: ScoreReport) -> list[str]:
    """That there are too few segments for a test, where there are."""
    number = len(report.segments)
    return [f"{_segments(number)}: too few for a p-value to mean much"] if report.paired and number < FEW else []


def about_texts(rows: Sequence[Row], report: ScoreReport) -> list[str]:
    """What is wrong with texts as a whole: empty, copied, in another script. Rows with equal texts are told once."""
    seen: dict[tuple[str, ...], str] = {}
    found = []
    for row in rows:
        if row.texts not in seen and (told := _flagged(report, row.name)):
            found.append(f"{row.name}: {told}")
        seen.setdefault(row.texts, row.name)
    return found


def about_lengths(signatures: Iterable[str]) -> list[str]:
    """What was not computed to the last edit in texts that are too long for that, by the signatures."""
    parts = {part for one in signatures for part in one.split("|")}
    found = []
    if NO_SHIFTS in parts:
        found.append(f"a text has more than {MOST_WORDS:,} words: TER counts no shifts of words there ({NO_SHIFTS})")
    if REPLACED in parts:
        found.append(
            f"a very long text has more than {MOST_CHANGES:,} changes: all between the first and the last counts as "
            f"replaced, in TER and characters ({REPLACED})"
        )
    return found


def _flagged(report: ScoreReport, row: str) -> str:
    pairs = list(zip(report.segments, report.flags[row], strict=True))
    by_flag = {flag: [segment for segment, flags in pairs if flag in flags] for flag in FLAGS}
    return ", ".join(f"{len(ids)} {flag} ({_ids(ids)})" for flag, ids in by_flag.items() if ids)


def _segments(number: int) -> str:
    return "1 segment" if number == 1 else f"{number} segments"


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")


Baseline = tuple[str, Path]
"""Another system: its name, and the file with its texts."""


@dataclass(frozen=True)
class How:
    """What to compare with and by; see :func:`compare_run`."""

    baselines: tuple[Baseline, ...] = ()
    reference: Path | None = None
    wanted: Wanted = Wanted()
    deciding: str | None = None
    by: tuple[Grouping, ...] = ()
    shared: bool = False
    prices: Path | None = None


def compare_runs(
    names: Sequence[str],
    config: Config,
    *,
    baselines: Sequence[Baseline] = (),
    reference: Path | None = None,
    wanted: Wanted = Wanted(),
    deciding: str | None = None,
    by: Sequence[Grouping] = (),
    shared: bool = False,
    prices: Path | None = None,
) -> Comparison:
    """Compare the stored runs ``names`` of the store that ``config`` names; see :func:`compare_run`.

    A name may be ``NAME=RUN``: then NAME stands in the tables. Segments that not all runs have are an error, or left
    out where ``shared`` says so.
    """
    how = How(tuple(baselines), reference, wanted, deciding, tuple(by), shared, prices)
    return compare_held(held_runs(names, config), how)


def compare_run(
    store: Store,
    name: str,
    *,
    baselines: Sequence[Baseline] = (),
    reference: Path | None = None,
    wanted: Wanted = Wanted(),
    deciding: str | None = None,
    by: Sequence[Grouping] = (),
    prices: Path | None = None,
) -> Comparison:
    """Compare the stages of one run of an open store with each other and with ``baselines``.

    ``wanted`` says what to score with: the first row is the baseline of its tests; its ``edits_from`` and ``systems``
    are not used. Its default metrics are left out where a segment has no reference. ``reference`` is a file that takes
    the place of the run's references, ``deciding`` the metric that regressions and gains go by, ``prices`` a file to
    compute dollars anew by. Raises :class:`mtagent.errors.MtagentError` for what does not fit.
    """
    how = How(tuple(baselines), reference, wanted, deciding, tuple(by), prices=prices)
    return compare_held([held_run(store, name)], how)


def held_runs(names: Sequence[str], config: Config) -> list[HeldRun]:
    """What the runs ``names`` (or ``NAME=RUN``) of the store that ``config`` names hold."""
    with open_existing(config.store) as store:
        return [replace(held_run(store, run), name=name) for name, run in _runs_named(store, names)]


def _runs_named(store: Store, specs: Sequence[str]) -> list[tuple[str, str]]:
    stored = {run.name for run in store.runs()}
    found = []
    for spec in specs:
        name, equals, run = spec.partition("=")
        found.append((name, run) if equals and name and spec not in stored else (spec, spec))
    names = [name for name, _ in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"two runs are called {twice!r}: name each once, or as NAME=RUN")
    return found


def compare_held(runs: Sequence[HeldRun], how: How) -> Comparison:
    """Compare runs that were read from the store."""
    bills = Bills(how.prices)
    held, remarks = aligned(runs, shared=how.shared)
    segments = _runs_segments(held, how.reference)
    unlike = [] if how.reference else about_references(held)
    wanted, without = _scorable(how.wanted, segments)
    metrics = make_metrics(wanted.metrics, segments[0].target_lang, comet_python=wanted.comet_python)
    rows, report = scored(
        _rows(held, how.baselines, bills), segments, replace(wanted, metrics=metrics, edits_from=None)
    )
    place = deciding_metric(metrics, rows, how.deciding)
    rows, ways = moved(rows, place, segments[0].target_lang)
    signatures = (*_signatures(rows), *ways)
    rows = priced(rows, place)
    printed = tuple(cell.score.metric for cell in rows[0].cells)
    told = [warning for run in held for warning in about_run(run, bills)]
    return Comparison(
        segments=report.segments,
        rows=rows,
        metrics=printed,
        deciding=None if place is None else printed[place],
        resampling=report.resampling,
        parts=_parts(how.by, metrics, rows, segments),
        signatures=signatures,
        prices=bills.told,
        warnings=(
            *remarks,
            *told,
            *unlike,
            *without,
            *about_gates(held, metrics, printed),
            *about_leaks(held, segments),
            *about_test(report),
            *about_texts(rows, report),
            *about_lengths(signatures),
        ),
        source_lang=segments[0].source_lang,
        target_lang=segments[0].target_lang,
    )


def _parts(
    by: Sequence[Grouping], metrics: Sequence[Metric], rows: Sequence[Row], segments: Sequence[Segment]
) -> dict[str, tuple[Part, ...]] | None:
    """The scores by part for each grouping that was asked for."""
    names = [row.name for row in rows]
    each = [list(one.each(names)) if isinstance(one, BySystem) else [one] * len(rows) for one in metrics]
    return {grouping: parts_by(grouping, rows, segments, each) for grouping in dict.fromkeys(by)} or None


def _runs_segments(runs: Sequence[HeldRun], reference: Path | None) -> list[Segment]:
    """The segments, with the references of a file where one is given, else of the first run that has them."""
    segments = [one.segment for one in runs[0].passed]
    texts: Sequence[str | None]
    if reference is None:
        held = zip(*([one.segment.reference for one in run.passed] for run in runs), strict=True)
        texts = [next((text for text in of_segment if text is not None), None) for of_segment in held]
    else:
        texts = texts_for(runs[0], reference, "reference")
    return [
        one if one.reference == text else one.model_copy(update={"reference": text})
        for one, text in zip(segments, texts, strict=True)
    ]


def _scorable(wanted: Wanted, segments: Sequence[Segment]) -> tuple[Wanted, list[str]]:
    """What can be scored: the default metrics only where every segment has a reference."""
    without = [segment.id for segment in segments if segment.reference is None]
    if not without or tuple(wanted.metrics) != Wanted.metrics:
        return wanted, []
    if wanted.paired or wanted.resampling is not None:
        raise ConfigError(
            f"a test needs a metric, and segment {without[0]!r} has no reference: give -r FILE, or -m NAME"
        )
    which = f"{len(without)} of {len(segments)} segments have" if len(without) < len(segments) else "the segments have"
    told = f"{which} no reference: BLEU, chrF and TER are left out (-r FILE gives references)"
    return replace(wanted, metrics=()), [told]


def _signatures(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(f"{c.score.metric}|{c.score.signature}" for row in rows for c in row.cells))


def _rows(runs: Sequence[HeldRun], baselines: Sequence[Baseline], bills: Bills) -> list[Row]:
    """The texts as given, once where they are the same in all runs; each run's stages; the other systems."""
    given = [run.texts(GIVEN) for run in runs if GIVEN in run.systems]
    common = len(given) == len(runs) and len(set(given)) == 1
    rows = [Row(GIVEN, runs[0].name if len(runs) == 1 else None, GIVEN, given[0])] if common else []
    for run in runs:
        rows += _rows_of(run, bills, alone=len(runs) == 1, start=rows[0] if common else None)
    first = rows[0].name
    rows += [Row(name, None, None, texts_for(runs[0], path), former=first) for name, path in baselines]
    names = [row.name for row in rows]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"two rows are called {twice!r}: name the file with --baseline NAME=FILE")
    return rows


def _rows_of(run: HeldRun, bills: Bills, *, alone: bool, start: Row | None) -> list[Row]:
    """The stages of a run; ``start`` is the row that comes before, where the texts as given stand in it already."""
    rows: list[Row] = [] if start is None else [start]
    for system in run.systems[0 if start is None else 1 :]:
        former = (rows[0] if system == FINAL else rows[-1]).name if rows else None
        name = system if alone else f"{run.name}/{system}"
        made = Row(name, run.name, system, run.texts(system), former=former)
        rows.append(made if system == GIVEN else _with_costs(made, run, bills))
    return rows if start is None else rows[1:]


def _with_costs(row: Row, run: HeldRun, bills: Bills) -> Row:
    assert row.stage is not None
    return replace(row, outcomes=run.outcomes(row.stage), cost=bills.cost(run, row.stage))
