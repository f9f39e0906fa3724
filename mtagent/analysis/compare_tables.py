"""A comparison as tables for people, as JSON with everything but the texts, and as a flat table (CSV, TSV)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

from mtagent.analysis.compare import RunComparison
from mtagent.analysis.compared_rows import Cell, ComparedTexts, Contrast, Part
from mtagent.analysis.language_pairs import PairAverages, averages
from mtagent.analysis.review_summary import ReviewSummary
from mtagent.analysis.score import digits
from mtagent.analysis.staged_run import USAGE_COUNTS, Cost
from mtagent.chain.fates import SEGMENT_OUTCOMES
from mtagent.formats.files import dumped
from mtagent.formats.ratings import FINAL, REVIEWED
from mtagent.metrics.significance import FEW, SIGNIFICANT
from mtagent.records import Usage
from mtagent.text import languages, table
from mtagent.text.amounts import NOTHING, UNKNOWN, counted, dollars, seconds, signed
from mtagent.text.table import Table

EXTREMES = 3
"""Segments of each kind that a table for people names; JSON has ten."""
MOST_PARTS = 20
"""Parts of one grouping that a table for people shows; JSON and CSV have all."""
_MATRIX_HEAD = 60
"""Characters that the names of a matrix's columns may have in all."""
_NONE_TESTED = f"no part is tested: a test needs {FEW} segments or more, and two texts that differ"
_RARE_OUTCOMES = ("reverted", "triaged", "idle")
"""They have a column only where a row counts some."""
_HEADS = {"triaged": "skipped by triage", "idle": "not run"}
_UNDECIDED = "undecided"


def shown(comparison: RunComparison, form: str = "text", width: int | None = None, **more: Any) -> str:
    """The tables as ``text``, ``markdown`` or ``latex``, followed by signatures, the test and warnings.

    ``width`` is the number of digits after the point; by default each metric has its own.
    """
    return table.FORMS[form](tables(comparison, width), below(comparison, width), comparison.warnings, **more)


def shown_pairs(comparisons: Sequence[RunComparison], form: str = "text", width: int | None = None) -> str:
    """The comparisons of several language pairs one after the other, and then their averages."""
    parts = []
    for comparison in comparisons:
        pair = languages.pair_of(comparison.source_lang, comparison.target_lang)
        pair_tables = []
        for pair_table in tables(comparison, width):
            pair_tables.append(replace(pair_table, title=f"{pair}: {pair_table.title}"))
        parts.append(table.FORMS[form](pair_tables, below(comparison, width), comparison.warnings))
    parts.append(table.FORMS[form](_average_tables(averages(comparisons), comparisons[0], width)))
    return "\n\n".join(parts)


def _average_tables(average: PairAverages, first: RunComparison, width: int | None) -> list[Table]:
    """The averages over language pairs: scores, and differences."""
    widths = dict(zip(first.metrics, digits_of(first, width), strict=True))
    metrics = dict.fromkeys(score.metric for score in average.scores)
    rows: dict[str, list[str]] = {}
    for score in average.scores:
        rows.setdefault(score.row, [score.row]).append(f"{score.score:.{widths[score.metric]}f}")
    count = len(average.pairs)
    note = f"{', '.join(average.pairs)}; each counts the same"
    scores = Table(f"average of {count} language pairs", ("row", *metrics), tuple(map(tuple, rows.values())), note)
    head = ["metric", "row", "against", "difference", "better", "worse"]
    was_tested = any(difference.surely_better is not None for difference in average.differences)
    if was_tested:
        head += ["surely better", "surely worse"]
    lines = []
    for metric in metrics:
        label = metric
        for difference in average.differences:
            if difference.metric != metric:
                continue
            cells = [label, difference.row, difference.against, signed(difference.difference, widths[metric])]
            cells += [str(difference.better), str(difference.worse)]
            if was_tested:
                for sure in (difference.surely_better, difference.surely_worse):
                    cells.append(NOTHING if sure is None else str(sure))
            lines.append(tuple(cells))
            label = ""
    note = "better, worse: language pairs"
    if was_tested:
        note += f"; surely: p (Holm) < {SIGNIFICANT} in the pair"
    title = f"differences, average of {count} language pairs"
    return [scores, Table(title, tuple(head), tuple(lines), note, labels=3)]


