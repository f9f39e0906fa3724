"""The call cache: nothing is paid for twice, errors are not kept, and the sums are what the servers were paid."""

import asyncio
import inspect
import json
import threading
from collections.abc import Sequence
from hashlib import sha256

import pytest

from mtagent.errors import ModelError, RateLimited, StoreError, TranslatorError, Truncated
from mtagent.llm.cache import Cached, Redrawn
from mtagent.llm.client import OpenAIClient
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.protocol import LLM, Sampling
from mtagent.records import Call, Chain, Completion, Message, Schema, Segment, Step, TokenLogprob, Tool, ToolCall, Usage
from mtagent.store import Run, Store
from tests.scripted_server import Answer, Request, scripted_server

PAID = Usage(calls=1, input_tokens=100, cached_tokens=64, output_tokens=9, reasoning_tokens=3, cost=0.5)
REUSED = Usage(reused=1)
SEARCH = Tool(name="search", description="Looks something up.", parameters={"type": "object"})
WISH = ToolCall(id="1", name="search", arguments="{}")


class Model:
    """A model of a third party, which knows no tools. Answers after ``ready`` is set; exceptions are raised."""

    model = "m"

    def __init__(self, *answers: str | Exception, ready: bool = True) -> None:
        self.answers = list(answers)
        self.requests: list[str] = []
        self.ready = asyncio.Event()
        if ready:
            self.ready.set()

    def key(self, messages: Sequence[Message], schema: Schema | None, logprobs: bool) -> str:
        return sha256(repr((messages, schema, logprobs)).encode()).hexdigest()

    async def complete(self, messages: Sequence[Message], *, logprobs: bool = False, **_: object) -> Completion:
        self.requests.append(messages[-1].content)
        await self.ready.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        tokens = (TokenLogprob(token=answer, logprob=-0.5),) if logprobs else None
        return Completion(text=answer, model="m-2025", usage=PAID, logprobs=tokens)


def ask(text: str) -> list[Message]:
    return [Message(role="system", content="constant"), Message(role="user", content=text)]


def start(store: Store, name: str = "first") -> Run:
    return store.start(name, settings={}, inputs={})


def caching(
    store: Store, *answers: str | Exception, name: str = "first", ready: bool = True
) -> tuple[Model, Cached, Run]:
    model, run = Model(*answers, ready=ready), start(store, name)
    return model, Cached(model, store, run.id), run


def asked_at_once(cached: Cached, *segments: str) -> list[asyncio.Task[Completion]]:
    return [asyncio.create_task(cached.complete(ask("a"), segment=segment)) for segment in segments]


def chain(name: str, calls: Sequence[Call], verdict: str = "kept") -> Chain:
    segment = Segment(id=name, source="s", source_lang="en", target_lang="is", translation="t")
    return Chain(segment=segment, steps=(Step(stage="postedit", text="t", verdict=verdict, cause="r", calls=calls),))


def call(text: str, completion: Completion, error: str | None = None) -> Call:
    sent = tuple(ask(text))
    return Call(purpose="p", model="m", messages=sent, reply=completion.text, usage=completion.usage, error=error)


@pytest.fixture
def store():
    with Store(":memory:") as opened:
        yield opened


# --- what is reused


async def test_an_equal_request_is_answered_from_the_store_whoever_asks(store):
    model, cached, _ = caching(store, "one")
    assert isinstance(cached, LLM)
    first = await cached.complete(ask("a"), logprobs=True, purpose="rate", segment="s")
    again = await cached.complete(ask("a"), logprobs=True, purpose="judge", segment="other")
    elsewhere = await Cached(model, store, start(store, "second").id).complete(ask("a"), logprobs=True, segment="s")
    assert first.usage == PAID
    assert again == first.model_copy(update={"usage": REUSED})
    assert elsewhere == first.model_copy(update={"usage": Usage(reused=1, saved=PAID)}), "another run has paid for it"
    assert model.requests == ["a"]


@pytest.mark.parametrize("other", [{"schema": {"type": "object"}}, {"logprobs": True}, {"messages": ask("b")}])
async def test_a_request_that_differs_in_anything_is_asked(store, other):
    _, cached, _ = caching(store, "one", "two")
    await cached.complete(ask("a"), segment="s")
    answer = await cached.complete(**{"messages": ask("a"), **other}, segment="s")
    assert (answer.text, answer.usage) == ("two", PAID)


async def test_tool_calls_are_reused_and_tools_are_part_of_the_request(store):
    half = WISH.model_copy(update={"arguments": '{"q": "\ud800"}'})
    llm = ScriptedLLM([Completion(text="", model="m", tool_calls=(half,), usage=PAID), "without tools"])
    cached = Cached(llm, store, start(store).id)
    first, again = [await cached.complete(ask("a"), tools=[SEARCH], segment="s") for _ in range(2)]
    assert (first.text, first.tool_calls[0].arguments, first.usage) == ("", '{"q": "\ufffd"}', PAID)
    assert again == first.model_copy(update={"usage": REUSED})
    assert (await cached.complete(ask("a"), segment="s")).text == "without tools"
    assert [request.tools for request in llm.requests] == [(SEARCH,), ()]


