"""The report as one self-contained HTML file: no network, no fonts, no other files."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import IO, Any, NamedTuple
from urllib.parse import urlencode

from mtagent.analysis.compare import RepeatedScore, RunComparison
from mtagent.analysis.compare_tables import EXTREMES, difference_table, digits_of, repeats_table, review_tables
from mtagent.analysis.compared_rows import Cell, ComparedTexts, Contrast, Moved, gains_of
from mtagent.analysis.staged_run import Cost, Outcomes
from mtagent.chain.fates import OUTCOMES
from mtagent.errors import ConfigError, MissingExtra, OutputError
from mtagent.formats.ratings import FINAL, REVIEWED
from mtagent.metrics.significance import FEW, NOISE
from mtagent.records import Chain
from mtagent.report import drawing
from mtagent.report.figures import Figures, FiguresCount, Flow
from mtagent.report.packing import packed, packed_runs, script_json
from mtagent.report.plots import plots_of
from mtagent.report.tables import gallery, stage_name
from mtagent.store.runs import RunSummary
from mtagent.text import languages
from mtagent.text.amounts import counted, dollars
from mtagent.text.table import Table
from mtagent.version import __version__

MOST_CHARACTERS = 300_000_000
"""Of the segments in a page. No text in a browser may be longer than 512 MB; 100,000 sentences take 90 MB."""
PART = 1_000
"""Segments in one script element. The page shows the first part at once and reads the others one after the other:
each takes a browser about 0.05 s, so that it stays usable while it reads them."""
_NEXT_PART = ']</script>\n<script type="application/json" class="segments">['
_IN_MEMORY = 2**24
_NONE = "–"
_NO_BREAK = "\u00a0"
_SEGMENTS_GO_HERE = "<segments>"  # texts cannot hold it: theirs is escaped
_NOT_IN_HTML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORK = {"rerank": "reranking", "rules": "rules", "postedit": "post-editing", "proofread": "proofreading"}
_MODELS = ("model", "judge_model", "translator", "evaluator", "judge", "gate")


@dataclass(frozen=True)
class ReportedRun:
    """A run on the page, under its ``name`` there."""

    name: str
    summary: RunSummary
    chains: Callable[[], Iterable[Chain]]
    """Reads the chains from the store."""
    cost: Cost
    """Of the segments on the page; if these are all, of the whole run."""
    total: int | None = None
    """How many segments the run was begun with, if all of them are to be shown."""
    count: FiguresCount = field(default_factory=FiguresCount)

    def counted_chains(self) -> Iterator[Chain]:
        """The chains, which are counted for the figures on the way. To be read once."""
        for chain in self.chains():
            self.count.add(chain)
            yield chain


@dataclass(frozen=True)
class Way:
    """From the first row of a run to its last, or from the last row of one run to the last of another."""

    first: ComparedTexts
    last: ComparedTexts
    place: int | None
    """The place of the deciding metric; ``None`` if nothing is scored."""
    contrast: Contrast | None = None
    """The difference between the two rows by that metric, if these were compared."""
    gains: tuple[float, ...] = ()
    """The gain of each segment by the deciding metric; positive is better."""

    @property
    def better(self) -> int:
        """The number of segments that score better than before."""
        return sum(gain > NOISE for gain in self.gains)

    @property
    def worse(self) -> int:
        """The number of segments that score worse than before."""
        return sum(gain < -NOISE for gain in self.gains)


def way(comparison: RunComparison, run: str, other: str | None = None) -> Way:
    """The first and the last row of ``run``; or the last row of the run ``other``, and the last row of ``run``."""
    rows = [row for row in comparison.rows_of(run) if row.stage != REVIEWED]
    first, last, place = rows[0], rows[-1], comparison.place
    if other is not None:
        first = way(comparison, other).last
    if place is None:
        return Way(first, last, None)
    contrast = comparison.contrast(last.name, first.name, comparison.metrics[place])
    return Way(first, last, place, contrast, tuple(gains_of(first, last, place).tolist()))


def sentence(flow: Flow, way: Way | None, cost: Cost, total: int | None = None) -> str:
    """The verdict in one sentence, for example ``Post-editing changed 30 of 63 segments; chrF2 rose by 1.2 …``.

    ``total`` is how many segments the run was begun with.
    """
    stages = [stage.stage for stage in flow.stages]
    whole = max(flow.segments, total or 0)
    work = [_WORK[stage] for stage in stages if stage in _WORK]
    parts = []
    if "translate" in stages:
        translated = counted(whole, "segment")
        if flow.translated != whole:
            translated = f"{flow.translated:,} of {translated}"
        parts.append(f"{translated} translated")
    if work:
        *others, last_work = work
        if others:
            last_work = f"{', '.join(others)} and {last_work}"
        parts.append(f"{last_work} changed {flow.changed:,} of {counted(flow.segments, 'segment')}")
    elif "translate" not in stages:
        untouched = counted(whole, "segment")
        if whole:
            untouched = f"0 of {untouched}"
        parts.append(f"nothing was done to {untouched}")
    is_scored = way is not None and way.place is not None
    if way is not None and is_scored:
        parts.append(_quality(way, edited=bool(work)))
    elif flow.changed:
        parts.append("whether that was for the better is not scored")
    else:
        parts.append("nothing is scored")
    parts.append(_cost(cost))
    if way is not None and is_scored and way.first is not way.last and (flow.changed or way.worse):
        noun = "segment" if way.worse == 1 else "segments"
        parts.append(f"{way.worse or 'no'} {noun} got worse")
    if flow.failed:
        parts.append(f"{flow.failed:,} failed")
    words = "; ".join(parts) + "."
    return words[0].upper() + words[1:]


def sentence_of_runs(
    names: Sequence[str], ways: Sequence[Way], segments: int, repeated: RepeatedScore | None = None
) -> str:
    """How several runs differ: ``ways`` lead from the last texts of the first run to the last texts of each run.

    Without ``ways`` the runs were not compared. ``repeated`` is the score of all of them, if they are repeats.
    """
    of_what = f"{len(names)} runs of {counted(segments, 'segment')}"
    if not ways:
        return f"{of_what}; nothing is scored."
    if repeated is not None:
        digits = 4 if abs(repeated.mean) < 2 else 2
        mean, deviation = number(repeated.mean, digits), number(repeated.deviation, digits)
        return (
            f"{of_what} that differ only in their seed; {repeated.metric} {mean} on average, "
            f"with a standard deviation of {deviation}."
        )
    sentences = [f"{of_what}."]
    for name, way in zip(names[1:], ways[1:], strict=True):
        differing = sum(text != other for text, other in zip(way.first.texts, way.last.texts, strict=True))
        quality = "nothing is scored"
        if way.place is not None:
            quality = _quality(way, edited=True)
        words = f"From {names[0]} to {name}, {quality}; {counted(differing, 'final text')} changed"
        if differing and way.place is not None:
            words += f", {way.better:,} for the better and {way.worse:,} for the worse"
        sentences.append(f"{words}.")
    return " ".join(sentences)


def _cost(cost: Cost) -> str:
    """What the run cost, with the replies that came from the store, and what of that was paid now."""
    nominal, paid = cost.nominal, cost.usage
    if nominal.calls == 0:
        if paid.reused:
            return "all replies came from the store, so it cost nothing"
        return "it cost nothing"
    if nominal.calls > paid.calls:
        paid_now = dollars(paid.cost, "an unknown price") if paid.calls else "nothing"
        whole = f"an unknown price ({nominal.tokens:,} tokens)"
        return f"it cost {paid_now} now, and {dollars(nominal.cost, whole)} without the store"
    if nominal.cost is None:
        return f"price unknown ({nominal.tokens:,} tokens)"
    return f"it cost {dollars(nominal.cost)}"


def _quality(way: Way, *, edited: bool) -> str:
    """How the score of the whole run changed, and whether that may be chance."""
    assert way.place is not None
    before = way.first.cells[way.place]
    after = way.last.cells[way.place]
    name = after.score.metric
    value = after.score.value
    change = value - before.score.value
    digits = 2 if abs(value) < 2 else 1
    if way.first is way.last or not edited:
        return f"{name} {number(value, digits)}"
    if abs(change) < NOISE:
        return f"{name} is the same, {number(value, digits)}"
    # A change that rounds to 0 gets one more digit.
    if not round(change, digits):
        digits = 3
    amount = "less than 0.001"
    if round(change, digits):
        amount = number(abs(change), digits)
    verb = "rose" if change > 0 else "fell"
    direction = test = ""
    if not after.score.higher_is_better:
        direction = " (lower is better)"
    contrast = way.contrast
    if contrast is not None and contrast.p_value is not None:
        doubt = ""
        if len(way.gains) < FEW:
            doubt = ": too few segments to tell"
        elif not contrast.is_significant:
            doubt = ": may be chance"
        test = f" ({p_text(contrast)}{doubt})"
    return f"{name} {verb} by {amount} to {number(value, digits)}{direction}{test}"


def number(value: float, digits: int = 2) -> str:
    """``value`` with a true minus sign."""
    return f"{value:,.{digits}f}".replace("-", "−")


def p_text(contrast: Contrast) -> str:
    """``p = 0.004`` or ``p < 0.001``; ``p (Holm) = 0.008`` if the correction for several tests changed it."""
    p = contrast.p_value if contrast.p_holm is None else contrast.p_holm
    assert p is not None
    name = "p" if p == contrast.p_value else "p (Holm)"
    if p < 0.001:
        return f"{name} < 0.001"
    return f"{name} = {p:.3f}"


class SummaryCell(NamedTuple):
    """A cell of the summary."""

    text: str
    note: str = ""
    """Shown below the text."""
    tone: str = ""
    """``better``, ``worse`` or empty."""


_EMPTY = SummaryCell(_NONE)


def row_name(row: ComparedTexts) -> str:
    """The row's stage in plain words, or its own name."""
    if row.name == row.stage:
        return stage_name(row.name)
    return row.name


