"""Replies that are odd: none stops a run, none that says nothing is ever recalled, and all that was paid is counted."""

from __future__ import annotations

import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mtagent.chain.chain import Plan, improve
from mtagent.errors import EmptyReply, MtagentError, Refused, ServerError
from mtagent.llm import prompts
from mtagent.llm.budget import Budget, Budgeted
from mtagent.llm.cache import Cached
from mtagent.llm.client import OpenAIClient
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.transport import reply_bound
from mtagent.records import Call, Chain, Completion, Message, Segment, Step, Tool, ToolCall, Usage
from mtagent.store import Store
from mtagent.translators.llm import LLMTranslator
from tests.clocks import FakeClock
from tests.simulator import ODD, Fault, Settings, Simulator
from tests.simulator.odd import BROKEN, REFUSING, SAYS_NOTHING, UNCOUNTED, UNREADABLE

HELLO = (Message(role="system", content="Translate."), Message(role="user", content="Hello"))
SEARCH = Tool(name="search", description="Looks something up.", parameters={"type": "object"})
SEGMENT = Segment(id="s", source="Hello", source_lang="en", target_lang="de")


def dollar_a_call(model: str, usage: Usage, base_url: str | None) -> float:
    """A price that also knows what no tokens cost."""
    return float(usage.calls)


@asynccontextmanager
async def serving(*names: str, **options: Any) -> AsyncIterator[tuple[Simulator, OpenAIClient]]:
    """A server whose first replies are odd in these ways, and a client of it."""
    async with Simulator(Settings(script=[Fault(name) for name in names])) as server:
        client = OpenAIClient("m", base_url=server.base_url, clock=FakeClock(), price=dollar_a_call, **options)
        try:
            yield server, client
        finally:
            await client.aclose()


@pytest.fixture
def store() -> Any:
    with Store(":memory:") as opened:
        yield opened


def rows(store: Store) -> list[tuple[Any, ...]]:
    sql = "SELECT texts.text, error, calls FROM calls LEFT JOIN texts ON texts.hash = calls.reply ORDER BY calls.id"
    return store.database.query(sql)


@pytest.mark.loopback
@pytest.mark.parametrize("name", ODD)
async def test_no_odd_reply_costs_more_than_a_second_try_and_all_of_it_can_be_stored(name: str, store: Store) -> None:
    async with serving(name) as (server, client):
        cached = Cached(client, store, store.start("r", settings={}, inputs={}).id)
        try:
            completion = await cached.complete(HELLO, segment="s", logprobs=True)
        except Refused:
            assert name in REFUSING
            assert [(error is None, calls) for _, error, calls in rows(store)] == [(False, 1)]
            return
        assert name not in REFUSING
        assert (completion.text, completion.finish_reason[:4]) == ("Hello", "stop")
        again = name in {**SAYS_NOTHING, **UNREADABLE, **BROKEN}
        assert len(server.requests) == 1 + again
        asked_twice = name in {**SAYS_NOTHING, **UNREADABLE}
        assert (completion.usage.calls, len(completion.attempts)) == (1 + asked_twice, int(asked_twice))
        unknown = name in {**UNCOUNTED, **UNREADABLE}
        assert (completion.usage.cost is None) == unknown
        assert (await cached.complete(HELLO, segment="other", logprobs=True)).text == "Hello"
        assert len(server.requests) == 1 + again


@pytest.mark.loopback
@pytest.mark.parametrize("name", [*SAYS_NOTHING, *UNREADABLE])
async def test_a_reply_of_no_use_is_on_record_as_failed_and_a_second_one_an_error(name: str, store: Store) -> None:
    async with serving(name, name, name) as (server, client):
        cached = Cached(client, store, store.start("r", settings={}, inputs={}).id)
        with pytest.raises(EmptyReply if name in SAYS_NOTHING else ServerError, match="twice"):
            await cached.complete(HELLO, segment="s")
        assert [(error is None, calls) for _, error, calls in rows(store)] == [(False, 1)] * 2
        assert (await cached.complete(HELLO, segment="s")).text == "Hello"
        assert [(error is None, calls) for _, error, calls in rows(store)] == [(False, 1)] * 2 + [(False, 0), (True, 2)]
        assert len(server.requests) == 4