def tables(comparison: RunComparison, width: int | None = None) -> list[Table]:
    """The tables of ``comparison`` that are not empty."""
    widths = digits_of(comparison, width)
    metric_widths = dict(zip(comparison.metrics, widths, strict=True))
    edited_width = 2 if width is None else width
    all_tables = [
        _scores(comparison, widths),
        *_difference_tables(comparison, metric_widths),
        _edits(comparison, widths, edited_width),
        _outcomes(comparison),
        _costs(comparison),
        *review_tables(comparison),
        repeats_table(comparison, width),
    ]
    for grouping in comparison.parts or {}:
        all_tables += _part_tables(comparison, grouping, widths)
    filled_tables = []
    for one_table in all_tables:
        if one_table.rows and len(one_table.head) > min(one_table.labels, 3):
            filled_tables.append(one_table)
    return filled_tables


def below(comparison: RunComparison, width: int | None = None) -> list[str]:
    """The lines below the tables: signatures, the test, and what is concluded."""
    lines = list(comparison.signatures)
    if comparison.resampling and _has_tests(comparison.contrasts):
        lines.append(f"p: {comparison.resampling.description}")
        is_corrected = _has_correction(comparison.contrasts)
        lines.append(comparison.resampling.star("all tests by the same metric" if is_corrected else ""))
    lines += _conclusions(comparison, width)
    return lines


def _conclusions(comparison: RunComparison, width: int | None) -> list[str]:
    """What the deciding metric shows about the last texts of each run, in words; nothing where all rows are compared
    with all others, as the matrices show that.
    """
    if comparison.place is None or comparison.deciding is None or comparison.against == "all":
        return []
    digit_count = digits_of(comparison, width)[comparison.place]
    is_higher_better = comparison.rows[0].cells[comparison.place].score.higher_is_better
    runs_with_end = {row.run for row in comparison.rows if row.stage == FINAL}
    intermediate = set()
    for row in comparison.rows:
        if row.run in runs_with_end and row.stage not in (FINAL, REVIEWED):
            intermediate.add(row.name)
    lines = []
    for contrast in comparison.contrasts:
        if contrast.metric == comparison.deciding and contrast.row not in intermediate:
            lines.append(f"conclusion: {_conclusion(contrast, digit_count, is_higher_better=is_higher_better)}")
    return lines


def _conclusion(contrast: Contrast, digit_count: int, *, is_higher_better: bool) -> str:
    if contrast.difference == 0:
        return f"{contrast.row} is as good as {contrast.against} by {contrast.metric}"
    amount = f"{abs(contrast.difference):.{digit_count}f}"
    verdict = "better" if (contrast.difference > 0) == is_higher_better else "worse"
    extent = f"segments: {contrast.wins:,} better, {contrast.ties:,} equal, {contrast.losses:,} worse"
    if contrast.p_value is None:
        doubt = "no test was made, so this may be chance"
    elif contrast.is_significant:
        doubt = "the difference is significant"
    else:
        doubt = "the difference is not significant"
    return f"{contrast.row} is {verdict} than {contrast.against}: {amount} {contrast.metric} ({extent}); {doubt}"


def _has_tests(contrasts: Sequence[Contrast]) -> bool:
    return any(contrast.p_value is not None for contrast in contrasts)


def _has_correction(contrasts: Sequence[Contrast]) -> bool:
    """Whether the correction for several tests changed any p-value."""
    return any(contrast.p_holm != contrast.p_value for contrast in contrasts)


