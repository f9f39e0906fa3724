"""The papers' methods, run with a model on the papers' data: the measured row next to the published one.

    python -m wmt.live rate --model gpt-4o --limit 20 --estimate
    python -m wmt.live rate --model gpt-4o --limit 20 --budget 5
    python -m wmt.live himate --model gpt-4o-mini --limit 100 --budget 2
    python -m wmt.live m-mad --mtme wmt23 --model gpt-4o-mini --limit 20 --budget 2
    python -m wmt.live stages --model gpt-4o-mini --limit 50 --budget 1

METHOD is an evaluator, with options if you like (himate:stages=se), or stages: Translate, Postedit and Proofread of
Multi-agentMT on sources of WMT25. An evaluator runs on the set of its paper: rate on MENT, himate on WMT22, m-mad on
WMT23; --on chooses another. The first N segments are a sample: the order is random, and always the same.

The run is stored: the same command again continues it and pays for nothing twice, also with a higher --limit. Exit code
3: something failed and is left out; 4: the budget is spent, and the row is of what was rated until then.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from mtagent import Chain, Config, Rated, Segment, Usage
from mtagent.analysis.intervals import Bootstrap, Draws, interval, resampled
from mtagent.analysis.ties import Floats
from mtagent.cli import options as offered
from mtagent.cli import run, run_async
from mtagent.cli.progress import Progress
from mtagent.cli.terminal import display, notices
from mtagent.config import DEFAULT_MODEL
from mtagent.errors import BudgetSpent, ConfigError
from mtagent.jobs.estimate import Counter as TokenCounter
from mtagent.jobs.estimate import Range, assumptions, counter, estimate, estimate_ratings
from mtagent.jobs.estimate import table as estimate_table
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files
from mtagent.jobs.outputs import RatingOutput
from mtagent.jobs.rate import rate_file
from mtagent.llm.prices import Prices
from mtagent.store import RunSummary, open_existing
from mtagent.store.runs import Run
from mtagent.text.amounts import dollars
from mtagent.text.table import Table, text
from wmt.lib import evaluation_sets, wmt25_documents
from wmt.lib.data import DATA, refuse_absent
from wmt.lib.evaluation_sets import SETS, WMT23_PAIRS, EvaluationSet, SetInputs, sample_order, scores_of
from wmt.lib.stored_run import as_files, written_segments

STAGES = "stages"
DOCUMENTS = "wmt25_docs.jsonl"
PARAGRAPHS = 102_060
"""Of the paper's submission to WMT25, which has 29,957 segments."""
TABLE_1 = {"translate": (10_728_181, 6.05), "postedit": (58_548_177, 33.02), "proofread": (15_874_680, 8.95)}
"""Published tokens and dollars of each stage for all of WMT25."""
NONE = "–"
T = TypeVar("T")

OPTIONS = [
    click.option("--on", "name", type=click.Choice(list(SETS)), help="Set to rate.  [default: that of the paper]"),
    click.option("-l", "--lp", type=click.Choice(WMT23_PAIRS), help="Language pair of WMT23.  [default: en-de]"),
    click.option("--mtme", type=offered.FILE, metavar="DIR", help="WMT23: the folder wmt23 of mt-metrics-eval."),
    click.option("--data", type=offered.FILE, default=DATA, help="The folder with the research data."),
    click.option("-o", "--output", type=offered.FILE, help="File for the ratings, as of mtagent rate."),
    click.option("--estimate", "estimated", is_flag=True, help="Print calls, tokens and dollars; send nothing."),
    click.option("-q", "--quiet", is_flag=True, help="No progress, only the row and errors."),
]


class Outcome(NamedTuple):
    """What a run left in the store."""

    summary: RunSummary
    spent: BudgetSpent | None
    """Why it stopped before its end."""