async def test_every_call_is_in_the_store_when_its_reply_is_given(store):
    _, cached, run = caching(store, "one")
    await cached.complete(ask("a"), purpose="rate", segment="s")
    assert store.database.query("SELECT segment, purpose, model, reply_model, error FROM calls") == [
        ("s", "rate", "m", "m-2025", None)
    ]
    assert store.database.query("SELECT text FROM dialogue ORDER BY turn") == [("constant",), ("a",), ("one",)]
    assert run.usage() == PAID


# --- accounting


async def test_a_resumed_segment_accounts_for_its_paid_calls_once(tmp_path):
    with Store(tmp_path / "s.db") as store:
        _, cached, _ = caching(store, "one")
        assert [(await cached.complete(ask("a"), segment="s")).usage for _ in range(3)] == [PAID, REUSED, REUSED]
    with Store(tmp_path / "s.db") as store:
        run = start(store)
        cached = Cached(Model(), store, run.id)
        usages = [(await cached.complete(ask("a"), segment=name)).usage for name in ("other", "s", "s")]
        assert usages == [REUSED, PAID, REUSED]
        run.save(0, chain("s", ()))
        assert (await cached.complete(ask("a"), segment="s")).usage == REUSED


async def test_what_a_segment_paid_for_is_its_own_even_where_another_run_paid_before(tmp_path):
    with Store(tmp_path / "s.db") as store:
        both = [caching(store, text, name=name, ready=False) for text, name in (("one", "first"), ("two", "second"))]
        tasks = [asked_at_once(cached, "s")[0] for _, cached, _ in both]
        await asyncio.sleep(0)
        for (model, _, _), task in zip(both, tasks, strict=True):  # both have asked before either has its reply
            model.ready.set()
            await task
    with Store(tmp_path / "s.db") as store:
        answer = await caching(store, name="second")[1].complete(ask("a"), segment="s")
        assert (answer.text, answer.usage) == ("two", PAID)


async def test_a_segment_that_failed_accounts_for_its_paid_calls_when_it_is_tried_again(store):
    _, cached, run = caching(store, "one", RateLimited("429"))
    answer = await cached.complete(ask("a"), segment="s")
    with pytest.raises(RateLimited):
        await cached.complete(ask("b"), segment="s")
    run.save(0, chain("s", (call("a", answer),), "failed"))
    assert await cached.complete(ask("a"), segment="s") == answer


async def test_a_reply_that_made_its_segment_fail_is_asked_for_again(store):
    model, cached, run = caching(store, "good", "unreadable", "readable")
    good, bad = [await cached.complete(ask(text), segment="s") for text in "ab"]
    run.save(0, chain("s", (call("a", good), call("b", bad, "not JSON")), "failed"))
    assert [(await cached.complete(ask(text), segment="s")).text for text in "ab"] == ["good", "readable"]
    assert model.requests == ["a", "b", "b"]
    assert run.usage() == PAID + PAID + PAID


async def test_the_steps_of_a_killed_and_resumed_run_add_up_to_what_the_run_has_paid(tmp_path):
    async def make(run: Run, cached: Cached, position: int) -> None:
        questions = [f"shared {position % 3}", f"own {position}", "for all", f"own {position}"]
        replies = [await cached.complete(ask(text), segment=str(position)) for text in questions]
        run.save(position, chain(str(position), tuple(map(call, questions, replies))))

    async def attempt(replies: int) -> int:
        with Store(tmp_path / "s.db") as store:
            run = start(store)
            model = Model(*map(str, range(replies)))
            cached = Cached(model, store, run.id)
            todo = [make(run, cached, position) for position in range(12) if not run.done(position)]
            await asyncio.gather(*todo, return_exceptions=True)  # out of answers: the process ends here
            return len(model.requests)

    await attempt(9)
    await attempt(100)
    assert await attempt(0) == 0
    with Store(tmp_path / "s.db") as store:
        run = start(store)
        assert run.counts().done == 12
        spent = Usage.total(chain.usage for chain in run.chains())
        assert spent.model_copy(update={"reused": 0}) == run.usage()
        assert run.usage().calls == 3 + 12 + 1
        assert spent.calls + spent.reused == 12 * 4


# --- requests at the same time


async def test_equal_requests_at_the_same_time_are_sent_once(store):
    model, cached, _ = caching(store, "one", ready=False)
    tasks = asked_at_once(cached, *"xyz")
    await asyncio.sleep(0)
    model.ready.set()
    answers = await asyncio.gather(*tasks)
    assert model.requests == ["a"]
    assert [answer.usage for answer in answers] == [PAID, REUSED, REUSED]
    assert {answer.text for answer in answers} == {"one"}


