"""What a run may spend. An amount is reserved before a call is sent, and settled afterwards.

Once enough calls of a kind were paid, the amount is a high quantile of what they cost. Before, it is the worst case: a
token for every byte that is sent, since no tokenizer makes more of them; the room for the reply; nothing is read from a
cache, and all of it is written to one; and for the three requests that a call can become (an empty reply and a
truncated one each get one more request, which has twice the room).

A call that does not fit waits until the calls in flight are settled. If only its worst case does not fit, it is then
sent alone, with what the few known calls of the same model cost. If that does not fit either, no further call is sent,
and :class:`BudgetSpent` is raised. So a budget is exceeded at most by what the calls in flight cost beyond their
reserves: nothing is sent once it is reached.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, Unpack

from mtagent.errors import BudgetSpent, ConfigError, NotAnswered, calls_of
from mtagent.llm.prices import highest_cost
from mtagent.llm.protocol import LLM, KeyedLLM, PricedLLM, RequestOptions, request_key, sampling_of
from mtagent.llm.request import room_of
from mtagent.processes import begin_in_children
from mtagent.records import Call, Completion, Message, Schema, Tool, Usage
from mtagent.store.calls import is_uncounted
from mtagent.text.amounts import dollars

ASSUMED_ROOM = 4096
"""Tokens that a reply is assumed to have at most when no ``max_tokens`` is set."""
_FRAME = 16  # tokens around each message
_BYTES_OF_TOKEN = 4  # in English, the language of most prompts
_ROOM_FACTORS = (1, 2, 2)  # the room of the requests that a call can become, in the worst order
ENOUGH_CALLS = 20
"""This many calls of a kind must be known before their costs replace the worst case."""
QUANTILE = 0.99
"""The share of the known calls of a kind that cost no more than what is reserved for the next one."""
RECENT_CALLS = 1000
"""How many calls of a kind are remembered: the latest ones."""
_WITHOUT_COUNT = "go on without a budget, or start another run with one"
PriceOf = Callable[[Usage], float | None]


@dataclass(frozen=True)
class Amount:
    """Dollars and tokens. Dollars are counted as 0 where only tokens are limited."""

    dollars: float = 0.0
    tokens: float = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.dollars + other.dollars, self.tokens + other.tokens)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.dollars - other.dollars, self.tokens - other.tokens)

    def smaller(self, other: Amount) -> Amount:
        """The smaller one of both dollars, and of both tokens."""
        return Amount(min(self.dollars, other.dollars), min(self.tokens, other.tokens))

    def within(self, limit: Amount) -> bool:
        """Whether neither is above its limit."""
        return self.dollars <= limit.dollars and self.tokens <= limit.tokens


class _RecentValues:
    """The latest :data:`RECENT_CALLS` values, also in order of size."""

    def __init__(self) -> None:
        self._latest: deque[float] = deque()
        self._sorted: list[float] = []

    def add(self, value: float) -> None:
        if len(self._latest) == RECENT_CALLS:
            del self._sorted[bisect_left(self._sorted, self._latest.popleft())]
        self._latest.append(value)
        insort(self._sorted, value)

    def high(self) -> float:
        """The :data:`QUANTILE` of the values: the largest one of up to 100."""
        return self._sorted[math.ceil(QUANTILE * len(self._sorted)) - 1]


class _KindOfCalls:
    """What the known calls of one kind cost: in all, and for each byte that was sent."""

    def __init__(self) -> None:
        self.number = 0
        self._dollars, self._dollars_per_byte = _RecentValues(), _RecentValues()
        self._tokens, self._tokens_per_byte = _RecentValues(), _RecentValues()

    def add(self, sent: int, paid: Amount) -> None:
        self.number += 1
        self._dollars.add(paid.dollars)
        self._dollars_per_byte.add(paid.dollars / sent)
        self._tokens.add(paid.tokens)
        self._tokens_per_byte.add(paid.tokens / sent)

    def high(self, sent: int) -> Amount:
        """What hardly any call with ``sent`` bytes exceeds. A longer one than the known ones costs as much per byte."""
        return Amount(
            max(self._dollars.high(), sent * self._dollars_per_byte.high()),
            math.ceil(max(self._tokens.high(), sent * self._tokens_per_byte.high())),
        )


class CallKind(NamedTuple):
    """What calls have in common that cost about the same."""

    model: str
    room: int  # for the reply, in tokens
    purpose: str


class CallCosts:
    """What calls have cost so far, by kind.

    Budgets may share it, also in several threads.
    """

    def __init__(self) -> None:
        self._kinds: dict[CallKind | None, _KindOfCalls] = {}
        self._lock = threading.Lock()

    def begin_in_child(self) -> None:
        """Have a lock that no thread of a forked process's parent holds."""
        self._lock = threading.Lock()

    def add(self, kind: CallKind | None, sent: int, paid: Amount) -> None:
        """Count a call with ``sent`` bytes. A failed call that cost nothing says nothing about the others."""
        if paid == Amount():
            return
        with self._lock:
            self._kinds.setdefault(kind, _KindOfCalls()).add(sent, paid)

    def high(self, kind: CallKind | None, sent: int) -> Amount | None:
        """What hardly any call of this kind with ``sent`` bytes exceeds; ``None`` if not enough calls are known."""
        with self._lock:
            calls = self._kinds.get(kind)
            if calls is None or calls.number < ENOUGH_CALLS:
                return None
            return calls.high(sent)

    def reserve(self, kind: CallKind | None, sent: int, worst: Amount) -> Amount:
        """What to reserve for a call with ``sent`` bytes: at most its ``worst`` case."""
        high = self.high(kind, sent)
        if high is None:
            return worst
        return high.smaller(worst)

    def reserve_alone(self, kind: CallKind | None, sent: int, worst: Amount) -> Amount:
        """The same if no other call is in flight: few known calls are enough; see :meth:`high_of_few`."""
        high = self.high_of_few(kind, sent)
        if high is None:
            return worst
        return high.smaller(worst)

    def high_of_few(self, kind: CallKind | None, sent: int) -> Amount | None:
        """What the known calls of this kind cost at most, or else those of the same model; ``None`` without any."""
        with self._lock:
            known = []
            for other_kind, calls in self._kinds.items():
                if other_kind == kind:
                    return calls.high(sent)
                if kind and other_kind and (other_kind.model, other_kind.room) == (kind.model, kind.room):
                    known.append(calls.high(sent))
        if not known:
            return None
        return Amount(max(high.dollars for high in known), max(high.tokens for high in known))