def heads(comparison: RunComparison) -> list[tuple[str, str]]:
    """The columns of the summary and what they mean: scores, changes, outcomes, costs; none without a row."""
    if not comparison.rows:
        return []
    columns = []
    for cell in comparison.rows[0].cells:
        arrow = "↑" if cell.score.higher_is_better else "↓"
        columns.append((f"{cell.score.metric} {arrow}", "↑ higher is better, ↓ lower is better"))
    deciding = comparison.deciding or "the deciding metric"
    columns += [
        ("changed", "segments with another text than in the row before"),
        ("got worse", f"segments whose own score is worse than before, by {deciding}"),
        ("edited %", "words edited per 100 words, from the row before; no reference is involved"),
        ("kept", "segments whose change was kept"),
        ("rejected", "segments whose change a guard or the gate rejected"),
        ("failed", "segments on which the stage failed; they kept the last accepted text"),
        ("edits", "edits that are in the text, of all proposed edits"),
        ("tokens", "input and output, and in how many calls"),
        ("cost", "dollars, and dollars for each edit in the text"),
    ]
    return columns


def lines(comparison: RunComparison) -> list[tuple[str, list[SummaryCell]]]:
    """The rows of the summary."""
    segments = len(comparison.segments)
    widths = digits_of(comparison)
    rows = []
    for row in comparison.rows:
        cells = []
        for metric, cell, digits in zip(comparison.metrics, row.cells, widths, strict=True):
            cells.append(_score(cell, comparison.contrast(row.name, row.former, metric), digits))
        cells += _change_cells(row.moved, segments)
        cells += _outcome_cells(row.outcomes)
        cells += _cost_cells(row.cost)
        rows.append((row_name(row), cells))
    return rows