async def test_all_who_wait_get_the_error_but_only_the_first_its_costs(store):
    error = Truncated("cut off")
    error.calls = (Call(purpose="p", model="m", usage=PAID, error="cut off"),)
    model, cached, run = caching(store, error, ready=False)
    tasks = asked_at_once(cached, *"xyz")
    await asyncio.sleep(0)
    model.ready.set()
    errors = await asyncio.gather(*tasks, return_exceptions=True)
    assert [(type(error), str(error)) for error in errors] == [(Truncated, "cut off")] * 3
    assert [len(error.calls) for error in errors] == [1, 0, 0]
    assert run.usage() == PAID


async def test_where_the_first_is_given_up_another_asks(store):
    model, cached, _ = caching(store, "one", ready=False)
    first, second, third = asked_at_once(cached, *"xyz")
    await asyncio.sleep(0)
    first.cancel()
    second.cancel()  # someone who waits may leave without harm to the others
    await asyncio.wait([first, second])
    model.ready.set()
    assert (await third).usage == PAID
    assert model.requests == ["a", "a"]
    assert first.cancelled()
    assert second.cancelled()


@pytest.mark.loopback
async def test_what_a_call_had_paid_before_it_was_given_up_is_counted(store):
    asked_again, ended = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    with scripted_server() as server:

        def answer(request: Request) -> Answer:
            if len(server.requests) == 2:
                loop.call_soon_threadsafe(asked_again.set)
                ended.wait(30)
            choice = {"message": {"role": "assistant", "content": "one"}, "finish_reason": "length"}
            usage = {"prompt_tokens": 500, "completion_tokens": 400, "total_tokens": 900}
            return Answer(json.dumps({"model": "m", "choices": [choice], "usage": usage}))

        server.answer = answer
        run = start(store)
        client = OpenAIClient("m", base_url=server.url, sampling=Sampling(max_tokens=400))
        with Dialogue(Cached(client, store, run.id), "s") as dialogue:
            asked = asyncio.create_task(dialogue.send(ask("a"), "p"))
            await asked_again.wait()
            asked.cancel()
            await asyncio.wait([asked])
            ended.set()
        await client.aclose()
    assert [(call.purpose, call.usage.input_tokens) for call in dialogue.calls] == [("p", 500), ("p", 0)]
    assert (run.usage().calls, run.usage().input_tokens, run.usage().output_tokens) == (1, 500, 400)


# --- errors


async def test_an_error_is_recorded_with_its_costs_and_the_request_is_asked_again(store):
    error = Truncated("cut off")
    error.calls = tuple(Call(purpose="p", model="m", reply=text, usage=PAID) for text in ("ab", "abc"))
    _, cached, run = caching(store, error, "fine")
    with pytest.raises(Truncated) as raised:
        await cached.complete(ask("a"), segment="s")
    assert raised.value.calls == error.calls
    assert run.usage() == PAID + PAID
    assert (await cached.complete(ask("a"), segment="s")).text == "fine"
    assert run.usage() == PAID + PAID + PAID


async def test_an_error_that_cost_nothing_is_in_the_log_too(store):
    _, cached, run = caching(store, RateLimited("429 for 60 s"))
    with pytest.raises(RateLimited):
        await cached.complete(ask("a"), purpose="p", segment="s")
    rows = store.database.query("SELECT segment, purpose, error, input_tokens FROM calls")
    assert rows == [("s", "p", "429 for 60 s", 0)]
    assert run.usage() == Usage()


@pytest.mark.parametrize("error", [TranslatorError("down"), ValueError("a defect")])
async def test_an_error_that_is_not_the_models_goes_through(store, error):
    _, cached, _ = caching(store, error, "fine")
    with pytest.raises(type(error)):
        await cached.complete(ask("a"), segment="s")
    assert store.database.query("SELECT count(*) FROM calls") == [(0,)]
    assert (await cached.complete(ask("a"), segment="s")).text == "fine"


async def test_half_a_character_is_refused_before_anything_is_paid_or_replaced_in_a_reply(store):
    model, cached, run = caching(store, "half \ud800")
    with pytest.raises(StoreError, match=r"segment 's\\ud800'.*U\+D800"):
        await cached.complete(ask("a"), segment="s\ud800")
    assert model.requests == []
    assert [(await cached.complete(ask("a"), segment="s")).text for _ in range(2)] == ["half \ufffd"] * 2
    assert run.usage() == PAID


async def test_a_paid_call_that_cannot_be_stored_is_an_error_that_carries_its_costs(store):
    with pytest.raises(StoreError, match=r"segment 's'.*U\+D800") as raised:
        await caching(store, "fine")[1].complete(ask("half \ud800"), segment="s")
    assert [paid.usage for paid in raised.value.calls] == [PAID]
    assert not isinstance(raised.value, ModelError)


def test_another_draw_shows_what_the_model_can_without_being_asked() -> None:
    """From Python 3.12 on, ``isinstance`` with a protocol sees no attribute that ``__getattr__`` would give."""
    client = OpenAIClient("m", base_url="http://127.0.0.1:1/v1", sampling=Sampling(temperature=0.5))
    drawn = Redrawn(client, "2")
    assert inspect.getattr_static(drawn, "sampling") == client.sampling
    assert inspect.getattr_static(drawn, "limiters") == client.limiters
    assert inspect.getattr_static(drawn, "price") == client.price