def digits_of(comparison: RunComparison, width: int | None = None) -> list[int]:
    """The digits after the point for each metric: ``width``, or what suits it."""
    widths = []
    for place in range(len(comparison.metrics)):
        scores = [row.cells[place].score for row in comparison.rows]
        widths.append(digits(scores, width))
    return widths


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _scores(comparison: RunComparison, widths: Sequence[int]) -> Table:
    """The scores of each row, with half their interval, and the change since its former row."""
    has_changes = False
    metrics_with_interval = set()
    for row in comparison.rows:
        has_changes = has_changes or row.former is not None
        for metric, cell in zip(comparison.metrics, row.cells, strict=True):
            if cell.interval is not None:
                metrics_with_interval.add(metric)
    head = ["row"]
    for metric in comparison.metrics:
        head.append(metric)
        if metric in metrics_with_interval:
            head.append("±")
        if has_changes:
            head.append("change")
    rows = []
    for row in comparison.rows:
        numbers = [row.name]
        for metric, width, cell in zip(comparison.metrics, widths, row.cells, strict=True):
            numbers.append(f"{cell.score.value:.{width}f}")
            if metric in metrics_with_interval:
                numbers.append(NOTHING if cell.interval is None else f"{cell.interval.half_width:.{width}f}")
            if has_changes:
                numbers.append(_signed(cell.difference, width))
        rows.append(tuple(numbers))
    notes = []
    if has_changes:
        notes.append("change: since the row before")
        for before, row in pairwise(comparison.rows):
            if row.former not in (None, before.name):
                notes.append(f"{row.name}: since {row.former}")
    if metrics_with_interval:
        notes.append("±: half the 95 % interval of the score")
    return Table(
        f"scores of {counted(len(comparison.segments), 'segment')}", tuple(head), tuple(rows), "; ".join(notes)
    )


def _signed(value: float | None, width: int) -> str:
    return NOTHING if value is None else signed(value, width)


def _p(p_value: float | None) -> str:
    return NOTHING if p_value is None else f"{p_value:.4f}"


def _differences(
    title: str, grouping: str, contrasts: Sequence[tuple[str, Contrast]], widths: Mapping[str, int]
) -> Table:
    """A line for each contrast, with its label in the column ``grouping`` before it."""
    unlabelled = [contrast for _, contrast in contrasts]
    has_bounds = any(contrast.bounds for contrast in unlabelled)
    has_tests = _has_tests(unlabelled)
    has_correction = _has_correction(unlabelled)
    head = [grouping, "row", "against", "difference"]
    if has_bounds:
        head += ["from", "to"]
    if has_tests:
        head.append("p")
    if has_correction:
        head.append("p (Holm)")
    head += ["wins", "ties", "losses"]
    rows = []
    former_label = None
    for label, contrast in contrasts:
        width = widths[contrast.metric]
        cells = ["" if label == former_label else label, contrast.row, contrast.against]
        former_label = label
        cells.append(signed(contrast.difference, width))
        if has_bounds:
            low, high = contrast.bounds or (None, None)
            cells += [_signed(low, width), _signed(high, width)]
        if has_tests:
            cells.append(_p(contrast.p_value))
        if has_correction:
            cells.append(_p(contrast.p_holm))
        if has_tests and contrast.is_significant:
            cells[-1] += "*"
        cells += [f"{contrast.wins:,}", f"{contrast.ties:,}", f"{contrast.losses:,}"]
        rows.append(tuple(cells))
    notes = ["row minus against; wins, ties and losses: segments"]
    if has_bounds:
        notes.append("from, to: the 95 % interval of the difference")
    return Table(title, tuple(head), tuple(rows), "; ".join(notes), labels=3)


def _difference_tables(comparison: RunComparison, widths: Mapping[str, int]) -> list[Table]:
    """The differences between rows as a list, or as a matrix for each metric if all pairs were compared."""
    is_matrix = comparison.against == "all"
    metrics = comparison.metrics
    if is_matrix and comparison.deciding is not None:
        metrics = (comparison.deciding,)  # the matrices show the differences by the others
    differences = difference_table(comparison, metrics, widths)
    if not is_matrix:
        return [differences, _extremes(comparison, widths)]
    matrices = [_matrix(comparison, metric, widths[metric]) for metric in comparison.metrics]
    return [*matrices, differences]


def difference_table(comparison: RunComparison, metrics: Sequence[str], widths: Mapping[str, int]) -> Table:
    """The differences between rows by ``metrics``, with ``widths`` digits after the point."""
    contrasts = []
    for metric in metrics:
        for contrast in comparison.contrasts:
            if contrast.metric == metric:
                contrasts.append((metric, contrast))
    return _differences("differences", "metric", contrasts, widths)