def extremes(comparison: RunComparison, *, only_runs: bool = False) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """For each compared pair of rows, the segments that gained and lost most: id, gain, and the link that opens it.

    ``only_runs`` leaves out pairs that are not the ends of two runs.
    """
    lists = []
    for contrast in comparison.contrasts:
        if contrast.metric != comparison.deciding:
            continue
        rows = [comparison.row(name) for name in (contrast.row, contrast.against)]
        if only_runs and any(row.stage != FINAL for row in rows):
            continue
        row, against = map(row_name, rows)
        for word, segments in (("better", contrast.won), ("worse", contrast.lost)):
            linked = []
            for segment, gain in segments[:EXTREMES]:
                linked.append((segment, number(gain), f"#{urlencode({'segment': segment})}"))
            if linked:
                lists.append((f"{row} {word} than {against}", linked))
    return lists


def _change_cells(moved: Moved | None, segments: int) -> list[SummaryCell]:
    """Changed segments, segments that got worse, and edited words."""
    if moved is None:
        return [_EMPTY] * 3
    regressed = _EMPTY
    if moved.regressed is not None:
        regressed = _share(moved.regressed, segments)
    return [_share(moved.changed, segments), regressed, SummaryCell(number(moved.edited_percent))]


def _outcome_cells(outcomes: Outcomes | None) -> list[SummaryCell]:
    """Kept, rejected and failed segments, and the edits that stand."""
    if outcomes is None:
        return [_EMPTY] * 4
    cells = [SummaryCell(f"{count:,}") for count in (outcomes.kept, outcomes.rejected, outcomes.failed)]
    edits = outcomes.edits or {}
    cells.append(_EMPTY)
    if any(edits.values()):
        cells[-1] = SummaryCell(f"{edits.get('applied', 0):,}", f"of {sum(edits.values()):,}")
    return cells


