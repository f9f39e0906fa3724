"""The report as one HTML file that needs nothing else: no network, no fonts, no other file."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from mtagent import __version__
from mtagent.analysis.comparison import Cell, Comparison, Row
from mtagent.errors import ConfigError, MissingExtra, OutputError
from mtagent.metrics.significance import FEW, SIGNIFICANT
from mtagent.records import Chain, Edit, ErrorSpan, Rating, Segment, Step, Usage
from mtagent.report import forms
from mtagent.report.figures import Figures, Marks
from mtagent.report.forms import of_run
from mtagent.report.plots import (
    STYLE,
    categories_plot,
    costs_plot,
    edits_plot,
    flow_plot,
    severities_plot,
    spread_plot,
    stage_name,
    with_table,
)
from mtagent.store.runs import RunSummary
from mtagent.text import edits, languages
from mtagent.text.foreign import flags

if TYPE_CHECKING:
    from jinja2 import Environment


Packed = dict[str, Any]

_DIGITS = 9  # as the noise below which scores are the same
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def packed(chain: Chain, scores: Sequence[Sequence[float]] = ()) -> Packed:
    """One segment with its steps; ``scores`` are its own ones, for each metric those of each row of the comparison."""
    segment = chain.segment
    given = chain.given if segment.translation is not None else None
    fields = {
        "given": given,
        "steps": list(_steps(chain)),
        "scores": [[_rounded(value) for value in row] for row in scores],
        "flags": _flags(chain),
        "failed": chain.failed is not None,
        "changed": chain.changed,
    }
    return _segment(segment) | _filled(fields)


def script_json(value: object) -> str:
    """``value`` as JSON that can stand in a ``<script>`` element, whatever its texts hold.

    What could end the element, and what is no valid UTF-8, is escaped: reading the JSON gives the same texts again.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda found: _IN_SCRIPT.get(found[0], f"\\u{ord(found[0]):04x}"), text)


def signatures(chain: Chain) -> Iterator[str]:
    """The signatures of the ratings in ``chain``."""
    return (rating.signed for step in chain.steps for rating in step.ratings)


def _segment(segment: Segment) -> Packed:
    named = ("id", "source", "source_lang", "target_lang", "reference", "document", "domain", "context", "notes")
    terms = [[term.source, term.target] for term in segment.terms if not term.forbidden]
    return {"id": segment.id, "source": segment.source} | _filled(
        {name: getattr(segment, name) for name in named} | {"terms": terms}
    )


def _steps(chain: Chain) -> Iterator[Packed]:
    before, number = chain.segment.translation or "", 1
    for step in chain.steps:
        yield _step(step, before, number)
        before, number = step.text, number + len(step.edits)


def _step(step: Step, before: str, number: int) -> Packed:
    """A step; ``number`` is that of its first edit, by which ``mtagent revert`` knows it."""
    compared, usage = _compared(step, before), step.usage
    known = (step.text, before, compared if step.verdict == "kept" else before)
    proposed = None if step.proposed in known else step.proposed
    editor = step.rating("editor")
    spans = (editor.errors if editor else None) or ()
    fields = {
        "text": step.text if step.text != before or (step.stage, step.verdict) == ("translate", "kept") else None,
        "proposed": proposed,
        "compared": compared if compared not in (before, step.text if step.verdict == "kept" else proposed) else None,
        "edits": [_edit(edit, before, spans) for edit in step.edits],
        "first": number if step.edits else None,
        "ratings": [
            _rating(rating, about, before if about == "before" else compared) for rating, about in _ratings(step)
        ],
        "usage": [usage.calls, usage.reused, usage.input_tokens, usage.output_tokens, usage.cost],
        "seconds": round(step.seconds, 2),
    }
    return {"stage": step.stage, "verdict": step.verdict, "reason": step.reason} | _filled(fields)


def _compared(step: Step, before: str) -> str:
    """The text that the gate compared with ``before``: that of the edits which the guards let pass."""
    if step.verdict == "kept" and not _reverted(step):
        return step.text
    passed = [
        edit.model_copy(update={"outcome": "applied"}) if edit.outcome in ("rejected", "reverted") else edit
        for edit in step.edits
    ]
    try:
        return edits.apply(before, passed)
    except ValueError:  # edits without a place (the paper's strategy): all that is known is what was proposed
        return before if step.proposed is None else step.proposed


