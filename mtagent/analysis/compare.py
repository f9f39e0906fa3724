"""Whether a stage pays off: runs and other systems side by side, with scores, edits, outcomes and costs.

``None`` means that the number doesn't exist; it is never zero.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from mtagent.analysis.compared_rows import (
    Cell,
    ComparedTexts,
    Contrast,
    Grouping,
    Moved,
    Part,
    SegmentGroup,
    contrasts_in,
    gains_of,
    pairs_of,
    parts_by,
)
from mtagent.analysis.review_summary import ReviewSummary
from mtagent.analysis.score import (
    Corpus,
    Pair,
    ScoreOptions,
    ScoreReport,
    installed_metrics,
    listed_flags,
    named_runs,
    score_corpus,
)
from mtagent.analysis.staged_run import (
    PAID,
    Bills,
    Cost,
    RunCosts,
    StagedRun,
    aligned,
    read_run,
    texts_for,
)
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.formats.ratings import FINAL, GIVEN
from mtagent.metrics.overlap import MOST_CHANGES, MOST_WORDS, NO_SHIFTS, REPLACED, Overlap, characters_to, ter_to
from mtagent.metrics.protocol import Metric, for_systems, make_metrics
from mtagent.metrics.significance import NOISE, SIGNIFICANT, Resampling
from mtagent.records import Segment, Usage
from mtagent.store.runs import RunSummary
from mtagent.store.store import Store, open_existing
from mtagent.text import amounts

_PREFERRED = "chrF2"
_SHOWN = 5
_SEED = re.compile(r"\|(?:judges-)?seed:-?\d+")
Baseline = tuple[str, Path]
"""Another system: its name, and the file with its texts."""


class RepeatedScore(NamedTuple):
    """The scores of one stage of repeated runs by one metric.

    Repeats are runs with equal settings and inputs, except for their seed. Of several runs with the same seed only the
    first counts: their replies are the same ones.
    """

    runs: tuple[str, ...]
    stage: str
    metric: str
    mean: float
    deviation: float
    """The standard deviation over the runs (n - 1): how much chance in the models' replies changes the score."""
    half_width: float | None
    """The mean of half the 95 % intervals of the runs: how much the choice of segments changes the score. ``None``
    without resampling."""


@dataclass(frozen=True)
class RunComparison:
    """The rows in order, and the differences between them."""

    segments: tuple[str, ...]
    """The ids."""
    rows: tuple[ComparedTexts, ...]
    metrics: tuple[str, ...] = ()
    """The printed names in the order of the cells."""
    deciding: str | None = None
    """The metric that regressions, gain per edit and dollars per point refer to."""
    against: str | None = None
    """Which rows are compared with which, as in :func:`mtagent.analysis.compared_rows.pairs_of`."""
    contrasts: tuple[Contrast, ...] = ()
    """Pair by pair, then metric by metric."""
    resampling: Resampling | None = None
    parts: Mapping[str, tuple[Part, ...]] | None = None
    """By requested grouping (``domain``, ``length``, ``document``)."""
    signatures: tuple[str, ...] = ()
    """``NAME|signature`` of all metrics, and of what ``moved`` was measured with."""
    prices: str = PAID
    """Where the dollars come from."""
    warnings: tuple[str, ...] = ()
    source_lang: str = ""
    target_lang: str = ""
    """The languages of the first segment."""
    reviews: Mapping[str, ReviewSummary] | None = None
    """People's decisions by run."""
    repeats: tuple[RepeatedScore, ...] = ()
    """The scores of repeated runs, stage by stage, then metric by metric."""

    def row(self, name: str) -> ComparedTexts:
        """The row of this name."""
        return next(row for row in self.rows if row.name == name)

    def rows_of(self, run: str) -> list[ComparedTexts]:
        """The rows of ``run``, with the given texts also if several runs share them."""
        rows = []
        for row in self.rows:
            is_shared = row.run is None and row.stage == GIVEN
            if row.run == run or is_shared:
                rows.append(row)
        return rows

    def contrast(self, name: str, against: str | None, metric: str) -> Contrast | None:
        """The difference of two rows by a metric of :attr:`metrics`; ``None`` if these were not compared."""
        for contrast in self.contrasts:
            if (contrast.row, contrast.against, contrast.metric) == (name, against, metric):
                return contrast
        return None

    @property
    def place(self) -> int | None:
        """The place of the deciding metric among the cells of a row."""
        return self.metrics.index(self.deciding) if self.deciding in self.metrics else None