class Budget:
    """What all models of a run, or of several ``runs``, may spend together, in dollars, tokens, or both.

    What calls of other budgets have cost is known from ``costs``.
    """

    _counted = "spent"
    """What messages call the amount that :meth:`_shown` returns first."""

    def __init__(
        self,
        dollars: float | None = None,
        tokens: int | None = None,
        runs: Sequence[str] = (),
        costs: CallCosts | None = None,
    ) -> None:
        if dollars is None:
            dollars = inf
        if tokens is None:
            self.limit = Amount(dollars, inf)
        else:
            self.limit = Amount(dollars, tokens)
        self.costs = costs or CallCosts()
        self.runs = tuple(runs)
        """The runs that share it: what they have paid before counts from the beginning of the first one."""
        self.spent = Amount()
        """What was settled, before this run and in it."""
        self.assumed = Amount()
        """The part of ``spent`` that was reserved for calls that the server did not count."""
        self.in_batches: dict[str, Amount] = {}
        """What is reserved for requests in batches, by key: it was not settled yet, but will be paid."""
        self._sum_in_batches = Amount()
        self._first_too_large: Amount | None = None  # the first call that did not fit: no later one is sent
        self._in_waves = False  # later calls may have results in a batch, so that each is looked at by itself
        self._prices: dict[str, PriceOf] = {}
        self._begun = set[tuple[str, str]]()
        self.begin_in_child()
        begin_in_children(self)

    def begin_in_child(self) -> None:
        """Have no calls in flight. A forked process calls this: its parent's calls are settled by the parent."""
        self.reserved = Amount()
        """For the calls in flight."""
        self._in_flight = 0
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._lock = threading.Lock()  # models may be called from several event loops
        self.costs.begin_in_child()

    @property
    def limits_dollars(self) -> bool:
        """Whether dollars are limited, so that all prices must be known."""
        return self.limit.dollars < inf

    @property
    def is_spent(self) -> bool:
        """Whether a call did not fit, so that no later one is sent."""
        return self._first_too_large is not None

    def price_of(self, llm: LLM) -> PriceOf:
        """What usage of ``llm`` costs. Raises :class:`ConfigError` if dollars are limited and the price is unknown."""
        if not self.limits_dollars:
            return lambda usage: 0.0
        if not isinstance(llm, PricedLLM) or llm.price(Usage(input_tokens=1, output_tokens=1)) is None:
            raise ConfigError(
                f"budget: the price of {llm.model} is unknown: add it to a price file (prices), "
                "or limit the tokens (token_budget)"
            )
        self._prices[llm.model] = llm.price
        return llm.price

    def dollars_of_input(self, model: str, sent: int) -> float:
        """About what a request with ``sent`` bytes costs without its reply; 0 if dollars aren't limited."""
        price = self._prices.get(model)
        if price is None:
            return 0.0
        return price(Usage(calls=1, input_tokens=sent // _BYTES_OF_TOKEN)) or 0.0

    def begin(self, run: str, paid: Iterable[tuple[str, Usage]], *, of: str = "") -> None:
        """Count what ``run`` ``of`` a store has ``paid`` before, by model.

        A second call does nothing: later calls are counted when they are settled. Raises :class:`ConfigError` if the
        cost is unknown.
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
                    f"{calls} that the server did not count, so their cost is unknown: {_WITHOUT_COUNT}, "
                    "which pays nothing for stored replies"
                )
            if self.limit.dollars < inf and cost is None:
                raise ConfigError(
                    f"{calls} whose cost is unknown: add the price to a price file (prices), limit the tokens "
                    "instead (token_budget), or start another run"
                )
            before += Amount(cost or 0.0, tokens)
        with self._lock:
            self.spent += before
        self._begun.add((of, run))

    async def reserve(self, worst: Amount, hint: str = "", *, kind: CallKind | None = None, sent: int = 0) -> Amount:
        """Wait until a call fits, and return what is reserved for it; see :meth:`CallCosts.reserve`.

        Raises :class:`BudgetSpent` if it doesn't fit and no call is in flight.
        """
        while True:
            amount = alone = self.costs.reserve(kind, sent, worst)  # again after each wait: more calls are known then
            if amount == worst:
                alone = self.costs.reserve_alone(kind, sent, worst)
            reserved = self._reserved_at_once(amount, alone, hint if alone == worst else "")
            if reserved is not None:
                return reserved
            loop = asyncio.get_running_loop()
            settled = loop.create_future()
            self._waiting.append((loop, settled))
            if self._in_flight:  # otherwise the last call was settled just now, in another thread
                await settled

    def note_batched(self, key: str, amount: Amount | None) -> None:
        """The request ``key`` is in a batch, and ``amount`` is reserved for it; ``None``: it is in none any more."""
        self._sum_in_batches -= self.in_batches.pop(key, Amount())
        if amount is not None:
            self.in_batches[key] = amount
            self._sum_in_batches += amount

    def begin_again(self, forgotten: Usage) -> None:
        """Batches were answered: calls that did not fit may fit now. What was ``forgotten`` is counted again."""
        self._in_waves = True
        self.spent -= Amount(forgotten.cost or 0.0, forgotten.input_tokens + forgotten.output_tokens)

    def _reserved_at_once(self, amount: Amount, alone: Amount, hint: str) -> Amount | None:
        """Reserve ``amount`` for a call, or ``alone`` if no other may be in flight; ``None`` if it must wait."""
        with self._lock:
            spent = self.spent + self._sum_in_batches
            if not (spent + amount).within(self.limit):
                if self._in_waves:
                    raise self._refusal(spent + amount, amount, hint)
                if not (spent + alone).within(self.limit):
                    self._first_too_large = self._first_too_large or alone
                elif self._in_flight:
                    return None
                amount = alone
            if self._first_too_large and not self._in_flight:
                raise self._refusal(spent + self._first_too_large, self._first_too_large, hint)
            if self._first_too_large or not (spent + self.reserved + amount).within(self.limit):
                return None
            self.reserved += amount
            self._in_flight += 1
            return amount

    def settle(self, reserved: Amount, paid: Amount, *, is_assumed: bool = False) -> None:
        """Give back what was ``reserved``, and count what was ``paid``, which ``is_assumed`` if nobody counted it."""
        with self._lock:
            self._in_flight -= 1
            if self._in_flight:
                self.reserved = self.reserved - reserved
            else:
                self.reserved = Amount()  # no rounding errors are left over
            self.spent += paid
            if is_assumed:
                self.assumed += paid
            waiting, self._waiting = self._waiting, []
        for loop, settled in waiting:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(_wake, settled)

    def _shown(self) -> tuple[Amount, Amount, Amount]:
        """What is spent, what is reserved for calls in flight, and the limit, as messages have it."""
        return self.spent, self.reserved + self._sum_in_batches, self.limit

    def _lacks_dollars(self, needed: Amount) -> bool:
        """Whether the dollars of what is ``needed`` in all are above their limit."""
        return needed.dollars > self.limit.dollars

    def _refusal(self, needed: Amount, amount: Amount, hint: str) -> BudgetSpent:
        """The error for a call that may take this ``amount``, with which more is ``needed`` in all than is allowed."""
        spent, reserved, limit = self._shown()
        in_dollars = limit.tokens == inf or self._lacks_dollars(needed)
        if in_dollars:
            option, verb = "budget", "is"
        else:
            option, verb = "token_budget", "are"

        def shown(value: Amount) -> str:
            if in_dollars:
                return dollars(value.dollars)
            return f"{value.tokens:,} tokens"

        message = f"stopped: {shown(spent)} of the budget of {shown(limit)} {verb} {self._counted}"
        advice = f": set a higher {option}"
        way_on = f"the same command with a higher {option} continues from there"
        if self.assumed != Amount():
            message += f" ({shown(self.assumed)} of it for calls that the server did not count)"
            advice = f"; the cost of those calls is unknown, so no budget can hold: {_WITHOUT_COUNT}"
            way_on = "another run pays nothing for stored replies"
        if reserved != Amount():
            message += f", {shown(reserved)} {verb} reserved for calls in flight"
        error = BudgetSpent(f"{message}, and the next call may take up to {shown(amount)}{hint}{advice}")
        error.way_on = way_on
        return error


def bytes_sent(messages: Sequence[Message], schema: Schema | None = None, tools: Sequence[Tool] = ()) -> int:
    """The most input tokens that a request can have: no tokenizer makes more than one of a byte."""
    texts = []
    if schema:
        texts.append(json.dumps(schema))
    texts += [tool.model_dump_json() for tool in tools]
    for message in messages:
        texts += [message.content, *(call.model_dump_json() for call in message.tool_calls)]
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + _FRAME * len(messages)


def worst_requests(sent: int, room: int) -> list[Usage]:
    """The requests that a call can become, with ``sent`` input tokens each, and ``room`` for the first reply."""
    return [Usage(calls=1, input_tokens=sent, output_tokens=factor * room) for factor in _ROOM_FACTORS]


def _wake(settled: asyncio.Future[None]) -> None:
    if not settled.done():
        settled.set_result(None)


class Budgeted:
    """An LLM whose calls are sent only if ``budget`` has room for them."""

    def __init__(self, llm: LLM, budget: Budget) -> None:
        self.model = llm.model
        self.sampling = sampling_of(llm)
        if isinstance(llm, KeyedLLM):
            self.key = llm.key
        self._llm, self._budget = llm, budget
        self._price = budget.price_of(llm)
        room = None
        if self.sampling:
            room = room_of(self.sampling.parameters())
        self._room = room or ASSUMED_ROOM
        self._hint = ""
        if not room:
            self._hint = f" ({ASSUMED_ROOM:,} tokens a reply are assumed; max_tokens sets that)"

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        """Ask for one reply; see :class:`mtagent.llm.protocol.LLM`. Raises :class:`BudgetSpent`."""
        sent = bytes_sent(messages, options.get("schema"), options.get("tools", ()))
        requests = worst_requests(sent, self._room)
        kind = CallKind(self.model, self._room, options.get("purpose", ""))
        key, batched = "", None
        if self._budget.in_batches and isinstance(self._llm, KeyedLLM):
            key = request_key(self._llm, messages, options)
            batched = self._budget.in_batches.get(key)
            self._budget.note_batched(key, None)
        try:
            reserved = await self._budget.reserve(self._sum(requests), self._hint, kind=kind, sent=sent)
        except BudgetSpent:
            self._budget.note_batched(key, batched)
            raise
        paid = None  # a cancelled request may have to be paid for
        try:
            completion = await self._llm.complete(messages, **options)
            paid = self._paid(completion.usage, completion.attempts)
            return completion
        except NotAnswered as error:
            paid = Amount()
            if isinstance(self._llm, KeyedLLM):
                in_batch = reserved
                if not error.calls:
                    # Until there is a reply, it is one request. What is paid for another one is reserved with it then.
                    in_batch = reserved.smaller(self._sum(requests[:1]))
                self._budget.note_batched(request_key(self._llm, messages, options), in_batch)
            raise
        except Exception as error:
            calls = calls_of(error)
            paid = self._paid(Usage.total(call.usage for call in calls), calls)
            raise
        finally:
            if paid is None:
                self._budget.settle(reserved, reserved, is_assumed=True)
            else:
                self._budget.costs.add(kind, sent, paid)
                self._budget.settle(reserved, paid)

    def _sum(self, requests: Sequence[Usage]) -> Amount:
        """Their dollars and tokens at most."""
        tokens = sum(usage.input_tokens + usage.output_tokens for usage in requests)
        return Amount(sum(highest_cost(self._price, usage) or 0.0 for usage in requests), tokens)

    def _paid(self, usage: Usage, calls: Iterable[Call]) -> Amount | None:
        """What was paid, including ``calls``; ``None`` if the server did not count every call."""
        if is_uncounted(usage) or any(is_uncounted(call.usage) for call in calls):
            return None
        if self._budget.limits_dollars and usage.cost is None:
            return None
        return Amount(usage.cost or 0.0, usage.input_tokens + usage.output_tokens)