def _reverted(step: Step) -> bool:
    return any(edit.outcome == "reverted" for edit in step.edits)


def _ratings(step: Step) -> Iterator[tuple[Rating, str]]:
    """The ratings of a step, each with what it is about: the text ``before``, or the one ``after`` its edits."""
    for rating in step.ratings:
        yield rating, "after" if rating.role == "after" else "before"


def _rating(rating: Rating, about: str, text: str) -> Packed:
    fields = {
        "errors": None if rating.errors is None else [_error(span, text) for span in rating.errors],
        "explanation": rating.explanation,
        "confidence": rating.confidence,
        "correction": rating.correction,
        "gaps": list(rating.gaps),
        "warnings": list(rating.warnings),
    }
    found = {"evaluator": rating.evaluator, "score": _rounded(rating.score), "about": about} | _filled(fields)
    return found | ({"errors": []} if rating.errors == () else {})


def _error(span: ErrorSpan, text: str) -> Packed:
    """An error; its place only where the text really reads so there."""
    located = span.side == "translation" and span.start is not None and text[span.start : span.end] == span.text
    fields = {
        "at": [_units(text, span.start), _units(text, span.end)] if located else None,
        "side": span.side if span.side != "translation" else None,
        "suggestion": span.suggestion,
        "explanation": span.explanation,
    }
    kept = {name: value for name, value in fields.items() if value is not None}
    return {"text": span.text, "category": span.category, "severity": span.severity} | kept


def _edit(edit: Edit, before: str, spans: Sequence[ErrorSpan]) -> Packed:
    """An edit; ``error`` is the number of the editor's error that it mends, ``span`` that error where it has none."""
    number = next((i for i, span in enumerate(spans) if span is edit.span or span == edit.span), None)
    fields: Packed = {
        "at": [_units(before, edit.start), _units(before, edit.end)] if edit.start is not None else None,
        "detail": edit.detail,
        "error": number,
        "span": _error(edit.span, before) if edit.span is not None and number is None else None,
    }
    kept = {name: value for name, value in fields.items() if value is not None}
    return {"old": edit.old, "new": edit.new, "outcome": edit.outcome} | kept


def _flags(chain: Chain) -> list[str]:
    """What is wrong with the final text as a whole."""
    return list(flags(chain.segment, None if chain.given is None else chain.text))


def _rounded(value: float) -> float | None:
    """JSON has no number for what is not finite."""
    return round(value, _DIGITS) if math.isfinite(value) else None


def _units(text: str, offset: int | None) -> int:
    """``offset`` in code points as one in UTF-16 code units."""
    return len(text[: offset or 0].encode("utf-16-le", "surrogatepass")) // 2


def _filled(fields: Packed) -> Packed:
    """Only what says something; numbers and ``""`` do."""
    return {name: value for name, value in fields.items() if value is not None and value is not False and value != []}


_NOISE = 1e-9
_WORK = {"postedit": "post-editing", "proofread": "proofreading"}


@dataclass
class Tally:
    """Segments of a run as they are counted, chain by chain. ``total`` is how many the run was begun with."""

    total: int | None = None
    segments: int = 0
    given: int = 0
    translated: int = 0
    changed: int = 0
    failed: int = 0
    stages: tuple[str, ...] = ()

    def add(self, chain: Chain) -> None:
        """Count ``chain``."""
        self.segments += 1
        self.given += chain.segment.translation is not None
        self.translated += any(step.stage == "translate" and step.verdict == "kept" for step in chain.steps)
        self.changed += chain.changed
        self.failed += chain.failed is not None
        self.stages = tuple(dict.fromkeys((*self.stages, *(step.stage for step in chain.steps))))


@dataclass(frozen=True)
class Way:
    """The first and the last row of one run, and each segment's gain by the deciding metric (positive: better)."""

    first: Row
    last: Row
    place: int | None
    tested: bool = False
    gains: tuple[float, ...] = ()

    @property
    def worse(self) -> int:
        """Segments whose own score is worse than before."""
        return sum(gain < -_NOISE for gain in self.gains)