class CompareOptions(TypedDict, total=False):
    """The options of a comparison; see :func:`compare_run`."""

    baselines: Sequence[Baseline]
    reference: Path | None
    scoring: ScoreOptions
    deciding: str | None
    against: str | None
    by: Sequence[Grouping]
    shared: bool
    prices: Path | None


def compare_runs(names: Sequence[str], config: Config, **options: Unpack[CompareOptions]) -> RunComparison:
    """Compare the stored runs ``names`` of the store in ``config``; see :func:`compare_run`.

    A name may be ``NAME=RUN``: tables then show NAME. Segments that some runs lack are an error, or left out if
    ``shared``.
    """
    with open_existing(config.store) as store:
        return compare_staged(read_runs(named_summaries(names, store), store), **options)


def compare_run(store: Store, name: str, **options: Unpack[CompareOptions]) -> RunComparison:
    """Compare the stages of a run with each other and with ``baselines``.

    ``scoring`` says how to score (without ``edits_from`` and ``systems``). The default metrics are left out if a
    segment has no reference. ``against`` chooses the pairs of rows to compare and test
    (:func:`mtagent.analysis.compared_rows.pairs_of`). The file ``reference`` replaces the references of the run,
    ``deciding`` names the metric that regressions and gains refer to, and dollars are recomputed from the file
    ``prices``. Raises :class:`mtagent.errors.MtagentError` for options that do not fit.
    """
    return compare_staged([read_run(store, store.run(name))], **options)


def named_summaries(specs: Sequence[str], store: Store) -> dict[str, RunSummary]:
    """The summaries of the runs ``specs`` (each ``RUN`` or ``NAME=RUN``), by the names to show."""
    return {name: store.run(run) for name, run in named_runs(specs, store).items()}


def read_runs(summaries: Mapping[str, RunSummary], store: Store) -> list[StagedRun]:
    """The runs of ``store`` with these ``summaries``, by the names to show."""
    runs: list[StagedRun] = []
    for name, summary in summaries.items():
        runs.append(read_run(store, summary, name, runs[0].segments if runs else ()))
    return runs