@click.command(help=__doc__.replace("\n\n    python", "\n\n\b\n    python", 1))
@click.argument("method")
@offered.with_options(
    OPTIONS, offered.MODEL_OPTIONS, offered.CHAIN_RUN_OPTIONS, offered.PACE_OPTIONS, offered.RUN_OPTIONS
)
def command(method: str, **options: Any) -> None:
    """Estimate, or run and print the row."""
    name, pair, mtme, data = (options.pop(option) for option in ("name", "lp", "mtme", "data"))
    output, estimated, quiet = (options.pop(option) for option in ("output", "estimated", "quiet"))
    if method == STAGES:
        for option, value in {"--on": name, "-l": pair, "--mtme": mtme, "-o": output}.items():
            if value is not None:
                raise click.UsageError(f"{option} belongs to evaluators; leave it out with {STAGES}")
        options["preset"] = "paper"
        options["stages"] = ("translate", "postedit", "proofread")
        config = _with_model(options)
        outcome = run_stages(paragraphs(data / DOCUMENTS, config), config, data / DOCUMENTS, estimated, quiet)
    else:
        evaluation_set = read_set(method, name, pair, mtme, data)
        options["evaluator"] = method
        config = _with_model(options)
        if estimated:
            estimate_set(evaluation_set, config)
            return
        outcome = rate_set(evaluation_set, config, RatingOutput(output or Path(os.devnull), "jsonl"), quiet)
    if outcome is None:
        return
    if outcome.spent is not None:
        raise outcome.spent
    sys.exit(3 if outcome.summary.counts.failed else 0)


def _with_model(options: dict[str, Any]) -> Config:
    config = offered.read_config(options)
    if config.offline:
        raise ConfigError("no model is set: give --model (with OPENAI_API_KEY), --base-url or --llm")
    return config


def _model(config: Config) -> str:
    return config.model or config.llm or DEFAULT_MODEL


def _print_estimate(ranges: Mapping[str, Range], config: Config, tokens: TokenCounter) -> None:
    display(f"{estimate_table(ranges)}\n{assumptions(config, ranges, tokens, Prices(config.prices))}\nnothing was sent")


def _until_spent(
    work: Callable[..., Coroutine[Any, Any, T]], progress: Progress, config: Config
) -> tuple[T | None, Outcome]:
    """Do the ``work``, which takes ``on_start``; its result is ``None`` if the budget is spent before its end."""
    names: list[str] = []

    def start(run: Run, total: int) -> None:
        names.append(run.name)
        progress.start(run, total)

    result = None
    spent = None
    try:
        result = run_async(work(on_start=start))
    except BudgetSpent as error:
        if not names:
            raise
        spent = error
    with open_existing(config.store) as store:
        return result, Outcome(store.run(names[0]), spent)


def _cost(summary: RunSummary, done: int, everything: int) -> str:
    """What the run paid, and what ``everything`` would cost in proportion to what is ``done``."""
    usage = summary.usage
    line = f"cost: {usage.calls:,} calls, {usage.tokens:,} tokens, {dollars(usage.cost, 'price unknown')}"
    if usage.reused:
        line += f"; {usage.reused:,} more calls were answered from the store"
    elif usage.cost is not None and 0 < done < everything:
        line += f"; in proportion, the whole set: {dollars(usage.cost * everything / done)}"
    return f"{line}; run {summary.name}"


# --- evaluators


def read_set(method: str, name: str | None, pair: str | None, mtme: Path | None, data: Path) -> EvaluationSet:
    """The set that ``method`` rates."""
    evaluator = method.partition(":")[0]
    if name is None:
        papers = {"rate": "ment", "himate": "wmt22", "m-mad": "wmt23"}
        name = papers.get(evaluator)
    if name is None:
        published = [each for each, evaluators in SETS.items() if evaluator in evaluators]
        known = f"results of {evaluator} are published on {', '.join(published)}" if published else "any of them"
        raise click.UsageError(f"name the set to rate with --on: {known}")
    if name != "wmt23":
        for option, value in (("-l", pair), ("--mtme", mtme)):
            if value is not None:
                raise click.UsageError(f"{option} belongs to --on wmt23; leave it out with {name}")
        return evaluation_sets.ment(data) if name == "ment" else evaluation_sets.wmt22(data)
    if mtme is None:
        raise click.UsageError("--on wmt23 needs --mtme DIR: the research data has scores of WMT23, but not its texts")
    return evaluation_sets.wmt23(mtme, pair or "en-de", data)


def estimate_set(evaluation_set: EvaluationSet, config: Config) -> None:
    """Print what rating the set would take, up to the limit."""
    texts: list[Segment] = []
    for candidates in evaluation_set.candidates[: config.limit]:
        for translation in candidates.translations.values():
            name = f"{candidates.segment.id}:{len(texts)}"
            texts.append(candidates.segment.model_copy(update={"id": name, "translation": translation}))
    tokens = counter()
    with tempfile.TemporaryDirectory(prefix="wmt-") as folder:
        path = Path(folder, "segments.jsonl")
        written_segments(path, texts)
        ranges = estimate_ratings(config.model_copy(update={"limit": None}), Files(source=path), tokens)
    segments = len(evaluation_set.candidates[: config.limit])
    of_all = f"{segments:,} of {len(evaluation_set.candidates):,} segments, {len(texts):,} translations"
    display(f"{evaluation_set.name}, {config.evaluator}, {_model(config)}: {of_all}")
    _print_estimate(ranges, config, tokens)


