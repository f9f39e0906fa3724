"""What a run did and cost, and how a rating came about, for people to read."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from mtagent.errors import StoreError
from mtagent.records import (
    Call,
    Chain,
    Message,
    Rated,
    Rating,
    RatingRole,
    Segment,
    Stage,
    Step,
    ToolCall,
    Usage,
    Verdict,
)
from mtagent.store.calls import CallOverview
from mtagent.store.runs import StoredRun
from mtagent.text.amounts import NOTHING, counted, dollars, seconds
from mtagent.text.escaping import visible
from mtagent.text.mqm import SEVERITIES
from mtagent.text.table import Table
from mtagent.text.table import text as text_of

MOST_SCORED = 10_000
"""In runs with more segments the table of stages has no chrF, which would take half a minute for each 100,000."""
_STAGE_COLUMNS = ("stage", "kept", "unchanged", "rejected", "failed", "edits", "edits kept", "calls", "tokens", "cost")


def stage_table(chains: Iterable[Chain]) -> str:
    """A row per stage that ran, in plain text.

    The column chrF, with its signature below, and a row for the given texts are there if every segment has a
    reference, of at most :data:`MOST_SCORED`. A stage that did not run on a segment leaves its text unchanged.
    """
    from mtagent.metrics.overlap import Overlap

    stages = ("as given", *get_args(Stage))
    totals = {stage: _StageTotals() for stage in stages}
    references: list[str] = []
    has_given = False
    segments = 0
    skipped = 0
    from_memory = 0
    for chain in chains:
        segments += 1
        skipped += any(step.cause.kind == "triage" for step in chain.steps)
        from_memory += any(step.cause.kind == "memory" for step in chain.steps)
        text = chain.segment.translation or ""
        has_given = has_given or bool(text)
        steps = chain.by_stage()
        for stage in stages:
            step = steps.get(stage)
            if step is not None:
                totals[stage].add(step)
                text = step.text
            if segments <= MOST_SCORED:
                totals[stage].texts.append(text)
        if chain.segment.reference is not None and segments <= MOST_SCORED:
            references.append(chain.segment.reference)
    ran = [stage for stage in stages if totals[stage].verdicts]
    is_scored = bool(ran) and len(references) == segments
    if has_given and is_scored:
        ran.insert(0, "as given")
    columns = list(_STAGE_COLUMNS)
    rows = {stage: [stage, *totals[stage].cells()] for stage in ran}
    below = []
    if is_scored:
        columns.append("chrF")
        metric = Overlap("chrf", "und")
        for stage in ran:
            score = metric.score_pairs(list(zip(totals[stage].texts, references, strict=True)))
            rows[stage].append(f"{score.value:.2f}")
            below = [f"chrF: {score.signature}"]
    elif segments > MOST_SCORED:
        below = [f"scores of more than {MOST_SCORED:,} segments: `mtagent compare`"]
    if skipped:
        below.append(f"skipped by triage: {skipped}")
    if from_memory:
        below.append(f"as approved in the translation memory: {from_memory}")
    table = Table("", tuple(columns), tuple(tuple(row) for row in rows.values()))
    return "\n".join([text_of([table]), *below])


@dataclass
class _StageTotals:
    """The steps of one stage, added up."""

    verdicts: Counter[str] = field(default_factory=Counter)
    edits: Counter[str] = field(default_factory=Counter)
    """By outcome."""
    usage: Usage = Usage()
    texts: list[str] = field(default_factory=list)
    """The text of each segment after the stage."""

    def add(self, step: Step) -> None:
        """Count one step."""
        self.verdicts[step.verdict] += 1
        self.edits.update(edit.outcome for edit in step.edits)
        self.usage += step.usage

    def cells(self) -> list[str]:
        """The cells of the row, from the verdicts to the cost; empty for a stage that never ran."""
        cells = [str(self.verdicts[verdict]) for verdict in get_args(Verdict)]
        cells += [str(self.edits.total()), str(self.edits["applied"]), *_costs(self.usage)]
        return cells if self.verdicts else [""] * len(cells)


def _costs(usage: Usage) -> tuple[str, str, str]:
    """Calls, tokens and dollars."""
    return (str(usage.calls), str(usage.tokens), dollars(usage.cost))


@dataclass
class SystemSummary:
    """The ratings of one system, added up."""

    system: str
    scores: float = 0.0
    """The sum of the scores."""
    rated: int = 0
    failed: int = 0
    blank: int = 0
    """Segments without words, which are not rated."""
    marked: bool = False
    """Whether the evaluator marks spans."""
    warned: int = 0
    """Ratings with warnings."""
    warning: str | None = None
    """The first warning."""
    errors: Counter[str] = field(default_factory=Counter)
    """Spans by severity."""
    usage: Usage = Usage()
    seconds: float = 0.0
    signatures: set[str] = field(default_factory=set)

    @property
    def mean(self) -> float | None:
        """The mean score; ``None`` without any rating."""
        return self.scores / self.rated if self.rated else None

    def add(self, rated: Rated) -> None:
        """Count one rating, or its failure."""
        self.usage += rated.usage
        self.seconds += rated.seconds
        self.failed += rated.error is not None
        if rated.rating is None:
            self.blank += rated.error is None
            return
        self.rated += 1
        self.scores += rated.rating.score
        self.signatures.add(rated.rating.signed)
        self.marked = self.marked or rated.rating.errors is not None
        if rated.rating.warnings:
            self.warned += 1
            self.warning = self.warning or f"{rated.system}/{rated.segment.id}: {rated.rating.warnings[0]}"
        self.errors.update(span.severity for span in rated.rating.errors or ())


def warnings_line(count: int, first: str | None) -> list[str]:
    """A line with the number of ratings with warnings, if there are any, and the first warning."""
    if not count:
        return []
    if count == 1:
        return [f"1 rating carries a warning: {first}"]
    return [f"{count} ratings carry warnings; the first: {first}"]


def summaries(ratings: Iterable[Rated]) -> list[SystemSummary]:
    """One summary per system, in order of appearance."""
    systems: dict[str, SystemSummary] = {}
    for rated in ratings:
        systems.setdefault(rated.system, SystemSummary(rated.system)).add(rated)
    return list(systems.values())


_SYSTEM_COLUMNS = ("system", "mean", "rated", "failed", *reversed(SEVERITIES), "calls", "tokens", "cost", "seconds")


def system_table(systems: Sequence[SystemSummary]) -> str:
    """The table of systems in plain text, and the signatures of their ratings. Failed ratings are not in the mean."""
    rows = []
    for summary in systems:
        mean = NOTHING if summary.mean is None else f"{summary.mean:.3f}"
        spans = [str(summary.errors[severity]) if summary.marked else NOTHING for severity in reversed(SEVERITIES)]
        counts = (str(summary.rated), str(summary.failed), *spans, *_costs(summary.usage))
        rows.append((summary.system, mean, *counts, f"{summary.seconds:.1f}"))
    signatures = sorted({signature for system in systems for signature in system.signatures})
    return "\n".join([text_of([Table("", _SYSTEM_COLUMNS, tuple(rows))]), *signatures])


_CALL_TABLES = {
    "totals": ("calls", 2),
    "slowest": ("slowest calls", 6),
    "most_expensive": ("most expensive calls", 6),
    "causes": ("why requests were sent again", 3),
}
"""Tables of the calls of a run: their titles, and how many columns hold words."""


def call_tables(overview: CallOverview) -> list[Table]:
    """The calls of a run as tables with the columns of ``overview``."""
    tables = []
    for name, rows in overview.items():
        if rows:
            title, labels = _CALL_TABLES[name]
            if "endpoint" in rows[0]:
                labels += 1
            cells = [tuple(_call_cell(column, value) for column, value in row.items()) for row in rows]
            tables.append(Table(title, tuple(rows[0]), tuple(cells), labels=labels))
    return tables


def _call_cell(column: str, value: Any) -> str:
    if column == "cost":
        return dollars(value)
    if column == "endpoint":
        return value or NOTHING
    if value is None:  # the latency of calls in a batch
        return "batch"
    if column == "retries":
        return ", ".join(f"{cause} ×{times}" for cause, times in Counter(value).items()) or NOTHING
    if column == "failed" and isinstance(value, bool):
        return "yes" if value else NOTHING
    return f"{value:.1f}" if isinstance(value, float) else str(value)


_SYSTEM_SHOWN = 160
"""Characters of a constant instruction that are shown."""
_OTHERS_SHOWN = 800
"""Characters of any other message that are shown."""
_INDENT = " " * 13


def show_ratings(run: StoredRun, name: str, *, full: bool = False) -> str:
    """The ratings of a segment in ``run``, or of ``SYSTEM/SEGMENT``; in a chain run a system is a stage.

    Raises :class:`StoreError` if there is none.
    """

    def stories(segment: str, system: str | None) -> list[str]:
        if run.kind == "rating":
            ratings = run.ratings_of(segment)
            return [rated_trajectory(rated, full=full) for rated in ratings if system in (None, rated.system)]
        if not run.has(segment):
            return []
        return step_trajectories(run.chain(segment)[1], system, full=full)

    shown = stories(name, None)
    system, slash, segment = name.partition("/")
    if not shown and slash:
        shown = stories(segment, system)
    if not shown:
        raise StoreError(f"run {run.name!r}: has no rating of {name!r}; name a segment, or SYSTEM/SEGMENT")
    return "\n\n".join(shown)


def rated_trajectory(rated: Rated, *, full: bool = False) -> str:
    """The story of one rating, which may have failed. ``full`` shows constant prompts and long texts whole."""
    head = _head(rated.segment, f"system {rated.system}", rated.translation)
    rating = rated.rating
    calls = rating.calls if rating else rated.calls
    lines = [*head, *_dialogue(calls, full), *_result(rating, rated.error)]
    if rating and rating.calls and not rated.calls:
        lines.append(_field("paid", "nothing: a system with an equal text had it rated"))
    return "\n".join(lines)


_ROLES: dict[RatingRole | None, str] = {
    "triage": ", triage",
    "before": ", judge of the text before",
    "after": ", judge of the text after",
    "try": ", judge of a text that was tried",
}


def step_trajectories(chain: Chain, stage: str | None = None, *, full: bool = False) -> list[str]:
    """The story of every rating in the steps of ``chain``, or in the steps of one ``stage``; the editor's first."""
    stories = []
    for step in chain.steps:
        if stage not in (None, step.stage):
            continue
        for rating in step.ratings:
            head = _head(chain.segment, f"stage {step.stage}{_ROLES.get(rating.role, '')}", None)
            stories.append("\n".join([*head, *_dialogue(rating.calls, full), *_result(rating)]))
    return stories


