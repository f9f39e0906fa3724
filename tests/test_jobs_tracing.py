"""Steps as OpenTelemetry spans."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from mtagent import Agent
from mtagent.jobs.tracing import spans
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Completion, Usage

SECRET = "Der geheime Text."


async def test_each_step_is_a_span_below_the_request_s_with_its_tokens_and_no_text() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("service")
    llm = ScriptedLLM(
        [Completion(text="El texto secreto.", model="m", usage=Usage(calls=1, input_tokens=40, cost=None))]
    )
    agent = Agent(llm=llm, stages="translate,postedit", evaluator="rules", gate="guards", observer=spans(tracer))
    with tracer.start_as_current_span("request"):
        await agent.atranslate(SECRET, "de", "es")
    translate, postedit, request = exporter.get_finished_spans()
    assert [span.name for span in (translate, postedit)] == ["mtagent translate", "mtagent postedit"]
    assert request.context is not None
    for span in (translate, postedit):
        assert span.parent is not None
        assert span.parent.span_id == request.context.span_id
        assert span.attributes is not None
        assert not any("text" in str(value).lower() for value in span.attributes.values())
    assert translate.attributes is not None
    assert (translate.attributes["mtagent.calls"], translate.attributes["mtagent.lang_pair"]) == (1, "de-es")
    assert translate.attributes["gen_ai.usage.input_tokens"] == 40
    assert "mtagent.cost_usd" not in translate.attributes


async def test_a_step_that_failed_is_an_error_span_with_the_kind_of_its_error() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    def broken(text: str) -> str:
        raise OSError(SECRET)

    agent = Agent(translator=broken, stages="translate", observer=spans(provider.get_tracer("service")))
    await agent.atranslate(SECRET, "de", "es")
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code == StatusCode.ERROR
    assert SECRET not in str(span.status.description)
