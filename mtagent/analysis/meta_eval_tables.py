"""The agreement of evaluators with people as tables for people, and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from mtagent.analysis.compare_tables import MOST_PARTS
from mtagent.analysis.meta_eval import Agreement, Result, SpanLevel, SpanResult
from mtagent.analysis.permutation import Contest
from mtagent.text.mqm import SEVERITIES
from mtagent.text.table import Table

NO_VALUE = "–"
_HEADS = {
    "acc": "Acc", "spa": "SPA", "pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall", "acc-t": "Acc-t",
    "mae": "MAE", "mse": "MSE",
}  # fmt: skip
_AVERAGED = {"none": "all scores together", "item": "averaged by item", "system": "averaged by system"}
_LEVELS = {"sys": "level of systems", "seg": "level of segments"}
_SPANS = "level of error spans"


def tables(agreement: Agreement, width: int = 3) -> list[Table]:
    """All tables: whole levels, error spans, tests, and parts; ``width`` is the digits after the point."""
    by_table = groupby(agreement.results, key=lambda result: (result.grouping, result.level, result.averaging))
    shown = [list(results) for _, results in by_table]
    return [
        *(_whole_table(results, width) for results in shown if results[0].part is None),
        *(_span_tables(agreement.spans, width) if agreement.spans else []),
        *(_contest_table(contest, width) for contest in agreement.contests),
        *(_part_table(results, width) for results in shown if results[0].part is not None),
    ]


def below(agreement: Agreement) -> list[str]:
    """The lines below the tables: why values are missing, and all signatures, each once.

    Each evaluator, level and reason has a line that names the statistics without a value; parts share a line.
    """
    parts: dict[tuple[str, str, str], list[str]] = {}
    lines = []
    for result in agreement.results:
        by_reason: dict[str, list[str]] = {}
        for statistic in result.statistics:
            if statistic.value is None:
                by_reason.setdefault(statistic.undefined or "", []).append(_HEADS[statistic.name])
        for reason, names in by_reason.items():
            where, lacking = f"{NO_VALUE} {result.evaluator}, {_title(result)}", ", ".join(names)
            if result.part is None:
                lines.append(f"{where}: no {lacking}: {reason}")
            else:
                parts.setdefault((where, lacking, f"{result.grouping}: {reason}"), []).append(result.part)
    for (where, lacking, reason), names in parts.items():
        shown = ", ".join(names) if len(names) <= MOST_PARTS else f"{len(names)} parts"
        lines.append(f"{where}: no {lacking} in {shown} by {reason}")
    lines.append(f"people: {agreement.human.name}: {agreement.human.signature}")
    lines += [f"{name}: {signature}" for name, signature in agreement.evaluators]
    signatures = [statistic.signature for result in agreement.results for statistic in result.statistics]
    signatures += [contest.signature for contest in agreement.contests]
    signatures += [measure.score.signature for measure in agreement.spans.measures] if agreement.spans else []
    return [*lines, *dict.fromkeys(signatures)]


def _title(result: Result) -> str:
    return _LEVELS[result.level] + (f", {_AVERAGED[result.averaging]}" if result.level == "seg" else "")


def _whole_table(results: Sequence[Result], width: int) -> Table:
    given = ", ".join(result.evaluator for result in results if result.given)
    head, *cells = _cells(results, width)
    rows = tuple((result.evaluator, *row) for result, row in zip(results, cells, strict=True))
    note = f"scores of systems as given: {given}" if given else ""
    return Table(_title(results[0]), ("evaluator", *head), rows, note)


def _part_table(results: Sequence[Result], width: int) -> Table:
    """A table of parts, of many only the largest."""
    parts = [list(of_part) for _, of_part in groupby(results, key=lambda result: result.part)]
    largest = sorted(parts, key=lambda part: -max(result.statistics[0].scores for result in part))
    shown = parts if len(parts) <= MOST_PARTS else largest[:MOST_PARTS]
    left = len(parts) - len(shown)
    note = f"{left} more, the smaller ones, are not shown: -f json has all" if left else ""
    head, *cells = _cells([result for part in shown for result in part], width)
    names = [(str(result.part) if result is part[0] else "", result.evaluator) for part in shown for result in part]
    rows = tuple((*name, *row) for name, row in zip(names, cells, strict=True))
    grouping = str(results[0].grouping)
    return Table(f"by {grouping}: {_title(results[0])}", (grouping, "evaluator", *head), rows, note, labels=2)


def _cells(results: Sequence[Result], width: int) -> Iterator[tuple[str, ...]]:
    """The head of the numbers, and the numbers of each result."""
    left_out = any(result.statistics[0].missing.total for result in results)
    head = ["scores", *(["left out"] if left_out else [])]
    for statistic in results[0].statistics:
        head += [_HEADS[statistic.name], *(["ε"] if statistic.name == "acc-t" else [])]
    yield tuple(head)
    for result in results:
        first = result.statistics[0]
        row = [f"{first.scores:,}", *([f"{first.missing.total:,}"] if left_out else [])]
        for statistic in result.statistics:
            row.append(_number(statistic.value, width))
            if statistic.name == "acc-t":
                row.append(NO_VALUE if statistic.epsilon is None else f"{statistic.epsilon:.{width}g}")
        yield tuple(row)


def _number(value: float | None, width: int) -> str:
    return NO_VALUE if value is None else f"{value:.{width}f}"


def _contest_table(contest: Contest, width: int) -> Table:
    test, order = contest.test, [evaluator.name for evaluator in contest.ranked]
    rows = []
    for place, evaluator in enumerate(contest.ranked):
        p_values = ["" for _ in order[1 : place + 1]]
        p_values += [_number(contest.p_values[evaluator.name, other], 3) for other in order[place + 1 :]]
        rows.append((evaluator.name, str(evaluator.rank), _number(evaluator.value, width), *p_values))
    note = (
        f"p(2): the chance that the row leads the second row by as much; {test.permutations:,} permutations of "
        f"{contest.scores:,} scores that all have; in one rank nobody is significantly worse (p ≤ 0.05) than another"
    )
    note += f"; not defined for {', '.join(contest.left_out)}" if contest.left_out else ""
    columns = [f"p({place})" for place in range(2, len(order) + 1)]
    averaged = f", {_AVERAGED[test.averaging]}" if contest.level == "seg" else ""
    title = f"test by {_HEADS[test.statistic]}: {_LEVELS[contest.level]}{averaged}"
    return Table(title, ("evaluator", "rank", _HEADS[test.statistic], *columns), tuple(rows), note)


def _span_tables(spans: SpanLevel, width: int) -> Iterator[Table]:
    head = ("evaluator", "precision", "recall", "F1", "macro F1", "marked", "by people", "segments", "left out")
    note = "marked, by people: characters, or spans; left out: of the evaluator + of people (see the signatures)"
    yield Table(_SPANS, ("measure", *head), _span_rows(spans.measures, width), note, labels=2)
    kinds = dict.fromkeys(result.kind for result in spans.thresholds)
    curves = groupby(spans.thresholds, key=lambda result: result.evaluator)
    body = tuple((who, *(_number(result.score.f1, width) for result in curve)) for who, curve in curves)
    yield Table(f"{_SPANS}: F1 of matches by threshold", ("evaluator", *kinds), body)
    for grouping, results in spans.groups.items():
        if results:
            ranks = {str(severity): place for place, severity in enumerate(SEVERITIES)}
            ordered = sorted(results, key=lambda result: (ranks.get(result.kind, 0), result.kind))
            title = f"{_SPANS}: characters by {grouping}"
            yield Table(title, (grouping, *head), _span_rows(ordered, width), labels=2)


def _span_rows(results: Sequence[SpanResult], width: int) -> tuple[tuple[str, ...], ...]:
    rows = []
    for kind, evaluator, result in results:
        rates = (result.precision, result.recall, result.f1, result.macro_f1)
        left_out = f"{sum(result.predicted_left_out):,} + {sum(result.gold_left_out):,}"
        numbers = (f"{result.predicted:,.0f}", f"{result.gold:,.0f}", f"{result.segments:,}", left_out)
        rows.append((kind, evaluator, *(_number(rate, width) for rate in rates), *numbers))
    return tuple(rows)


def as_json(agreement: Agreement) -> str:
    """One JSON object. ``levels`` has an object for each evaluator, level, averaging and part.

    Nothing is rounded; ``null`` is no value.
    """
    levels = []
    for result in agreement.results:
        statistics = {
            statistic.name: asdict(statistic) | {"missing": statistic.missing._asdict()}
            for statistic in result.statistics
        }
        levels.append(result._asdict() | {"statistics": statistics})
    spans: dict[str, list[dict[str, Any]]] | None = None
    if agreement.spans:
        by_kind = {"measure": agreement.spans.measures, "threshold": agreement.spans.thresholds}
        spans = {f"{kind}s": [_span_data(result, kind) for result in results] for kind, results in by_kind.items()}
        spans |= {name: [_span_data(result, name) for result in of] for name, of in agreement.spans.groups.items()}
    tests = [
        {
            "statistic": contest.test.statistic,
            "level": contest.level,
            "averaging": contest.test.averaging,
            "scores": contest.scores,
            "ranked": [evaluator._asdict() for evaluator in contest.ranked],
            "p_values": [{"better": a, "worse": b, "p_value": p} for (a, b), p in contest.p_values.items()],
            "left_out": list(contest.left_out),
            "signature": contest.signature,
        }
        for contest in agreement.contests
    ]
    data = {
        "human": agreement.human._asdict(),
        "evaluators": [evaluator._asdict() for evaluator in agreement.evaluators],
        "levels": levels,
        "spans": spans,
        "tests": tests,
        "warnings": agreement.warnings,
    }
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)


def _span_data(result: SpanResult, kind: str) -> dict[str, Any]:
    left_out = {name: value._asdict() for name, value in vars(result.score).items() if name.endswith("left_out")}
    return {"evaluator": result.evaluator, kind: result.kind, **asdict(result.score), **left_out}
