"""The tables of the Multi-agentMT paper (Kim 2025) from stored runs: Table 3 (scores), 4 (edits by TER), 1 (tokens).

    python -m wmt.paper_tables tpp tpr
    python -m wmt.paper_tables tpp tpr -m chrf,ter -f latex

Takes, for each language pair, a run with Postedit and Proofread (the columns Translate to w/ PE) and, for the column
w/o PE, a run with Translate and Proofread over the same input. Scores and dollars are those of `mtagent compare`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import click

from mtagent.analysis.compare import CompareOptions, RunComparison, compare_staged, named_summaries, read_runs
from mtagent.analysis.compare_tables import digits_of
from mtagent.analysis.compared_rows import ComparedTexts
from mtagent.analysis.score import ScoreOptions
from mtagent.analysis.staged_run import StagedRun
from mtagent.cli import options as offered
from mtagent.cli import run as run_command
from mtagent.cli.terminal import display
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.formats.files import dumped
from mtagent.metrics.overlap import ter_to
from mtagent.metrics.protocol import each_once
from mtagent.records import Usage
from mtagent.store.store import open_existing
from mtagent.text import languages, table
from mtagent.text.amounts import UNKNOWN, signed
from mtagent.text.table import Table

NOT_RUN = "–"
STAGES = {"translate": "Translate", "postedit": "Post-edit", "proofread": "Proofread"}


@dataclass(frozen=True)
class Variants:
    """The rows of one language pair; ``None`` where a stage did not run, or there is no run without Postedit."""

    comparison: RunComparison
    translate: ComparedTexts
    postedit: ComparedTexts
    proofread: ComparedTexts | None
    without: ComparedTexts | None
    warnings: tuple[str, ...] = ()


def compare_variants(names: Sequence[str], config: Config, **options: Unpack[CompareOptions]) -> list[Variants]:
    """The variants in the runs ``names``, by language pair.

    Raises :class:`ConfigError` where there is no run with Postedit, or more than one, of a language pair.
    """
    pairs: dict[tuple[str, str], list[StagedRun]] = {}
    with open_existing(config.store) as store:
        runs_of_all_pairs = read_runs(named_summaries(names, store), store)
    for run in runs_of_all_pairs:
        first = run.segments[0].segment
        pairs.setdefault((first.source_lang, first.target_lang), []).append(run)
    if options.get("reference") is not None and len(pairs) > 1:
        raise ConfigError("-r gives references to runs of one language pair; the runs of several bring their own")
    return [_variants(runs, options) for runs in pairs.values()]


def _variants(runs: Sequence[StagedRun], options: CompareOptions) -> Variants:
    stages = {run.name: {*run.systems, *map(str, run.summary.settings.get("stages", ()))} for run in runs}
    edited = _only("Postedit", [run for run in runs if "postedit" in stages[run.name]], runs)
    direct = [run for run in runs if run is not edited]
    if unfit := [run.name for run in direct if "proofread" not in stages[run.name]]:
        raise ConfigError(f"run {unfit[0]!r} has neither Postedit nor Proofread: these tables have no column for it")
    other = _only("Translate and Proofread", direct, runs) if direct else None
    options = {**options, "against": "first"}
    comparison = compare_staged([edited, *([other] if other else [])], **options)

    def row(run: StagedRun, *stages: str) -> ComparedTexts | None:
        rows = (row for stage in stages for row in comparison.rows if row.stage == stage)
        return next((row for row in rows if row.run in (run.name, None)), None)

    translate, postedit = row(edited, "translate", "given"), row(edited, "postedit")
    if translate is None or postedit is None:
        raise ConfigError(f"run {edited.name!r}: no segment has come to Postedit: there is nothing to show")
    start = row(other, "translate", "given") if other else None
    warnings = []
    if other is not None and start is not None and start.texts != translate.texts:
        warnings.append(
            f"runs {edited.name!r} and {other.name!r} began with different translations: the difference in w/o PE is "
            "not that of Postedit alone"
        )
    without = row(other, "proofread") if other else None
    return Variants(comparison, translate, postedit, row(edited, "proofread"), without, tuple(warnings))


def _only(what: str, chosen: Sequence[StagedRun], runs: Sequence[StagedRun]) -> StagedRun:
    if len(chosen) == 1:
        return chosen[0]
    segment = runs[0].segments[0].segment
    names = ", ".join(run.name for run in chosen) or "none"
    pair = f"{segment.source_lang}-{segment.target_lang}"
    raise ConfigError(f"these tables take one run with {what} for {pair}, and these are given: {names}")


def shown(pairs: Sequence[Variants], form: str = "text", width: int | None = None) -> str:
    """Tables 3, 4 and 1 as ``text``, ``markdown``, ``latex`` or ``json``."""
    tables = [_performance(pairs, width), _distances(pairs, 2 if width is None else width), _costs(pairs)]
    below = list(dict.fromkeys(line for pair in pairs for line in pair.comparison.signatures))
    warnings = list(dict.fromkeys(line for pair in pairs for line in (*pair.warnings, *pair.comparison.warnings)))
    if form != "json":
        return table.FORMS[form](tables, below, warnings)
    plain = [
        {"title": each.title, "head": each.head, "rows": each.rows, "note": each.note, "labels": each.labels}
        for each in tables
    ]
    return dumped({"tables": plain, "signatures": below, "warnings": warnings}, indent=1)


def _performance(pairs: Sequence[Variants], wanted: int | None) -> Table:
    """Table 3: Postedit against Translate, Proofread against Postedit, and both variants against Translate."""
    rows = []
    for pair in pairs:
        language = languages.name(pair.comparison.target_lang)
        widths = digits_of(pair.comparison, wanted)
        for place, (metric, width) in enumerate(zip(pair.comparison.metrics, widths, strict=True)):
            translate, postedit, proofread, without = (
                None if row is None else row.cells[place].score.value
                for row in (pair.translate, pair.postedit, pair.proofread, pair.without)
            )
            changes = ((postedit, translate), (proofread, postedit), (proofread, translate), (without, translate))
            cells = (
                NOT_RUN if a is None or b is None else f"{a:.{width}f} ({signed(a - b, width)})" for a, b in changes
            )
            rows.append((language, metric, f"{translate:.{width}f}", *cells))
            language = ""
    head = ("Language", "Metric", "Translate", "Postedit", "Proofread", "w/ PE", "w/o PE")
    note = "in brackets: to the stage before; for w/ PE and w/o PE, to Translate"
    return Table("performance (the paper's Table 3)", head, tuple(rows), note, labels=2)


def _distances(pairs: Sequence[Variants], width: int) -> Table:
    """Table 4: TER from stage to stage."""
    rows = []
    for pair in pairs:
        source, target = pair.comparison.source_lang, pair.comparison.target_lang
        ways = ((pair.translate, pair.postedit), (pair.postedit, pair.proofread), (pair.translate, pair.proofread))
        ters = (NOT_RUN if b is None else f"{ter_to(a.texts, b.texts, target).value:.{width}f}" for a, b in ways)
        rows.append((f"{source.capitalize()}-{languages.name(target)}", *ters))
    return Table("edits by TER (the paper's Table 4)", ("Language", "Trans-PE", "PE-PR", "Trans-PR"), tuple(rows))


def _costs(pairs: Sequence[Variants]) -> Table:
    """Table 1: tokens and dollars of each stage, and of the chains TP and TPP, of all language pairs together."""
    usages: dict[str, Usage | None] = {}
    for stage in STAGES:
        rows_of_stage: list[ComparedTexts | None] = [getattr(pair, stage) for pair in pairs]
        costs = [row.cost.nominal for row in rows_of_stage if row is not None and row.cost is not None]
        usages[stage] = Usage.total(costs) if costs else None
    digits = 2 if (Usage.total(filter(None, usages.values())).cost or 0.0) >= 1 else 6
    lines: list[tuple[str, tuple[str, ...]]] = [(name, (stage,)) for stage, name in STAGES.items()]
    lines += [("TP (Translate + Post-edit)", ("translate", "postedit"))]
    lines += [("TPP (Translate + Post-edit + Proofread)", tuple(STAGES))]
    rows = []
    for name, stages in lines:
        used = [usages[stage] if stage in stages else None for stage in STAGES]
        cost = Usage.total(filter(None, used)).cost
        dollars = NOT_RUN if usages[stages[-1]] is None else UNKNOWN if cost is None else f"{cost:,.{digits}f}"
        tokens = (NOT_RUN if usage is None else f"{usage.input_tokens + usage.output_tokens:,}" for usage in used)
        rows.append((name, *tokens, dollars))
    head = ("Method", *(f"{name} Tokens" for name in STAGES.values()), "Cost ($)")
    note = f"tokens: input and output; dollars {pairs[0].comparison.prices}; the runs with PE"
    if given := [languages.name(pair.comparison.target_lang) for pair in pairs if pair.translate.cost is None]:
        note += f"; the translations into {', '.join(given)} were given, at no known cost, and are not in it"
    return Table("tokens and cost (the paper's Table 1)", head, tuple(rows), note)


@click.command(help=__doc__.replace("\n\n    python", "\n\n\b\n    python", 1))
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN…")
@click.option("-r", "--reference", type=offered.FILE, help="References, line-aligned, in place of the runs' own.")
@offered.with_options(offered.METRIC_OPTIONS)
@click.option("--shared", is_flag=True, help="Compare the segments that all runs of a pair have.")
@click.option("--prices", type=offered.FILE, metavar="FILE.toml", help="Compute dollars anew, by prices of your own.")
@click.option("-f", "--format", "form", type=click.Choice([*table.FORMS, "json"]), default="text", show_default=True)
@offered.with_options(offered.WIDTH_OPTION)
@offered.with_options(offered.RUN_OPTIONS)
def command(**options: Any) -> None:
    """Compare, and print the tables."""
    form, width, names = (options.pop(name) for name in ("form", "width", "runs"))
    scoring = ScoreOptions(options.pop("metrics") or ScoreOptions.metrics, comet_python=options.pop("comet_python"))
    offered.print_licences(each_once(scoring.metrics))
    reference, shared, prices = (options.pop(name) for name in ("reference", "shared", "prices"))
    config = offered.read_config(options)
    pairs = compare_variants(names, config, scoring=scoring, reference=reference, shared=shared, prices=prices)
    display(shown(pairs, form, width))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    run_command(command, arguments)


if __name__ == "__main__":
    main()