def compare_staged(
    runs: Sequence[StagedRun],
    *,
    baselines: Sequence[Baseline] = (),
    reference: Path | None = None,
    scoring: ScoreOptions = ScoreOptions(),
    deciding: str | None = None,
    against: str | None = None,
    by: Sequence[Grouping] = (),
    shared: bool = False,
    prices: Path | None = None,
) -> RunComparison:
    """Compare runs that were read from the store; see :func:`compare_run`."""
    bills = Bills(prices)
    runs, warnings = aligned(runs, shared=shared)
    costs: dict[str, RunCosts] = {}
    for run in runs:
        costs[run.name] = bills.costs(run)
        warnings += _about_run(run, costs[run.name].unaccounted)
    if reference is not None:
        references = texts_for(runs[0], reference, "reference")
        runs = [run.with_references(references) for run in runs]
    segments = _segments(runs, warnings)
    scoring = _scorable(scoring, segments, warnings)
    target_lang = segments[0].target_lang
    specs, left_out = installed_metrics(scoring.metrics, target_lang)
    warnings += left_out
    metrics = make_metrics(specs, target_lang, comet_python=scoring.comet_python)
    rows = _rows(runs, baselines, costs)
    pairs = pairs_of(rows, against)
    corpus = Corpus(segments, {row.name: list(row.texts) for row in rows})
    scoring = replace(scoring, metrics=metrics, edits_from=None, paired=scoring.paired and bool(pairs), pairs=pairs)
    report = score_corpus(corpus, scoring)
    printed = _distinct_names([entries[0].score.metric for entries in report.entries])
    place = _deciding(metrics, printed, deciding)
    rows, signatures = _with_scores(rows, report, printed, place, target_lang)
    warnings += _about_gates(runs, metrics, printed)
    warnings += _about_leaks(runs, segments)
    warnings += _about_texts(rows, report, signatures)
    contrasts = _contrasts(rows, printed, pairs, report)
    warnings += _about_correction(contrasts, report.resampling)
    parts = _with_costs(_parts(by, rows, segments, metrics, pairs, report), rows, runs, bills)
    return RunComparison(
        segments=report.segments,
        rows=tuple(rows),
        metrics=tuple(printed),
        deciding=None if place is None else printed[place],
        against=against,
        contrasts=contrasts,
        resampling=report.resampling,
        parts=parts or None,
        signatures=tuple(signatures),
        prices=bills.source,
        warnings=tuple(warnings),
        source_lang=segments[0].source_lang,
        target_lang=target_lang,
        reviews=_reviews(runs),
        repeats=_repeated_scores(runs, rows, printed),
    )


def _contrasts(
    rows: Sequence[ComparedTexts], printed: Sequence[str], pairs: Sequence[Pair], report: ScoreReport
) -> tuple[Contrast, ...]:
    """The differences of ``pairs`` over all segments, with the tests of ``report`` if it has any."""
    scores = []
    for row in rows:
        scores.append([cell.score.value for cell in row.cells])
    all_segments = SegmentGroup(slice(None), scores, report.tests if report.paired else ())
    (contrasts,) = contrasts_in([all_segments], rows, printed, pairs, report.segments)
    return contrasts


def _about_correction(contrasts: Sequence[Contrast], resampling: Resampling | None) -> Iterator[str]:
    """Whether there are too few resamples for any corrected p-value to be small."""
    if resampling is None:
        return
    smallest = 1 / (resampling.resamples + 1)
    for contrast in contrasts:
        is_smallest = contrast.p_value is not None and contrast.p_value <= smallest
        if is_smallest and contrast.p_holm is not None and contrast.p_holm >= SIGNIFICANT:
            yield (
                f"{resampling.resamples:,} resamples are too few for p (Holm) < {SIGNIFICANT} with so many tests: "
                f"give more with --resamples"
            )
            return


def _parts(
    by: Sequence[Grouping],
    rows: Sequence[ComparedTexts],
    segments: Sequence[Segment],
    metrics: Sequence[Metric],
    pairs: Sequence[Pair],
    report: ScoreReport,
) -> dict[str, tuple[Part, ...]]:
    """The parts of each grouping; tested if ``report`` has tests."""
    resampling = report.resampling if report.paired else None
    parts: dict[str, tuple[Part, ...]] = {}
    for grouping in dict.fromkeys(by):
        system_metrics = [for_systems(metric, report.systems) for metric in metrics]
        parts[grouping] = parts_by(grouping, rows, segments, system_metrics, pairs, resampling)
    return parts


def _with_costs(
    parts: Mapping[str, Sequence[Part]], rows: Sequence[ComparedTexts], runs: Sequence[StagedRun], bills: Bills
) -> dict[str, tuple[Part, ...]]:
    """The ``parts`` of each grouping with what their segments cost, by row."""
    with_costs: dict[str, tuple[Part, ...]] = {}
    for grouping, parts_of_grouping in parts.items():
        with_costs[grouping] = tuple(
            replace(part, costs=_costs_of(part, rows, runs, bills)) for part in parts_of_grouping
        )
    return with_costs