def way(comparison: Comparison, run: str) -> Way:
    """The way of ``run`` from its first row to its last."""
    rows = [row for row in comparison.rows if row.run == run]
    first, last = rows[0], rows[-1]
    place = None if comparison.deciding is None else comparison.metrics.index(comparison.deciding)
    if place is None:
        return Way(first, last, None)
    before, after = first.cells[place].score, last.cells[place].score
    sign = 1 if after.higher_is_better else -1
    gains = tuple(sign * (b - a) for a, b in zip(before.segments, after.segments, strict=True))
    return Way(first, last, place, comparison.rows[0] is first, gains)


def sentence(tally: Tally, way: Way | None, usage: Usage) -> str:
    """The verdict in one sentence, for example ``Post-editing changed 30 of 63 segments; chrF2 rose by 1.2 …``."""
    parts = [*_changes(tally), *_quality(tally, way), _paid(usage), *_losses(tally, way)]
    found = "; ".join(parts) + "."
    return found[0].upper() + found[1:]


def dollars(cost: float | None) -> str:
    """``$0.12``; small sums with the digits that say something; ``price unknown``."""
    if cost is None:
        return "price unknown"
    if cost == 0 or cost >= 0.01:
        return f"${cost:,.2f}"
    return f"${cost:.2g}" if cost >= 0.0001 else "under $0.0001"


def number(value: float, digits: int = 2) -> str:
    """With a true minus sign."""
    return f"{value:,.{digits}f}".replace("-", "−")