def rate_set(evaluation_set: EvaluationSet, config: Config, output: RatingOutput, quiet: bool) -> Outcome:
    """Rate the set up to the limit, and print the row, also if the budget is spent before the end."""
    inputs = SetInputs(source=Path(evaluation_set.name), candidates=evaluation_set.candidates)
    with notices(quiet), Progress(quiet=quiet, states=("rated", "failed")) as progress:
        work = partial(rate_file, config, inputs, output, on_rated=progress.advance_rated)
        report, outcome = _until_spent(work, progress, config)
    if report is not None:
        progress.finish_rated(report, () if output.path == Path(os.devnull) else output.paths)
    with open_existing(config.store) as store:
        ratings = list(store.read(outcome.summary.name).ratings(limit=config.limit))
    display("\n".join(rating_lines(evaluation_set, config, ratings, outcome.summary)))
    return outcome


def rating_lines(
    evaluation_set: EvaluationSet, config: Config, ratings: Sequence[Rated], summary: RunSummary
) -> Iterator[str]:
    """The table of measured and published rows, and what was scored and paid."""
    evaluator = config.evaluator or ""
    rated = {key: value for key, value in scores_of(ratings).items() if value is not None}
    rows = []
    signatures = []
    if rated:
        measured = Measured(evaluation_set, rated)
        rows += [(f"measured, {_model(config)}", *measured.cells()), measured.interval_row()]
        signatures.append(measured.draws.signature)
        authors = _authors(evaluation_set, evaluator, rated)
        if authors is not None:
            rows.append(("the authors' scores, same translations", *authors.cells()))
            rows.append(measured.difference_row(authors))
    for published in evaluation_set.rows_for(evaluator):
        everything = f"all {evaluation_set.segments:,}"
        rows.append((f"published: {published.table}, {published.model}", everything, *published.values))
    head = ("", "segments", *evaluation_set.columns)
    yield text([Table(f"{evaluator} on {evaluation_set.name}", head, tuple(rows))], signatures)
    yield from _scored(evaluation_set, config, ratings, len(rated))
    counts = [len(candidates.translations) for candidates in evaluation_set.candidates]
    yield _cost(summary, len(rated), sum(counts))


class Measured:
    """The statistics of ``scores`` on a set, with bootstrap samples of segments.

    Raises :class:`mtagent.errors.InputError` if people rated none of the translations.
    """

    def __init__(self, evaluation_set: EvaluationSet, scores: evaluation_sets.Scores) -> None:
        self._set = evaluation_set
        self.scores = evaluation_set.paired(scores)
        self.statistics = evaluation_set.statistics(self.scores)
        self.draws = Draws({item: item for item in self.scores.items}, Bootstrap())
        self._samples: list[Floats | None] = []
        for statistic in self.statistics:
            samples = None
            if statistic.value is not None and self.draws.units > 1:
                samples = resampled(self.scores, statistic, self.draws, "minmax")
            self._samples.append(samples)

    def cells(self) -> list[str]:
        """The number of segments, and each statistic with as many digits as the paper prints."""
        cells = [f"{len(self.scores.items):,}"]
        for statistic, digits in zip(self.statistics, self._set.digits, strict=True):
            value = statistic.value
            cells.append(NONE if value is None else f"{value * self._set.scale:.{digits}f}")
        return cells

    def interval_row(self) -> tuple[str, ...]:
        """The 95 % interval of each statistic."""
        return ("  its 95 % interval", "", *map(self._shown, self._samples, self._set.digits))

    def difference_row(self, other: Measured) -> tuple[str, ...]:
        """The 95 % interval of each difference to ``other``, whose translations are the same."""
        cells = []
        for own, others, digits in zip(self._samples, other._samples, self._set.digits, strict=True):
            cells.append(self._shown(None if own is None or others is None else own - others, digits))
        return ("  95 % interval of measured minus these", "", *cells)

    def _shown(self, samples: Floats | None, digits: int) -> str:
        bounds = None if samples is None else interval(samples)
        if bounds is None:
            return NONE
        low, high = (f"{bound * self._set.scale:.{digits}f}" for bound in bounds)
        return f"{low} … {high}"


