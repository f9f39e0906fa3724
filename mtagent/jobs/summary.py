"""What a run did and cost, and how a rating came about, for people to read."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from mtagent.errors import StoreError
from mtagent.records import Call, Chain, ErrorSpan, Message, Rated, Rating, RatingRole, Segment, Step, ToolCall, Usage
from mtagent.store.runs import StoredRun
from mtagent.text.escaping import visible
from mtagent.text.mqm import SEVERITIES

_COLUMNS = ("stage", "kept", "unchanged", "rejected", "failed", "edits", "of", "calls", "tokens", "cost", "chrF")


@dataclass
class StageSummary:
    """The steps of one stage, added up. ``texts`` are the accepted texts after it, for scoring."""

    stage: str
    verdicts: Counter[str] = field(default_factory=Counter)
    applied: int = 0
    proposed: int = 0
    usage: Usage = Usage()
    texts: list[str] = field(default_factory=list)

    def add(self, step: Step) -> None:
        """Count ``step``."""
        self.verdicts[step.verdict] += 1
        self.applied += sum(edit.outcome == "applied" for edit in step.edits)
        self.proposed += len(step.edits)
        self.usage += step.usage


def summarise(chains: Iterable[Chain]) -> tuple[list[StageSummary], list[str]]:
    """One summary for the texts as given, then one per stage, and the references (empty unless all segments have one).

    A stage that did not run on a segment leaves its text as it was.
    """
    stages = {name: StageSummary(name) for name in ("as given", "translate", "postedit", "proofread")}
    references: list[str | None] = []
    for chain in chains:
        text = chain.segment.translation or ""
        stages["as given"].texts.append(text)
        steps = chain.by_stage()
        for name, summary in list(stages.items())[1:]:
            if name in steps:
                summary.add(steps[name])
                text = steps[name].text
            summary.texts.append(text)
        references.append(chain.segment.reference)
    used = [s for s in stages.values() if s.verdicts or (s.stage == "as given" and any(s.texts))]
    complete = [reference for reference in references if reference is not None]
    return used, complete if len(complete) == len(references) else []


def stage_table(chains: Iterable[Chain]) -> str:
    """The table of stages in plain text, with chrF (and its signature) where every segment has a reference."""
    stages, references = summarise(chains)
    scores, signature = _chrf(stages, references) if references else ([""] * len(stages), "")
    rows = [_COLUMNS, *(_row(stage, score) for stage, score in zip(stages, scores, strict=True))]
    if not references:
        rows = [row[:-1] for row in rows]
    return "\n".join([*in_columns(rows), *([signature] if signature else [])])


def in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """``rows`` as lines: the first column to the left, the others to the right."""
    rows = [[visible(cell, one_line=True) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]


def _row(stage: StageSummary, score: str) -> tuple[str, ...]:
    if not stage.verdicts:
        return (stage.stage, *[""] * 9, score)
    counts = [str(stage.verdicts[verdict]) for verdict in ("kept", "unchanged", "rejected", "failed")]
    return (stage.stage, *counts, str(stage.applied), str(stage.proposed), *_costs(stage.usage), score)


def _costs(usage: Usage) -> tuple[str, str, str]:
    """Calls, tokens and dollars."""
    cost = "unknown" if usage.cost is None else f"${usage.cost:.4f}"
    return (str(usage.calls), str(usage.input_tokens + usage.output_tokens), cost)


def _chrf(stages: list[StageSummary], references: list[str]) -> tuple[list[str], str]:
    from mtagent.metrics.overlap import Overlap

    metric = Overlap("chrf", "und")
    scores = [metric.score_pairs(list(zip(stage.texts, references, strict=True))) for stage in stages]
    return [f"{score.value:.2f}" for score in scores], f"chrF: {scores[0].signature}"


@dataclass
class SystemSummary:
    """The ratings of one system, added up. ``blank`` counts segments without words, which nobody rates.

    ``errors`` counts spans by severity; ``marked`` says whether the evaluator marks spans at all. ``warned`` counts the
    ratings with warnings, and ``warning`` is the first of those.
    """

    system: str
    scores: float = 0.0
    rated: int = 0
    failed: int = 0
    blank: int = 0
    marked: bool = False
    warned: int = 0
    warning: str | None = None
    errors: Counter[str] = field(default_factory=Counter)
    usage: Usage = Usage()
    seconds: float = 0.0
    signatures: set[str] = field(default_factory=set)

    @property
    def mean(self) -> float | None:
        """The mean score of what was rated; ``None`` where nothing was."""
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
    """A line that says how many ratings carry warnings; none where none does."""
    which = "1 rating carries a warning" if count == 1 else f"{count} ratings carry warnings; the first"
    return [f"{which}: {first}"] if count else []


def summaries(ratings: Iterable[Rated]) -> list[SystemSummary]:
    """One summary per system, in the order in which they come."""
    found: dict[str, SystemSummary] = {}
    for rated in ratings:
        found.setdefault(rated.system, SystemSummary(rated.system)).add(rated)
    return list(found.values())


_SYSTEM_COLUMNS = ("system", "mean", "rated", "failed", *reversed(SEVERITIES), "calls", "tokens", "cost", "seconds")


def system_table(systems: Sequence[SystemSummary]) -> str:
    """The table of systems in plain text, and the signatures of their ratings. Failed ratings are not in the mean."""
    rows = [_SYSTEM_COLUMNS, *(_system_row(system) for system in systems)]
    signatures = sorted({signature for system in systems for signature in system.signatures})
    return "\n".join([*in_columns(rows), *signatures])


def _system_row(of: SystemSummary) -> tuple[str, ...]:
    mean = "-" if of.mean is None else f"{of.mean:.3f}"
    spans = [str(of.errors[severity]) if of.marked else "-" for severity in reversed(SEVERITIES)]
    return (of.system, mean, str(of.rated), str(of.failed), *spans, *_costs(of.usage), f"{of.seconds:.1f}")


_SYSTEM_SHOWN, _ASKED_SHOWN = 160, 800
_INDENT = " " * 13


def rated_trajectory(rated: Rated, *, full: bool = False) -> str:
    """The story of one rating, or of a failed one. ``full`` shows constant prompts and long texts whole."""
    head = _head(rated.segment, f"system {rated.system}", rated.translation)
    rating = rated.rating
    calls = rating.calls if rating else rated.calls
    lines = [*head, *_dialogue(calls, full), *_result(rating, rated.error)]
    if rating and rating.calls and not rated.calls:
        lines.append(_field("paid", "nothing: a system with an equal text had it rated"))
    return "\n".join(lines)


_ROLES: dict[RatingRole | None, str] = {
    "before": ", judge of the text before",
    "after": ", judge of the text after",
}


def step_trajectories(chain: Chain, stage: str | None = None, *, full: bool = False) -> list[str]:
    """The story of every rating that the steps of ``chain`` hold, or those of one ``stage``; the editor's first."""
    return [
        "\n".join(
            [
                *_head(chain.segment, f"stage {step.stage}{_ROLES.get(rating.role, '')}", None),
                *_dialogue(rating.calls, full),
                *_result(rating),
            ]
        )
        for step in chain.steps
        for rating in step.ratings
        if stage in (None, step.stage)
    ]


