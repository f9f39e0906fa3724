"""What a run may spend: a hard stop. The worst case of a call is reserved before it is sent, and settled afterwards.

The worst case: a token for every byte that is sent, since no tokenizer makes more of them; the room for the reply; all
of it at the uncached price, and for the three requests that a call can become (one reply that is empty and one that
is cut off, each asked for once more, then with twice the room). A call that does not fit waits until those under way
are settled. Where it does not fit even then, no further call is sent, and :class:`BudgetSpent` is raised.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Unpack

from mtagent.errors import BudgetSpent, ConfigError, calls_of
from mtagent.llm.protocol import LLM, KeyedLLM, PricedLLM, RequestOptions, SampledLLM
from mtagent.llm.request import room_of
from mtagent.records import Call, Completion, Message, Schema, Tool, Usage
from mtagent.store.calls import is_uncounted
from mtagent.text.amounts import dollars

ASSUMED_ROOM = 4096
"""Tokens that a reply is taken to have at most where no ``max_tokens`` is set."""
_FRAME = 16  # tokens around each message
_ROOMS = (1, 2, 2)  # of the requests that a call can become, in the worst order
_WITHOUT_COUNT = "go on without a budget, or start another run with one: stored replies cost it nothing"
PriceOf = Callable[[Usage], float | None]


@dataclass(frozen=True)
class Amount:
    """Dollars and tokens. What is not limited is counted as 0 dollars."""

    dollars: float = 0.0
    tokens: float = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.dollars + other.dollars, self.tokens + other.tokens)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.dollars - other.dollars, self.tokens - other.tokens)

    def within(self, limit: Amount) -> bool:
        """Whether neither is above its limit."""
        return self.dollars <= limit.dollars and self.tokens <= limit.tokens


class Budget:
    """What all models of a run may spend together, in dollars, tokens, or both. ``spent`` is what was settled."""

    def __init__(self, dollars: float | None = None, tokens: int | None = None) -> None:
        self.limit = Amount(inf if dollars is None else dollars, inf if tokens is None else tokens)
        self.spent = Amount()
        self.assumed = Amount()
        self._reserved = Amount()
        self._under_way = 0
        self._too_much: Amount | None = None  # the call that did not fit any more: no further one is sent
        self._lock = threading.Lock()  # models may be asked in several event loops
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._prices: dict[str, PriceOf] = {}
        self._begun = set[tuple[str, str]]()

    def price_of(self, llm: LLM) -> PriceOf:
        """What usage of ``llm`` costs. Raises :class:`ConfigError` where dollars are limited and nobody knows."""
        if self.limit.dollars == inf:
            return lambda usage: 0.0
        if not isinstance(llm, PricedLLM) or llm.price(Usage(input_tokens=1, output_tokens=1)) is None:
            raise ConfigError(
                f"budget: the price of {llm.model} is not known there: name it in a price file (prices), "
                "or limit the tokens (token_budget)"
            )
        self._prices[llm.model] = llm.price
        return llm.price

    def begin(self, run: str, paid: Iterable[tuple[str, Usage]], *, of: str = "") -> None:
        """Count what ``run`` ``of`` a store has ``paid`` before, by model; once, since what follows is counted anyway.

        Raises :class:`ConfigError` where that is not known.
        """
        if (of, run) in self._begun:
            return
        before = Amount()
        for model, usage in paid:
            tokens = usage.input_tokens + usage.output_tokens
            cost = usage.cost
            if cost is None and tokens and model in self._prices:
                cost = self._prices[model](usage)
            calls = f"run {run!r} has made {usage.calls} calls to {model}"
            if is_uncounted(usage):
                raise ConfigError(
                    f"{calls} that the server did not count, so that nobody knows what they cost: {_WITHOUT_COUNT}"
                )
            if self.limit.dollars < inf and cost is None:
                raise ConfigError(
                    f"{calls} of which nobody knows what they cost: name the price in a file (prices), limit "
                    "the tokens instead (token_budget), or start another run"
                )
            before += Amount(cost or 0.0, tokens)
        with self._lock:
            self.spent += before
        self._begun.add((of, run))

    async def reserve(self, worst: Amount, hint: str = "") -> None:
        """Wait until ``worst`` is sure to be left. Raises :class:`BudgetSpent` when nothing is under way any more."""
        while not self._reserved_at_once(worst, hint):
            loop = asyncio.get_running_loop()
            settled = loop.create_future()
            self._waiting.append((loop, settled))
            if self._under_way:  # otherwise the last one was settled just now, in another thread
                await settled

    def _reserved_at_once(self, worst: Amount, hint: str) -> bool:
        with self._lock:
            if self._too_much is None and not (self.spent + worst).within(self.limit):
                self._too_much = worst
            if self._too_much and not self._under_way:
                raise BudgetSpent(self._explain(self._too_much, hint))
            if self._too_much or not (self.spent + self._reserved + worst).within(self.limit):
                return False
            self._reserved += worst
            self._under_way += 1
            return True

    def settle(self, worst: Amount, paid: Amount | None) -> None:
        """Give back a reservation, and count what was paid; ``None`` = not known, so all of it."""
        with self._lock:
            self._under_way -= 1
            self._reserved = self._reserved - worst if self._under_way else Amount()
            self.spent += worst if paid is None else paid
            self.assumed += worst if paid is None else Amount()
            waiting, self._waiting = self._waiting, []
        for loop, settled in waiting:
            with suppress(RuntimeError):  # a loop that was closed meanwhile
                loop.call_soon_threadsafe(_wake, settled)

    def _explain(self, worst: Amount, hint: str) -> str:
        in_dollars = self.spent.dollars + worst.dollars > self.limit.dollars
        option = "budget" if in_dollars else "token_budget"
        spent, limit, most, assumed = (
            dollars(amount.dollars) if in_dollars else f"{amount.tokens:,} tokens"
            for amount in (self.spent, self.limit, worst, self.assumed)
        )
        uncounted, way_out = "", f"the same command with a higher {option} goes on from there"
        if self.assumed != Amount():
            uncounted = f" ({assumed} of it for calls that the server did not count)"
            way_out = f"since nobody knows what those calls cost, no budget can hold for this run; {_WITHOUT_COUNT}"
        return (
            f"stopped: {spent} of the budget of {limit} {'is' if in_dollars else 'are'} spent{uncounted}, and the next "
            f"call may take up to {most}{hint}. What was finished is stored: {way_out}"
        )


def bytes_sent(messages: Sequence[Message], schema: Schema | None = None, tools: Sequence[Tool] = ()) -> int:
    """The most input tokens that a request can have: no tokenizer makes more than one of a byte."""
    texts = [json.dumps(schema)] if schema else []
    texts += [tool.model_dump_json() for tool in tools]
    for message in messages:
        texts += [message.content, *(call.model_dump_json() for call in message.tool_calls)]
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + _FRAME * len(messages)


def worst_requests(sent: int, room: int) -> list[Usage]:
    """The requests that a call can become, with ``sent`` input tokens each, and ``room`` for the first reply."""
    return [Usage(calls=1, input_tokens=sent, output_tokens=factor * room) for factor in _ROOMS]


def _wake(settled: asyncio.Future[None]) -> None:
    if not settled.done():
        settled.set_result(None)


class Budgeted:
    """An LLM whose calls are only sent where ``budget`` has room for their worst case."""

    def __init__(self, llm: LLM, budget: Budget) -> None:
        self.model = llm.model
        self.sampling = llm.sampling if isinstance(llm, SampledLLM) else None
        if isinstance(llm, KeyedLLM):
            self.key = llm.key
        self._llm, self._budget = llm, budget
        self._price = budget.price_of(llm)
        room = room_of(self.sampling.parameters()) if self.sampling else None
        self._room = room or ASSUMED_ROOM
        self._hint = "" if room else f" ({ASSUMED_ROOM:,} tokens a reply are assumed; max_tokens sets that)"

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        """Ask for one reply; see :class:`mtagent.llm.protocol.LLM`. Raises :class:`BudgetSpent`."""
        worst = self._worst(messages, options)
        await self._budget.reserve(worst, self._hint)
        paid = None  # a request that is cut short may have to be paid for
        try:
            completion = await self._llm.complete(messages, **options)
            paid = self._paid(completion.usage, completion.attempts)
            return completion
        except Exception as error:
            calls = calls_of(error)
            paid = self._paid(Usage.total(call.usage for call in calls), calls)
            raise
        finally:
            self._budget.settle(worst, paid)

    def _worst(self, messages: Sequence[Message], options: RequestOptions) -> Amount:
        """The most that a call can take."""
        sent = bytes_sent(messages, options.get("schema"), options.get("tools", ()))
        requests = worst_requests(sent, self._room)
        tokens = sum(usage.input_tokens + usage.output_tokens for usage in requests)
        return Amount(sum(self._price(usage) or 0.0 for usage in requests), tokens)

    def _paid(self, usage: Usage, calls: Iterable[Call]) -> Amount | None:
        """What was paid for, ``calls`` among it; ``None`` where the server did not say of all."""
        if any(map(is_uncounted, (usage, *(call.usage for call in calls)))):
            return None
        if self._budget.limit.dollars < inf and usage.cost is None:
            return None
        return Amount(usage.cost or 0.0, usage.input_tokens + usage.output_tokens)
