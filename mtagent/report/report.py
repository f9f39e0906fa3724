"""A report of stored runs in a file: the page, Markdown for reading, CSV for spreadsheets, JSON for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mtagent.analysis import compare_tables
from mtagent.analysis.compare import Baseline, RunComparison, compare_staged, named_summaries, read_runs
from mtagent.analysis.compared_rows import ComparedTexts
from mtagent.analysis.language_pairs import LanguagePair, in_pairs
from mtagent.analysis.score import ScoreOptions
from mtagent.analysis.staged_run import USAGE_COUNTS, Bills, StagedRun, aligned, texts_for
from mtagent.chain.fates import KINDS, UNPLACED, fate, final_fate
from mtagent.errors import ConfigError, MissingExtra
from mtagent.formats.files import dumped, replacing, spooled_copies
from mtagent.formats.jsonl import details
from mtagent.formats.ratings import FINAL, GIVEN
from mtagent.jobs.export import Target
from mtagent.jobs.outputs import refuse_overwriting
from mtagent.metrics.protocol import Metric
from mtagent.metrics.significance import Resampling
from mtagent.records import Chain
from mtagent.report import drawing, plots, tables
from mtagent.report.figures import Figures, differences
from mtagent.report.page import ReportedRun
from mtagent.report.page import pieces as page
from mtagent.store.store import Store
from mtagent.text.amounts import UNKNOWN, counted
from mtagent.text.table import as_csv as written_csv
from mtagent.text.table import escaped, markdown

Form = Literal["html", "markdown", "csv", "json"]


@dataclass(frozen=True)
class ReportOptions:
    """What a report compares with, and by which metrics (by default BLEU, chrF and TER).

    ``comet_python`` is the Python of another environment, which runs COMET; ``figures`` a folder for the figures;
    ``shared`` leaves out the segments that some of several runs lack, ``pairs`` those in other language pairs.
    """

    reference: Path | None = None
    metrics: Sequence[str | Metric] = ()
    deciding: str | None = None
    baselines: Sequence[Baseline] = ()
    comet_python: Path | None = None
    figures: Path | None = None
    shared: bool = False
    pairs: Sequence[LanguagePair] = ()

    @property
    def asked_for(self) -> bool:
        """Whether the user asked for scores or a comparison."""
        return bool(self.reference or self.metrics or self.deciding or self.baselines)

    @property
    def reads(self) -> dict[str, Path]:
        """The files that are read, by option."""
        files = {f"--baseline {name}": path for name, path in self.baselines}
        if self.reference:
            files["-r"] = self.reference
        return files

    def reading(self, copies: Mapping[str, Path]) -> ReportOptions:
        """The same options with ``copies`` of the files in :attr:`reads`: standard input can be read only once."""
        baselines = [(name, copies[f"--baseline {name}"]) for name, _ in self.baselines]
        return replace(self, reference=copies.get("-r"), baselines=baselines)


def write_report(
    store: Store,
    specs: Sequence[str],
    output: Path,
    form: Form = "html",
    options: ReportOptions = ReportOptions(),
    *,
    force: bool = False,
) -> list[str]:
    """Write the report of the chain runs ``specs`` (each ``RUN`` or ``NAME=RUN``); return remarks about figures.

    Several runs must have the same segments, and only the page can show them. ``force`` replaces a file that is there,
    and allows a folder of figures that isn't empty.

    Raises :class:`ConfigError` for a run of ratings and for what does not fit, :class:`mtagent.errors.InputError` for
    runs of different segments, :class:`mtagent.errors.OutputError` for a file that must not be replaced.
    """
    if len(specs) > 1 and form != "html":
        raise ConfigError(
            f"a report of several runs is a page (--format html), not {form}: "
            "`mtagent compare` prints several runs as Markdown, CSV and JSON"
        )
    database = Path(store.database.path)
    refuse_overwriting([output], options.reads)
    summaries = named_summaries(specs, store)
    inputs = json.dumps([summary.inputs for summary in summaries.values()])
    Target(output, force, inputs, database).refuse_taken_file()
    all_runs = read_runs(summaries, store)
    if options.pairs:
        all_runs = in_pairs(all_runs, options.pairs)
    staged_runs, left_out = aligned(all_runs, shared=options.shared)
    del all_runs  # with --shared, only what all runs have is needed
    folder = None
    if options.figures is not None:
        folder = plots.folder_for(options.figures, staged_runs, database, force=force)
    remarks = []
    if form == "html" and not drawing.is_available():
        remarks.append(f"the report has no figures: {MissingExtra('drawing them', 'figures')}")
    with spooled_copies(options.reads) as copies:
        if options.reference:
            references = texts_for(staged_runs[0], copies["-r"], "reference")
            staged_runs = [run.with_references(references) for run in staged_runs]
        comparison = _comparison(staged_runs, options.reading(copies))
        runs = [_reported(run) for run in staged_runs]
        del staged_runs  # large, and no longer needed while the chains are read again
        with replacing(output) as file:
            for piece in _pieces(runs, form, comparison, left_out):
                file.write(piece)
    if folder is not None:
        numbers = {run.name: run.count.figures(comparison) for run in runs}
        remarks += plots.write_plots(plots.plots_of(comparison, numbers), folder)
    return remarks


def _reported(run: StagedRun) -> ReportedRun:
    """The run for the page, with what its segments cost as ``mtagent compare`` counts it."""
    cost = Bills().costs(run).by_system[FINAL]
    total = run.summary.counts.total if run.whole else None
    return ReportedRun(run.name, run.summary, run.chain_reader(), cost, total)


def _pieces(
    runs: Sequence[ReportedRun], form: Form, comparison: RunComparison | None, left_out: Sequence[str]
) -> Iterator[str]:
    """The report in pieces of text; segments that an unfinished run adds meanwhile are left out.

    All forms count the chains for the figures. JSON begins with these, so it reads the chains once more to save memory.
    """
    if form == "html":
        return page(runs, comparison, left_out)
    (run,) = runs
    if form == "csv":
        return as_csv(run.name, run.counted_chains(), comparison)
    for _ in run.counted_chains():
        pass
    numbers = run.count.figures(comparison)
    if form == "markdown":
        return as_markdown(run.name, numbers, comparison)
    return as_json(run.name, run.chains(), numbers, comparison)


def _comparison(runs: Sequence[StagedRun], options: ReportOptions) -> RunComparison | None:
    """The stages compared with each other, and tested against the former one if there are references.

    Runs with several target languages are compared only on request, which raises :class:`ConfigError`.
    """
    target_langs = {staged.segment.target_lang for staged in runs[0].segments}
    if len(target_langs) > 1 and not options.asked_for:
        return None
    scorable = bool(options.metrics)
    if not scorable:
        scorable = all(
            any(staged.segment.reference is not None for staged in segments)
            for segments in zip(*(run.segments for run in runs), strict=True)
        )
    scoring = ScoreOptions(
        metrics=options.metrics or ScoreOptions.metrics,
        resampling=Resampling() if scorable else None,
        paired=scorable,
        comet_python=options.comet_python,
    )
    return compare_staged(runs, baselines=options.baselines, scoring=scoring, deciding=options.deciding)


# --- CSV, JSON and Markdown


VERSION = 1
_EDITS = ("edits applied", "edits refused", "edits rejected", "edits unplaced", "edits reverted")


class SegmentScores:
    """The scores of segments of ``run`` in ``comparison``; none if nothing was compared."""

    def __init__(self, run: str, comparison: RunComparison | None) -> None:
        self.metrics: tuple[str, ...] = ()
        self._rows: dict[str, ComparedTexts] = {}
        self._places: dict[str, int] = {}
        if comparison:
            self.metrics = comparison.metrics
            self._rows = {row.name: row for row in comparison.rows}
            self._places = {segment: place for place, segment in enumerate(comparison.segments)}
        self._by_stage: dict[str, ComparedTexts] = {}
        if comparison:
            self._by_stage = {row.stage: row for row in comparison.rows_of(run) if row.stage is not None}
        self._differences: dict[str, dict[str, list[float]]] = {}
        for row in self._rows.values():
            self._differences[row.name] = {}
            former = self._rows.get(row.former or "")
            if former is not None:
                for after, before in zip(row.cells, former.cells, strict=False):
                    self._differences[row.name][after.score.metric] = differences(after.score, before.score)

    def of_stage(self, segment: str, stage: str) -> dict[str, float]:
        """Scores by metric name, and their differences to the former row as ``NAME difference``."""
        row = self._by_stage.get(stage)
        if row is None or segment not in self._places:
            return {}
        return self._of_row(self._places[segment], row)

    def of_rows(self, segment: str) -> dict[str, dict[str, float]]:
        """The same for all rows, by row name; empty if the segment was not compared."""
        place = self._places.get(segment)
        if place is None:
            return {}
        return {name: self._of_row(place, row) for name, row in self._rows.items()}

    def other_texts(self, segment: str) -> dict[str, str]:
        """The texts of ``segment`` in rows that are not stages of the run."""
        place = self._places.get(segment)
        if place is None:
            return {}
        texts = {name: row.texts[place] for name, row in self._rows.items()}
        for row in self._by_stage.values():
            del texts[row.name]
        return texts

    def _of_row(self, place: int, row: ComparedTexts) -> dict[str, float]:
        scores = {cell.score.metric: cell.score.segments[place] for cell in row.cells}
        for metric, metric_differences in self._differences[row.name].items():
            scores[f"{metric} difference"] = metric_differences[place]
        return scores


def as_csv(
    run: str,
    chains: Iterable[Chain],
    comparison: RunComparison | None = None,
    *,
    guarded: bool = True,
) -> Iterator[str]:
    """A header, a line for the given translation (stage ``given``), and one for each step of each chain.

    ``run`` is the name of the run in ``comparison``, which holds the scores. An empty cell means that there is no
    value; unknown dollars are ``unknown``. Verdict and reason are the records' own, ``outcome`` is the group in
    which the report counts the segment. ``guarded=False`` leaves cells as they are. Each piece is one line.
    """
    scores = SegmentScores(run, comparison)
    columns = ["id", "document", "domain", "stage", "verdict", "outcome", "reason", "text"]
    for metric in scores.metrics:
        columns += [metric, f"{metric} difference"]
    columns += [*_EDITS, *USAGE_COUNTS, "dollars", "seconds"]
    if guarded:
        columns.append("guarded")

    def lines() -> Iterator[dict[str, Any]]:
        for chain in chains:
            yield from _lines(chain, scores)

    return written_csv(columns, lines(), guard=guarded)


def _lines(chain: Chain, scores: SegmentScores) -> Iterator[dict[str, Any]]:
    segment = chain.segment
    last_steps = chain.by_stage()
    about = {"id": segment.id, "document": segment.document, "domain": segment.domain}
    if segment.translation is not None or not chain.steps:
        yield {**about, "stage": GIVEN, "text": segment.translation, **scores.of_stage(segment.id, GIVEN)}
    for step in chain.steps:
        kind, why = fate(step)
        line: dict[str, Any] = {
            **about,
            "reason": step.reason,
            "text": step.text,
            "stage": step.stage,
            "verdict": step.verdict,
            "outcome": f"{KINDS[kind]}: {why}",
        }
        outcomes = Counter[str](edit.outcome for edit in step.edits)
        unplaced = sum(outcomes[name] for name in UNPLACED)
        counts = (outcomes["applied"], outcomes["refused"], outcomes["rejected"], unplaced, outcomes["reverted"])
        line |= dict(zip(_EDITS, counts, strict=True))
        usage = step.usage
        for name in USAGE_COUNTS:
            line[name] = getattr(usage, name)
        line["dollars"] = UNKNOWN if usage.cost is None else usage.cost
        line["seconds"] = round(step.seconds, 3)
        if last_steps[step.stage] is step:  # a stage that ran twice is scored once
            line |= scores.of_stage(segment.id, step.stage)
        yield line


def as_json(
    run: str, chains: Iterable[Chain], figures: Figures, comparison: RunComparison | None = None
) -> Iterator[str]:
    """One object in pieces: the head, a line for each segment, the end. ``chains`` is read once."""
    compared = comparison and compare_tables.as_data(comparison)
    yield dumped({"version": VERSION, "run": run, "figures": figures, "comparison": compared})[:-1] + ', "segments": ['
    scores = SegmentScores(run, comparison)
    separator = "\n"
    for chain in chains:
        fates = {stage: fate(step) for stage, step in chain.by_stage().items()}
        segment = {
            **details(chain),
            "fates": fates | {FINAL: final_fate(chain)},
            "scores": scores.of_rows(chain.segment.id),
            "others": scores.other_texts(chain.segment.id),
        }
        yield separator + dumped(segment)
        separator = ",\n"
    yield "\n]}\n"


def as_markdown(run: str, figures: Figures, comparison: RunComparison | None = None) -> Iterator[str]:
    """The summary: tables, and short lists of what got worse, what cost most and what failed."""
    flow = figures.flow
    given = f"{counted(flow.segments, 'segment')}, {flow.given:,} of them with a given translation."
    yield f"# Report of the run {escaped(run)}\n\n{given}\n"
    if comparison is not None:
        yield f"\n{compare_tables.shown(comparison, 'markdown', level=2)}\n"
    # Each table with a line below it.
    sections = [(tables.flow_table(flow), ""), (tables.edits_table(flow), "")]
    sections.append((tables.edit_categories_table(figures.edits), ""))
    for marks in figures.marks:
        signature = ""
        if marks.signature:
            signature = f"Signature: {escaped(marks.signature)}"
        sections.append((tables.marks_table(marks), signature))
    spread = figures.whole_way(run, comparison)
    if spread is not None:
        sections.append((tables.spread_table(spread), ""))
        sections.append((tables.worst_table(spread), _more(spread.worse, spread.worst)))
    sections.append((tables.costly_table(figures.costly), ""))
    sections.append((tables.failures_table(figures.failures), _more(flow.failed, figures.failures)))
    for table, below in sections:
        if table.rows:
            yield f"\n{markdown([table], level=2)}\n"
            if below:
                yield f"\n{below}\n"


def _more(count: int, shown: tuple[object, ...]) -> str:
    if count <= len(shown):
        return ""
    return f"… and {count - len(shown):,} more."