def show_ratings(run: StoredRun, name: str, *, full: bool = False) -> str:
    """The ratings that ``run`` holds of a segment, or of ``SYSTEM/SEGMENT``; in a chain run a system is a stage.

    Raises :class:`StoreError` where there is none.
    """
    system, slash, segment = name.partition("/")
    whole = _stories(run, name, None, full)
    found = whole or (_stories(run, segment, system, full) if slash else [])
    if not found:
        raise StoreError(f"run {run.name!r}: has no rating of {name!r}; name a segment, or SYSTEM/SEGMENT")
    return "\n\n".join(found)


def _stories(run: StoredRun, segment: str, system: str | None, full: bool) -> list[str]:
    if run.kind == "rating":
        ratings = run.ratings_of(segment)
        return [rated_trajectory(one, full=full) for one in ratings if system in (None, one.system)]
    if not run.has(segment):
        return []
    return step_trajectories(run.chain(segment)[1], system, full=full)


def _head(segment: Segment, who: str, translation: str | None) -> list[str]:
    texts = {"source": segment.source, "translation": translation, "reference": segment.reference}
    title = visible(f"segment {segment.id}, {who}, {segment.source_lang}-{segment.target_lang}", one_line=True)
    return [title, *(_field(name, text) for name, text in texts.items() if text is not None)]


