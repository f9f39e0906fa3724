"""Does Postedit pay off, and does Proofread? The experiment of Multi-agentMT (Kim 2025, §4) on WMT24++.

    python -m wmt.stages_wmt24pp -s en-is_IS.jsonl -t gemini.is.txt -s en-sr_RS.jsonl -t gemini.sr.txt --dry-run
    python -m wmt.stages_wmt24pp -s en-is_IS.jsonl -t gemini.is.txt -s en-sr_RS.jsonl -t gemini.sr.txt
    python -m wmt.stages_wmt24pp -s en-is_IS.jsonl -t gemini.is.txt --preset safe -m bleu,chrf,ter,comet,cometkiwi

The sources are files of WMT24++, one for each language pair, or any that mtagent reads (with references). The
translations have a line for each source line, or for each that is not marked as bad; without them the model translates.
Two stored runs begin with the same texts: Postedit and Proofread, and Proofread alone. Prints the paper's Tables 3, 4
and 1, the differences with p-values, and the published and measured numbers. No reference is shown to a model.

The same command continues a stopped run. Exit code 3: a segment failed and kept its text.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import click

from mtagent import Config, Segment
from mtagent.analysis.compare_tables import below
from mtagent.analysis.compared_rows import ComparedTexts
from mtagent.analysis.score import ScoreOptions
from mtagent.cli import options as offered
from mtagent.cli import run
from mtagent.cli.terminal import display
from mtagent.config import PRESETS
from mtagent.errors import ConfigError
from mtagent.jobs.estimate import RESERVE, Range
from mtagent.jobs.inputs import Files
from mtagent.metrics.protocol import each_once, make_metrics
from mtagent.metrics.significance import RESAMPLES, SIGNIFICANT, Resampling
from mtagent.records import Stage
from mtagent.text import languages, table
from mtagent.text.amounts import dollars, signed
from mtagent.text.table import Table
from wmt import paper_tables as paper
from wmt.lib import wmt24pp
from wmt.lib.stored_run import SETTINGS, Talk, as_files, improved, told_beforehand, written_segments

SEGMENTS = 960
"""How many the paper has for each language pair."""

TABLE_3 = {
    "en-is": {
        "BLEU": (18.33, 17.91, 18.00, 19.19),
        "chrF2": (43.42, 42.96, 43.55, 43.80),
        "TER": (67.49, 69.61, 70.28, 72.86),
        "COMET": (78.75, 76.90, 79.22, 75.12),
        "COMETKiwi": (75.74, 73.89, 76.41, 73.33),
    },
    "en-sr": {
        "BLEU": (23.12, 21.92, 20.39, 26.01),
        "chrF2": (49.96, 48.26, 46.02, 51.13),
        "TER": (63.79, 67.10, 69.73, 75.22),
        "COMET": (82.49, 79.31, 81.42, 78.86),
        "COMETKiwi": (80.66, 77.73, 80.69, 76.91),
    },
}
"""Published scores: Translate, Postedit, Proofread, and Proofread without Postedit."""

TABLE_4 = {"en-is": (13.12, 29.58, 31.89), "en-sr": (13.69, 31.28, 33.43)}
"""Published TER: Translate to Postedit, Postedit to Proofread, Translate to Proofread."""

PUBLISHED_TOKENS = """\
published (Table 1, for the submission to WMT25 of 29,957 segments, not for this experiment; gpt-4o-mini): tokens a \
segment 358 for Translate, 1,954 for Postedit, 530 for Proofread"""

PUBLISHED_WITH = "published: 960 segments of WMT24++, Translate by Gemini-1.5-Flash, the others by gpt-4o-mini"

PERCENT = {"COMET", "COMETKiwi"}
"""Scores from 0 to 1, of which the paper prints a hundred times as much."""

OPTIONS = [
    click.option("-s", "--source", "sources", type=offered.FILE, multiple=True, required=True, help="A WMT24++ file."),
    click.option("-t", "--translations", type=offered.FILE, multiple=True, help="Translations of each -s, in order."),
    click.option("-r", "--references", type=offered.FILE, multiple=True, help="References, where -s are plain lines."),
    click.option(
        "--reference-field", type=click.Choice(["target", "original_target"]), default="target", show_default=True,
        help="WMT24++: the post-edited reference, or the one before.",
    ),
    click.option("--preset", type=click.Choice(list(PRESETS)), default="paper", show_default=True),
    click.option("--test", type=click.Choice(list(RESAMPLES)), default="bs", show_default=True, help="Significance."),
    click.option("-f", "--format", "form", type=click.Choice(list(table.FORMS)), default="text", show_default=True),
    click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N segments of each file."),
    click.option("--show", type=click.IntRange(0), default=1, show_default=True, help="--dry-run: segments to show."),
]  # fmt: skip


class Experiment(NamedTuple):
    """A language pair: its file, and the segments with their references."""

    source: Path
    segments: list[Segment]

    @property
    def shown(self) -> list[Segment]:
        """The segments as models see them: with a reference in sight, better scores would say nothing."""
        return [segment.model_copy(update={"reference": None}) for segment in self.segments]

    def plans(self, config: Config) -> list[tuple[Stage, ...]]:
        """The stages of each run; without a model there is no Proofread."""
        if config.offline:
            return [("postedit",)]
        translated = all(segment.translation is not None for segment in self.segments)
        start: tuple[Stage, ...] = () if translated else ("translate",)
        return [(*start, "postedit", "proofread"), (*start, "proofread")]


_METRICS = [one for one in offered.METRIC_OPTIONS if one not in SETTINGS]  # --comet-python is in both


@click.command(help=__doc__.replace("\n\n    python", "\n\n\b\n    python", 1))
@offered.with_options(OPTIONS, _METRICS, SETTINGS, offered.TALK_OPTIONS)
def command(**options: Any) -> None:
    """Read, run, compare."""
    sources, translations, references = (options.pop(name) for name in ("sources", "translations", "references"))
    field, show, dry_run = (options.pop(name) for name in ("reference_field", "show", "dry_run"))
    test, form, limit = (options.pop(name) for name in ("test", "form", "limit"))
    metrics, comet = options.pop("metrics") or ScoreOptions.metrics, options["comet_python"]
    scoring = ScoreOptions(metrics, Resampling(test), paired=True, comet_python=comet)
    talk = Talk(options.pop("verbose"), options.pop("quiet"))
    config = offered.read_config(options)
    talk.offline(config)
    if config.offline and not talk.quiet:
        display("stages_wmt24pp: Proofread needs a model, so this is Postedit alone", err=True)
    files = files_of(sources, translations, references)
    experiments = [Experiment(paths.source, wmt24pp.read(paths, field, config)[:limit]) for paths in files]
    if dry_run:
        estimated(experiments, config, show)
        return
    offered.print_licences(each_once(metrics))
    for experiment in experiments:  # a metric that cannot score is found before anything is paid for
        make_metrics(metrics, experiment.segments[0].target_lang, comet_python=comet)
    variants, failed = [], 0
    for experiment in experiments:
        names, failures = runs(experiment, config, talk)
        variants += compared(experiment, names, config, scoring)
        failed += failures
    display(shown(variants, form))
    sys.exit(3 if failed else 0)


def files_of(sources: Sequence[Path], translations: Sequence[Path], references: Sequence[Path]) -> list[Files]:
    """The files of each language pair."""
    for option, given in (("-t", translations), ("-r", references)):
        if given and len(given) != len(sources):
            raise ConfigError(f"{len(sources)} -s and {len(given)} {option}: give one for each source, in their order")
    return [Files(*paths) for paths in zip_longest(sources, translations, references)]


def runs(experiment: Experiment, config: Config, talk: Talk) -> tuple[list[str], int]:
    """Run the chain with and without Postedit: the names of the stored runs, and how many segments failed."""
    with as_files(experiment.shown, experiment.source) as files:
        summaries = [
            improved(config.model_copy(update={"stages": stages}), files, "stages", talk)
            for stages in experiment.plans(config)
        ]
    return [summary.name for summary in summaries], sum(summary.counts.failed for summary in summaries)


def compared(
    experiment: Experiment, names: Sequence[str], config: Config, scoring: ScoreOptions
) -> list[paper.Variants]:
    """The texts of all stages with their scores and tests, by the references that no model has seen."""
    with tempfile.TemporaryDirectory(prefix="wmt-") as folder:
        references = Path(folder, "references.jsonl")
        written_segments(references, experiment.segments)
        return paper.compare_variants(names, config, scoring=scoring, reference=references, prices=config.prices)


def estimated(experiments: Sequence[Experiment], config: Config, show: int) -> None:
    """Print what would be asked and what it would take."""
    for experiment in experiments:
        needed: dict[tuple[int, str], Range] = {}
        with as_files(experiment.shown, experiment.source) as files:
            for number, stages in enumerate(experiment.plans(config)):
                display(f"{experiment.source}, {len(experiment.segments)} segments: {', '.join(stages)}")
                of_run = told_beforehand(config.model_copy(update={"stages": stages}), files, show)
                needed |= {(number, stage): cost for stage, cost in of_run.items() if stage != RESERVE}
        needed.pop((1, "translate"), None)  # the second run finds the replies of the first in the store
        total = reduce(Range.plus, needed.values(), Range())
        display(in_proportion(total, len(experiment.segments)))
    display(f"{PUBLISHED_TOKENS}\nnothing was sent")


def in_proportion(total: Range, segments: int) -> str:
    """What as many segments as the paper's would take."""
    share = SEGMENTS / segments
    tokens = [round((end.input_tokens + end.output_tokens) * share) for end in (total.low, total.high)]
    low, high = (dollars(None if end.cost is None else end.cost * share) for end in (total.low, total.high))
    return f"both runs, {SEGMENTS} segments, in proportion: {tokens[0]:,}–{tokens[1]:,} tokens, {low}–{high}"