def _matrix(comparison: RunComparison, metric: str, width: int) -> Table:
    """The difference of each row to each other row, by one metric; columns with long names have numbers instead."""
    names = [row.name for row in comparison.rows]
    labels = heads = names
    if sum(map(len, names)) > _MATRIX_HEAD:
        heads = [str(number) for number in range(1, len(names) + 1)]
        labels = [f"{head} {name}" for head, name in zip(heads, names, strict=True)]
    rows = []
    for label, name in zip(labels, names, strict=True):
        cells = [label]
        for against in names:
            direct = comparison.contrast(name, against, metric)
            contrast = direct or comparison.contrast(against, name, metric)
            if contrast is None:
                cells.append("")
                continue
            difference = contrast.difference if direct else -contrast.difference
            mark = "*" if contrast.is_significant else ""
            cells.append(f"{signed(difference, width)}{mark}")
        rows.append(tuple(cells))
    return Table(f"{metric}: row minus column", ("row", *heads), tuple(rows))


def _extremes(comparison: RunComparison, widths: Mapping[str, int]) -> Table:
    """The segments that the deciding metric finds most improved and most damaged."""
    rows = []
    for contrast in comparison.contrasts:
        if contrast.metric != comparison.deciding or not (contrast.won or contrast.lost):
            continue
        cells = [contrast.row, contrast.against]
        for segments in (contrast.won, contrast.lost):
            listed = []
            for name, gain in segments[:EXTREMES]:
                listed.append(f"{name} ({gain:.{widths[contrast.metric]}f})")
            cells.append(", ".join(listed) or NOTHING)
        rows.append(tuple(cells))
    title = f"segments that differ most, by {comparison.deciding}"
    return Table(title, ("row", "against", "better", "worse"), tuple(rows), labels=4)


def _edits(comparison: RunComparison, widths: Sequence[int], edited_width: int) -> Table:
    metric = comparison.deciding
    gain_width = 2 if comparison.place is None else widths[comparison.place]
    head = ["row", "from", "edited %", "characters", "changed %"]
    note = "edited: words, per 100 words; changed: segments"
    if metric:
        head += ["regressed %", "gain/edited"]
        note += f"; regressed: {metric} of the segment got worse; gain/edited: {metric} gained per edited word in 100"
    rows = []
    for row in comparison.rows:
        moved = row.moved
        if moved is None:
            continue
        cells = [row.name, row.former or "", f"{moved.edited_percent:.{edited_width}f}", f"{moved.characters:,}"]
        cells.append(_percent(moved.changed))
        if metric:
            cells.append(NOTHING if moved.regressed is None else _percent(moved.regressed))
            cells.append(NOTHING if moved.gain_to_edit is None else signed(moved.gain_to_edit, gain_width))
        rows.append(tuple(cells))
    return Table("edits from the former row", tuple(head), tuple(rows), note, labels=2)


def _outcomes(comparison: RunComparison) -> Table:
    totals = Counter[str]()
    for row in comparison.rows:
        if row.outcomes is not None:
            for name in SEGMENT_OUTCOMES:
                if name != "idle" or row.stage != REVIEWED:  # these are undecided
                    totals[name] += getattr(row.outcomes, name)
    shown_outcomes = []
    head = ["row"]
    for name in SEGMENT_OUTCOMES:
        if name not in _RARE_OUTCOMES or totals[name]:
            shown_outcomes.append(name)
            head.append(_HEADS.get(name, name))
    head += ["edits", "edits kept"]
    notes = []
    if any(row.stage == FINAL for row in comparison.rows):
        notes.append("of final, kept: changed by any stage")
    is_reviewed = any(row.stage == REVIEWED for row in comparison.rows)
    if is_reviewed:
        head.insert(len(shown_outcomes) + 1, _UNDECIDED)
        notes.append("of reviewed: segments, and the edits of those that people decided on; kept: changed by people")
    rows = []
    for row in comparison.rows:
        outcomes = row.outcomes
        if outcomes is None:
            continue
        cells = [row.name]
        for name in shown_outcomes:
            is_undecided = name == "idle" and row.stage == REVIEWED
            cells.append(NOTHING if is_undecided else f"{getattr(outcomes, name):,}")
        if is_reviewed:
            cells.append(f"{outcomes.idle:,}" if row.stage == REVIEWED else NOTHING)
        edits = outcomes.edits or {}
        cells += [f"{sum(edits.values()):,}", f"{edits.get('applied', 0):,}"]
        rows.append(tuple(cells))
        if outcomes.failed_changed:
            notes.append(
                f"of the {outcomes.failed} failed of {row.name}, {outcomes.failed_changed} changed before they failed"
            )
    title = f"outcomes of {counted(len(comparison.segments), 'segment')}, and edits"
    return Table(title, tuple(head), tuple(rows), "; ".join(notes))


