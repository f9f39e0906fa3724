"""Steps and calls as OpenTelemetry spans, for services that trace their requests. Needs the extra ``telemetry``.

Names and attributes are those of OpenTelemetry's conventions for generative AI, where these have any:
https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from mtagent.errors import MissingExtra
from mtagent.llm.events import STEP, CallEvent, Event, Observer, StepInWork, VerdictEvent
from mtagent.version import __version__

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer


def spans(tracer: Tracer | None = None, *, texts: bool = False) -> Observer:
    """A function for ``Agent(observer=…)`` that records a span for each step, and below it one for each call.

    The span of a step is a child of the current span where the agent is awaited; in other threads it has no parent.
    ``texts`` adds the messages and replies of calls to their spans. ``tracer`` defaults to the application's. Raises
    :class:`MissingExtra`.
    """
    try:
        from opentelemetry import trace
    except ModuleNotFoundError:
        raise MissingExtra("OpenTelemetry", "telemetry") from None
    return _Spans(tracer or trace.get_tracer("mtagent", __version__), texts)


class _Spans:
    """Makes spans of events. A step's span begins with its first call, or else when the step ends."""

    def __init__(self, tracer: Tracer, texts: bool) -> None:
        self._tracer, self._texts = tracer, texts
        self._begun: WeakKeyDictionary[StepInWork, Span] = WeakKeyDictionary()

    def __call__(self, event: Event) -> None:
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

        if not isinstance(event, CallEvent | VerdictEvent):  # calls count retries and waits
            return
        end = int(event.at.timestamp() * 1e9)
        step = STEP.get()
        span = None if step is None else self._span_of(step)
        if isinstance(event, CallEvent):
            start = end - int(event.seconds * 1e9)
            span = self._tracer.start_span(
                f"chat {event.model}",
                None if span is None else set_span_in_context(span),
                SpanKind.CLIENT,
                call_attributes(event, self._texts),
                start_time=start if step is None else max(start, step.began),
            )
        elif span is not None and step is not None:
            del self._begun[step]
            span.set_attributes(verdict_attributes(event))
        if span is None:
            return
        if event.error is not None:
            span.set_status(Status(StatusCode.ERROR, event.error))
        span.end(end)

    def _span_of(self, step: StepInWork) -> Span:
        if step not in self._begun:
            self._begun[step] = self._tracer.start_span(f"mtagent {step.stage}", start_time=step.began)
        return self._begun[step]


def call_attributes(event: CallEvent, texts: bool = False) -> dict[str, Any]:
    """The attributes of a call's span; what isn't known has none."""
    server = urlsplit(f"//{event.server or ''}")
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",  # whose interface it is; server.address tells who answers
        "gen_ai.request.model": event.model,
        "gen_ai.response.model": event.reply_model,
        "server.address": server.hostname,
        "server.port": server.port,
        "gen_ai.usage.input_tokens": event.usage.input_tokens,
        "gen_ai.usage.output_tokens": event.usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": event.usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": event.usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": event.usage.reasoning_tokens,
        "mtagent.cost": event.usage.cost,
        "error.type": event.error,
        "http.response.status_code": event.status,
        "mtagent.run": event.run,
        "mtagent.segment": event.segment,
        "mtagent.purpose": event.purpose,
        "mtagent.waited": event.waited,
        "mtagent.retries": event.retries,
    }
    if event.finish_reason is not None:
        attributes["gen_ai.response.finish_reasons"] = (event.finish_reason,)
    if event.sampling is not None:
        for name in ("temperature", "top_p", "max_tokens", "seed"):
            attributes[f"gen_ai.request.{name}"] = getattr(event.sampling, name)
    if texts:
        messages = [_message(turn.role, turn.content) for turn in event.messages]
        attributes["gen_ai.input.messages"] = json.dumps(messages, ensure_ascii=False)
        if event.reply is not None:
            reply = {**_message("assistant", event.reply), "finish_reason": event.finish_reason}
            attributes["gen_ai.output.messages"] = json.dumps([reply], ensure_ascii=False)
    return {name: value for name, value in attributes.items() if value is not None}


def verdict_attributes(event: VerdictEvent) -> dict[str, Any]:
    """The attributes of a step's span, named as in the log; what isn't known has none."""
    attributes: dict[str, Any] = {} if event.error is None else {"error.type": event.error}
    own = {"run", "segment", "lang_pair", "verdict", "cause", "edits"}
    for name, value in event.model_dump(include=own, exclude_none=True).items():
        attributes[f"mtagent.{name}"] = value
    # Its calls have the tokens under the names of the conventions: here, a sum over all spans would count them twice.
    for name, value in event.usage.model_dump(exclude_none=True, exclude={"saved"}).items():
        attributes[f"mtagent.step.{name}"] = value
    return attributes


def _message(role: str, content: str) -> dict[str, Any]:
    """A message as the conventions write it."""
    return {"role": role, "parts": [{"type": "text", "content": content}]}