def _head(segment: Segment, who: str, translation: str | None) -> list[str]:
    texts = {"source": segment.source, "translation": translation, "reference": segment.reference}
    title = visible(f"segment {segment.id}, {who}, {segment.source_lang}-{segment.target_lang}", one_line=True)
    return [title, *(_field(name, text) for name, text in texts.items() if text is not None)]


def _dialogue(calls: Sequence[Call], full: bool) -> Iterator[str]:
    """The calls one after the other. A call that continues a conversation shows only its new messages."""
    for number, call in enumerate(calls, 1):
        model = visible(call.model, one_line=True)
        yield f"\n{number}. {call.purpose}  ({model}, {_paid(call.usage)}, {seconds(call.seconds)})"
        common = 0  # messages that are the same as in an earlier call and its answer
        continued_call = 0
        for earlier_number, earlier in enumerate(calls[: number - 1], 1):
            same = _same_messages(earlier, call)
            if same > common:
                common = same
                continued_call = earlier_number
        if common:
            yield _field("before", f"as in call {continued_call} ({counted(common, 'message')})")
        yield from _request(call.messages[common:], full, is_first=not common)
        if call.reply is not None and (call.reply or not call.tool_calls):
            yield _field("reply", call.reply)
        yield from _tool_calls(call.tool_calls)
        if call.error is not None:
            yield _field("error", call.error)


