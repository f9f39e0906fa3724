"""The tables of the Multi-agentMT paper (Kim 2025): its Table 1 (tokens, cost), 3 (scores) and 4 (edits by TER).

They take, for each language pair, a run with Postedit and Proofread (the columns Translate to w/ PE) and, for the
column w/o PE, a run with Translate and Proofread over the same input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mtagent.analysis import table
from mtagent.analysis.compare import How, compare_held, held_runs
from mtagent.analysis.compare_tables import UNKNOWN, digits_of, signed
from mtagent.analysis.comparison import Comparison, HeldRun, Row
from mtagent.analysis.table import Table
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.formats.json_text import dumped
from mtagent.metrics.overlap import ter_to
from mtagent.records import Usage
from mtagent.text import languages

NOT_RUN = "–"
_NAMES = {"translate": "Translate", "postedit": "Post-edit", "proofread": "Proofread"}
_FORMS = {"text": table.text, "markdown": table.markdown, "latex": table.latex}


@dataclass(frozen=True)
class Variants:
    """The rows of one language pair; ``None`` where a stage did not run, or there is no run without Postedit."""

    comparison: Comparison
    translate: Row
    postedit: Row
    proofread: Row | None
    without: Row | None
    warnings: tuple[str, ...] = ()


def compare_variants(names: Sequence[str], config: Config, **how: Any) -> list[Variants]:
    """The variants in the runs ``names``, by language pair; ``how`` are the fields of :class:`How`.

    Raises :class:`ConfigError` where there is no run with Postedit, or more than one, of a language pair.
    """
    asked = How(**how)
    pairs: dict[tuple[str, str], list[HeldRun]] = {}
    for run in held_runs(names, config):
        first = run.passed[0].segment
        pairs.setdefault((first.source_lang, first.target_lang), []).append(run)
    if asked.reference is not None and len(pairs) > 1:
        raise ConfigError("-r gives references to runs of one language pair; the runs of several bring their own")
    return [_variants(runs, asked) for runs in pairs.values()]


def _variants(runs: Sequence[HeldRun], how: How) -> Variants:
    edited = _only("Postedit", [run for run in runs if "postedit" in _stages(run)], runs)
    direct = [run for run in runs if run is not edited]
    if unfit := [run.name for run in direct if "proofread" not in _stages(run)]:
        raise ConfigError(f"run {unfit[0]!r} has neither Postedit nor Proofread: --layout paper has no column for it")
    other = _only("Translate and Proofread", direct, runs) if direct else None
    comparison = compare_held([edited, *([other] if other else [])], how)
    translate = _row(comparison, edited, "translate") or _row(comparison, edited, "given")
    postedit = _row(comparison, edited, "postedit")
    if translate is None or postedit is None:
        raise ConfigError(f"run {edited.name!r}: no segment has come to Postedit: there is nothing to show")
    without = _row(comparison, other, "proofread") if other else None
    start = (_row(comparison, other, "translate") or _row(comparison, other, "given")) if other else None
    apart = () if start is None or start.texts == translate.texts else (_APART.format(edited.name, start.run),)
    return Variants(comparison, translate, postedit, _row(comparison, edited, "proofread"), without, apart)


_APART = "runs {!r} and {!r} began with different translations: the difference in w/o PE is not that of Postedit alone"


def _stages(run: HeldRun) -> set[str]:
    return {*run.systems, *map(str, run.settings.get("stages", ()))}


def _only(what: str, found: Sequence[HeldRun], runs: Sequence[HeldRun]) -> HeldRun:
    if len(found) == 1:
        return found[0]
    segment = runs[0].passed[0].segment
    names = ", ".join(run.name for run in found) or "none"
    pair = f"{segment.source_lang}-{segment.target_lang}"
    raise ConfigError(f"--layout paper takes one run with {what} for {pair}, and these are given: {names}")


def _row(comparison: Comparison, run: HeldRun, stage: str) -> Row | None:
    return next((row for row in comparison.rows if row.stage == stage and row.run in (run.name, None)), None)


def shown(found: Sequence[Variants], format_name: str = "text", width: int | None = None) -> str:
    """Tables 3, 4 and 1 as ``text``, ``markdown``, ``latex`` or ``json``."""
    tables = [_performance(found, width), _distances(found, 2 if width is None else width), _costs(found)]
    below = list(dict.fromkeys(line for one in found for line in one.comparison.signatures))
    warnings = list(dict.fromkeys(line for one in found for line in (*one.warnings, *one.comparison.warnings)))
    if format_name == "json":
        data = {"tables": tables, "signatures": below, "warnings": warnings}
        return dumped(data, indent=1)
    return _FORMS[format_name](tables, below, warnings)


def _performance(found: Sequence[Variants], width: int | None) -> Table:
    """Table 3: Postedit against Translate, Proofread against Postedit, and both variants against Translate."""
    head = ("Language", "Metric", "Translate", "Postedit", "Proofread", "w/ PE", "w/o PE")
    rows = [line for one in found for line in _lines(one, width)]
    note = "in brackets: to the stage before; for w/ PE and w/o PE, to Translate"
    return Table("performance (the paper's Table 3)", head, tuple(rows), note, labels=2)


def _lines(one: Variants, wanted: int | None) -> Iterator[tuple[str, ...]]:
    language = languages.name(one.comparison.target_lang)
    widths = digits_of(one.comparison, wanted)
    for place, (metric, width) in enumerate(zip(one.comparison.metrics, widths, strict=True)):
        scores = [_score(row, place) for row in (one.translate, one.postedit, one.proofread, one.without)]
        translate, postedit, proofread, without = scores
        pairs = ((postedit, translate), (proofread, postedit), (proofread, translate), (without, translate))
        cells = (_cell(score, former, width) for score, former in pairs)
        yield (language if place == 0 else "", metric, f"{translate:.{width}f}", *cells)


def _score(row: Row | None, place: int) -> float | None:
    return None if row is None else row.cells[place].score.value


def _cell(score: float | None, former: float | None, width: int) -> str:
    if score is None or former is None:
        return NOT_RUN
    return f"{score:.{width}f} ({signed(score - former, width)})"


def _distances(found: Sequence[Variants], width: int) -> Table:
    """Table 4: TER from stage to stage."""
    rows = []
    for one in found:
        source, target = one.comparison.source_lang, one.comparison.target_lang
        stages = ((one.translate, one.postedit), (one.postedit, one.proofread), (one.translate, one.proofread))
        ways = (NOT_RUN if b is None else f"{ter_to(a.texts, b.texts, target).value:.{width}f}" for a, b in stages)
        rows.append((f"{source.capitalize()}-{languages.name(target)}", *ways))
    return Table("edits by TER (the paper's Table 4)", ("Language", "Trans-PE", "PE-PR", "Trans-PR"), tuple(rows))


def _costs(found: Sequence[Variants]) -> Table:
    """Table 1: tokens and dollars of each stage, and of the chains TP and TPP, of all language pairs together."""
    usages = {"translate": _usage(found, "translate"), "postedit": _usage(found, "postedit")}
    usages["proofread"] = _usage(found, "proofread")
    many = Usage.total(usage for usage in usages.values() if usage).cost or 0.0
    lines = [(name, [stage]) for stage, name in _NAMES.items()]
    lines += [("TP (Translate + Post-edit)", ["translate", "postedit"])]
    lines += [("TPP (Translate + Post-edit + Proofread)", ["translate", "postedit", "proofread"])]
    rows = tuple(_cost_line(name, stages, usages, digits=2 if many >= 1 else 6) for name, stages in lines)
    head = ("Method", *(f"{name} Tokens" for name in _NAMES.values()), "Cost ($)")
    given = [languages.name(one.comparison.target_lang) for one in found if one.translate.cost is None]
    note = f"tokens: input and output; dollars {found[0].comparison.prices}; the runs with PE{_without_cost(given)}"
    return Table("tokens and cost (the paper's Table 1)", head, rows, note)


def _without_cost(given: Sequence[str]) -> str:
    """Of which languages Table 1 does not know what the translations cost."""
    return (
        f"; the translations into {', '.join(given)} were given, at no known cost, and are not in it" if given else ""
    )


def _usage(found: Sequence[Variants], stage: str) -> Usage | None:
    rows = {"translate": [v.translate for v in found], "postedit": [v.postedit for v in found]}
    costs = [row.cost for row in rows.get(stage, [v.proofread for v in found]) if row is not None]
    known = [cost.usage for cost in costs if cost is not None]
    return Usage.total(known) if known else None


def _cost_line(name: str, stages: Sequence[str], usages: dict[str, Usage | None], *, digits: int) -> tuple[str, ...]:
    used = {stage: usages[stage] for stage in stages}
    tokens = (used.get(stage) for stage in _NAMES)
    found = [usage for usage in used.values() if usage is not None]
    cost = Usage.total(found).cost
    dollars = NOT_RUN if used[stages[-1]] is None else UNKNOWN if cost is None else f"{cost:,.{digits}f}"
    return (name, *(NOT_RUN if u is None else f"{u.input_tokens + u.output_tokens:,}" for u in tokens), dollars)
