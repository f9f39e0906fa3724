"""How a rating came about, for a person to read: who was asked what, in which order, what came back, what it cost."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import takewhile

from mtagent.errors import StoreError
from mtagent.markup import visible
from mtagent.records import Call, Chain, ErrorSpan, Message, Rated, Rating, Segment, ToolCall, Usage
from mtagent.store import StoredRun

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


def step_trajectories(chain: Chain, stage: str | None = None, *, full: bool = False) -> list[str]:
    """The story of every rating that the steps of ``chain`` hold, or those of one ``stage``; the editor's first."""
    return [
        "\n".join(
            [*_head(chain.segment, f"stage {step.stage}", None), *_dialogue(rating.calls, full), *_result(rating)]
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
