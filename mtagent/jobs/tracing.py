"""Steps as OpenTelemetry spans, for services that trace their requests. Needs the extra ``telemetry``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from mtagent.errors import MissingExtra
from mtagent.records import Segment, Step
from mtagent.version import __version__

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


def step_spans(tracer: Tracer | None = None) -> Callable[[Segment, Step], None]:
    """A function for ``Agent(on_step=…)`` that records a span for each finished step, without texts.

    The span is a child of the current span where the agent is awaited; in other threads it has no parent. Tokens have
    the names of OpenTelemetry's conventions for generative AI; the cost, in dollars, is left out if it is unknown.
    ``tracer`` defaults to the application's. Raises :class:`MissingExtra`.
    """
    try:
        from opentelemetry import trace
    except ModuleNotFoundError:
        raise MissingExtra("OpenTelemetry", "telemetry") from None
    spans = tracer or trace.get_tracer("mtagent", __version__)

    def record(segment: Segment, step: Step) -> None:
        end, usage = time.time_ns(), step.usage
        span = spans.start_span(f"mtagent {step.stage}", start_time=end - int(step.seconds * 1e9))
        attributes: dict[str, str | int | float] = {
            "mtagent.segment": segment.id,
            "mtagent.lang_pair": f"{segment.source_lang}-{segment.target_lang}",
            "mtagent.verdict": step.verdict,
            "mtagent.cause": step.cause.kind,
            "mtagent.calls": usage.calls,
            "mtagent.calls_reused": usage.reused,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
        }
        if usage.cost is not None:
            attributes["mtagent.cost_usd"] = usage.cost
        models = sorted({call.model for call in step.calls})
        if models:
            attributes["gen_ai.response.model"] = ",".join(models)
        span.set_attributes(attributes)
        if step.error is not None:
            span.set_status(trace.Status(trace.StatusCode.ERROR, step.error.kind))
        span.end(end)

    return record