def _same_messages(earlier: Call, call: Call) -> int:
    """How many messages ``call`` has in common with an ``earlier`` call and its answer, from the first one."""
    answer = Message(role="assistant", content=earlier.reply or "", tool_calls=earlier.tool_calls)
    same = 0
    for former_message, message in zip((*earlier.messages, answer), call.messages, strict=False):
        if former_message != message:
            break
        same += 1
    return same


def _tool_calls(tool_calls: Iterable[ToolCall]) -> Iterator[str]:
    for tool_call in tool_calls:
        yield _field("calls", f"{tool_call.name}({tool_call.arguments})")


def _request(messages: Sequence[Message], full: bool, *, is_first: bool) -> Iterator[str]:
    """The new messages of a request. In the first one, the examples between first and last message are only counted.

    A constant instruction shows its beginning; any other message its end, where the texts of the segment are.
    """
    hidden = 0
    for place, message in enumerate(messages):
        is_in_between = 0 < place < len(messages) - 1
        if not full and is_first and is_in_between and message.role in ("user", "assistant"):
            hidden += 1
            continue
        if hidden:
            yield _field("…", f"{hidden} messages with examples (-v shows them)")
            hidden = 0
        text = message.content
        cut = f"({len(text):,} characters, -v shows all)"
        if message.role == "system" and not full and len(text) > _SYSTEM_SHOWN:
            text = f"{' '.join(text[:_SYSTEM_SHOWN].split())}… {cut}"
        elif message.role != "system" and not full and len(text) > _OTHERS_SHOWN:
            text = f"{cut} …{text[-_OTHERS_SHOWN:]}"
        yield _field(message.role, text)
        yield from _tool_calls(message.tool_calls)