def _authors(evaluation_set: EvaluationSet, evaluator: str, rated: evaluation_sets.Scores) -> Measured | None:
    """The authors' scores of the translations that were rated; ``None`` unless all of them are published."""
    published = evaluation_set.authors.get(evaluator.partition(":")[0], {})
    if any(published.get(key) is None for key in rated):
        return None
    return Measured(evaluation_set, {key: published[key] for key in rated})


def _scored(evaluation_set: EvaluationSet, config: Config, ratings: Sequence[Rated], number: int) -> Iterator[str]:
    counts = [len(candidates.translations) for candidates in evaluation_set.candidates]
    asked = sum(counts[: config.limit])
    line = f"scored: {number:,} of {asked:,} translations"
    failures = Counter((rated.error or "no words").partition(":")[0] for rated in ratings if rated.rating is None)
    if failures:
        line += f"; left out: {', '.join(f'{count} {name}' for name, count in failures.most_common())}"
    if len(ratings) < asked:
        line += f"; not rated yet: {asked - len(ratings):,}"
    yield line
    if not number:
        yield "nothing was scored: there is no measured row"
    elif number < sum(counts):
        yield f"published rows are of all {sum(counts):,} translations, these are a sample: expect a difference"


# --- stages


def paragraphs(path: Path, config: Config) -> list[Segment]:
    """The paragraphs of the documents, in :func:`wmt.lib.evaluation_sets.sample_order`."""
    refuse_absent(path)
    segments: list[Segment] = []
    for document in wmt25_documents.documents(path, config):
        segments += wmt25_documents.segments(document, "paragraph")
    return sorted(segments, key=sample_order)


def run_stages(
    segments: Sequence[Segment], config: Config, source: Path, estimated: bool, quiet: bool
) -> Outcome | None:
    """Translate, post-edit and proofread, and print tokens and dollars next to the paper's; or estimate only."""
    with as_files(segments, source) as files:
        if estimated:
            tokens = counter()
            display(
                f"{source.name}: {len(segments[: config.limit]):,} of {len(segments):,} paragraphs, {_model(config)}"
            )
            _print_estimate(estimate(config, files, tokens), config, tokens)
            return None
        with notices(quiet), Progress(quiet=quiet) as progress:
            work = partial(improve_file, config, files, command=STAGES, on_chain=progress.advance)
            summary, outcome = _until_spent(work, progress, config)
        if summary is not None:
            progress.finish(summary)
    with open_existing(config.store) as store:
        placed = store.read(outcome.summary.name).placed_chains()
        chains = [chain for position, chain in placed if config.limit is None or position < config.limit]
    display("\n".join(stage_lines(chains, len(segments), config, outcome.summary)))
    return outcome


def stage_lines(chains: Sequence[Chain], number: int, config: Config, summary: RunSummary) -> Iterator[str]:
    """Table 1 by paragraph, and what was done and paid. Paragraphs without words aren't counted."""
    complete = [chain for chain in chains if chain.failed is None and chain.segment.source.strip()]
    rows = []
    for stage, (tokens, cost) in TABLE_1.items():
        usages = [step.usage for chain in complete for step in chain.steps if step.stage == stage]
        used = Usage.total(usages)
        used += used.saved or Usage()  # what other runs paid for the same replies
        cells = [NONE, NONE]
        if complete:
            per_thousand = None if used.cost is None else 1000 * used.cost / len(complete)
            cells = [f"{used.tokens / len(complete):,.1f}", dollars(per_thousand)]
        published = [f"{tokens / PARAGRAPHS:,.1f}", dollars(1000 * cost / PARAGRAPHS)]
        rows.append((stage.capitalize(), cells[0], published[0], cells[1], published[1]))
    head = ("Stage", "tokens, measured", "tokens, published", "per 1,000, measured", "per 1,000, published")
    note = f"per paragraph; published: Multi-agentMT, Table 1, gpt-4o-mini, {PARAGRAPHS:,} paragraphs of WMT25"
    yield text([Table(f"{_model(config)} on sources of WMT25", head, tuple(rows), note)])
    failed = sum(chain.failed is not None for chain in chains)
    asked = min(number, config.limit or number)
    line = f"complete: {len(complete):,} of {asked:,} paragraphs; failed: {failed:,}"
    if len(chains) < asked:
        line += f"; not done yet: {asked - len(chains):,}"
    yield line
    yield _cost(summary, len(complete), number)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    run(command, arguments)


if __name__ == "__main__":
    main()