def _costs_of(part: Part, rows: Sequence[ComparedTexts], runs: Sequence[StagedRun], bills: Bills) -> dict[str, Cost]:
    """The cost of the segments of ``part``, by row."""
    costs: dict[str, Cost] = {}
    for run in runs:
        part_segments = [run.segments[place] for place in part.places]
        by_system = bills.costs(replace(run, segments=tuple(part_segments))).by_system
        for row in rows:
            if row.run == run.name and row.cost is not None and row.stage is not None:
                costs[row.name] = by_system[row.stage]
    return costs


def _reviews(runs: Sequence[StagedRun]) -> dict[str, ReviewSummary] | None:
    """People's decisions by run; ``None`` if nobody decided on any."""
    reviews = {}
    for run in runs:
        if run.review is not None:
            reviews[run.name] = run.review
    return reviews or None


def _distinct_names(names: Sequence[str]) -> list[str]:
    """BLEU with another tokenizer is ``BLEU (2)``; the signatures show which."""
    printed = []
    for place, name in enumerate(names):
        number = names[:place].count(name) + 1
        printed.append(name if number == 1 else f"{name} ({number})")
    return printed


def _segments(runs: Sequence[StagedRun], warnings: list[str]) -> list[Segment]:
    """The segments of the first run, each with its reference in the first run that has one."""
    segments = []
    differing = []
    for staged_segments in zip(*(run.segments for run in runs), strict=True):
        segment = staged_segments[0].segment
        references = dict.fromkeys(staged.segment.reference for staged in staged_segments)
        references.pop(None, None)
        if len(references) > 1:
            differing.append(segment.id)
        if references and segment.reference is None:
            segment = segment.model_copy(update={"reference": next(iter(references))})
        segments.append(segment)
    if differing:
        warnings.append(
            f"the references of the runs differ for {amounts.counted(len(differing), 'segment')} "
            f"({amounts.first_of(differing, _SHOWN)}): those of the first run are used (-r FILE gives others)"
        )
    return segments


def _scorable(scoring: ScoreOptions, segments: Sequence[Segment], warnings: list[str]) -> ScoreOptions:
    """``scoring``, without the default metrics if a segment has no reference."""
    without = []
    for segment in segments:
        if segment.reference is None:
            without.append(segment.id)
    if not without or tuple(scoring.metrics) != ScoreOptions.metrics:
        return scoring
    if scoring.paired or scoring.resampling is not None:
        raise ConfigError(
            f"a test needs a metric, and segment {without[0]!r} has no reference: give -r FILE, or -m NAME"
        )
    which = "the segments have"
    if len(without) < len(segments):
        which = f"{len(without)} of {len(segments)} segments have"
    warnings.append(f"{which} no reference: BLEU, chrF and TER are left out (-r FILE gives references)")
    return replace(scoring, metrics=())


def _rows(
    runs: Sequence[StagedRun], baselines: Sequence[Baseline], costs: Mapping[str, RunCosts]
) -> list[ComparedTexts]:
    """The given texts, once if all runs share them; the stages of each run; the other systems."""
    given_texts = []
    for run in runs:
        if GIVEN in run.systems:
            given_texts.append(run.texts(GIVEN))
    shares_given = len(given_texts) == len(runs) and len(set(given_texts)) == 1
    is_only_run = len(runs) == 1
    rows = []
    if shares_given:
        rows.append(ComparedTexts(GIVEN, runs[0].name if is_only_run else None, GIVEN, given_texts[0]))
    for run in runs:
        rows_of_run = rows[:1] if shares_given else []
        for system in run.systems:
            if shares_given and system == GIVEN:
                continue
            former = None
            if rows_of_run:
                former = rows_of_run[0].name if system == FINAL else rows_of_run[-1].name
            name = system if is_only_run else f"{run.name}/{system}"
            row = ComparedTexts(name, run.name, system, run.texts(system), former=former)
            if system != GIVEN:
                row = replace(row, outcomes=run.outcomes(system), cost=costs[run.name].by_system[system])
            rows_of_run.append(row)
            rows.append(row)
    first = rows[0].name
    for name, path in baselines:
        rows.append(ComparedTexts(name, None, None, texts_for(runs[0], path), former=first))
    names = set()
    for row in rows:
        if row.name in names:
            raise ConfigError(f"two rows are called {row.name!r}: name the file with --baseline NAME=FILE")
        names.add(row.name)
    return rows