@pytest.mark.loopback
@pytest.mark.parametrize("name", ["huge_body", "huge_gzip"])
async def test_a_huge_reply_is_not_read_to_its_end(name: str) -> None:
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    async with serving(name) as (_, client):
        assert (await client.complete(HELLO)).attempts[0].error == (
            "ServerError: the reply is larger than 1,048,576 bytes, which nobody asked for"
        )
    # The server, in the same process, takes the most of both to make the reply.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000
    assert time.process_time() - began < 30


@pytest.mark.loopback
async def test_of_a_huge_error_only_the_beginning_is_read() -> None:
    fault = Fault("status", 400, message="it is because " + "x" * 50_000_000)
    async with Simulator(Settings(script=[fault])) as server:
        client = OpenAIClient("m", base_url=server.base_url, clock=FakeClock())
        with pytest.raises(MtagentError, match=r"HTTP 400: .*it is because xxx") as caught:
            await client.complete(HELLO)
        await client.aclose()
    assert len(str(caught.value)) < 1000


def test_the_bound_of_a_reply_follows_from_what_was_asked_for() -> None:
    assert reply_bound({}) == 1_048_576
    assert reply_bound({"max_tokens": 50}) == 1_000_000
    assert reply_bound({"max_completion_tokens": 100_000}) == 6_400_000
    assert reply_bound({"max_tokens": 100_000, "logprobs": True}) == 57_600_000
    assert reply_bound({"max_tokens": 100_000, "logprobs": True, "top_logprobs": 5}) == 185_600_000


# The store


def poisoned(store: Store, text: str, *tool_calls: ToolCall, run: str = "old") -> None:
    """A store that took ``text`` for an answer."""
    completion = Completion(text=text, model="m", tool_calls=tool_calls, usage=Usage(calls=1))
    key = ScriptedLLM([]).key(HELLO)
    call = Call(purpose="p", model="m", messages=HELLO, reply=text, tool_calls=tool_calls, usage=completion.usage)
    store.calls.record(store.start(run, settings={}, inputs={}).id, "s", "p", key, call, completion)


NOTHING = ["", " \n", "<think>Hm.</think>", "<think>Hm.", "<translation></translation>", "```\n```", "\u200b"]


@pytest.mark.parametrize("text", NOTHING)
async def test_a_stored_reply_that_says_nothing_is_not_recalled(store: Store, text: str) -> None:
    poisoned(store, text)
    poisoned(store, text, ToolCall(id="1", name="search", arguments="{}"), run="older")
    llm = ScriptedLLM(["Hallo"])
    cached = Cached(llm, store, store.start("new", settings={}, inputs={}).id)
    assert [(await cached.complete(HELLO, segment="s")).text for _ in range(2)] == ["Hallo"] * 2
    assert [error for _, error, _ in rows(store)] == ["EmptyReply: it says nothing"] * 2 + [None]
    llm.finish()


async def translated(store: Store, llm: ScriptedLLM, run: str) -> Chain:
    with store.start(run, settings={}, inputs={}) as opened:
        chain = await improve(SEGMENT, Plan(("translate",), translator=LLMTranslator(Cached(llm, store, opened.id))))
        opened.save(0, chain)
    return chain


@pytest.mark.parametrize("refused", [*NOTHING, "Hallo\x00", "Hallo\n\nWelt", "Hallo\nWelt"])
async def test_a_reply_that_the_reader_refuses_is_asked_for_again_and_never_recalled(
    store: Store, refused: str
) -> None:
    llm = ScriptedLLM([refused, "Hallo", "Servus"])
    assert (await translated(store, llm, "first")).text == "Hallo"
    assert "could not be used" in llm.requests[1].messages[-1].content
    assert llm.requests[1].messages[-2].content.strip()
    assert [(text, error is None) for text, error, _ in rows(store)] == [(refused, False), ("Hallo", True)]
    assert (await translated(store, llm, "second")).text == "Servus"
    llm.finish()


