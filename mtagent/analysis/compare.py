"""Whether a stage pays off: runs and other systems side by side, with scores, edits, outcomes and costs.

``None`` means that there is no such number; it is never zero.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, get_args

import numpy as np

from mtagent.analysis.review_summary import ReviewSummary
from mtagent.analysis.score import Corpus, ScoreOptions, ScoreReport, listed_flags, score_corpus
from mtagent.analysis.staged_run import PAID, Bills, Cost, Outcomes, StagedRun, aligned, read_run, texts_for
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.formats.ratings import FINAL, GIVEN
from mtagent.metrics.overlap import MOST_CHANGES, MOST_WORDS, NO_SHIFTS, REPLACED, Overlap, characters_to, ter_to
from mtagent.metrics.protocol import HeavyMetric, Metric, for_systems, make_metrics
from mtagent.metrics.significance import FEW, Interval, Resampling, statistics_of
from mtagent.records import Score, Segment
from mtagent.store.store import Store, open_existing
from mtagent.text import amounts, scripts

NOISE = 1e-9
"""Differences of scores that are smaller are the noise of binary numbers."""
_PREFERRED = "chrF2"
_SHOWN = 5
Baseline = tuple[str, Path]
"""Another system: its name, and the file with its texts."""
Grouping = Literal["domain", "length", "document"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)


class Cell(NamedTuple):
    """A row's score by one metric. ``difference`` is its score minus that of the ``former`` row."""

    score: Score
    difference: float | None = None
    interval: Interval | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class Moved:
    """How this row's texts differ from those of the former row.

    ``ter``: the words edited per 100 words of these texts (HTER, Snover et al. 2006). ``characters``: the sum of
    Levenshtein distances. ``changed``: the share of segments with another text. ``regressed``: the share of segments
    that score worse by the deciding metric. ``gain_to_edit``: the gain by that metric per point of ``ter``.
    """

    ter: float
    characters: int
    changed: float
    regressed: float | None = None
    gain_to_edit: float | None = None


@dataclass(frozen=True)
class Row:
    """A system: the given texts, those after a stage, the final ones of a run, or those of a file.

    ``name`` is unique and printed. ``run`` and ``stage`` (``given``, ``translate`` …, ``final``) say where the texts
    come from; both are ``None`` for a file, and ``run`` is ``None`` for given texts that several runs share. ``former``
    names the row that differences and ``moved`` refer to: the stage before; for ``final`` the first row of its run; for
    a file the first row of all. The costs of ``final`` are those of the whole run.
    """

    name: str
    run: str | None
    stage: str | None
    texts: tuple[str, ...]
    cells: tuple[Cell, ...] = ()
    former: str | None = None
    moved: Moved | None = None
    outcomes: Outcomes | None = None
    cost: Cost | None = None


class Part(NamedTuple):
    """Segments of one domain, length or document. ``scores`` are by row, then by metric."""

    name: str
    segments: int
    scores: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Comparison:
    """The rows in order; the first one is the baseline of the tests.

    ``segments`` are the ids, ``metrics`` the printed names in the order of the cells. Regressions, gain per edit and
    dollars per point refer to the metric ``deciding``. ``parts`` holds the parts of each requested grouping
    (``domain``, ``length``, ``document``). ``signatures`` are ``NAME|signature`` of all metrics, and of what ``moved``
    was measured with. ``prices`` says where the dollars come from, ``warnings`` are sentences for the user.
    ``source_lang`` and ``target_lang`` are those of the first segment. ``reviews`` are people's decisions by run.
    """

    segments: tuple[str, ...]
    rows: tuple[Row, ...]
    metrics: tuple[str, ...] = ()
    deciding: str | None = None
    resampling: Resampling | None = None
    parts: Mapping[str, tuple[Part, ...]] | None = None
    signatures: tuple[str, ...] = ()
    prices: str = PAID
    warnings: tuple[str, ...] = ()
    source_lang: str = ""
    target_lang: str = ""
    reviews: Mapping[str, ReviewSummary] | None = None

    def row(self, name: str) -> Row:
        """The row of this name."""
        return next(row for row in self.rows if row.name == name)

    @property
    def place(self) -> int | None:
        """The place of the deciding metric among the cells of a row."""
        return self.metrics.index(self.deciding) if self.deciding in self.metrics else None


class Options(TypedDict, total=False):
    """The options of a comparison; see :func:`compare_run`."""

    baselines: Sequence[Baseline]
    reference: Path | None
    scoring: ScoreOptions
    deciding: str | None
    by: Sequence[Grouping]
    shared: bool
    prices: Path | None