def p_text(p: float) -> str:
    """``p = 0.004`` or ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _changes(tally: Tally) -> Iterator[str]:
    work, whole = _work(tally), max(tally.segments, tally.total or 0)
    if "translate" in tally.stages:
        yield f"{_of(tally.translated, whole)} translated"
    if work:
        yield f"{_joined(work)} changed {tally.changed:,} of {tally.segments:,} {_plural(tally.segments, 'segment')}"
    elif "translate" not in tally.stages:
        yield f"nothing was done to {_of(tally.segments, whole)}"


def _work(tally: Tally) -> list[str]:
    return [_WORK[stage] for stage in tally.stages if stage in _WORK]


def _of(count: int, whole: int) -> str:
    return f"{'' if count == whole else f'{count:,} of '}{whole:,} {_plural(whole, 'segment')}"


def _quality(tally: Tally, way: Way | None) -> Iterator[str]:
    if way is None or way.place is None:
        yield "whether that was for the better is not scored" if tally.changed else "nothing is scored"
        return
    before, cell = way.first.cells[way.place], way.last.cells[way.place]
    name, digits = cell.score.metric, 2 if abs(cell.score.value) < 2 else 1
    change = cell.score.value - before.score.value
    if way.first is way.last or not _work(tally):
        yield f"{name} {number(cell.score.value, digits)}"
    elif abs(change) < _NOISE:
        yield f"{name} is the same, {number(cell.score.value, digits)}"
    else:
        digits = digits if abs(round(change, digits)) > 0 else 3
        by = number(abs(change), digits) if abs(round(change, digits)) > 0 else "less than 0.001"
        went = "rose" if change > 0 else "fell"
        better = "" if cell.score.higher_is_better else " (lower is better)"
        tested = _test(cell, len(way.gains)) if way.tested else ""
        yield f"{name} {went} by {by} to {number(cell.score.value, digits)}{better}{tested}"


def _test(cell: Cell, segments: int) -> str:
    if cell.p_value is None:
        return ""
    chance = "" if cell.p_value < SIGNIFICANT else ": may be chance"
    return f" ({p_text(cell.p_value)}{': too few segments to tell' if segments < FEW else chance})"


def _paid(usage: Usage) -> str:
    if usage.calls == 0:
        return "it cost nothing" if usage.reused == 0 else "all replies came from the store, so it cost nothing"
    if usage.cost is None:
        return f"price unknown ({usage.input_tokens + usage.output_tokens:,} tokens)"
    return f"it cost {dollars(usage.cost)}"


def _losses(tally: Tally, way: Way | None) -> Iterator[str]:
    if way is not None and way.place is not None and way.first is not way.last and (tally.changed or way.worse):
        yield f"{way.worse or 'no'} {_plural(way.worse, 'segment')} got worse"
    if tally.failed:
        yield f"{tally.failed:,} failed"


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def _joined(words: Sequence[str]) -> str:
    return " and ".join(words)


_NONE = "–"
_MODELS = ("model", "judge_model", "translator", "evaluator", "judge", "gate")


class Shown(NamedTuple):
    """A cell of the table; ``note`` stands beneath it, ``tone`` is ``better``, ``worse`` or nothing."""

    text: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Line:
    """A row of the table: its name, and a cell for each column of the head."""

    name: str
    cells: tuple[Shown, ...]


@dataclass(frozen=True)
class Head:
    """A column: its name, and what it means."""

    name: str
    meaning: str = ""


def row_name(row: Row) -> str:
    """How a row is called: its stage in plain words, or its own name."""
    return stage_name(row.name) if row.name == row.stage else row.name


def heads(comparison: Comparison) -> tuple[Head, ...]:
    """The columns: a score for each metric, the changes, what became of the segments and edits, the costs."""
    arrows = {cell.score.metric: "↑" if cell.score.higher_is_better else "↓" for cell in comparison.rows[0].cells}
    metrics = [Head(f"{name} {arrows[name]}", "↑ higher is better, ↓ lower is better") for name in comparison.metrics]
    return (
        *metrics,
        Head("changed", "segments with another text than in the row before"),
        Head(
            "got worse",
            f"segments whose own score is worse than before, by {comparison.deciding or 'the deciding metric'}",
        ),
        Head("TER", "words edited per 100 words, from the row before"),
        Head("kept", "segments whose change was kept"),
        Head("rejected", "segments whose change a guard or the gate rejected"),
        Head("failed", "segments on which the stage failed; their text stayed"),
        Head("edits", "edits that stand in the text, of all that were proposed"),
        Head("tokens", "input and output, and in how many calls"),
        Head("cost", "dollars, and how many for each edit that stands"),
    )


def lines(comparison: Comparison) -> tuple[Line, ...]:
    """The rows of the table."""
    first = comparison.rows[0].name
    return tuple(
        Line(row_name(row), (
            *(_score(cell, tested=row.former == first) for cell in row.cells),
            *_moves(row, len(comparison.segments)), *_outcomes(row), *_costs(row),
        ))
        for row in comparison.rows
    )  # fmt: skip


def facts(summary: RunSummary, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """What the page says of the run in a line each: name and value."""
    counts = summary.counts
    tried = counts.done + counts.failed
    of = f" of {counts.total:,}" if counts.total not in (None, tried) else ""
    yield "State", summary.state
    yield "Segments", f"{tried:,}{of}"
    yield "Languages", ", ".join(f"{_language(a)} → {_language(b)}" for a, b in pairs) or _NONE
    stages = _listed(summary.settings.get("stages"))
    yield "Stages", ", ".join(map(stage_name, stages))
    for name in (name for name in _MODELS if name != "translator" or "translate" in stages):
        if value := _said(summary.settings.get(name)):
            yield name.replace("_", " ").capitalize(), value
    yield "Started", summary.started[:16].replace("T", " ") + " UTC"
    yield "Paid", _usage(summary.usage)


def settings(summary: RunSummary) -> str:
    """All settings, for those who want to repeat the run."""
    return json.dumps(summary.settings, ensure_ascii=False, indent=2)


def _language(code: str) -> str:
    try:
        return languages.name(code)
    except ConfigError:
        return code


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(one) for one in value or ()]


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_said(one)}" for name, one in value.items() if _said(one))
    return str(value) if value not in (None, "", [], ()) else ""


def _usage(usage: Usage) -> str:
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    reused = f", {usage.reused:,} replies from the store" if usage.reused else ""
    return f"{dollars(usage.cost)}, {usage.calls:,} {'call' if usage.calls == 1 else 'calls'}, {tokens}{reused}"


def _score(cell: Cell, *, tested: bool) -> Shown:
    """A score and its difference to the row before; the p-value where that is the row that the test is against."""
    digits = 4 if abs(cell.score.value) < 2 else 2
    text = number(cell.score.value, digits)
    if cell.difference is None:
        return Shown(text, _interval(cell, digits))
    sign = "+" if cell.difference > 0 else ""
    test = f" ({p_text(cell.p_value)})" if tested and cell.p_value is not None else ""
    gain = cell.difference if cell.score.higher_is_better else -cell.difference
    tone = "better" if gain > 0 else "worse" if gain < 0 else ""
    return Shown(text, f"{sign}{number(cell.difference, digits)}{test}", tone)


def _interval(cell: Cell, digits: int) -> str:
    return f"± {number(cell.interval.half_width, digits)}" if cell.interval else ""


def _moves(row: Row, segments: int) -> tuple[Shown, ...]:
    if row.moved is None:
        return (Shown(_NONE),) * 3
    worse = row.moved.regressed
    return (
        _share(row.moved.changed, segments),
        Shown(_NONE) if worse is None else _share(worse, segments),
        Shown(number(row.moved.ter)),
    )


def _share(share: float, segments: int) -> Shown:
    return Shown(f"{round(share * segments):,}", f"{100 * share:.0f} %")


def _outcomes(row: Row) -> tuple[Shown, ...]:
    found = row.outcomes
    if found is None:
        return (Shown(_NONE),) * 4
    edits = found.edits or {}
    applied, proposed = edits.get("applied", 0), sum(edits.values())
    return (
        *(Shown(f"{count:,}") for count in (found.kept, found.rejected, found.failed)),
        Shown(f"{applied:,}", f"of {proposed:,}") if proposed else Shown(_NONE),
    )


def _costs(row: Row) -> tuple[Shown, ...]:
    if row.cost is None:
        return (Shown(_NONE),) * 2
    usage, per_edit = row.cost.usage, row.cost.per_kept_edit
    calls = f"{usage.calls:,} {'call' if usage.calls == 1 else 'calls'}"
    return (
        Shown(f"{usage.input_tokens + usage.output_tokens:,}", calls),
        Shown(dollars(usage.cost), f"{dollars(per_edit)} an edit" if per_edit else ""),
    )


def gallery(found: Figures, run: str, comparison: Comparison | None) -> Iterator[str]:
    """The figures of ``run`` as HTML, the most telling first."""
    if found.flow.stages:
        yield with_table(flow_plot(found.flow), forms.flow_table(found.flow))
    spread = of_run(found.spreads, run, comparison)
    if spread is not None:
        yield with_table(spread_plot(spread), forms.spread_table(spread))
    if found.costs is not None and any(point.spent(found.costs.unit) for point in found.costs.points):
        yield with_table(costs_plot(found.costs), forms.costs_table(found.costs))
    if any(stage.edits for stage in found.flow.stages):
        yield with_table(edits_plot(found.flow), forms.edits_table(found.flow))
    for number, marks in enumerate(found.marks):
        if marks.spans and any(stage.errors for stage in marks.stages):
            yield from _marks(marks, number)


def _marks(marks: Marks, number: int) -> Iterator[str]:
    """The errors that one evaluator marked."""
    yield with_table(severities_plot(marks, f"severities-{number}"), forms.marks_table(marks))
    yield with_table(categories_plot(marks, f"categories-{number}"), forms.categories_table(marks))


_SCRIPTS = ("elements", "difference", "marked", "filters", "details", "list", "main")
_STYLES = ("page", "segments", "narrow")


MOST_CHARACTERS = 300_000_000
"""Of the segments in a page. No text in a browser may be longer than 512 MB; 100,000 sentences take 90 MB."""
_IN_MEMORY = 2**24


@dataclass
class _Gathered:
    """What one pass over the chains finds. The segments go to ``file`` as JSON, as long as a page has room for them."""

    tally: Tally
    file: IO[str]
    most: int
    segments: int = 0
    shown: int = 0
    characters: int = 0
    pairs: dict[tuple[str, str], None] = field(default_factory=dict)
    signatures: dict[str, None] = field(default_factory=dict)

    def add(self, chain: Chain, scores: Sequence[Sequence[float]]) -> None:
        self.tally.add(chain)
        if self.shown == self.segments:
            segment = script_json(packed(chain, scores))
            self.characters += len(segment) + 1
            if self.characters <= self.most:
                self.file.write(f"{',' if self.shown else ''}{segment}")
                self.shown += 1
        self.segments += 1
        self.pairs[chain.segment.source_lang, chain.segment.target_lang] = None
        self.signatures |= dict.fromkeys(signatures(chain))


def html(
    summary: RunSummary, chains: Iterable[Chain], comparison: Comparison | None = None, plots: Iterable[str] = ()
) -> str:
    """The page as one text; see :func:`pieces`."""
    return "".join(pieces(summary, chains, comparison, plots))


def pieces(
    summary: RunSummary,
    chains: Iterable[Chain],
    comparison: Comparison | None = None,
    plots: Iterable[str] = (),
    *,
    most: int = MOST_CHARACTERS,
) -> Iterator[str]:
    """The page about a run of chains, piece by piece. The chains are read once, and wait in a temporary file until all
    that stands before them is known.

    ``plots`` are figures that are put into the page as they are, and asked for when all chains were read. Segments
    beyond ``most`` characters are left out, and the page says so. Raises :class:`mtagent.errors.MissingExtra` without
    jinja2, and :class:`OutputError` where the temporary file finds no room.
    """
    environment = _environment()
    with _temporary() as file:
        found = _Gathered(Tally(summary.counts.total), file, most)
        scores = _scores(comparison)
        for chain in chains:
            found.add(chain, next(scores, ()))
        went = None if comparison is None else way(comparison, summary.name)
        script = "\n".join(map(_asset, (f"{name}.js" for name in _SCRIPTS)))
        yield from environment.get_template("page.html.jinja").generate(
            summary=summary,
            sentence=sentence(found.tally, went, summary.usage),
            remarks=list(_remarks(summary, comparison, found)),
            facts=[fact for fact in facts(summary, list(found.pairs)) if fact[1]],
            settings=settings(summary),
            heads=heads(comparison) if comparison else (),
            lines=lines(comparison) if comparison else (),
            signatures=[*(comparison.signatures if comparison else ()), *found.signatures],
            plots=list(plots),
            segments=found.segments,
            data=_data(summary, file, comparison, went),
            script=script,
            script_hash=_hash(script),
            style=_style(),
            version=__version__,
        )


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


def _environment() -> Environment:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError:
        raise MissingExtra("the page of a report", "report") from None
    return Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_asset), trim_blocks=True, lstrip_blocks=True
    )


def _asset(name: str) -> str:
    return files("mtagent.report").joinpath("page", name).read_text(encoding="utf-8")


def _style() -> str:
    """The plots' own style first: the page sets some of its colours anew."""
    return "\n".join([STYLE, *(_asset(f"{name}.css") for name in _STYLES)])