async def test_what_another_run_left_behind_is_distrusted_where_it_is_refused(store: Store) -> None:
    first = store.start("killed", settings={}, inputs={})
    cached = Cached(ScriptedLLM(["a\n\nb", "c\n\nd"]), store, first.id)
    with pytest.raises(MtagentError):
        await LLMTranslator(cached).draft(SEGMENT)
    first.close()  # killed before the segment was saved
    assert [error for _, error, _ in rows(store)] == [None, None]
    silent = ScriptedLLM([])
    chain = await translated(store, silent, "second")
    assert chain.failed is not None
    assert all(error for _, error, _ in rows(store))
    llm = ScriptedLLM(["Hallo"])
    assert (await translated(store, llm, "third")).text == "Hallo"


async def test_a_defect_of_a_reader_does_not_keep_its_reply(store: Store) -> None:
    def broken(reply: str) -> str:
        raise KeyError(reply)

    run, prompt = store.start("r", settings={}, inputs={}), prompts.load("translate")
    values = prompts.segment_values(SEGMENT)
    with pytest.raises(KeyError) as caught, Dialogue(Cached(ScriptedLLM(["Hallo"]), store, run.id), "s") as dialogue:
        await dialogue.ask(prompt, values, "translate", broken)
    calls = getattr(caught.value, "calls", ())
    assert [call.error for call in calls] == ["KeyError: 'Hallo'"]
    step = Step(stage="translate", text="", verdict="failed", cause="KeyError", calls=calls)
    run.save(0, Chain(segment=SEGMENT, steps=(step,)))
    assert [error for _, error, _ in rows(store)] == ["KeyError: 'Hallo'"]


async def test_a_model_of_a_third_party_may_say_odd_things_too(store: Store) -> None:
    odd = Completion(
        text="Hallo\ud800",
        model="m\ud800",
        finish_reason="stop\ud800",
        usage=Usage(calls=1, input_tokens=10**30, output_tokens=-1),
    )
    run = store.start("r", settings={}, inputs={})
    answer = await Cached(ScriptedLLM([odd]), store, run.id).complete(HELLO, segment="s")
    assert (answer.text, answer.model, answer.finish_reason) == ("Hallo\ufffd", "m\ufffd", "stop\ufffd")
    assert answer.usage == run.usage() == Usage(calls=1, cost=None)


async def test_invisible_paragraphs_are_not_asked_about() -> None:
    llm = ScriptedLLM(["Hallo"])
    draft = await LLMTranslator(llm).draft(SEGMENT.model_copy(update={"source": "Hello\n\n\u200b"}))
    assert draft.text == "Hallo\n\n\u200b"
    llm.finish()


# Budgets


@pytest.mark.loopback
@pytest.mark.parametrize("name", [*UNCOUNTED, *UNREADABLE])
async def test_a_budget_counts_what_nobody_counted_at_the_worst_case(name: str) -> None:
    async with serving(name) as (_, client):
        budget = Budget(1e9)
        await Budgeted(client, budget).complete(HELLO)
    assert budget.spent == budget.assumed
    assert budget.assumed.dollars == 3  # for three requests at most


async def test_a_token_budget_counts_an_attempt_that_nobody_counted() -> None:
    uncounted = Call(purpose="p", model="m", usage=Usage(calls=1, cost=None), error="ServerError: too large")
    usage = Usage(calls=2, input_tokens=10, output_tokens=5, cost=None)
    budget = Budget(tokens=10**9)
    await Budgeted(ScriptedLLM([Completion(text="a", model="m", usage=usage, attempts=(uncounted,))]), budget).complete(
        HELLO
    )
    assert budget.spent == budget.assumed
    assert budget.assumed.tokens > 4096
