"""Steps and calls as OpenTelemetry spans."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode, Tracer

from mtagent import Agent
from mtagent.errors import AuthenticationError
from mtagent.jobs.tracing import spans
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Completion, Usage
from tests.simulator import Fault, Settings, Simulator

SECRET = "Der geheime Text."
REPLY = "El texto secreto."


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> Tracer:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("service")


def attributes_of(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def is_below(child: ReadableSpan, parent: ReadableSpan) -> bool:
    assert parent.context is not None
    return child.parent is not None and child.parent.span_id == parent.context.span_id


def scripted() -> ScriptedLLM:
    return ScriptedLLM([Completion(text=REPLY, model="m-1", usage=Usage(calls=1, input_tokens=40, cost=None))])


async def test_a_call_is_a_span_below_its_step_which_is_below_the_request_s_and_none_has_a_text(
    exporter: InMemorySpanExporter, tracer: Tracer
) -> None:
    agent = Agent(llm=scripted(), stages="translate,postedit", evaluator="rules", gate="guards", observer=spans(tracer))
    with tracer.start_as_current_span("request"):
        await agent.atranslate(SECRET, "de", "es")
    call, translate, postedit, request = exporter.get_finished_spans()
    assert [span.name for span in (call, translate, postedit)] == [
        "chat scripted", "mtagent translate", "mtagent postedit",
    ]  # fmt: skip
    assert is_below(call, translate)
    assert is_below(translate, request)
    assert is_below(postedit, request)
    for span in (call, translate, postedit):
        assert not any("text" in str(value).lower() for value in attributes_of(span).values())
    step = attributes_of(translate)
    assert (step["mtagent.step.calls"], step["mtagent.lang_pair"], step["mtagent.verdict"]) == (1, "de-es", "kept")
    assert step["mtagent.step.input_tokens"] == 40
    assert "mtagent.step.cost" not in step
    assert not [name for name in step if name.startswith("gen_ai.")], "or tokens would be counted twice"


@pytest.mark.loopback
async def test_a_call_has_the_attributes_of_the_conventions_and_covers_its_retries(
    exporter: InMemorySpanExporter, tracer: Tracer
) -> None:
    async with Simulator(Settings(script=[Fault("status", 429, retry_after=0.05), REPLY])) as server:
        agent = Agent(base_url=server.base_url, model="m", temperature=0.5, stages="t", observer=spans(tracer))
        async with agent:
            await agent.atranslate(SECRET, "de", "es")
    call, _ = exporter.get_finished_spans()
    assert call.kind == SpanKind.CLIENT
    attributes = attributes_of(call)
    assert attributes["gen_ai.operation.name"] == "chat"
    assert attributes["gen_ai.request.model"] == attributes["gen_ai.response.model"] == "m"
    assert attributes["gen_ai.request.temperature"] == 0.5
    assert attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert attributes["gen_ai.usage.input_tokens"] > 0
    assert attributes["gen_ai.usage.cache_creation.input_tokens"] == 0
    assert (attributes["server.address"], attributes["server.port"]) == ("127.0.0.1", server.port)
    assert attributes["mtagent.retries"] == ("HTTP 429",)
    assert call.start_time is not None
    assert call.end_time is not None
    assert call.end_time - call.start_time >= 0.05e9
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    assert {name for name in attributes if name.startswith("gen_ai.")} <= known


async def test_texts_are_added_on_request(exporter: InMemorySpanExporter, tracer: Tracer) -> None:
    agent = Agent(llm=scripted(), stages="t", observer=spans(tracer, texts=True))
    await agent.atranslate(SECRET, "de", "es")
    attributes = attributes_of(exporter.get_finished_spans()[0])
    *_, last = json.loads(attributes["gen_ai.input.messages"])
    assert last["role"] == "user"
    assert SECRET in last["parts"][0]["content"]
    (reply,) = json.loads(attributes["gen_ai.output.messages"])
    text = {"type": "text", "content": REPLY}
    assert reply == {"role": "assistant", "parts": [text], "finish_reason": "stop"}


async def test_calls_of_equal_ids_at_the_same_time_are_below_their_own_steps(
    exporter: InMemorySpanExporter, tracer: Tracer
) -> None:
    agent = Agent(llm=ScriptedLLM(lambda messages, purpose: "Hola."), stages="t", observer=spans(tracer))

    async def serve() -> None:
        with tracer.start_as_current_span("request"):
            await agent.atranslate("Hello.", "en", "es")

    await asyncio.gather(*[serve() for _ in range(5)])
    finished = exporter.get_finished_spans()
    calls, steps, requests = (
        [span for span in finished if span.name == name] for name in ("chat scripted", "mtagent translate", "request")
    )
    assert len(calls) == len(steps) == len(requests) == 5
    assert all(sum(is_below(call, step) for call in calls) == 1 for step in steps)
    assert all(sum(is_below(step, request) for step in steps) == 1 for request in requests)


async def test_a_step_that_failed_is_an_error_span_with_the_kind_of_its_error(
    exporter: InMemorySpanExporter, tracer: Tracer
) -> None:
    def broken(text: str) -> str:
        raise OSError(SECRET)

    agent = Agent(translator=broken, stages="translate", observer=spans(tracer))
    await agent.atranslate([SECRET], "de", "es")
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code == StatusCode.ERROR
    assert attributes_of(span)["error.type"] == span.status.description
    assert SECRET not in str(span.status.description)


async def test_an_error_that_stops_everything_ends_the_spans_of_its_call_and_step(
    exporter: InMemorySpanExporter, tracer: Tracer
) -> None:
    agent = Agent(llm=ScriptedLLM([AuthenticationError(SECRET)]), stages="t", observer=spans(tracer))
    with pytest.raises(AuthenticationError):
        await agent.atranslate(SECRET, "de", "es")
    call, step = exporter.get_finished_spans()
    assert is_below(call, step)
    for span in (call, step):
        assert attributes_of(span)["error.type"] == "AuthenticationError"
        assert span.status.description == "AuthenticationError"