_TOKENS = {
    "input": "input_tokens",
    "cached": "cached_tokens",
    "written": "cache_write_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
}
"""The heads of the columns, and the fields of a usage."""


def _usage_cells(usage: Usage, token_heads: Iterable[str]) -> list[str]:
    cells = [str(usage.calls)]
    for head in token_heads:
        cells.append(f"{getattr(usage, _TOKENS[head]):,}")
    return [*cells, dollars(usage.cost)]


def _costs(comparison: RunComparison) -> Table:
    has_nominal = has_written = False
    for row in comparison.rows:
        if row.cost is None:
            continue
        has_nominal = has_nominal or row.cost.nominal.calls > row.cost.usage.calls
        has_written = has_written or row.cost.nominal.cache_write_tokens > 0
    token_heads = list(_TOKENS)
    included = "cached and written"
    if not has_written:
        token_heads.remove("written")
        included = "cached"
    rows = []
    for row in comparison.rows:
        if row.cost is None:
            continue
        cells = [row.name, *_usage_cells(row.cost.usage, token_heads)]
        if has_nominal:
            cells += _usage_cells(row.cost.nominal, token_heads)
        for amount in (row.cost.per_kept_edit, row.cost.per_point):
            if row.cost.nominal.cost is None:
                cells.append(UNKNOWN)
            elif amount is None:
                cells.append(NOTHING)
            else:
                cells.append(dollars(amount))
        cells.append(f"{row.cost.seconds:.1f}")
        rows.append(tuple(cells))
    head = ["row", "calls", *token_heads, "dollars"]
    note = f"dollars {comparison.prices}"
    if has_nominal:
        head += [f"full {name}" for name in head[1:]]
        note += "; full: without the store, so with the replies that other runs paid for"
    head += ["per kept edit", "per point", "seconds"]
    if comparison.deciding:
        note += f"; per point of {comparison.deciding} gained"
    title = f"costs: tokens (input with {included}, output with reasoning) and dollars"
    return Table(title, tuple(head), tuple(rows), note)


def review_tables(comparison: RunComparison) -> list[Table]:
    """For each reviewed run, how far people agree with the machine, edit by edit."""
    return [_review_table(run, review) for run, review in (comparison.reviews or {}).items()]


def _review_table(run: str, review: ReviewSummary) -> Table:
    rows = []
    for group in review.agreements:
        grouping = "" if group.grouping == "all" else group.grouping
        counts = (group.kept, group.kept_wanted, group.refused, group.refused_wanted)
        rows.append((grouping, group.name, str(group.edits), _percent(group.share), *map(str, counts)))
    note = "edits that have a place in the text; "
    note += f"{counted(review.segments, 'segment')} decided on, {review.approved} of them approved"
    note += f", {review.own} with an own text; {review.characters:,} characters changed"
    if review.timed:
        mean = seconds(review.seconds / review.timed)
        note += f"; {mean} a decision ({counted(review.timed, 'decision')} timed)"
    head = ("by", "", "edits", "agree %", "kept", "of them wanted", "refused", "of them wanted")
    return Table(f"review of {run}: how often people agree with the machine", head, tuple(rows), note, labels=2)