# --- tables


def shown(variants: Sequence[paper.Variants], form: str) -> str:
    """The paper's tables, the differences with p-values, and the published numbers next to the measured ones."""
    more = [extra for extra in (differences(variants), *beside(variants)) if extra.rows]
    return f"{paper.shown(variants, form, _width(variants))}\n\n{table.FORMS[form](more)}"


def _width(variants: Sequence[paper.Variants]) -> int:
    """Digits after the point: more for scores between 0 and 1."""
    return 4 if any(PERCENT & {*variant.comparison.metrics} for variant in variants) else 2


def differences(variants: Sequence[paper.Variants]) -> Table:
    """Each variant against Translate."""
    rows = []
    for variant in variants:
        for place, metric in enumerate(variant.comparison.metrics):
            rows_of = (variant.postedit, variant.proofread, variant.without)
            cells = (_difference(variant, row, place, _width(variants)) for row in rows_of)
            rows.append((languages.name(variant.comparison.target_lang), metric, *cells))
    note = next((line for line in below(variants[0].comparison) if line.startswith("p: ")), "no text was changed")
    return Table(
        "differences to Translate", ("Language", "Metric", "Postedit", "w/ PE", "w/o PE"), tuple(rows), note, 2
    )


def _difference(variant: paper.Variants, row: ComparedTexts | None, place: int, width: int) -> str:
    if row is None:
        return paper.NOT_RUN
    comparison = variant.comparison
    contrast = comparison.contrast(row.name, variant.translate.name, comparison.metrics[place])
    assert contrast is not None
    change = signed(contrast.difference, width)
    if contrast.p_value is None:
        return change
    return f"{change} (p = {contrast.p_value:.4f}){'*' if contrast.p_value < SIGNIFICANT else ''}"