def _deciding(metrics: Sequence[Metric], printed: Sequence[str], named: str | None) -> int | None:
    """The place of the metric that regressions and gains refer to; ``None`` if nothing is scored.

    ``named`` is its name in tables or in ``-m``. Raises :class:`ConfigError`.
    """
    if named is None:
        if _PREFERRED in printed:
            return printed.index(_PREFERRED)
        return 0 if printed else None
    for place, (metric, label) in enumerate(zip(metrics, printed, strict=True)):
        if named.casefold() in (metric.name.casefold(), label.casefold()):
            return place
    there = f"scored are: {', '.join(printed)}" if printed else "nothing is scored"
    raise ConfigError(f"--deciding {named!r}: is not one of the metrics; {there} (-m NAME adds one)")


def _with_scores(
    rows: Sequence[ComparedTexts], report: ScoreReport, printed: Sequence[str], place: int | None, target_lang: str
) -> tuple[list[ComparedTexts], list[str]]:
    """``rows`` with scores, changes since their former rows, and dollars per edit and point; and all signatures."""
    ter_metric = Overlap("ter", target_lang)
    by_name: dict[str, ComparedTexts] = {}
    signatures: dict[str, None] = {}
    edit_signatures: dict[str, None] = {}
    for number, row in enumerate(rows):
        former = by_name.get(row.former or "")
        cells = []
        for metric, (label, entries) in enumerate(zip(printed, report.entries, strict=True)):
            score, interval = entries[number].score, entries[number].interval
            difference = None if former is None else score.value - former.cells[metric].score.value
            cells.append(Cell(score.model_copy(update={"metric": label}), difference, interval))
            signatures[f"{label}|{score.signature}"] = None
        row = replace(row, cells=tuple(cells), flags=report.flags[row.name])
        gain = 0.0
        if former is not None:
            if place is not None:
                deciding = row.cells[place]
                gain = (deciding.difference or 0.0) * (1 if deciding.score.higher_is_better else -1)
            ter = ter_to(former.texts, row.texts, target_lang, ter_metric)
            characters = characters_to(former.texts, row.texts)
            edit_signatures[f"edited %|TER between rows|{ter.signature}"] = None
            edit_signatures[f"characters|{characters.signature}"] = None
            row = replace(row, moved=_moved(former, row, ter.value, int(characters.value), place, gain))
        row = _with_prices(row, former, gain)
        by_name[row.name] = row
    return list(by_name.values()), [*signatures, *edit_signatures]


def _moved(
    former: ComparedTexts, row: ComparedTexts, edited_percent: float, characters: int, place: int | None, gain: float
) -> Moved:
    """How ``row`` differs from ``former``, also by the deciding metric if there is one."""
    changed = sum(old != new for old, new in zip(former.texts, row.texts, strict=True))
    moved = Moved(edited_percent, characters, changed / len(row.texts))
    if place is None:
        return moved
    gains = gains_of(former, row, place)
    regressed = np.count_nonzero(gains < -NOISE)
    gain_to_edit = gain / edited_percent if edited_percent > 0 else None
    return replace(moved, regressed=float(regressed / len(gains)), gain_to_edit=gain_to_edit)