def _result(rating: Rating | None, error: str | None = None) -> Iterator[str]:
    yield ""
    if rating is None:
        yield _field("no rating", error or "source and translation have no words")
        return
    yield _field("rating", f"{rating.evaluator}: {rating.score:g}")
    if rating.errors == ():
        yield _field("errors", "none found")
    for span in rating.errors or ():
        place = "no place known" if span.start is None else f"{span.start}–{span.end}"
        side = "" if span.side == "translation" else f", {span.side}"
        fix = "" if span.suggestion is None else f" → {span.suggestion!r}"
        why = f": {span.explanation}" if span.explanation else ""
        yield _field("error", f"{span.severity} {span.category} {span.text!r} ({place}{side}){fix}{why}")
    if rating.explanation is not None:
        yield _field("explanation", rating.explanation)
    if rating.correction is not None:
        yield _field("correction", rating.correction)
    if rating.confidence is not None:
        yield _field("confidence", f"{rating.confidence:g}")
    for gap in rating.gaps:
        yield _field("gap", gap)
    for warning in rating.warnings:
        yield _field("warning", warning)
    yield _field("cost", f"{rating.usage.calls} calls, {_paid(rating.usage)}, {seconds(rating.seconds)}")
    yield _field("signature", rating.signed)


def _paid(usage: Usage) -> str:
    stored = ", from the store" if usage.reused and not usage.calls else ""
    return f"{usage.input_tokens} + {usage.output_tokens} tokens, {dollars(usage.cost, 'price unknown')}{stored}"


def _field(name: str, text: str) -> str:
    """A name and a text, whose further lines are indented."""
    return f"{name:<{len(_INDENT)}}" + textwrap.indent(text, _INDENT).removeprefix(_INDENT)