def beside(variants: Sequence[paper.Variants]) -> Iterator[Table]:
    """Ours / published, for the language pairs of the paper."""
    scores, edits = [], []
    for variant in variants:
        pair = languages.pair_of(variant.comparison.source_lang, variant.comparison.target_lang)
        name, rows = (
            languages.name(variant.comparison.target_lang),
            (variant.translate, variant.postedit, variant.proofread, variant.without),
        )
        for place, metric in enumerate(variant.comparison.metrics):
            if published := TABLE_3.get(pair, {}).get(metric):
                times = 100 if metric in PERCENT else 1
                ours = [None if row is None else times * row.cells[place].score.value for row in rows]
                scores.append((name, metric, *map(_both, ours, published)))
        if pair in TABLE_4:
            edits.append((name, *map(_both, _ways(variant), TABLE_4[pair])))
    stages = ("Translate", "Postedit", "Proofread", "w/o PE")
    ways = ("Trans-PE", "PE-PR", "Trans-PR")
    yield Table("ours / published in Table 3", ("Language", "Metric", *stages), tuple(scores), PUBLISHED_WITH, labels=2)
    yield Table("ours / published in Table 4", ("Language", *ways), tuple(edits), PUBLISHED_WITH)


def _both(ours: float | None, published: float) -> str:
    return f"{paper.NOT_RUN if ours is None else f'{ours:.2f}'} / {published:.2f}"


def _ways(variant: paper.Variants) -> list[float | None]:
    """TER from stage to stage, and from the first texts to the last."""
    last = next(row for row in variant.comparison.rows if (row.run, row.stage) == (variant.postedit.run, "final"))
    rows = (variant.postedit, variant.proofread, None if variant.proofread is None else last)
    return [None if row is None or row.moved is None else row.moved.edited_percent for row in rows]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    run(command, arguments)


if __name__ == "__main__":
    main()