def compare_runs(names: Sequence[str], config: Config, **options: Unpack[Options]) -> Comparison:
    """Compare the stored runs ``names`` of the store in ``config``; see :func:`compare_run`.

    A name may be ``NAME=RUN``: tables then show NAME. Segments that some runs lack are an error, or left out if
    ``shared``.
    """
    return compare_staged(read_runs(names, config), **options)


def compare_run(store: Store, name: str, **options: Unpack[Options]) -> Comparison:
    """Compare the stages of a run with each other and with ``baselines``.

    ``scoring`` says how to score (without ``edits_from`` and ``systems``); tests are against the first row. The default
    metrics are left out if a segment has no reference. The file ``reference`` replaces the references of the run,
    ``deciding`` names the metric that regressions and gains refer to, and dollars are computed anew from the file
    ``prices``. Raises :class:`mtagent.errors.MtagentError` for options that do not fit.
    """
    return compare_staged([read_run(store, name)], **options)


def read_runs(specs: Sequence[str], config: Config) -> list[StagedRun]:
    """The runs ``specs`` (each ``RUN`` or ``NAME=RUN``) of the store in ``config``."""
    with open_existing(config.store) as store:
        stored = {run.name for run in store.runs()}
        named = []
        for spec in specs:
            name, equals, run = spec.partition("=")
            named.append((name, run) if equals and name and spec not in stored else (spec, spec))
        names = [name for name, _ in named]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ConfigError(f"two runs are called {twice!r}: name each once, or as NAME=RUN")
        return [replace(read_run(store, run), name=name) for name, run in named]


def compare_staged(
    runs: Sequence[StagedRun],
    *,
    baselines: Sequence[Baseline] = (),
    reference: Path | None = None,
    scoring: ScoreOptions = ScoreOptions(),
    deciding: str | None = None,
    by: Sequence[Grouping] = (),
    shared: bool = False,
    prices: Path | None = None,
) -> Comparison:
    """Compare runs that were read from the store; see :func:`compare_run`."""
    bills = Bills(prices)
    runs, warnings = aligned(runs, shared=shared)
    for run in runs:
        warnings += _about_run(run, bills)
        if run.review is not None and run.review.stale:
            stale = amounts.counted(run.review.stale, "decision")
            warnings.append(f"run {run.name!r}: {stale} on texts that are others by now: not in force")
    segments = _segments(runs, reference, warnings)
    scoring = _scorable(scoring, segments, warnings)
    target_lang = segments[0].target_lang
    metrics = make_metrics(scoring.metrics, target_lang, comet_python=scoring.comet_python)
    rows = _rows(runs, baselines, bills)
    report = score_corpus(
        Corpus(segments, {row.name: list(row.texts) for row in rows}),
        replace(scoring, metrics=metrics, edits_from=None),
    )
    names = [entries[0].score.metric for entries in report.entries]
    printed = [  # BLEU with another tokenizer is ``BLEU (2)``; the signatures say what it is
        f"{name} ({names[:i].count(name) + 1})" if name in names[:i] else name for i, name in enumerate(names)
    ]
    place = _deciding(metrics, printed, deciding)
    rows, signatures = _with_scores(rows, report, printed, place, target_lang)
    warnings += _about_gates(runs, metrics, printed)
    warnings += _about_leaks(runs, segments)
    warnings += _about_texts(rows, report, signatures)
    each = [for_systems(metric, [row.name for row in rows]) for metric in metrics]
    return Comparison(
        segments=report.segments,
        rows=tuple(rows),
        metrics=tuple(printed),
        deciding=None if place is None else printed[place],
        resampling=report.resampling,
        parts={grouping: parts_by(grouping, rows, segments, each) for grouping in dict.fromkeys(by)} or None,
        signatures=tuple(signatures),
        prices=bills.source,
        warnings=tuple(warnings),
        source_lang=segments[0].source_lang,
        target_lang=target_lang,
        reviews={run.name: run.review for run in runs if run.review is not None} or None,
    )