def _with_prices(row: ComparedTexts, former: ComparedTexts | None, gain: float) -> ComparedTexts:
    """``row`` with the dollars for each kept edit and each point gained, where dollars are known."""
    if row.cost is None or row.cost.nominal.cost is None:
        return row
    dollars = row.cost.nominal.cost
    if row.stage == FINAL and former is not None and former.cost is not None:
        # The cost is that of the whole run: the edits since the first row did not need what the first row took.
        if former.cost.nominal.cost is None:
            return row
        dollars = max(0.0, dollars - former.cost.nominal.cost)
    edits = 0
    if row.outcomes and row.outcomes.edits:
        edits = row.outcomes.edits.get("applied", 0)
    per_kept_edit = dollars / edits if edits else None
    per_point = dollars / gain if gain > NOISE else None
    return replace(row, cost=replace(row.cost, per_kept_edit=per_kept_edit, per_point=per_point))


def _about_run(run: StagedRun, unaccounted: Usage | None) -> Iterator[str]:
    """What ``run`` lacks, which of its costs belong to no stage, and which decisions are not in force."""
    if run.stored < run.total:
        missing = run.total - run.stored
        yield f"run {run.name!r} is {run.summary.state}: {missing} of its {run.total} segments are not in it yet"
    outcomes = run.outcomes(FINAL)
    if outcomes.failed:
        failed = (
            f"run {run.name!r}: {amounts.counted(outcomes.failed, 'segment')} failed and kept the last accepted text"
        )
        if outcomes.failed_changed:
            failed += f", which an earlier stage had changed in {outcomes.failed_changed} of them"
        yield failed
    empty = []
    for staged in run.segments:
        if staged.text(FINAL) is None:
            empty.append(staged.segment.id)
    if empty:
        number = amounts.counted(len(empty), "segment")
        ids = amounts.first_of(empty, _SHOWN)
        yield f"run {run.name!r}: {number} without any translation, scored as empty: {ids}"
    if unaccounted is not None:
        calls = amounts.counted(unaccounted.calls, "call")
        dollars = amounts.dollars(unaccounted.cost, "unknown dollars")
        yield (
            f"run {run.name!r} also paid for {calls} ({unaccounted.tokens:,} tokens, {dollars}) that no stored "
            "step holds (failed attempts, segments in flight): they are in its row final, not in its stages"
        )
    reused = sum(call.reused for call in run.calls(FINAL))
    if reused:
        yield (
            f"run {run.name!r}: {amounts.counted(reused, 'reply', 'replies')} came from the store and cost nothing "
            "here: other runs had asked the same, or this run itself; full costs, where they are shown, include what "
            "other runs paid"
        )
    if run.review is not None and run.review.stale:
        stale = amounts.counted(run.review.stale, "decision")
        yield f"run {run.name!r}: {stale} on texts that are others by now: not in force"


def _about_gates(runs: Sequence[StagedRun], metrics: Sequence[Metric], printed: Sequence[str]) -> Iterator[str]:
    """Metrics by which the gate of a run decided."""
    for run in runs:
        judges = run.judges
        gate = str(run.summary.settings.get("gate", ""))
        judge = run.summary.settings.get("judge")
        judge_name = judge.get("evaluator") if isinstance(judge, Mapping) else None
        if gate in ("rate", "qe") or judge_name is not None:
            for name in (gate, judge_name or run.summary.settings.get("evaluator")):
                if name:
                    judges.add(str(name).partition(":")[0])
        deciding = []
        for metric, label in zip(metrics, printed, strict=True):
            if any(_same_name(judge, metric.name) or _same_name(judge, label) for judge in judges):
                deciding.append(label)
        advice = "Go by the other metrics"
        if len(deciding) == len(printed):
            advice = "Never report it alone: add another metric (-m)"
        for label in deciding:
            yield (
                f"run {run.name!r} let its gate keep only what {label} finds better, so that {label} must rise: no "
                f"proof of a gain. {advice}"
            )


