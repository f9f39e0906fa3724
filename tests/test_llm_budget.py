"""Budgets: no call is sent that hardly fits, what is under way is settled, and more of it finishes the run."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

import pytest

from bench.harness import simulator
from mtagent.config import Config
from mtagent.errors import BudgetSpent, ConfigError, NotAnswered, ServerError, Truncated
from mtagent.jobs.agent import Agent
from mtagent.jobs.parts import budget_of
from mtagent.jobs.pool import Outcome, work_all
from mtagent.jobs.python_inputs import make_segments
from mtagent.llm.budget import ASSUMED_ROOM, ENOUGH_CALLS, Amount, Budget, Budgeted, CallKind
from mtagent.llm.cache import Cached
from mtagent.llm.client import OpenAIClient
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.limits import Limiter
from mtagent.llm.protocol import RequestOptions, Sampling
from mtagent.records import Call, Completion, Message, Tool, ToolCall, Usage
from mtagent.store import Store
from tests.clocks import FakeClock
from tests.commands import Done, Shell
from tests.killing import sources
from tests.simulator import Fault, Settings, Simulator
from tests.simulator.settings import Body

MILLION = 1_000_000
HELLO = (Message(role="system", content="Answer."), Message(role="user", content="Grüße, 世界! " * 20))
BYTES = sum(len(message.content.encode()) for message in HELLO)


def dollars(usage: Usage) -> float:
    """A dollar for a million tokens of input, ten for output."""
    return (usage.input_tokens + 10 * usage.output_tokens) / MILLION


class Greedy:
    """Takes the most that a call can take: a token a byte, three requests, all the room. Notes what is under way."""

    model = "greedy"

    def __init__(self, room: int = 100, *, fails: bool = False) -> None:
        self.sampling = Sampling(max_tokens=room)
        self.room, self.fails = room, fails
        self.calls = self.under_way = self.most = 0

    def price(self, usage: Usage) -> float | None:
        return dollars(usage)

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        self.calls += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0.001 * (self.calls % 3))
        self.under_way -= 1
        sent = sum(len(message.content.encode()) for message in messages)
        usage = Usage(calls=3, input_tokens=3 * sent, output_tokens=5 * self.room)
        usage = usage.model_copy(update={"cost": dollars(usage)})
        if self.fails and self.calls % 2:
            error = Truncated("cut off twice")
            error.calls = (Call(purpose="", model=self.model, usage=usage, error="cut off twice"),)
            raise error
        return Completion(text="ok", model=self.model, usage=usage)


async def ask(llm: Any, many: int) -> list[Any]:
    """What ``many`` calls at the same time come to, errors included."""
    return await asyncio.gather(*(llm.complete(HELLO) for _ in range(many)), return_exceptions=True)


# --- the hard stop


@pytest.mark.parametrize("fails", [False, True], ids=["replies", "failures"])
@pytest.mark.parametrize("limit", [0.0, 0.0049, 0.06, 0.1234, 1.0])
async def test_sixty_four_calls_at_once_never_exceed_the_budget(limit: float, fails: bool) -> None:
    model, budget = Greedy(fails=fails), Budget(limit)
    llm = Budgeted(model, budget)
    outcomes = await ask(llm, 64)
    call = dollars(Usage(input_tokens=3 * BYTES, output_tokens=500))
    refused = [outcome for outcome in outcomes if isinstance(outcome, BudgetSpent)]
    assert budget.spent.dollars <= limit
    assert budget.spent.dollars == pytest.approx(call * model.calls)
    assert model.calls + len(refused) == 64
    assert bool(refused) == (limit < 1)
    assert limit - budget.spent.dollars < 1.05 * call or not refused, "it stops only where the next call might not fit"
    assert isinstance((await ask(llm, 1))[0], BudgetSpent) == bool(refused), "spent is spent"


class Modest(Greedy):
    """Takes a token for 20 bytes that are sent, and a tenth of the room; each ``tail``-th call takes the most."""

    def __init__(self, tail: int = 0) -> None:
        super().__init__()
        self.tail = tail

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        greedy = await super().complete(messages, **options)
        if self.tail and self.calls % self.tail == 0:
            return greedy
        usage = Usage(calls=1, input_tokens=greedy.usage.input_tokens // 60, output_tokens=self.room // 10)
        return greedy.model_copy(update={"usage": usage.model_copy(update={"cost": dollars(usage)})})


WORST = dollars(Usage(input_tokens=3 * (BYTES + 32), output_tokens=500))


async def test_a_call_waits_for_those_under_way_until_enough_are_known() -> None:
    model = Modest()
    llm = Budgeted(model, Budget(2.5 * WORST))
    assert all(isinstance(outcome, Completion) for outcome in await ask(llm, ENOUGH_CALLS))
    assert model.most == 2
    assert all(isinstance(outcome, Completion) for outcome in await ask(llm, 40))
    assert model.most == 40, "now each is known to cost a thirtieth of its worst case"


async def test_a_budget_for_one_worst_case_is_spent_call_by_call_until_enough_are_known() -> None:
    model, budget = Modest(), Budget(1.05 * WORST)
    llm = Budgeted(model, budget)
    assert all(isinstance(outcome, Completion) for outcome in await ask(llm, ENOUGH_CALLS))
    assert model.most == 1
    assert budget.spent.dollars > 0.1 * WORST, "the worst case of a call no longer fits"
    await llm.complete(HELLO, purpose="judge")  # none of this kind is known, but others of the model are
    with pytest.raises(BudgetSpent, match="the next call may take up to"):
        await Budgeted(Greedy(room=99), budget).complete(HELLO)


@pytest.mark.parametrize("kind", ["dollars", "tokens"])
async def test_what_such_calls_cost_is_reserved_so_that_a_budget_can_be_spent_to_its_end(kind: str) -> None:
    worst_tokens = 3 * (BYTES + 32) + 500
    budget = Budget(2 * WORST) if kind == "dollars" else Budget(tokens=2 * worst_tokens)
    outcomes = await ask(Budgeted(Modest(), budget), 500)
    share = budget.spent.dollars / (2 * WORST) if kind == "dollars" else budget.spent.tokens / (2 * worst_tokens)
    assert 0.95 < share <= 1
    assert {type(outcome) for outcome in outcomes} == {Completion, BudgetSpent}


@pytest.mark.parametrize("tail", [2, 7, 30, 99, 150])
async def test_a_budget_is_exceeded_at_most_by_the_calls_in_flight(tail: int) -> None:
    limit, model = 12 * WORST, Modest(tail)
    budget = Budget(limit)
    llm = Budgeted(model, budget)
    for _ in range(80):  # eight at a time
        await ask(llm, 8)
        if budget.spent.dollars >= limit:
            break
    assert budget.spent.dollars < limit + 8 * WORST
    calls = model.calls
    assert all(isinstance(outcome, BudgetSpent) for outcome in await ask(llm, 8))
    assert model.calls == calls, "nothing is sent once it is reached"


async def test_a_longer_call_or_another_purpose_is_not_taken_for_the_known_ones() -> None:
    budget = Budget(30 * WORST)
    llm = Budgeted(Modest(), budget)
    await ask(llm, ENOUGH_CALLS)
    known = budget.spent.dollars / ENOUGH_CALLS

    async def reserved(content: str, purpose: str) -> float:
        waiting = asyncio.create_task(llm.complete([Message(role="user", content=content)], purpose=purpose))
        await asyncio.sleep(0)
        amount = budget.reserved.dollars
        await waiting
        return amount

    assert await reserved("x" * BYTES, "") == pytest.approx(known)
    assert await reserved("x" * 10 * BYTES, "") == pytest.approx(10 * known, rel=0.05)
    assert await reserved("x" * BYTES, "judge") > 20 * known, "its worst case"


async def test_requests_in_batches_count_with_what_such_calls_cost() -> None:
    class Batched(Modest):
        def key(self, messages: Sequence[Message], *_: Any) -> str:
            return messages[-1].content

        async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
            if messages[-1].content.startswith("new"):
                raise NotAnswered("in a batch")
            return await super().complete(messages, **options)

    budget = Budget(30 * WORST)
    llm = Budgeted(Batched(), budget)
    new = [Message(role="user", content=f"new {'x' * BYTES}")]
    with pytest.raises(NotAnswered):
        await llm.complete(new)
    (first,) = budget.in_batches.values()
    assert first.dollars > 0.1 * WORST, "no call is known: the worst case of a request"
    await ask(llm, ENOUGH_CALLS)
    with pytest.raises(NotAnswered):
        await llm.complete(new)
    (second,) = budget.in_batches.values()
    assert second.dollars == pytest.approx(budget.spent.dollars / ENOUGH_CALLS, rel=0.05)
    budget.note_batched(new[0].content, None)
    assert budget.in_batches == {}


async def test_a_call_that_is_cut_short_counts_with_what_such_calls_cost() -> None:
    budget = Budget(30 * WORST)
    llm = Budgeted(Modest(), budget)
    await ask(llm, ENOUGH_CALLS)
    known = budget.spent.dollars / ENOUGH_CALLS
    task = asyncio.create_task(llm.complete(HELLO))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert budget.assumed.dollars == pytest.approx(known)


async def test_calls_that_nobody_counted_and_failures_are_not_known_costs() -> None:
    uncounted = Completion(text="ok", model="m", usage=Usage(calls=1, cost=None))
    budget = Budget(tokens=MILLION)
    replies: list[str | Completion | Exception] = [ServerError("down"), uncounted] * ENOUGH_CALLS
    await ask(Budgeted(ScriptedLLM(replies), budget), len(replies))
    most = 3 * (BYTES + 32) + 5 * ASSUMED_ROOM
    assert budget.assumed.tokens == ENOUGH_CALLS * most
    assert budget.costs.reserve(CallKind("scripted", ASSUMED_ROOM, ""), BYTES + 32, Amount(0, most)) == Amount(0, most)


async def test_all_models_of_a_run_share_the_budget_and_all_that_is_under_way_is_settled_before_it_stops() -> None:
    budget, models = Budget(0.05), [Greedy(), Greedy(room=300)]
    dear, cheap = (Budgeted(model, budget) for model in reversed(models))
    outcomes = await asyncio.gather(ask(dear, 8), ask(cheap, 8))
    assert {type(outcome) for of in outcomes for outcome in of} == {Completion, BudgetSpent}
    assert all(model.under_way == 0 for model in models)
    assert budget.spent.dollars <= 0.05


def test_what_was_paid_before_counts_with_what_it_cost_then() -> None:
    budget = Budget(dollars=1.0)
    budget.price_of(Greedy())
    then, unknown = Usage(calls=1, input_tokens=10, cost=0.5), Usage(calls=1, input_tokens=10, cost=None)
    budget.begin("r", [("greedy", then), ("greedy", unknown), ("another", Usage(calls=1, cost=0.25))])
    assert budget.spent == Amount(0.75 + dollars(unknown), 20)


def test_calls_that_nobody_counted_leave_a_budget_in_tokens_unknown() -> None:
    Budget(tokens=100).begin("r", [("m", Usage(calls=2)), ("m", Usage(calls=1, input_tokens=9, cost=None))])
    with pytest.raises(ConfigError, match="has made 2 calls to m that the server did not count"):
        Budget(tokens=100).begin("r", [("m", Usage(calls=2, cost=None))])


@pytest.mark.parametrize("budget", [Budget(dollars=2.5), Budget(tokens=25)], ids=["dollars", "tokens"])
async def test_what_a_settled_call_leaves_is_there_for_others_while_some_are_under_way(budget: Budget) -> None:
    call = Amount(1.0, 10)
    await budget.reserve(call)
    await budget.reserve(call)
    for _ in range(3):
        budget.settle(call, Amount())
        await asyncio.wait_for(budget.reserve(call), 0.2)


async def test_tokens_can_be_limited_where_there_is_no_price() -> None:
    model = ScriptedLLM(lambda *_: Completion(text="ok", model="m", usage=Usage(calls=1, input_tokens=1000, cost=None)))
    budget = Budget(tokens=40_000)
    outcomes = await ask(Budgeted(model, budget), 64)
    assert sum(isinstance(outcome, BudgetSpent) for outcome in outcomes) == 64 - len(model.requests)
    assert budget.spent.tokens == 1000 * len(model.requests) <= 40_000
    assert len(model.requests) > 15
    message = str(next(outcome for outcome in outcomes if isinstance(outcome, BudgetSpent)))
    # Without a store nothing is said about one.
    assert re.fullmatch(
        r"stopped: [\d,]+ tokens of the budget of 40,000 tokens are spent, "
        r"and the next call may take up to [\d,]+ tokens: set a higher token_budget",
        message,
    )


async def test_the_message_of_a_spent_budget_tells_what_is_reserved_apart_from_what_is_spent() -> None:
    budget = Budget(10.0)
    budget.begin_again(Usage())
    budget.settle(await budget.reserve(Amount(2.0, 10)), Amount(1.0, 5))
    await budget.reserve(Amount(3.0, 10))
    budget.note_batched("key", Amount(0.5, 10))
    with pytest.raises(BudgetSpent) as refused:
        await budget.reserve(Amount(20.0, 10))
    assert str(refused.value) == (
        "stopped: $1.0000 of the budget of $10.0000 is spent, $3.5000 is reserved for calls in flight, "
        "and the next call may take up to $20.0000: set a higher budget"
    )


async def test_in_waves_the_message_of_a_spent_budget_names_the_limit_that_the_call_exceeds() -> None:
    budget = Budget(10.0, 1000)
    budget.begin_again(Usage())
    budget.settle(await budget.reserve(Amount(5.0, 100)), Amount(5.0, 100))
    await budget.reserve(Amount(4.9, 10))
    # With the call in flight, the dollars wouldn't suffice either, but they weren't the reason.
    with pytest.raises(BudgetSpent, match=r"stopped: 100 tokens of the budget of 1,000 tokens are spent"):
        await budget.reserve(Amount(0.2, 2000))


async def test_without_a_store_the_message_tells_that_no_budget_can_hold_for_calls_that_nobody_counted() -> None:
    budget = Budget(tokens=1000)
    budget.settle(await budget.reserve(Amount(0, 900)), Amount(0, 900), is_assumed=True)
    with pytest.raises(BudgetSpent) as refused:
        await budget.reserve(Amount(0, 900))
    assert str(refused.value) == (
        "stopped: 900 tokens of the budget of 1,000 tokens are spent (900 tokens of it for calls that the server did "
        "not count), and the next call may take up to 900 tokens; the cost of those calls is unknown, so no budget can "
        "hold: go on without a budget, or start another run with one"
    )


async def test_a_reply_that_nobody_counted_and_a_call_that_was_cut_short_count_in_full() -> None:
    uncounted = ScriptedLLM([Completion(text="ok", model="m", usage=Usage(calls=1, cost=None))])
    budget = Budget(tokens=100_000)
    with pytest.raises(ServerError):
        await Budgeted(ScriptedLLM([ServerError("down")]), budget).complete(HELLO)
    assert budget.spent == Amount(), "what failed unpaid costs nothing"
    await Budgeted(uncounted, budget).complete(HELLO)
    most = 3 * (BYTES + 32) + 5 * ASSUMED_ROOM
    assert budget.spent == budget.assumed == Amount(0.0, most)

    task = asyncio.create_task(Budgeted(Greedy(room=100), budget).complete(HELLO))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert budget.assumed.tokens == most + 3 * (BYTES + 32) + 500


async def test_schema_and_tools_are_reserved_for_too() -> None:
    async def message(*more: Message, **options: Any) -> str:
        with pytest.raises(BudgetSpent) as error:
            await Budgeted(ScriptedLLM([]), Budget(tokens=1)).complete([*HELLO, *more], **options)
        return re.search(r"up to ([\d,]+) tokens", str(error.value))[1].replace(",", "")  # type: ignore[index]

    tool = Tool(name="f", description="d" * 1000, parameters={"type": "object"})
    bare, schema, tools = await message(), await message(schema={"type": "x" * 500}), await message(tools=[tool])
    assert int(schema) > int(bare) + 1500
    assert int(tools) > int(bare) + 3000
    wish = ToolCall(id="1", name="f", arguments="a" * 1000)
    called = await message(Message(role="assistant", content="", tool_calls=(wish,)))
    assert int(called) > int(bare) + 3000


def test_dollars_need_a_price_and_the_message_names_the_ways_out() -> None:
    with pytest.raises(ConfigError, match=r"price of scripted is unknown: .*\(prices\).*\(token_budget\)"):
        Budgeted(ScriptedLLM([]), Budget(1.0))
    assert budget_of(Config()) is None


# --- with the client, whose retries count


def worst(body: Body) -> str:
    """A reply that takes all the room there is."""
    return "x" * (4 * int(body.get("max_completion_tokens", body.get("max_tokens"))))


@pytest.mark.loopback
@pytest.mark.parametrize(
    "faults", [(), ("empty", "truncate"), ("truncate", "empty", "truncate"), ("empty", "reset", "bad-json")]
)
@pytest.mark.parametrize("cents", [1, 3.3, 20])
async def test_on_a_server_whose_replies_are_as_long_as_they_may_be(faults: tuple[Any, ...], cents: float) -> None:
    settings = Settings(
        behaviour=worst, fault_rate=0.5 if faults else 0, faults=[Fault(kind) for kind in faults], cached_tokens=False
    )
    async with Simulator(settings) as server:
        client = OpenAIClient(
            "m",
            base_url=server.base_url,
            sampling=Sampling(max_tokens=128),
            limiter=Limiter(64),
            price=priced,
            clock=FakeClock(),
        )
        budget = Budget(cents / 100)
        await ask(Budgeted(client, budget), 64)
        await client.aclose()
        bodies = [entry.body for entry in server.journal.entries]
    assert 0 < budget.spent.dollars <= cents / 100
    assert budget.assumed == Amount()
    assert bodies
    if not faults:
        prompt = -(-sum(len(f"<{message.role}>{message.content}") for message in HELLO) // 4)
        assert budget.spent.dollars == pytest.approx(len(bodies) * (prompt + 10 * 128) / MILLION)


@pytest.mark.loopback
async def test_what_is_written_to_a_cache_at_a_higher_price_stays_within_the_budget() -> None:
    prompt = [Message(role="user", content="Translate. " * 1000)]
    settings = Settings(behaviour=worst, o200k=True, cached_to_marks=True)
    async with Simulator(settings) as server:
        client = OpenAIClient(
            "m",
            base_url=server.base_url,
            sampling=Sampling(max_tokens=16),
            price=lambda model, usage, base_url: (usage.input_tokens + 99 * usage.cache_write_tokens) / MILLION,
            clock=FakeClock(),
        )
        # A token a byte and three requests: 3.3 dollars are reserved for what costs 0.2.
        with pytest.raises(BudgetSpent, match=r"may take up to \$3\.3"):
            await Budgeted(client, Budget(3)).complete(prompt)
        budget = Budget(4)
        assert (await Budgeted(client, budget).complete(prompt)).usage.cache_write_tokens > 2000
        await client.aclose()
    assert 0.2 < budget.spent.dollars < 0.3


def priced(model: str, usage: Usage, base_url: str | None) -> float:
    return dollars(usage)


# --- runs


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with simulator("--behaviour", "tests.simulator.chain:improving", "--no-cached-tokens") as base_url:
        yield base_url


@pytest.fixture
def job(shell: Shell) -> Shell:
    """A shell with thirty segments and a price file."""
    (shell.folder / "long.txt").write_text(sources(30), encoding="utf-8")
    shell.write("prices.toml", "[[prices]]", 'model = "gpt-6-luna"', "input = 1", "output = 10")
    return shell


TRANSLATE = "translate -s long.txt -l en-es --max-tokens 100 --prices prices.toml -q"


def translate(shell: Shell, server: str, line: str, run: str = "mine") -> Done:
    return shell(f"{TRANSLATE} --base-url {server} -o {run}.txt --name {run} {line}")


def summary(shell: Shell, run: str) -> Any:
    with Store(shell.folder / "store.db") as store:
        return store.run(run)


@pytest.mark.loopback
def test_a_run_stops_within_its_budget_and_goes_on_with_more_to_the_same_end(job: Shell, server: str) -> None:
    assert translate(job, server, f"--store {job.folder / 'other.db'}", "free").code == 0
    with Store(job.folder / "other.db") as store:
        whole = store.run("free").usage
    assert whole.cost is not None
    limit, runs = 0.0, 0
    while (limit := limit + whole.cost / 3) < 2 * whole.cost:
        done = translate(job, server, f"--budget {limit:.6f}")
        run = summary(job, "mine")
        assert run.usage.cost <= limit
        runs += 1
        if done.code == 0:
            break
        assert (done.code, run.state) == (4, "stopped")
        assert not (job.folder / "mine.txt").exists()
        spent = re.search(rf"stopped: \$([\d.]+) of the budget of \${limit:.4f} is spent", done.err)
        assert spent is not None, done.err
        assert float(spent[1]) == pytest.approx(run.usage.cost, abs=0.0001)  # floats add up in any order
        assert "the same command with a higher budget continues from there" in done.err
    assert run.state == "finished"
    assert runs >= 4
    assert job.read("mine.txt") == job.read("free.txt")
    assert run.usage.cost == pytest.approx(whole.cost), "what was paid once is not paid again"


@pytest.mark.loopback
def test_stored_replies_need_no_budget(job: Shell, server: str) -> None:
    assert translate(job, server, "").code == 0
    again = translate(job, server, "--budget 0.000001", "again")
    assert again.code == 0, again.err
    assert summary(job, "again").usage.calls == 0
    assert job.read("again.txt") == job.read("mine.txt")


@pytest.mark.loopback
def test_without_a_price_nothing_is_begun(job: Shell, server: str) -> None:
    done = translate(job, server, "--budget 5 --model unheard-of")
    assert done.code == 1
    assert done.err.startswith("mtagent: budget: the price of unheard-of is unknown: add it to a price file")
    rated = job(f"rate -s long.txt -t long.txt -l en-es --force --budget 1 -q --base-url {server}")
    assert (rated.code, "token_budget" in rated.err) == (1, True)
    with Store(job.folder / "store.db") as store:
        assert store.runs() == []


@pytest.mark.loopback
@pytest.mark.parametrize(
    "counts", [["--no-usage"], ["--fault-rate", "1", "--faults", "usage_tiny"]], ids=["none", "false"]
)
def test_a_run_with_calls_that_nobody_counted_is_not_gone_on_with_in_a_budget(job: Shell, counts: list[str]) -> None:
    with simulator("--behaviour", "tests.simulator.chain:improving", *counts) as server:
        stopped = translate(job, server, "--budget 0.2")
        assert stopped.code == 4
        assert re.search(r"\(\$0\.\d+ of it for calls that the server did not count\)", stopped.err)
        assert "a higher --budget" not in stopped.err
        ways_out = "go on without a budget, or start another run"
        assert ways_out in stopped.err
        for budget in ("--budget 0.5", "--token-budget 5000000"):
            again = translate(job, server, budget)
            assert again.code == 1
            assert re.search(r"run 'mine' has made \d+ calls to \S+ that the server did not count", again.err)
            assert ways_out in again.err
            assert "token_budget" not in again.err
        before = summary(job, "mine").usage.calls
        assert translate(job, server, "--budget 0.2", "another").code == 4
        assert summary(job, "another").usage.calls <= before, "stored replies cost nothing"
        done = job(f"{TRANSLATE.removesuffix(' -q')} --base-url {server} -o mine.txt --name mine")
    assert (done.code, len(job.read("mine.txt"))) == (0, 30)
    calls = summary(job, "mine").usage.calls
    assert re.search(rf"{calls} calls.*, 0 \+ 0 tokens \(the server did not count {calls} of the calls\)", done.err)
    assert f"paid: {calls} calls (the server did not count {calls} of the calls)" in job("runs show mine").out


@pytest.mark.loopback
@pytest.mark.parametrize(
    ("line", "little", "much", "behaviour"),
    [
        (
            "translate -s long.txt -l en-es --name r -o out",
            "--token-budget 50000",
            "--token-budget 5000000",
            "chain:improving",
        ),
        (
            "rate -s long.txt -t long.txt -l en-es --force --name r -o out",
            "--budget 0.03",
            "--budget 1",
            "chain:improving",
        ),
    ],
    ids=["tokens", "ratings"],
)
def test_every_job_stops_within_its_budget_and_goes_on(
    line: str, little: str, much: str, behaviour: str, job: Shell
) -> None:
    job.write("de.txt", *["Ein errado Satz ist feo."] * 30)
    with simulator("--behaviour", f"tests.simulator.{behaviour}", "--no-cached-tokens") as server:
        line += f" -q --max-tokens 100 --prices prices.toml --base-url {server}"
        assert job(f"{line} {little}").code == 4
        stopped = summary(job, "r")
        assert stopped.state == "stopped"
        assert 0 < stopped.usage.cost <= 0.05 if "token" not in little else stopped.usage.input_tokens <= 50_000
        assert not (job.folder / "out").exists()
        assert job(f"{line} {much}").code == 0
        assert summary(job, "r").state == "finished"
    assert job.read("out")


def test_from_python_what_is_finished_is_there_before_the_budget_is_spent() -> None:
    reply = Completion(text="ok", model="m", usage=Usage(calls=1, input_tokens=9000, output_tokens=10, cost=None))
    agent = Agent(llm=ScriptedLLM(lambda *_: reply), stages="t", token_budget=60_000, concurrency=1)

    done: list[str] = []

    async def collect() -> None:
        async for chain in agent.astream(
            make_segments([f"Text {letter}." for letter in "abcdefghi"], None, "en", "es")
        ):
            done.append(chain.text)

    with pytest.raises(BudgetSpent):
        asyncio.run(collect())
    assert 1 <= len(done) < 9


@pytest.mark.loopback
@pytest.mark.parametrize("streamed", [False, True])
async def test_an_agent_with_a_store_tells_that_replies_are_stored(
    streamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    segments = make_segments([f"Text {letter}." for letter in "abcdefghi"], None, "en", "es")
    way_on = ". What was finished is stored: the same call pays nothing for stored replies"

    async def work(agent: Agent) -> None:
        if streamed:
            async for _ in agent.astream(segments):
                pass
        else:
            await agent.aimprove(segments)

    async def refused(server: str, **settings: Any) -> BudgetSpent:
        async with Agent(
            model="m", base_url=server, stages="t", token_budget=60_000, concurrency=1, **settings
        ) as agent:
            with pytest.raises(BudgetSpent) as error:
                await work(agent)
        return error.value

    reply = "ok" * 20_000
    async with Simulator(Settings(behaviour=lambda body: reply)) as server:
        with_store = await refused(server.base_url, store=tmp_path / "replies.db")
        assert str(with_store).endswith(f"set a higher token_budget{way_on}")
        assert with_store.way_on == "the same call pays nothing for stored replies"
        assert way_on not in str(await refused(server.base_url))


async def test_what_needs_no_further_call_is_finished_before_a_run_stops() -> None:
    saved: dict[int, str] = {}

    async def work(position: int, item: str) -> str:
        if item == "dear":
            raise BudgetSpent("spent")
        for _ in range(9):
            await asyncio.sleep(0)
        return item

    def save(position: int, result: str) -> Outcome:
        saved[position] = result
        return Outcome(True, None)

    with pytest.raises(BudgetSpent):
        await work_all(
            ["slow", "dear", "slow", "never begun"],
            work,
            save,
            concurrency=3,
            done=lambda _: False,
            give_up_after=0,
        )
    assert saved == {0: "slow", 2: "slow"}


async def test_equal_requests_at_the_same_time_are_reserved_for_once(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        run = store.start("r", settings={}, inputs={})
        reply = Completion(text="ok", model="m", usage=Usage(calls=1, input_tokens=10, cost=None))
        budget = Budget(tokens=3 * (BYTES + 32) + 5 * ASSUMED_ROOM)
        llm = Cached(Budgeted(ScriptedLLM([reply]), budget), store, run.id)  # type: ignore[arg-type]
        outcomes = await ask(llm, 16)
    assert [outcome.text for outcome in outcomes] == ["ok"] * 16
    assert budget.spent.tokens == 10