def _segments(runs: Sequence[StagedRun], reference: Path | None, warnings: list[str]) -> list[Segment]:
    """The segments with the references of the file, or else of the first run that has any."""
    own = [[staged.segment.reference for staged in run.segments] for run in runs]
    if reference is not None:
        texts: Sequence[str | None] = texts_for(runs[0], reference, "reference")
    else:
        texts = [next((text for text in each if text is not None), None) for each in zip(*own, strict=True)]
        unlike = [
            staged.segment.id
            for staged, each in zip(runs[0].segments, zip(*own, strict=True), strict=True)
            if len({*each} - {None}) > 1
        ]
        if unlike:
            warnings.append(
                f"the runs have other references for {amounts.counted(len(unlike), 'segment')} ({_ids(unlike)}): those "
                "of the run named first are taken (-r FILE gives others)"
            )
    return [
        staged.segment if staged.segment.reference == text else staged.segment.model_copy(update={"reference": text})
        for staged, text in zip(runs[0].segments, texts, strict=True)
    ]


def _scorable(scoring: ScoreOptions, segments: Sequence[Segment], warnings: list[str]) -> ScoreOptions:
    """``scoring``, without the default metrics if a segment has no reference."""
    without = [segment.id for segment in segments if segment.reference is None]
    if not without or tuple(scoring.metrics) != ScoreOptions.metrics:
        return scoring
    if scoring.paired or scoring.resampling is not None:
        raise ConfigError(
            f"a test needs a metric, and segment {without[0]!r} has no reference: give -r FILE, or -m NAME"
        )
    which = f"{len(without)} of {len(segments)} segments have" if len(without) < len(segments) else "the segments have"
    warnings.append(f"{which} no reference: BLEU, chrF and TER are left out (-r FILE gives references)")
    return replace(scoring, metrics=())


def _rows(runs: Sequence[StagedRun], baselines: Sequence[Baseline], bills: Bills) -> list[Row]:
    """The given texts, once if all runs share them; the stages of each run; the other systems."""
    given = [run.texts(GIVEN) for run in runs if GIVEN in run.systems]
    common = len(given) == len(runs) and len(set(given)) == 1
    alone = len(runs) == 1
    rows = [Row(GIVEN, runs[0].name if alone else None, GIVEN, given[0])] if common else []
    for run in runs:
        own = rows[:1] if common else []
        for system in run.systems[1 if common else 0 :]:
            former = (own[0] if system == FINAL else own[-1]).name if own else None
            name = system if alone else f"{run.name}/{system}"
            row = Row(name, run.name, system, run.texts(system), former=former)
            if system != GIVEN:
                row = replace(row, outcomes=run.outcomes(system), cost=bills.cost(run, system))
            own.append(row)
        rows += own[1:] if common else own
    first = rows[0].name
    rows += [Row(name, None, None, texts_for(runs[0], path), former=first) for name, path in baselines]
    names = [row.name for row in rows]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"two rows are called {twice!r}: name the file with --baseline NAME=FILE")
    return rows


def _deciding(metrics: Sequence[Metric], printed: Sequence[str], named: str | None) -> int | None:
    """The place of the metric that regressions and gains refer to; ``None`` if nothing is scored.

    ``named`` is its name in tables or in ``-m``. Raises :class:`ConfigError`.
    """
    if named is None:
        return printed.index(_PREFERRED) if _PREFERRED in printed else 0 if printed else None
    for place, (metric, label) in enumerate(zip(metrics, printed, strict=True)):
        if named.casefold() in (metric.name.casefold(), label.casefold()):
            return place
    there = f"scored are: {', '.join(printed)}" if printed else "nothing is scored"
    raise ConfigError(f"--deciding {named!r}: no such metric here; {there} (-m NAME adds one)")


def _with_scores(
    rows: Sequence[Row], report: ScoreReport, printed: Sequence[str], place: int | None, target_lang: str
) -> tuple[list[Row], list[str]]:
    """``rows`` with scores, changes since their former rows, and dollars per edit and point; and all signatures."""
    ter_metric = Overlap("ter", target_lang)
    by_name: dict[str, Row] = {}
    signatures: dict[str, None] = {}
    ways: dict[str, None] = {}
    for number, row in enumerate(rows):
        former = by_name.get(row.former or "")
        cells = []
        for i, (label, entries) in enumerate(zip(printed, report.entries, strict=True)):
            _, score, interval, p_value = entries[number]
            difference = None if former is None else score.value - former.cells[i].score.value
            cells.append(Cell(score.model_copy(update={"metric": label}), difference, interval, p_value))
            signatures[f"{label}|{score.signature}"] = None
        row = replace(row, cells=tuple(cells))
        gain = 0.0
        if former is not None:
            ter = ter_to(former.texts, row.texts, target_lang, ter_metric)
            characters = characters_to(former.texts, row.texts)
            ways |= dict.fromkeys([f"TER between rows|{ter.signature}", f"characters|{characters.signature}"])
            changed = sum(old != new for old, new in zip(former.texts, row.texts, strict=True))
            moved = Moved(ter.value, int(characters.value), changed / len(row.texts))
            if place is not None:
                gains = gains_of(former, row, place)
                decisive = row.cells[place]
                gain = (decisive.difference or 0.0) * (1 if decisive.score.higher_is_better else -1)
                moved = replace(
                    moved,
                    regressed=sum(own < -NOISE for own in gains) / len(gains),
                    gain_to_edit=gain / ter.value if ter.value > 0 else None,
                )
            row = replace(row, moved=moved)
        if row.cost is not None and (dollars := row.cost.usage.cost) is not None:
            if row.stage == FINAL and former is not None and former.cost is not None:
                # the costs of the whole run: what its first row took is no price of what came after
                first = former.cost.usage.cost
                dollars = None if first is None else max(0.0, dollars - first)
            edits = (row.outcomes.edits or {}).get("applied", 0) if row.outcomes else 0
            if dollars is not None:
                each, point = dollars / edits if edits else None, dollars / gain if gain > NOISE else None
                row = replace(row, cost=replace(row.cost, per_kept_edit=each, per_point=point))
        by_name[row.name] = row
    return list(by_name.values()), [*signatures, *ways]


