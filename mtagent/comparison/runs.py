"""Stored runs, and other systems' files, as one comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mtagent.candidates import FINAL, GIVEN
from mtagent.comparison import warned
from mtagent.comparison.aligned import aligned
from mtagent.comparison.baselines import texts_for
from mtagent.comparison.compared import deciding_metric, moved, priced, scored
from mtagent.comparison.costs import Bills
from mtagent.comparison.held import HeldRun, held_run
from mtagent.comparison.parts import Grouping, parts_by
from mtagent.comparison.rows import Comparison, Part, Row
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.metrics.named import make_metrics
from mtagent.protocols import BySystem, Metric
from mtagent.records import Segment
from mtagent.scoring import Wanted
from mtagent.store import Store, open_existing

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
        return [replace(held_run(store, run), name=name) for name, run in _named(store, names)]


def _named(store: Store, specs: Sequence[str]) -> list[tuple[str, str]]:
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
    segments = _segments(held, how.reference)
    unlike = [] if how.reference else warned.about_references(held)
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
    told = [warning for run in held for warning in warned.about_run(run, bills)]
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
            *warned.about_gates(held, metrics, printed),
            *warned.about_leaks(held, segments),
            *warned.about_test(report),
            *warned.about_texts(rows, report),
            *warned.about_lengths(signatures),
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


def _segments(runs: Sequence[HeldRun], reference: Path | None) -> list[Segment]:
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