def _cost_cells(cost: Cost | None) -> list[SummaryCell]:
    """Tokens and dollars."""
    if cost is None:
        return [_EMPTY] * 2
    notes = []
    calls = counted(cost.usage.calls, "call")
    if cost.nominal.calls > cost.usage.calls:
        calls += f", {cost.nominal.calls:,} without the store"
        notes.append(f"{dollars(cost.nominal.cost, 'price unknown')} without the store")
    if cost.per_kept_edit:
        notes.append(f"{dollars(cost.per_kept_edit)} an edit")
    return [
        SummaryCell(f"{cost.usage.tokens:,}", calls),
        SummaryCell(dollars(cost.usage.cost, "price unknown"), ", ".join(notes)),
    ]


def _score(cell: Cell, contrast: Contrast | None, digits: int) -> SummaryCell:
    """A score and its difference to the row before, with the p-value of that ``contrast`` if it was tested."""
    text = number(cell.score.value, digits)
    note = tone = ""
    if cell.difference is None:
        if cell.interval:
            note = f"± {number(cell.interval.half_width, digits)}"
        return SummaryCell(text, note)
    gain = cell.difference if cell.score.higher_is_better else -cell.difference
    if gain > 0:
        tone = "better"
    elif gain < 0:
        tone = "worse"
    sign = "+" if cell.difference > 0 else ""
    note = f"{sign}{number(cell.difference, digits)}"
    if contrast is not None and contrast.p_value is not None:
        star = "*" if contrast.is_significant else ""
        p = p_text(contrast).replace(" ", _NO_BREAK)
        note += f" ({p}{star})"
    return SummaryCell(text, note, tone)


def _share(share: float, segments: int) -> SummaryCell:
    return SummaryCell(f"{round(share * segments):,}", f"{100 * share:.0f} %")


