"""Agreement with people as tables for people, as JSON with everything, and as a flat table (CSV, TSV)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Any

from mtagent.analysis.compare_tables import MOST_PARTS
from mtagent.analysis.meta_eval import (
    RATES,
    Average,
    LevelResult,
    MetaEvaluation,
    PairsEvaluation,
    SpanLevel,
    SpanResult,
)
from mtagent.analysis.permutation import Contest, TaskRanking
from mtagent.formats.files import dumped
from mtagent.metrics.significance import Bounds, holm
from mtagent.text.mqm import SEVERITIES
from mtagent.text.table import Table, as_csv

NO_VALUE = "–"
COLUMNS = (
    "kind", "lp", "level", "averaging", "grouping", "part", "statistic", "evaluator", "other", "value", "low", "high",
    "p", "p_holm", "rank", "epsilon", "scores", "left_out", "signature", "guarded",
)  # fmt: skip
"""Of the flat table."""
_BOUNDS = ("low", "high")
_HEADS = {
    "acc": "Acc", "spa": "SPA", "pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall", "acc-t": "Acc-t",
    "mae": "MAE", "mse": "MSE", "f1": "F1", "macro_f1": "macro F1",
}  # fmt: skip
_AVERAGED = {"none": "all scores together", "item": "averaged by item", "system": "averaged by system"}
_SPANS = "level of error spans"
_LEVELS = {"sys": "level of systems", "seg": "level of segments", "span": _SPANS}


def tables(agreement: MetaEvaluation, width: int = 3) -> list[Table]:
    """All tables: whole levels, error spans, tests, and parts; ``width`` is the digits after the point."""
    tables, part_tables = [], []
    by_table = groupby(agreement.results, key=lambda result: (result.grouping, result.level, result.averaging))
    for (grouping, _, _), group in by_table:
        if grouping is None:
            tables.append(_whole_table(list(group), width))
        else:
            part_tables.append(_part_table(list(group), width))
    if agreement.spans:
        tables += _span_tables(agreement.spans, width)
    for contest in agreement.contests:
        tables.append(_contest_table(contest, width))
    tables += _lead_tables(agreement, width)
    return tables + part_tables


def pair_tables(evaluation: PairsEvaluation, width: int = 3) -> list[Table]:
    """The tables of each language pair, then the means over pairs, and the ranks over all tasks."""
    all_tables = []
    for pair, of_pair in evaluation.pairs.items():
        for table in tables(of_pair, width):
            all_tables.append(replace(table, title=f"{pair}, {table.title}"))
    # Of error spans each measure has a table.
    averages_by_title: dict[str, list[Average]] = {}
    for average in evaluation.averages:
        title = f"mean of {len(evaluation.pairs)} language pairs: {_title(average.level, average.averaging)}"
        if average.level == "span":
            title += f", {average.statistic.partition(':')[0]}"
        averages_by_title.setdefault(title, []).append(average)
    for title, averages in averages_by_title.items():
        all_tables.append(_average_table(title, averages, width))
    if evaluation.ranking:
        all_tables += _ranking_tables(evaluation.ranking, width)
    return all_tables


def _average_table(title: str, averages: Sequence[Average], width: int) -> Table:
    by_evaluator: dict[str, dict[str, Average]] = {}
    names_with_interval = set()
    for average in averages:
        by_evaluator.setdefault(average.evaluator, {})[average.statistic] = average
        if average.interval is not None:
            names_with_interval.add(average.statistic)
    head = ["evaluator", "pairs"]
    names = list(dict.fromkeys(average.statistic for average in averages))
    for name in names:
        rate = name.rpartition(": ")[2]
        head.append(_HEADS.get(rate, rate))
        if name in names_with_interval:
            head += _BOUNDS
    rows = []
    note = ""
    for evaluator, by_name in by_evaluator.items():
        row = [evaluator, str(max(average.pairs for average in by_name.values()))]
        for name in names:
            average = by_name[name]
            row.append(_number(average.value, width))
            if average.value is None:
                note = f"{NO_VALUE}: one of the pairs lacks the statistic"
            if name in names_with_interval:
                row += _bounds(average.interval, width)
        rows.append(tuple(row))
    return Table(title, tuple(head), tuple(rows), note)


def _ranking_tables(ranking: TaskRanking, width: int) -> Iterator[Table]:
    """The ranks, with the values of all tasks, and the p-values."""
    names = []
    for number, (pair, tested) in enumerate(ranking.tasks, start=1):
        names.append(f"{number}: {pair} {tested.level} {_HEADS[tested.test.statistic]} {tested.test.averaging}")
    rows = []
    for evaluator in ranking.ranked:
        row = [evaluator.name, str(evaluator.rank), _number(evaluator.value, width)]
        for _, tested in ranking.tasks:
            for other in tested.ranked:
                if other.name == evaluator.name:
                    row.append(_number(other.value, width))
        rows.append(tuple(row))
    note = (
        f"{'; '.join(names)}. mean: correlations r are scaled to 0–1, as (r + 1) / 2; in one rank nobody is "
        "significantly worse (p ≤ 0.05) than another"
    )
    if ranking.left_out:
        note += f"; left out, since they lack a task: {', '.join(ranking.left_out)}"
    head = ("evaluator", "rank", "mean", *(f"task {number}" for number in range(1, len(names) + 1)))
    title = f"ranks by {len(names)} tasks"
    yield Table(title, head, tuple(rows), note)
    values = {evaluator.name: evaluator.value for evaluator in ranking.ranked}
    permutations = min(tested.test.permutations for _, tested in ranking.tasks)
    pair_rows = []
    for (better, worse), p_value in ranking.p_values.items():
        difference = _number(values[better] - values[worse], width)
        pair_rows.append((better, worse, difference, _p(p_value, permutations)))
    if pair_rows:
        yield Table(f"differences by {title}", ("better", "worse", "difference", "p"), tuple(pair_rows), labels=2)


def pair_below(evaluation: PairsEvaluation) -> list[str]:
    """The lines below the tables of all pairs; a line that all pairs share is there once."""
    pairs_by_line: dict[str, list[str]] = {}
    for pair, of_pair in evaluation.pairs.items():
        for line in below(of_pair):
            pairs_by_line.setdefault(line, []).append(pair)
    lines = []
    for line, pairs in pairs_by_line.items():
        is_shared = len(pairs) == len(evaluation.pairs)
        lines.append(line if is_shared else f"{', '.join(pairs)}: {line}")
    return lines


def pair_warnings(evaluation: PairsEvaluation) -> list[str]:
    """The warnings of all pairs."""
    warnings = []
    for pair, of_pair in evaluation.pairs.items():
        for warning in of_pair.warnings:
            warnings.append(f"{pair}: {warning}")
    return warnings


def below(agreement: MetaEvaluation) -> list[str]:
    """The lines below the tables: why values are missing, and all signatures, each once.

    Each evaluator, level and reason has a line that names the statistics without a value; parts share a line.
    """
    lines = []
    parts: dict[tuple[str, str, str], list[str]] = {}
    for result in agreement.results:
        undefined_by_reason: dict[str, list[str]] = {}
        for statistic in result.statistics:
            if statistic.value is None:
                undefined_by_reason.setdefault(statistic.undefined or "", []).append(_HEADS[statistic.name])
        where = f"{NO_VALUE} {result.evaluator}, {_title(result.level, result.averaging)}"
        for reason, names in undefined_by_reason.items():
            undefined = ", ".join(names)
            if result.part is None:
                lines.append(f"{where}: no {undefined}: {reason}")
            else:
                parts.setdefault((where, undefined, f"{result.grouping}: {reason}"), []).append(result.part)
    for (where, undefined, reason), part_names in parts.items():
        shown = ", ".join(part_names)
        if len(part_names) > MOST_PARTS:
            shown = f"{len(part_names)} parts"
        lines.append(f"{where}: no {undefined} in {shown} by {reason}")
    lines.append(f"people: {agreement.human.name}: {agreement.human.signature}")
    lines += [f"{evaluator.name}: {evaluator.signature}" for evaluator in agreement.evaluators]
    if agreement.resampling:
        lines.append(f"low, high: 95 % interval, percentiles: {agreement.resampling}")
    signatures: dict[str, None] = {}
    for result in agreement.results:
        for statistic in result.statistics:
            signatures[statistic.signature] = None
    for tested in agreement.contests:
        signatures[tested.signature] = None
    if agreement.spans:
        for measure in agreement.spans.measures:
            signatures[measure.score.signature] = None
    return [*lines, *signatures]


def _title(level: str, averaging: str) -> str:
    """What a level is called in tables, with the way to average where there are several."""
    if level == "seg":
        return f"{_LEVELS[level]}, {_AVERAGED[averaging]}"
    return _LEVELS[level]


def _whole_table(results: Sequence[LevelResult], width: int) -> Table:
    head, *numbers = _cells(results, width)
    rows = []
    for result, row in zip(results, numbers, strict=True):
        rows.append((result.evaluator, *row))
    note = ""
    given = []
    for result in results:
        if result.given:
            given.append(result.evaluator)
    if given:
        note = f"scores of systems as given: {', '.join(given)}"
        if any(result.samples for result in results):
            note += "; these have no intervals, except for SPA"
    title = _title(results[0].level, results[0].averaging)
    return Table(title, ("evaluator", *head), tuple(rows), note)


def _part_table(results: Sequence[LevelResult], width: int) -> Table:
    """A table of parts; of many only the largest."""
    parts = []
    for _, part_results in groupby(results, key=lambda result: result.part):
        parts.append(list(part_results))
    note = ""
    if len(parts) > MOST_PARTS:
        note = f"{len(parts) - MOST_PARTS} more, the smaller ones, are not shown: -f json has all"
        parts.sort(key=lambda part: -max(result.statistics[0].scores for result in part))
        parts = parts[:MOST_PARTS]
    results = list(chain.from_iterable(parts))
    head, *numbers = _cells(results, width)
    rows = []
    former = None
    for result, row in zip(results, numbers, strict=True):
        name = str(result.part) if result.part != former else ""  # only the first row of a part names it
        rows.append((name, result.evaluator, *row))
        former = result.part
    grouping = str(results[0].grouping)
    head = (grouping, "evaluator", *head)
    title = f"by {grouping}: {_title(results[0].level, results[0].averaging)}"
    return Table(title, head, tuple(rows), note, labels=2)


def _cells(results: Sequence[LevelResult], width: int) -> Iterator[tuple[str, ...]]:
    """The head of the numbers, and the numbers of each result."""
    shows_left_out = any(result.statistics[0].missing.total for result in results)
    names_with_interval = set()
    for result in results:
        for statistic in result.statistics:
            if statistic.interval is not None:
                names_with_interval.add(statistic.name)
    head = ["scores"]
    if shows_left_out:
        head.append("left out")
    for statistic in results[0].statistics:
        head.append(_HEADS[statistic.name])
        if statistic.name in names_with_interval:
            head += _BOUNDS
        if statistic.name == "acc-t":
            head.append("ε")
    yield tuple(head)
    for result in results:
        first = result.statistics[0]
        row = [f"{first.scores:,}"]
        if shows_left_out:
            row.append(f"{first.missing.total:,}")
        for statistic in result.statistics:
            row.append(_number(statistic.value, width))
            if statistic.name in names_with_interval:
                row += _bounds(statistic.interval, width)
            if statistic.name == "acc-t":
                row.append(NO_VALUE if statistic.epsilon is None else f"{statistic.epsilon:.{width}g}")
        yield tuple(row)


def _bounds(interval: Bounds | None, width: int) -> tuple[str, str]:
    low, high = interval or (None, None)
    return _number(low, width), _number(high, width)


def _number(value: float | None, width: int) -> str:
    return NO_VALUE if value is None else f"{value:.{width}f}"


def _p(p_value: float | None, permutations: int) -> str:
    """A p-value with three digits. It is a share of the permutations: 0 means that it is smaller than one of them."""
    if p_value is None:
        return NO_VALUE
    return _with_digits(p_value or 1 / permutations, is_bound=p_value == 0)


def _corrected(p_values: Sequence[float | None], permutations: int) -> list[str]:
    """The p-values of several tests, corrected by Holm's method; one of 0 is corrected as one permutation's share."""
    possible = [None if p_value is None else max(p_value, 1 / permutations) for p_value in p_values]
    cells = []
    for p_value, p_holm in zip(p_values, holm(possible), strict=True):
        cells.append(NO_VALUE if p_holm is None else _with_digits(p_holm, is_bound=p_value == 0))
    return cells


def _with_digits(p_value: float, *, is_bound: bool) -> str:
    """A p-value, or the bound below which it is. A bound of 1 is none."""
    if is_bound and p_value < 1:
        return f"<{max(0.001, p_value):.3g}"
    return f"{p_value:.3f}" if p_value >= 0.0005 else "<0.001"


def _contest_table(contest: Contest, width: int) -> Table:
    test = contest.test
    order = [evaluator.name for evaluator in contest.ranked]
    rows = []
    for place, evaluator in enumerate(contest.ranked):
        # A triangle: each row is tested against the ones below it.
        p_values = [""] * place
        for other in order[place + 1 :]:
            p_values.append(_p(contest.p_values[evaluator.name, other], test.permutations))
        rows.append((evaluator.name, str(evaluator.rank), _number(evaluator.value, width), *p_values))
    note = (
        f"p(2): the chance that the row leads the second row by as much; {test.permutations:,} permutations of "
        f"{contest.scores:,} scores that all have; in one rank nobody is significantly worse (p ≤ 0.05) than another"
    )
    if contest.left_out:
        note += f"; not defined for {', '.join(contest.left_out)}"
    columns = [f"p({place})" for place in range(2, len(order) + 1)]
    title = f"test by {_HEADS[test.statistic]}: {_title(contest.level, test.averaging)}"
    return Table(title, ("evaluator", "rank", _HEADS[test.statistic], *columns), tuple(rows), note)


def _lead_tables(agreement: MetaEvaluation, width: int) -> Iterator[Table]:
    """The differences of two evaluators; of several only by the tested statistics, where each would fill a page."""
    are_two = len(agreement.evaluators) == 2
    by_statistic = groupby(agreement.leads, key=lambda lead: (lead.level, lead.averaging, lead.statistic))
    for (level, averaging, name), group in by_statistic:
        leads = list(group)
        is_tested = any(lead.p_value is not None for lead in leads)
        has_interval = any(lead.interval is not None for lead in leads)
        # Of two evaluators a test without intervals has said all.
        if not (has_interval and (are_two or is_tested)) and not (is_tested and not are_two):
            continue
        head = ["better", "worse", "difference"]
        if has_interval:
            head += _BOUNDS
        if is_tested:
            head.append("p")
            if len(leads) > 1:
                head.append("p (Holm)")
        permutations = agreement.contests[0].test.permutations if is_tested else 0
        corrected = _corrected([lead.p_value for lead in leads], permutations) if is_tested else []
        rows = []
        for number, lead in enumerate(leads):
            row = [lead.better, lead.worse, _number(lead.value, width)]
            if has_interval:
                row += _bounds(lead.interval, width)
            if is_tested:
                row.append(_p(lead.p_value, permutations))
                if len(leads) > 1:
                    row.append(corrected[number])
            rows.append(tuple(row))
        title = f"differences by {_HEADS.get(name, name)}: {_title(level, averaging)}"
        yield Table(title, tuple(head), tuple(rows), labels=2)


def _span_tables(spans: SpanLevel, width: int) -> list[Table]:
    head = ["evaluator"]
    has_intervals = any(result.score.intervals for result in spans.measures)
    for rate in ("precision", "recall", "F1", "macro F1"):
        head.append(rate)
        if has_intervals:
            head += _BOUNDS
    head += ["marked", "by people", "segments", "left out", "left out of people's"]
    note = "marked, by people, left out: characters, or spans (see the signatures)"
    rows = _span_rows(spans.measures, width)
    tables = [Table(_SPANS, ("measure", *head), rows, note, labels=2)]
    curves: dict[str, list[str]] = {}
    for result in spans.thresholds:
        curves.setdefault(result.evaluator, []).append(_number(result.score.f1, width))
    thresholds = dict.fromkeys(result.kind for result in spans.thresholds)
    curve_rows = []
    for evaluator, curve in curves.items():
        curve_rows.append((evaluator, *curve))
    curve_note = "-f json and -f csv have their intervals" if has_intervals else ""
    title = f"{_SPANS}: F1 of matches by threshold"
    tables.append(Table(title, ("evaluator", *thresholds), tuple(curve_rows), curve_note))
    severity_ranks = {str(severity): place for place, severity in enumerate(SEVERITIES)}
    for grouping, results in spans.groups.items():
        if results:
            ordered = sorted(results, key=lambda result: (severity_ranks.get(result.kind, 0), result.kind))
            title = f"{_SPANS}: characters by {grouping}"
            rows = _span_rows(ordered, width)
            tables.append(Table(title, (grouping, *head), rows, labels=2))
    return tables


def _span_rows(results: Sequence[SpanResult], width: int) -> tuple[tuple[str, ...], ...]:
    rows = []
    for result in results:
        span_score = result.score
        row = [result.kind, result.evaluator]
        for rate in RATES:
            row.append(_number(getattr(span_score, rate), width))
            if span_score.intervals:
                row += _bounds(span_score.intervals[rate], width)
        row += [f"{span_score.predicted:,.0f}", f"{span_score.gold:,.0f}", f"{span_score.segments:,}"]
        row += [f"{sum(span_score.predicted_left_out):,}", f"{sum(span_score.gold_left_out):,}"]
        rows.append(tuple(row))
    return tuple(rows)


def flat(evaluation: MetaEvaluation | PairsEvaluation, delimiter: str = ",") -> str:
    """A line for each statistic of each evaluator, for each difference (``other``), and for each rank of a test.

    ``grouping`` and ``part`` are empty for all segments; an empty cell is what there is not. Nothing is rounded. Of
    several language pairs ``lp`` names one; ``mean`` are the means over pairs, ``task rank`` the ranks by all tasks.
    """
    rows: list[dict[str, object]] = []
    if isinstance(evaluation, MetaEvaluation):
        rows += flat_rows(evaluation)
    else:
        for pair, of_pair in evaluation.pairs.items():
            for row in flat_rows(of_pair):
                rows.append({"lp": pair, **row})
        for average in evaluation.averages:
            row = average._asdict() | {"kind": "mean", **_flat_interval(average.interval)}
            del row["interval"], row["pairs"]
            rows.append(row)
        if evaluation.ranking:
            for evaluator in evaluation.ranking.ranked:
                rows.append(
                    {"kind": "task rank", "evaluator": evaluator.name, "value": evaluator.value, "rank": evaluator.rank}
                )
    return "".join(as_csv(COLUMNS, rows, delimiter)).rstrip("\n")


def flat_rows(agreement: MetaEvaluation) -> Iterator[dict[str, object]]:
    """The lines of :func:`flat` by column."""
    for result in agreement.results:
        where = {
            "level": result.level,
            "averaging": result.averaging,
            "grouping": result.grouping or "",
            "part": result.part or "",
        }
        for statistic in result.statistics:
            yield {
                "kind": "statistic",
                **where,
                "statistic": statistic.name,
                "evaluator": result.evaluator,
                "value": statistic.value,
                **_flat_interval(statistic.interval),
                "epsilon": statistic.epsilon,
                "scores": statistic.scores,
                "left_out": statistic.missing.total,
                "signature": statistic.signature,
            }
    if agreement.spans:
        yield from _flat_spans(agreement.spans)
    for lead in agreement.leads:
        yield {
            "kind": "difference",
            "level": lead.level,
            "averaging": lead.averaging,
            "statistic": lead.statistic,
            "evaluator": lead.better,
            "other": lead.worse,
            "value": lead.value,
            **_flat_interval(lead.interval),
            "p": lead.p_value,
            "p_holm": lead.holm,
        }
    for contest in agreement.contests:
        for evaluator in contest.ranked:
            yield {
                "kind": "rank",
                "level": contest.level,
                "averaging": contest.test.averaging,
                "statistic": contest.test.statistic,
                "evaluator": evaluator.name,
                "value": evaluator.value,
                "rank": evaluator.rank,
                "scores": contest.scores,
                "signature": contest.signature,
            }


def _flat_spans(spans: SpanLevel) -> Iterator[dict[str, object]]:
    results: list[tuple[str, str, SpanResult]] = []
    for result in spans.measures:
        results.append(("", result.kind, result))
    for result in spans.thresholds:
        results.append(("", f"match at {result.kind}", result))
    for grouping, group_results in spans.groups.items():
        for result in group_results:
            results.append((grouping, "characters", result))
    seen = set()
    for name, measure, result in results:
        part = result.kind if name else ""
        key = (name, measure, part, result.evaluator)
        if key in seen:  # the measure "match at 0.5" is a threshold, too
            continue
        seen.add(key)
        for rate in RATES:
            yield {
                "kind": "statistic",
                "level": "span",
                "grouping": name,
                "part": part,
                "statistic": f"{measure}: {rate}",
                "evaluator": result.evaluator,
                "value": getattr(result.score, rate),
                **_flat_interval(result.score.intervals.get(rate)),
                "scores": result.score.segments,
                "signature": result.score.signature,
            }


def _flat_interval(interval: Bounds | None) -> dict[str, object]:
    low, high = interval or (None, None)
    return {"low": low, "high": high}


def as_json(evaluation: MetaEvaluation | PairsEvaluation) -> str:
    """One JSON object. ``levels`` has an object for each evaluator, level, averaging and part.

    With several language pairs ``pairs`` has such an object for each. Nothing is rounded; ``null`` is a missing value.
    """
    if isinstance(evaluation, MetaEvaluation):
        return dumped(_data(evaluation), indent=1)
    ranking = None
    if evaluation.ranking:
        tasks = []
        for pair, tested in evaluation.ranking.tasks:
            tasks.append({"lp": pair, "signature": tested.signature})
        p_values = []
        for (better, worse), p_value in evaluation.ranking.p_values.items():
            p_values.append({"better": better, "worse": worse, "p_value": p_value})
        ranking = {
            "tasks": tasks,
            "ranked": evaluation.ranking.ranked,
            "p_values": p_values,
            "left_out": evaluation.ranking.left_out,
        }
    pairs = {pair: _data(of_pair) for pair, of_pair in evaluation.pairs.items()}
    return dumped({"pairs": pairs, "averages": evaluation.averages, "ranking": ranking}, indent=1)


def _data(agreement: MetaEvaluation) -> dict[str, Any]:
    levels = []
    for result in agreement.results:
        statistics = {statistic.name: statistic for statistic in result.statistics}
        level = result._asdict() | {"statistics": statistics}
        del level["samples"]
        levels.append(level)
    spans = None
    if agreement.spans is not None:
        spans = {
            "measures": _span_data(agreement.spans.measures, "measure"),
            "thresholds": _span_data(agreement.spans.thresholds, "threshold"),
        }
        for grouping, results in agreement.spans.groups.items():
            spans[grouping] = _span_data(results, grouping)
    return {
        "human": agreement.human,
        "evaluators": agreement.evaluators,
        "levels": levels,
        "spans": spans,
        "tests": [_contest_data(contest) for contest in agreement.contests],
        "differences": agreement.leads,
        "resampling": agreement.resampling,
        "warnings": agreement.warnings,
    }


def _span_data(results: Sequence[SpanResult], kind: str) -> list[dict[str, Any]]:
    return [{"evaluator": result.evaluator, kind: result.kind, **vars(result.score)} for result in results]


def _contest_data(contest: Contest) -> dict[str, Any]:
    p_values = []
    corrected = contest.holm()
    for (better, worse), p_value in contest.p_values.items():
        holm = corrected.get((better, worse))
        p_values.append({"better": better, "worse": worse, "p_value": p_value, "holm": holm})
    return {
        "statistic": contest.test.statistic,
        "level": contest.level,
        "averaging": contest.test.averaging,
        "scores": contest.scores,
        "ranked": contest.ranked,
        "p_values": p_values,
        "left_out": contest.left_out,
        "signature": contest.signature,
    }