def gains_of(former: Row, row: Row, place: int) -> list[float]:
    """How much each segment improved since ``former``, whichever direction is better."""
    before, after = former.cells[place].score, row.cells[place].score
    sign = 1 if after.higher_is_better else -1
    return [sign * (new - old) for old, new in zip(before.segments, after.segments, strict=True)]


_LENGTHS = {"words": (10, 20, 40, 80), "characters": (20, 40, 80, 160)}


def parts_by(
    grouping: Grouping, rows: Sequence[Row], segments: Sequence[Segment], metrics: Sequence[Sequence[Metric]]
) -> tuple[Part, ...]:
    """The parts of ``grouping``: lengths from short to long, others in the order of the segments.

    ``metrics`` holds, for each cell, a metric for each row. If the counts of a metric add up, those of a part are
    summed; other metrics score the part anew.
    """
    groups = grouped(grouping, segments)
    scores: list[list[list[float]]] = [[[] for _ in rows] for _ in groups]
    for number, row in enumerate(rows):
        for place, of_row in enumerate(metrics):
            metric = of_row[number]
            try:
                counts, combined = statistics_of(metric, segments, row.texts, row.cells[place].score)
            except ConfigError:
                for part, (_, places) in zip(scores, groups, strict=True):
                    texts = [row.texts[i] for i in places]
                    part[number].append(metric.score([segments[i] for i in places], texts).value)
                continue
            for part, (_, places) in zip(scores, groups, strict=True):
                part[number].append(float(combined(np.asarray(counts)[places].sum(axis=0, keepdims=True))[0]))
    for metric in (each for of_row in metrics for each in of_row if isinstance(each, HeavyMetric)):
        metric.release()
    return tuple(
        Part(name, len(places), tuple(map(tuple, part))) for (name, places), part in zip(groups, scores, strict=True)
    )


def grouped(grouping: Grouping, segments: Sequence[Segment]) -> list[tuple[str, list[int]]]:
    """The names of the parts and the places of their segments, in the order of :func:`parts_by`."""
    if grouping not in GROUPINGS:
        raise ConfigError(f"no grouping {grouping!r}; there are: {', '.join(GROUPINGS)}")
    groups: dict[Any, list[int]] = {}
    for place, segment in enumerate(segments):
        key: Any = None
        if grouping != "length":
            key = getattr(segment, grouping) or None
        elif scripts.has_spaces(segment.source_lang):
            key = "words", bisect_left(_LENGTHS["words"], len(scripts.words(segment.source)))
        else:
            size = sum(not character.isspace() for character in segment.source)
            key = "characters", bisect_left(_LENGTHS["characters"], size)
        groups.setdefault(key, []).append(place)
    if grouping != "length":
        return [(f"no {grouping}" if name is None else name, places) for name, places in groups.items()]
    parts = []
    for unit, number in sorted(groups, key=lambda size: (size[0] != "words", size[1])):
        bounds = (0, *_LENGTHS[unit])
        name = (
            f"over {bounds[-1]} {unit}"
            if number == len(bounds) - 1
            else f"{bounds[number] + bool(number)}–{bounds[number + 1]} {unit}"
        )
        parts.append((name, groups[unit, number]))
    return parts