def repeats_table(comparison: RunComparison, width: int | None = None) -> Table:
    """The mean scores of repeated runs, and how much they differ; ``width`` is the number of digits after the point."""
    widths = dict(zip(comparison.metrics, digits_of(comparison, width), strict=True))
    rows = []
    for repeated in comparison.repeats:
        width = widths[repeated.metric] + 1  # the standard deviation is small
        half_width = NOTHING if repeated.half_width is None else f"{repeated.half_width:.{width}f}"
        runs = f"{repeated.runs[0]} … {repeated.runs[-1]}"  # n tells how many
        numbers = [f"{repeated.mean:.{width}f}", f"{repeated.deviation:.{width}f}", half_width]
        rows.append((runs, repeated.stage, repeated.metric, str(len(repeated.runs)), *numbers))
    head = ("runs", "stage", "metric", "n", "mean", "sd", "±")
    note = "sd: standard deviation over the runs; ±: half the 95 % interval over the segments, mean of the runs"
    return Table("repeats: runs that differ only in their seed", head, tuple(rows), note, labels=3)


def _part_tables(comparison: RunComparison, grouping: str, widths: Sequence[int]) -> list[Table]:
    """The scores and dollars of each part, and, if they were tested, the differences by the deciding metric."""
    parts = (comparison.parts or {})[grouping]
    shown_parts: Sequence[Part] = parts
    note = ""
    if len(parts) > MOST_PARTS:
        shown_parts = sorted(parts, key=lambda part: -len(part.places))[:MOST_PARTS]
        note = f"{len(parts) - MOST_PARTS} more, the smaller ones, are not shown: -f json and -f csv have all"
    rows = []
    differences = []
    for part in shown_parts:
        name = " ".join(part.name.split())
        for contrast in part.contrasts:
            if contrast.metric == comparison.deciding:
                differences.append((name, contrast))
        size = str(len(part.places))
        for row, scores in zip(comparison.rows, part.scores, strict=True):
            cells = [name, row.name, size]
            for score, width in zip(scores, widths, strict=True):
                cells.append(f"{score:.{width}f}")
            cost = (part.costs or {}).get(row.name)
            cells.append(NOTHING if cost is None else dollars(cost.nominal.cost))
            rows.append(tuple(cells))
            name = size = ""  # only the first row of a part names it
    head = (grouping, "row", "segments", *comparison.metrics, "full dollars")
    tables = [Table(f"by {grouping}", head, tuple(rows), note, labels=2)]
    is_tested = _has_tests([contrast for _, contrast in differences])
    if _has_tests(comparison.contrasts) and not is_tested:
        tables[0] = replace(tables[0], note="; ".join(filter(None, (note, _NONE_TESTED))))
    if comparison.resampling and is_tested:
        title = f"differences by {grouping}, by {comparison.deciding} (tested: parts of {FEW} segments or more)"
        metric_widths = dict(zip(comparison.metrics, widths, strict=True))
        tables.append(_differences(title, grouping, differences, metric_widths))
    return tables


def as_json(comparison: RunComparison) -> str:
    """One object. ``null`` means missing, not finite, or (dollars) unknown."""
    return dumped(as_data(comparison), indent=1)


def pairs_as_json(comparisons: Sequence[RunComparison]) -> str:
    """The objects of :func:`as_json` of all language pairs, and their averages."""
    average = averages(comparisons)
    data = {
        "language_pairs": [as_data(comparison) for comparison in comparisons],
        "average": {
            "pairs": average.pairs,
            "scores": [score._asdict() for score in average.scores],
            "differences": [difference._asdict() for difference in average.differences],
        },
    }
    return dumped(data, indent=1)


def as_data(comparison: RunComparison) -> dict[str, Any]:
    """The object of :func:`as_json`, in which records are not plain data yet."""
    rows = []
    for row in comparison.rows:
        rows.append(
            {
                "name": row.name,
                "run": row.run,
                "stage": row.stage,
                "former": row.former,
                "scores": [_cell_data(cell) for cell in row.cells],
                "moved": row.moved,
                "outcomes": row.outcomes,
                "cost": None if row.cost is None else _cost_data(row.cost),
            }
        )
    parts = {}
    for grouping, parts_of_grouping in (comparison.parts or {}).items():
        parts[grouping] = [_part_data(part, comparison) for part in parts_of_grouping]
    return {
        "segments": comparison.segments,
        "source_lang": comparison.source_lang,
        "target_lang": comparison.target_lang,
        "metrics": comparison.metrics,
        "deciding": comparison.deciding,
        "resampling": comparison.resampling,
        "against": comparison.against,
        "contrasts": [_contrast_data(contrast) for contrast in comparison.contrasts],
        "rows": rows,
        "parts": parts,
        "prices": comparison.prices,
        "signatures": comparison.signatures,
        "warnings": comparison.warnings,
        "reviews": comparison.reviews or {},
        "repeats": [repeated._asdict() for repeated in comparison.repeats],
    }


