"""What a run did and cost, and how a rating came about, for people to read."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import get_args

from mtagent.errors import StoreError
from mtagent.records import Call, Chain, Message, Rated, Rating, RatingRole, Segment, Stage, Usage, Verdict
from mtagent.store.runs import StoredRun
from mtagent.text.amounts import NOTHING, counted, dollars, seconds
from mtagent.text.escaping import visible
from mtagent.text.mqm import SEVERITIES
from mtagent.text.table import Table
from mtagent.text.table import text as text_of

_STAGE_COLUMNS = ("stage", "kept", "unchanged", "rejected", "failed", "edits", "of", "calls", "tokens", "cost", "chrF")


def stage_table(chains: Iterable[Chain]) -> str:
    """A row for the texts as given, then one per stage that ran, in plain text; chrF (and its signature) where every
    segment has a reference. A stage that did not run on a segment leaves its text as it was.
    """
    from mtagent.metrics.overlap import Overlap

    stages = ("as given", *get_args(Stage))
    verdicts, edits = ({stage: Counter[str]() for stage in stages} for _ in range(2))
    usages, texts = dict.fromkeys(stages, Usage()), {stage: list[str]() for stage in stages}
    references: list[str | None] = []
    left_alone = 0
    for chain in chains:
        left_alone += any(step.cause.kind == "triage" for step in chain.steps)
        text, steps = chain.segment.translation or "", chain.by_stage()
        for stage in stages:
            if step := steps.get(stage):
                verdicts[stage][step.verdict] += 1
                edits[stage].update(edit.outcome for edit in step.edits)
                usages[stage] += step.usage
                text = step.text
            texts[stage].append(text)
        references.append(chain.segment.reference)
    ran = [stage for stage in stages if verdicts[stage] or (stage == "as given" and any(texts[stage]))]
    complete = [reference for reference in references if reference is not None]
    scores, below = dict.fromkeys(ran, ""), []
    if complete and len(complete) == len(references):
        metric = Overlap("chrf", "und")
        for stage in ran:
            score = metric.score_pairs(list(zip(texts[stage], complete, strict=True)))
            scores[stage], below = f"{score.value:.2f}", [f"chrF: {score.signature}"]
    rows = []
    for stage in ran:
        counts = [str(verdicts[stage][verdict]) for verdict in get_args(Verdict)]
        counts += [str(edits[stage]["applied"]), str(edits[stage].total()), *_costs(usages[stage])]
        rows.append((stage, *(counts if verdicts[stage] else [""] * len(counts)), scores[stage]))
    width = len(_STAGE_COLUMNS) if below else len(_STAGE_COLUMNS) - 1
    table = Table("", _STAGE_COLUMNS[:width], tuple(row[:width] for row in rows))
    return "\n".join([text_of([table]), *below, *([f"left alone by triage: {left_alone}"] if left_alone else [])])


def _costs(usage: Usage) -> tuple[str, str, str]:
    """Calls, tokens and dollars."""
    return (str(usage.calls), str(usage.tokens), dollars(usage.cost))


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


_SYSTEM_SHOWN, _ASKED_SHOWN = 160, 800
_INDENT = " " * 13


def show_ratings(run: StoredRun, name: str, *, full: bool = False) -> str:
    """The ratings that ``run`` holds of a segment, or of ``SYSTEM/SEGMENT``; in a chain run a system is a stage.

    Raises :class:`StoreError` where there is none.
    """

    def stories(segment: str, system: str | None) -> list[str]:
        if run.kind == "rating":
            ratings = run.ratings_of(segment)
            return [rated_trajectory(rated, full=full) for rated in ratings if system in (None, rated.system)]
        return step_trajectories(run.chain(segment)[1], system, full=full) if run.has(segment) else []

    system, slash, segment = name.partition("/")
    shown = stories(name, None) or (stories(segment, system) if slash else [])
    if not shown:
        raise StoreError(f"run {run.name!r}: has no rating of {name!r}; name a segment, or SYSTEM/SEGMENT")
    return "\n\n".join(shown)


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
    "triage": ", triage",
    "before": ", judge of the text before",
    "after": ", judge of the text after",
    "try": ", judge of a text that was tried",
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


def _head(segment: Segment, who: str, translation: str | None) -> list[str]:
    texts = {"source": segment.source, "translation": translation, "reference": segment.reference}
    title = visible(f"segment {segment.id}, {who}, {segment.source_lang}-{segment.target_lang}", one_line=True)
    return [title, *(_field(name, text) for name, text in texts.items() if text is not None)]


def _dialogue(calls: Sequence[Call], full: bool) -> Iterator[str]:
    """The calls one after the other; of a conversation that goes on only what is new."""
    for number, call in enumerate(calls, 1):
        model = visible(call.model, one_line=True)
        yield f"\n{number}. {call.purpose}  ({model}, {_paid(call.usage)}, {seconds(call.seconds)})"
        common = former = 0  # how many messages are those of a former call and its answer, and which call that is
        for place, earlier in enumerate(calls[: number - 1], 1):
            answer = Message(role="assistant", content=earlier.reply or "", tool_calls=earlier.tool_calls)
            pairs = zip((*earlier.messages, answer), call.messages, strict=False)
            alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            if alike > common:
                common, former = alike, place
        if common:
            yield _field("before", f"as in call {former} ({counted(common, 'message')})")
        yield from _asked(call.messages[common:], full, fresh=not common)
        if call.reply is not None and (call.reply or not call.tool_calls):
            yield _field("reply", call.reply)
        yield from (_field("calls", f"{wish.name}({wish.arguments})") for wish in call.tool_calls)
        if call.error is not None:
            yield _field("error", call.error)


def _asked(messages: Sequence[Message], full: bool, *, fresh: bool) -> Iterator[str]:
    """What is new in a request. Of a fresh one, the examples between first and last message are only counted.

    Of a constant instruction the beginning is shown; of anything else the end, where the texts of the segment are.
    """
    hidden = 0
    for place, message in enumerate(messages):
        if not full and fresh and 0 < place < len(messages) - 1 and message.role in ("user", "assistant"):
            hidden += 1
            continue
        if hidden:
            yield _field("…", f"{hidden} messages with examples (-v shows them)")
            hidden = 0
        text, cut = message.content, f"({len(message.content):,} characters, -v shows all)"
        if message.role == "system" and not full and len(text) > _SYSTEM_SHOWN:
            text = f"{' '.join(text[:_SYSTEM_SHOWN].split())}… {cut}"
        elif message.role != "system" and not full and len(text) > _ASKED_SHOWN:
            text = f"{cut} …{text[-_ASKED_SHOWN:]}"
        yield _field(message.role, text)
        yield from (_field("calls", f"{wish.name}({wish.arguments})") for wish in message.tool_calls)


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
    confidence = None if rating.confidence is None else f"{rating.confidence:g}"
    rest = {"explanation": rating.explanation, "correction": rating.correction, "confidence": confidence}
    yield from (_field(name, text) for name, text in rest.items() if text is not None)
    yield from (_field("gap", gap) for gap in rating.gaps)
    yield from (_field("warning", warning) for warning in rating.warnings)
    yield _field("cost", f"{rating.usage.calls} calls, {_paid(rating.usage)}, {seconds(rating.seconds)}")
    yield _field("signature", rating.signed)


def _paid(usage: Usage) -> str:
    stored = ", from the store" if usage.reused and not usage.calls else ""
    return f"{usage.input_tokens} + {usage.output_tokens} tokens, {dollars(usage.cost, 'price unknown')}{stored}"


def _field(name: str, text: str) -> str:
    """A name and a text, the further lines of which are set in."""
    return f"{name:<{len(_INDENT)}}" + textwrap.indent(text, _INDENT).removeprefix(_INDENT)