def _dialogue(calls: Sequence[Call], full: bool) -> Iterator[str]:
    for number, call in enumerate(calls, 1):
        model = visible(call.model, one_line=True)
        yield f"\n{number}. {call.purpose}  ({model}, {_cost(call.usage)}, {call.seconds:.1f} s)"
        former, common = _continued(calls[: number - 1], call)
        if common:
            yield _field("before", f"as in call {former} ({common} message{'s' if common > 1 else ''})")
        yield from _asked(call.messages[common:], full, fresh=not common)
        if call.reply is not None and (call.reply or not call.tool_calls):
            yield _field("reply", call.reply)
        yield from (_field("calls", _wish(wish)) for wish in call.tool_calls)
        if call.error is not None:
            yield _field("error", call.error)


def _continued(former: Sequence[Call], call: Call) -> tuple[int, int]:
    """The earlier call whose conversation ``call`` goes on with, and how many messages they share."""
    shared = [(_common(one, call.messages), -number) for number, one in enumerate(former, 1)]
    common, number = max(shared, default=(0, 0))
    return -number, common


def _common(former: Call, messages: Sequence[Message]) -> int:
    answer = Message(role="assistant", content=former.reply or "", tool_calls=former.tool_calls)
    pairs = zip((*former.messages, answer), messages, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _asked(messages: Sequence[Message], full: bool, *, fresh: bool) -> Iterator[str]:
    """What is new in a request. Of a fresh one, the examples between first and last message are only counted."""
    hidden = 0
    for place, message in enumerate(messages):
        if not full and fresh and 0 < place < len(messages) - 1 and message.role in ("user", "assistant"):
            hidden += 1
            continue
        if hidden:
            yield _field("…", f"{hidden} messages with examples (-v shows them)")
            hidden = 0
        yield _field(message.role, message.content if full else _shortened(message))
        yield from (_field("calls", _wish(wish)) for wish in message.tool_calls)


def _shortened(message: Message) -> str:
    """The beginning of a constant instruction; the end of anything else, where the texts of the segment are."""
    text, cut = message.content, f"({len(message.content):,} characters, -v shows all)"
    if message.role == "system":
        return text if len(text) <= _SYSTEM_SHOWN else f"{' '.join(text[:_SYSTEM_SHOWN].split())}… {cut}"
    return text if len(text) <= _ASKED_SHOWN else f"{cut} …{text[-_ASKED_SHOWN:]}"


def _result(rating: Rating | None, error: str | None = None) -> Iterator[str]:
    yield ""
    if rating is None:
        yield _field("no rating", error or "source and translation have no words")
        return
    yield _field("rating", f"{rating.evaluator}: {rating.score:g}")
    if rating.errors == ():
        yield _field("errors", "none found")
    yield from (_field("error", _shown(span)) for span in rating.errors or ())
    confidence = None if rating.confidence is None else f"{rating.confidence:g}"
    rest = {"explanation": rating.explanation, "correction": rating.correction, "confidence": confidence}
    yield from (_field(name, text) for name, text in rest.items() if text is not None)
    yield from (_field("gap", gap) for gap in rating.gaps)
    yield from (_field("warning", warning) for warning in rating.warnings)
    yield _field("cost", f"{rating.usage.calls} calls, {_cost(rating.usage)}, {rating.seconds:.1f} s")
    yield _field("signature", rating.signed)


def _shown(span: ErrorSpan) -> str:
    place = "no place known" if span.start is None else f"{span.start}–{span.end}"
    side = "" if span.side == "translation" else f", {span.side}"
    fix = "" if span.suggestion is None else f" → {span.suggestion!r}"
    why = f": {span.explanation}" if span.explanation else ""
    return f"{span.severity} {span.category} {span.text!r} ({place}{side}){fix}{why}"


def _wish(wish: ToolCall) -> str:
    return f"{wish.name}({wish.arguments})"


def _cost(usage: Usage) -> str:
    dollars = "price unknown" if usage.cost is None else f"${usage.cost:.4f}"
    stored = ", from the store" if usage.reused and not usage.calls else ""
    return f"{usage.input_tokens} + {usage.output_tokens} tokens, {dollars}{stored}"


def _field(name: str, text: str) -> str:
    """A name and a text, the further lines of which are set in."""
    return f"{name:<{len(_INDENT)}}" + textwrap.indent(text, _INDENT).removeprefix(_INDENT)