def _cell_data(cell: Cell) -> dict[str, Any]:
    return {
        "metric": cell.score.metric,
        "score": cell.score.value,
        "difference": cell.difference,
        "interval": cell.interval,
        "higher_is_better": cell.score.higher_is_better,
        "signature": cell.score.signature,
        "segment_signature": cell.score.segment_signature or cell.score.signature,
        "segments": cell.score.segments,
    }


def _part_data(part: Part, comparison: RunComparison) -> dict[str, Any]:
    scores = {}
    for row, row_scores in zip(comparison.rows, part.scores, strict=True):
        scores[row.name] = dict(zip(comparison.metrics, row_scores, strict=True))
    costs = {}
    for name, cost in (part.costs or {}).items():
        costs[name] = _cost_data(cost)
    return {
        "part": part.name,
        "segments": len(part.places),
        "scores": scores,
        "contrasts": [_contrast_data(contrast) for contrast in part.contrasts],
        "costs": costs,
    }


def _contrast_data(contrast: Contrast) -> dict[str, Any]:
    data: dict[str, Any] = contrast._asdict()
    for name in ("won", "lost"):
        gains = []
        for segment, gain in data[name]:
            gains.append({"id": segment, "gain": gain})
        data[name] = gains
    return data


def _cost_data(cost: Cost) -> dict[str, Any]:
    return {
        "paid": _usage_data(cost.usage),
        "nominal": _usage_data(cost.nominal),
        "dollars_per_kept_edit": cost.per_kept_edit,
        "dollars_per_point": cost.per_point,
        "seconds": cost.seconds,
    }


def _usage_data(usage: Usage) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in USAGE_COUNTS} | {"dollars": usage.cost}


def flat(comparisons: Sequence[RunComparison], delimiter: str = ",") -> str:
    """A line for each row, and for each pair of rows (which has ``against``); then the same for each part; then the
    means of repeated runs.

    ``grouping`` and ``part`` are empty for all segments. An empty cell means that there is no value; unknown dollars
    are ``unknown``. Formulas are guarded as in :func:`mtagent.text.table.as_csv`. With several language pairs the
    first column names the pair; lines of the averages over all pairs have ``average`` there.
    """
    lines = []
    for comparison in comparisons:
        start = {}
        if len(comparisons) > 1:
            start["lp"] = languages.pair_of(comparison.source_lang, comparison.target_lang)
        for line in _flat_lines(comparison):
            lines.append(start | line)
    if len(comparisons) > 1:
        lines += _flat_averages(averages(comparisons))
    columns: dict[str, None] = {}
    for line in lines:
        columns |= dict.fromkeys(line)
    columns["guarded"] = None
    return "".join(table.as_csv([*columns], lines, delimiter)).rstrip("\n")