def facts(summary: RunSummary, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The facts about the run: names and values."""
    counts = summary.counts
    usage = summary.usage
    stages = summary.settings.get("stages") or ()
    if isinstance(stages, str):
        stages = [stages]
    tried = counts.done + counts.failed
    segments = f"{tried:,}"
    if counts.total not in (None, tried):
        segments += f" of {counts.total:,}"
    language_pairs = [f"{_language(source)} → {_language(target)}" for source, target in pairs]
    yield "State", summary.state
    yield "Segments", segments
    yield "Languages", ", ".join(language_pairs) or _NONE
    yield "Stages", ", ".join(stage_name(str(stage)) for stage in stages)
    for name in _MODELS:
        if name == "translator" and "translate" not in stages:
            continue
        yield name.replace("_", " ").capitalize(), _setting(summary.settings.get(name))
    yield "Started", summary.started[:16].replace("T", " ") + " UTC"
    paid = f"{dollars(usage.cost, 'price unknown')}, {counted(usage.calls, 'call')}"
    paid += f", {usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    if usage.reused:
        paid += f", {usage.reused:,} replies from the store"
    yield "Paid", paid


def _language(code: str) -> str:
    try:
        return languages.name(code)
    except ConfigError:
        return code


def _setting(value: Any) -> str:
    """The value of a setting in words; empty if it isn't set."""
    if isinstance(value, dict):
        parts = []
        for name, part in value.items():
            words = _setting(part)
            if words:
                parts.append(f"{name} {words}")
        return ", ".join(parts)
    if value in (None, "", [], ()):
        return ""
    return str(value)


def pieces(
    runs: Sequence[ReportedRun],
    comparison: RunComparison | None = None,
    remarks: Sequence[str] = (),
    *,
    most: int = MOST_CHARACTERS,
) -> Iterator[str]:
    """The page about runs of the same segments, in pieces.

    The chains are read once and wait in a temporary file until everything that precedes them on the page is known.
    Segments beyond ``most`` characters are left out, with a remark on the page. Raises
    :class:`mtagent.errors.MissingExtra` without jinja2, and :class:`OutputError` if there is no room for the temporary
    file.
    """
    template = _template()
    if comparison is None:
        comparison = RunComparison(segments=(), rows=())
    ways = _ways(comparison, [run.name for run in runs])
    with _temporary() as file:
        segments = _write_segments(file, runs, comparison, ways, most)
        content = _content(runs, comparison, remarks, segments, ways)
        whole = template.render(content, segments_go_here=_SEGMENTS_GO_HERE)
        before, after = _NOT_IN_HTML.sub("\ufffd", whole).split(_SEGMENTS_GO_HERE)
        yield before
        file.seek(0)
        while piece := file.read(_IN_MEMORY // 16):
            yield piece
        yield after


def _content(
    runs: Sequence[ReportedRun],
    comparison: RunComparison,
    remarks: Sequence[str],
    segments: _Segments,
    ways: Sequence[Way],
) -> dict[str, Any]:
    """What the template shows around the segments."""
    names = [run.name for run in runs]
    are_several = len(runs) > 1
    numbers = {run.name: run.count.figures(comparison) for run in runs}
    described = []
    for run in runs:
        described.append(_described(run, numbers[run.name], comparison, segments, are_several=are_several))
    number = numbers[names[0]].flow.segments
    headline = described[0]["sentence"]
    differences = None
    if are_several:
        headline = sentence_of_runs(names, ways, number, _of_repeats(comparison, names))
        differences = _differences(comparison)
    summary_lines = lines(comparison)
    return {
        "names": names,
        "headline": headline,
        "remarks": [*remarks, *_remarks(runs, comparison, segments, number)],
        "runs": described,
        "heads": heads(comparison),
        "lines": summary_lines,
        "differences": differences,
        "deciding": comparison.deciding,
        "repeats": repeats_table(comparison),
        "extremes": extremes(comparison, only_runs=are_several),
        "charts": _charts(comparison, numbers),
        "signatures": [*comparison.signatures, *segments.signatures],
        "tables": [*(table for run in described for table in run["tables"]), *review_tables(comparison)],
        "segments": number,
        "data": script_json(_data(names, comparison, ways, [name for name, _ in summary_lines], segments)),
        "version": __version__,
        **_assets(),
    }


def _assets() -> dict[str, str]:
    """The page's style, and its script with the hash by which the page's policy allows it, and no other script."""
    script = _asset("elements.js") + _asset("page.js")
    return {
        "script": script,
        "script_hash": "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "style": _asset("colours.css") + _asset("page.css"),
    }


def _of_repeats(comparison: RunComparison, names: Sequence[str]) -> RepeatedScore | None:
    """The final score of the runs ``names`` by the deciding metric; ``None`` unless they are repeats of one run."""
    for repeated in comparison.repeats:
        is_of_all_runs = repeated.runs == tuple(names)
        if is_of_all_runs and repeated.stage == FINAL and repeated.metric == comparison.deciding:
            return repeated
    return None


def _differences(comparison: RunComparison) -> Table:
    """The differences between rows, as ``mtagent compare`` prints them."""
    widths = dict(zip(comparison.metrics, digits_of(comparison), strict=True))
    return replace(difference_table(comparison, comparison.metrics, widths), title="Differences")


def _charts(comparison: RunComparison, numbers: Mapping[str, Figures]) -> list[tuple[str, str, Table]]:
    """The caption, the SVG and the numbers of each chart; the SVG is empty without matplotlib."""
    charts = []
    for plot in plots_of(comparison, numbers).drawn:
        assert plot.table is not None
        svg = drawing.inline_svg(plot) if drawing.is_available() else ""
        charts.append((plot.caption, svg, plot.table))
    return charts


def _ways(comparison: RunComparison, names: Sequence[str]) -> list[Way]:
    """For each run the way whose gains its segments show; none if nothing was compared.

    The segments of a single run show what the run gained; those of several runs, how they differ from the first run.
    """
    if not comparison.rows:
        return []
    if len(names) == 1:
        return [way(comparison, names[0])]
    ways = [way(comparison, name, names[0]) for name in names]
    ways[0] = replace(ways[0], gains=())
    return ways


def _described(
    run: ReportedRun, figures: Figures, comparison: RunComparison, segments: _Segments, *, are_several: bool
) -> dict[str, Any]:
    """What the page states about one run."""
    run_way = None
    if comparison.rows:
        run_way = way(comparison, run.name)
    summary = run.summary
    tables = gallery(figures, figures.whole_way(run.name, comparison))
    if are_several:
        tables = [replace(table, title=f"{run.name}: {table.title}") for table in tables]
    return {
        "name": run.name,
        "sentence": sentence(figures.flow, run_way, run.cost, run.total),
        "facts": [(name, value) for name, value in facts(summary, list(segments.pairs)) if value],
        "settings": json.dumps(summary.settings, ensure_ascii=False, indent=2),
        "tables": tables,
    }


def _template() -> Any:
    """The template of the page. Raises :class:`mtagent.errors.MissingExtra` without jinja2."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError:
        raise MissingExtra("the page of a report", "report") from None
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(_asset),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja")


@dataclass
class _Segments:
    """What the page states about the segments that were written to the temporary file."""

    shown: int = 0
    """How many segments the page shows."""
    pairs: dict[tuple[str, str], None] = field(default_factory=dict)
    """The pairs of languages, in order."""
    signatures: dict[str, None] = field(default_factory=dict)
    """The signatures of the ratings, in order."""

    def note(self, chain: Chain) -> None:
        """Note the languages and signatures of a chain."""
        self.pairs[chain.segment.source_lang, chain.segment.target_lang] = None
        for step in chain.steps:
            for rating in step.ratings:
                self.signatures[rating.signed] = None


def _write_segments(
    file: IO[str], runs: Sequence[ReportedRun], comparison: RunComparison, ways: Sequence[Way], most: int
) -> _Segments:
    """Write the segments to ``file``, up to ``most`` characters."""
    segments = _Segments()
    characters = 0
    for place, chains in enumerate(zip(*(run.counted_chains() for run in runs), strict=True)):
        for chain in chains:
            segments.note(chain)
        # Once a segment does not fit, no later one is shown, even if it is shorter.
        if segments.shown < place:
            continue
        scores = _segment_scores(comparison, place)
        versions = []
        for number, chain in enumerate(chains):
            gain = flags = None
            if ways and ways[number].gains:
                gain = ways[number].gains[place]
            if ways and ways[number].last.flags:
                flags = ways[number].last.flags[place]
            versions.append(packed(chain, scores, gain, flags))
        segment = script_json(versions[0] if len(runs) == 1 else packed_runs(chains, versions))
        characters += len(segment) + 1
        if characters <= most:
            separator = ""
            if segments.shown:
                separator = "," if segments.shown % PART else _NEXT_PART
            file.write(separator + segment)
            segments.shown += 1
    return segments


def _segment_scores(comparison: RunComparison, place: int) -> list[list[float]]:
    """The scores of one segment: a list for each metric, with the score in each row."""
    scores = []
    for metric in range(len(comparison.metrics)):
        scores.append([row.cells[metric].score.segments[place] for row in comparison.rows])
    return scores


@contextmanager
def _temporary() -> Iterator[IO[str]]:
    try:
        with tempfile.SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8", newline="") as file:
            yield file
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(
            f"{tempfile.gettempdir()}: has no room for a report while it is made: {reason}; TMPDIR names another folder"
        ) from error


def _asset(name: str) -> str:
    return files("mtagent.report").joinpath("page", name).read_text(encoding="utf-8")


def _remarks(runs: Sequence[ReportedRun], comparison: RunComparison, segments: _Segments, number: int) -> Iterator[str]:
    for run in runs:
        counts = run.summary.counts
        tried = counts.done + counts.failed
        which = "The run" if len(runs) == 1 else f"The run {run.name}"
        if counts.total is not None and tried < counts.total:
            yield (
                f"{which} is not complete: {tried:,} of {counts.total:,} segments were tried ({run.summary.state}). "
                "The command that began it continues it."
            )
    if segments.shown < number:
        yield (
            f"The page shows the first {segments.shown:,} of {number:,} segments: no browser holds more. All "
            "numbers are about all of them; `--format csv` and `--format json` of one run hold every segment."
        )
    if not comparison.rows and len(segments.pairs) > 1:
        yield "The segments are in several languages, and are not scored: run each target language by itself."
    yield from comparison.warnings


def _data(
    names: Sequence[str],
    comparison: RunComparison,
    ways: Sequence[Way],
    row_names: Sequence[str],
    segments: _Segments,
) -> dict[str, Any]:
    """What the page's script needs beside the segments."""
    metrics = []
    for row in comparison.rows[:1]:
        for cell in row.cells:
            metrics.append({"name": cell.score.metric, "higher": cell.score.higher_is_better})
    return {
        "runs": names,
        "rows": row_names,
        "metrics": metrics,
        "deciding": ways[0].place if ways else None,
        "outcomes": OUTCOMES,
        "count": segments.shown,
    }