def _hash(script: str) -> str:
    """The script as the page's policy allows it: this one, and no other that a text might bring."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _scores(comparison: Comparison | None) -> Iterator[list[list[float]]]:
    """For each segment, for each metric the score of each row."""
    if comparison is None or not comparison.metrics:
        return
    for index in range(len(comparison.segments)):
        places = range(len(comparison.metrics))
        yield [[row.cells[place].score.segments[index] for row in comparison.rows] for place in places]


def _remarks(summary: RunSummary, comparison: Comparison | None, found: _Gathered) -> Iterator[str]:
    counts = summary.counts
    tried = counts.done + counts.failed
    if counts.total is not None and tried < counts.total:
        yield (
            f"The run is not complete: {tried:,} of {counts.total:,} segments were tried ({summary.state}). "
            "The command that began it goes on with it."
        )
    if found.shown < found.segments:
        yield (
            f"The page shows the first {found.shown:,} of {found.segments:,} segments: no browser holds more. All "
            "numbers are about all of them; `--format csv` and `--format json` hold every segment."
        )
    if comparison is None and len(found.pairs) > 1:
        yield "The segments are in several languages, and are not scored: run each target language by itself."
    yield from comparison.warnings if comparison else ()


def _data(summary: RunSummary, segments: IO[str], comparison: Comparison | None, went: Way | None) -> Iterator[str]:
    """All that the page's script works with, as JSON in pieces."""
    rows = comparison.rows if comparison else ()
    first, last = (rows.index(went.first), rows.index(went.last)) if went else (0, 0)
    cells = rows[0].cells if rows else ()
    head = {
        "run": summary.name,
        "rows": [row_name(row) for row in rows],
        "metrics": [{"name": cell.score.metric, "higher": cell.score.higher_is_better} for cell in cells],
        "first": first,
        "last": last,
        "deciding": went.place if went else None,
    }
    yield f'{script_json(head)[:-1]},"segments":['
    segments.seek(0)
    while piece := segments.read(_IN_MEMORY):
        yield piece
    yield "]}"