def _flat_averages(average: PairAverages) -> list[dict[str, Any]]:
    """A line for each row, and for each pair of rows, with means over the language pairs."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for score in average.scores:
        line = lines.setdefault((score.row, ""), {"lp": "average", "row": score.row})
        line[score.metric] = score.score
    for difference in average.differences:
        pair = (difference.row, difference.against)
        line = lines.setdefault(pair, {"lp": "average", "row": difference.row, "against": difference.against})
        metric = difference.metric
        line[f"{metric} difference"] = difference.difference
        for name in ("better", "worse", "surely_better", "surely_worse"):
            line[f"{metric} pairs {name}"] = getattr(difference, name)
    return list(lines.values())


def _flat_lines(comparison: RunComparison) -> list[dict[str, Any]]:
    number = len(comparison.segments)
    lines = [_flat_row(row, number) for row in comparison.rows]
    runs = {row.name: row.run for row in comparison.rows}
    lines += _flat_contrasts(comparison.contrasts, {"grouping": "", "part": "", "segments": number}, runs)
    for grouping, parts in (comparison.parts or {}).items():
        for part in parts:
            for row, scores in zip(comparison.rows, part.scores, strict=True):
                line = {"grouping": grouping, "part": part.name, "segments": len(part.places), "row": row.name}
                line |= {"run": row.run, "stage": row.stage}
                line |= dict(zip(comparison.metrics, scores, strict=True))
                if part.costs and row.name in part.costs:
                    line |= _flat_cost(part.costs[row.name])
                lines.append(line)
            start = {"grouping": grouping, "part": part.name, "segments": len(part.places)}
            lines += _flat_contrasts(part.contrasts, start, runs)
    return lines + _flat_repeats(comparison)


def _flat_repeats(comparison: RunComparison) -> list[dict[str, Any]]:
    """A line for each stage of repeated runs, with the grouping ``repeats`` and the names of the runs as part."""
    lines: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {}
    for repeated in comparison.repeats:
        start = {"grouping": "repeats", "part": " ".join(repeated.runs), "segments": len(comparison.segments)}
        line = lines.setdefault((repeated.runs, repeated.stage), {**start, "row": repeated.stage})
        line["stage"] = repeated.stage
        line[repeated.metric] = repeated.mean
        line[f"{repeated.metric} half_width"] = repeated.half_width
        line[f"{repeated.metric} sd"] = repeated.deviation
    return list(lines.values())


def _flat_contrasts(
    contrasts: Sequence[Contrast], start: Mapping[str, Any], runs: Mapping[str, str | None]
) -> list[dict[str, Any]]:
    """A line for each pair of rows, which begins with ``start``; ``runs`` has the run of each row."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for contrast in contrasts:
        pair = (contrast.row, contrast.against)
        names = {"row": contrast.row, "run": runs[contrast.row], "against": contrast.against}
        line = lines.setdefault(pair, {**start, **names})
        metric = contrast.metric
        line[f"{metric} difference"] = contrast.difference
        if contrast.bounds:
            line |= {f"{metric} difference low": contrast.bounds.low, f"{metric} difference high": contrast.bounds.high}
        if contrast.p_value is not None:
            line |= {f"{metric} p": contrast.p_value, f"{metric} p_holm": contrast.p_holm}
        for name in ("wins", "ties", "losses"):
            line[f"{metric} {name}"] = getattr(contrast, name)
    return list(lines.values())


def _flat_row(row: ComparedTexts, segments: int) -> dict[str, Any]:
    """The cells of one row by column; each row has the columns of what it knows."""
    line: dict[str, Any] = {"grouping": "", "part": "", "segments": segments, "row": row.name}
    line |= {"run": row.run, "stage": row.stage, "former": row.former}
    for cell in row.cells:
        metric = cell.score.metric
        line |= {metric: cell.score.value, f"{metric} difference": cell.difference}
        if cell.interval:
            for name, value in cell.interval._asdict().items():
                line[f"{metric} {name}"] = value
        line[f"{metric} signature"] = cell.score.signature
    if row.moved:
        for name, value in asdict(row.moved).items():
            line[f"moved {name}"] = value
    if row.outcomes:
        edits = row.outcomes.edits or {}
        for name in (*SEGMENT_OUTCOMES, "failed_changed"):
            line[name] = getattr(row.outcomes, name)
        line |= {"edits": sum(edits.values()), "edits applied": edits.get("applied", 0)}
    if row.cost is not None:
        line |= _flat_cost(row.cost)
    return line


def _flat_cost(cost: Cost) -> dict[str, Any]:
    line: dict[str, Any] = {}
    data = _cost_data(cost)
    line |= data.pop("paid")
    for name, value in data.pop("nominal").items():
        line[f"nominal {name}"] = value
    line |= data
    for name in ("dollars", "nominal dollars"):
        if line[name] is None:
            line[name] = UNKNOWN
    if line["nominal dollars"] == UNKNOWN:
        line |= {"dollars_per_kept_edit": UNKNOWN, "dollars_per_point": UNKNOWN}
    return line