def _about_run(run: StagedRun, bills: Bills) -> Iterator[str]:
    """What ``run`` lacks, and which of its costs belong to no stage."""
    if run.stored < run.total:
        missing = run.total - run.stored
        yield f"run {run.name!r} is {run.state}: {missing} of its {run.total} segments are not in it yet"
    outcomes = run.outcomes(FINAL)
    if outcomes.failed:
        failed = (
            f"run {run.name!r}: {amounts.counted(outcomes.failed, 'segment')} failed and kept the last accepted text"
        )
        if outcomes.failed_changed:
            failed += f", which an earlier stage had changed in {outcomes.failed_changed} of them"
        yield failed
    if empty := [staged.segment.id for staged in run.segments if staged.text(FINAL) is None]:
        number = amounts.counted(len(empty), "segment")
        yield f"run {run.name!r}: {number} without any translation, scored as empty: {_ids(empty)}"
    if (rest := bills.unaccounted(run)) is not None:
        tokens, dollars = rest.input_tokens + rest.output_tokens, amounts.dollars(rest.cost, "unknown dollars")
        yield (
            f"run {run.name!r} also paid for {amounts.counted(rest.calls, 'call')} ({tokens:,} tokens, {dollars}) that "
            "no stored step holds (failed tries, segments under way): they are in its row final, in none of its stages"
        )
    if reused := sum(call.reused for call in run.calls(FINAL)):
        yield (
            f"run {run.name!r}: {amounts.counted(reused, 'reply', 'replies')} came from the store and cost nothing "
            "here: its tokens and dollars are those of the others"
        )


def _about_gates(runs: Sequence[StagedRun], metrics: Sequence[Metric], printed: Sequence[str]) -> Iterator[str]:
    """Metrics by which the gate of a run decided."""
    for run in runs:
        gate, judge = str(run.settings.get("gate", "")), run.settings.get("judge")
        named = judge.get("evaluator") if isinstance(judge, Mapping) else None
        judges = run.judges
        if gate in ("rate", "qe") or named is not None:
            names = (gate, named or run.settings.get("evaluator"))
            judges |= {str(name).partition(":")[0] for name in names if name}
        own = [
            label
            for metric, label in zip(metrics, printed, strict=True)
            if any(_same_name(judge, name) for judge in judges for name in (metric.name, label))
        ]
        alone = len(own) == len(printed)
        for label in own:
            yield (
                f"run {run.name!r} let its gate keep only what {label} finds better, so that {label} must rise: no "
                "proof of a gain. "
                + ("Never report it alone: add another metric (-m)" if alone else "Go by the other metrics")
            )


def _same_name(judge: str, metric: str) -> bool:
    """Whether a judge is this metric, maybe by a longer name: ``cometkiwi`` is ``wmt22-cometkiwi-da``."""
    ours, theirs = (re.sub(r"[^a-z0-9]", "", name.casefold()) for name in (judge, metric))
    return bool(ours) and (ours == theirs or (len(ours) >= 5 and ours in theirs))


def _about_leaks(runs: Sequence[StagedRun], segments: Sequence[Segment]) -> Iterator[str]:
    """Who saw the references that the texts are scored by."""
    if not any(segment.reference for segment in segments):
        return
    for run in runs:
        signed = run.settings.get("signatures") or {}
        roles = {"postedit": "its editor", "judge": "its judge"}
        if saw := [who for role, who in roles.items() if "|reference:yes" in str(signed.get(role, ""))]:
            yield f"run {run.name!r} showed the references to {' and '.join(saw)}: scores against them prove nothing"


def _about_texts(rows: Sequence[Row], report: ScoreReport, signatures: Sequence[str]) -> Iterator[str]:
    """Too few segments for a test, suspicious texts (once if rows are equal), and texts too long for exact counts."""
    if report.paired and (number := len(report.segments)) < FEW:
        yield f"{amounts.counted(number, 'segment')}: too few for a p-value to mean much"
    seen: set[tuple[str, ...]] = set()
    for row in rows:
        if row.texts not in seen and (flagged := report.flagged(row.name)):
            yield f"{row.name}: {listed_flags(flagged, _SHOWN)}"
        seen.add(row.texts)
    parts = {part for signature in signatures for part in signature.split("|")}
    if NO_SHIFTS in parts:
        yield f"a text has more than {MOST_WORDS:,} words: TER counts no shifts of words there ({NO_SHIFTS})"
    if REPLACED in parts:
        yield (
            f"a very long text has more than {MOST_CHANGES:,} changes: all between the first and the last counts as "
            f"replaced, in TER and characters ({REPLACED})"
        )


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