def _same_name(judge: str, metric: str) -> bool:
    """Whether a judge is this metric, maybe by a longer name: ``cometkiwi`` is ``wmt22-cometkiwi-da``."""
    judge_letters = re.sub(r"[^a-z0-9]", "", judge.casefold())
    metric_letters = re.sub(r"[^a-z0-9]", "", metric.casefold())
    if not judge_letters:
        return False
    return judge_letters == metric_letters or (len(judge_letters) >= 5 and judge_letters in metric_letters)


def _about_leaks(runs: Sequence[StagedRun], segments: Sequence[Segment]) -> Iterator[str]:
    """Who saw the references that the texts are scored by."""
    if not any(segment.reference for segment in segments):
        return
    for run in runs:
        signatures = run.summary.settings.get("signatures") or {}
        readers = []
        for role, reader in (("postedit", "its editor"), ("judge", "its judge")):
            if "|reference:yes" in str(signatures.get(role, "")):
                readers.append(reader)
        if readers:
            names = " and ".join(readers)
            yield f"run {run.name!r} showed the references to {names}: scores against them prove nothing"


def _about_texts(rows: Sequence[ComparedTexts], report: ScoreReport, signatures: Sequence[str]) -> Iterator[str]:
    """Too few segments for a test, suspicious texts (once if rows are equal), and texts too long for exact counts."""
    yield from report.warnings
    seen: set[tuple[str, ...]] = set()
    for row in rows:
        if row.texts in seen:
            continue
        seen.add(row.texts)
        flagged = report.flagged(row.name)
        if flagged:
            yield f"{row.name}: {listed_flags(flagged, _SHOWN)}"
    parts = "|".join(signatures).split("|")
    if NO_SHIFTS in parts:
        yield f"a text has more than {MOST_WORDS:,} words: TER counts no shifts of words there ({NO_SHIFTS})"
    if REPLACED in parts:
        yield (
            f"a very long text has more than {MOST_CHANGES:,} changes: all between the first and the last counts as "
            f"replaced, in TER and characters ({REPLACED})"
        )


def _repeated_scores(
    runs: Sequence[StagedRun], rows: Sequence[ComparedTexts], metrics: Sequence[str]
) -> tuple[RepeatedScore, ...]:
    """The scores of each stage after ``given`` by each of ``metrics``, for each group of at least two repeats."""
    groups: dict[str, dict[int | None, str]] = {}  # names of runs by seed
    for run in runs:
        names_by_seed = groups.setdefault(_all_but_seed(run.summary), {})
        names_by_seed.setdefault(run.summary.settings.get("seed"), run.name)
    repeated = list[RepeatedScore]()
    for names_by_seed in groups.values():
        rows_by_stage: dict[str, list[ComparedTexts]] = {}
        for row in rows:
            if row.run in names_by_seed.values() and row.stage not in (None, GIVEN):
                rows_by_stage.setdefault(str(row.stage), []).append(row)
        for rows_of_stage in rows_by_stage.values():
            if len(rows_of_stage) >= 2:
                for place, metric in enumerate(metrics):
                    repeated.append(_repeated_score(rows_of_stage, place, metric))
    return tuple(repeated)


def _repeated_score(rows: Sequence[ComparedTexts], place: int, metric: str) -> RepeatedScore:
    """The scores of ``rows``, one stage of each repeat, by the metric at ``place``."""
    scores = []
    half_widths = []
    for row in rows:
        cell = row.cells[place]
        scores.append(cell.score.value)
        if cell.interval is not None:
            half_widths.append(cell.interval.half_width)
    return RepeatedScore(
        runs=tuple(str(row.run) for row in rows),
        stage=str(rows[0].stage),
        metric=metric,
        mean=fmean(scores),
        deviation=stdev(scores),
        half_width=fmean(half_widths) if len(half_widths) == len(rows) else None,
    )


def _all_but_seed(summary: RunSummary) -> str:
    """Settings and inputs of a run without its seed, which is also in the signatures of its evaluators."""
    settings = dict(summary.settings)
    settings.pop("seed", None)
    return _SEED.sub("", json.dumps([settings, summary.inputs], sort_keys=True))
