"""What a run may spend. An amount is reserved before a call is sent, and settled afterwards.

Once enough calls of a kind are known, the amount is a high quantile of their costs. Until then it is the worst case:

- one token for each byte that is sent, since no tokenizer makes more;
- replies as long as their room allows;
- nothing is read from a cache, and everything is written to one;
- three requests, because an empty and a truncated reply are each requested once more, with up to twice the room.

A call that does not fit waits until the calls in flight are settled. If its worst case still does not fit, it is sent
alone, and the highest known cost of the same model is reserved. If that does not fit either, no further call is sent,
and :class:`BudgetSpent` is raised. So a budget is exceeded at most by the amount that calls in flight cost beyond their
reserves.
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
_TOKENS_AROUND_MESSAGE = 16  # such as the name of its role
_BYTES_PER_TOKEN = 4  # in English, the language of most prompts
_ROOM_FACTORS = (1, 2, 2)  # the room for the replies to the requests of one call, in the worst case
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
    """Dollars and tokens. Dollars are 0 if only tokens are limited."""

    dollars: float = 0.0
    tokens: float = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.dollars + other.dollars, self.tokens + other.tokens)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.dollars - other.dollars, self.tokens - other.tokens)

    def smaller(self, other: Amount) -> Amount:
        """The smaller number of dollars and the smaller number of tokens."""
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
    """The costs of the known calls of one kind: per call, and per byte that was sent."""

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
        """A cost that hardly any call with ``sent`` bytes exceeds; longer calls cost as much per byte."""
        return Amount(
            max(self._dollars.high(), sent * self._dollars_per_byte.high()),
            math.ceil(max(self._tokens.high(), sent * self._tokens_per_byte.high())),
        )


class CallKind(NamedTuple):
    """Calls of the same kind cost about the same."""

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
        """Count a call with ``sent`` bytes. A failed call that cost nothing is left out."""
        if paid == Amount():
            return
        with self._lock:
            self._kinds.setdefault(kind, _KindOfCalls()).add(sent, paid)

    def high(self, kind: CallKind | None, sent: int) -> Amount | None:
        """A cost that hardly any such call with ``sent`` bytes exceeds; ``None`` if not enough calls are known."""
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
        """What to reserve if no other call is in flight. A few known calls are enough then: see :meth:`high_of_few`."""
        high = self.high_of_few(kind, sent)
        if high is None:
            return worst
        return high.smaller(worst)

    def high_of_few(self, kind: CallKind | None, sent: int) -> Amount | None:
        """The highest cost of the known calls of this kind, or else of the same model; ``None`` if none is known."""
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

    Budgets that share ``costs`` know what each other's calls have cost.
    """

    _counted = "spent"
    """The participle that error messages use for the first amount of :meth:`_shown`."""

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
        """The runs that share the budget. Their earlier costs count as soon as the first of them begins."""
        self.spent = Amount()
        """All settled costs, including those of earlier sessions."""
        self.assumed = Amount()
        """The part of ``spent`` that is only a reserve, because the server reported no token counts."""
        self.in_batches: dict[str, Amount] = {}
        """Reserves for requests in batches, by key. They will be paid, but aren't settled yet."""
        self._sum_in_batches = Amount()
        self._first_too_large: Amount | None = None  # the first call that did not fit; no later call is sent
        self._in_waves = False  # each call is checked separately, because a batch may already have its reply
        self._prices: dict[str, PriceOf] = {}
        self._begun = set[tuple[str, str]]()
        self.begin_in_child()
        begin_in_children(self)

    def begin_in_child(self) -> None:
        """Forget the calls in flight. A forked process calls this, because its parent settles the parent's calls."""
        self.reserved = Amount()
        """The sum of the reserves of calls in flight."""
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
        """Whether a call did not fit. No later call is sent then."""
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
        """The approximate cost of a request with ``sent`` bytes, without its reply; 0 if dollars aren't limited."""
        price = self._prices.get(model)
        if price is None:
            return 0.0
        return price(Usage(calls=1, input_tokens=sent // _BYTES_PER_TOKEN)) or 0.0

    def begin(self, run: str, paid: Iterable[tuple[str, Usage]], *, store: str = "") -> None:
        """Count what ``run`` of ``store`` has ``paid`` before, by model.

        A second call does nothing: later calls are counted when they are settled. Raises :class:`ConfigError` if the
        cost is unknown.
        """
        if (store, run) in self._begun:
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
        self._begun.add((store, run))

    async def reserve(self, worst: Amount, hint: str = "", *, kind: CallKind | None = None, sent: int = 0) -> Amount:
        """Wait until a call fits, and return what is reserved for it; see :meth:`CallCosts.reserve`.

        Raises :class:`BudgetSpent` if it doesn't fit and no call is in flight.
        """
        while True:
            # Computed again after each wait, because more calls are known then.
            amount = self.costs.reserve(kind, sent, worst)
            alone = amount
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
        """Note the ``amount`` reserved for the request ``key`` in a batch; ``None`` if it is no longer in a batch."""
        self._sum_in_batches -= self.in_batches.pop(key, Amount())
        if amount is not None:
            self.in_batches[key] = amount
            self._sum_in_batches += amount

    def begin_again(self, forgotten: Usage) -> None:
        """Check calls again after batches were answered. ``forgotten`` is subtracted, because it is counted again."""
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
        """Release a reserve and count what was ``paid``; ``is_assumed`` if the server reported no token counts."""
        with self._lock:
            self._in_flight -= 1
            if self._in_flight:
                self.reserved -= reserved
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
        """The spent amount, the reserves of calls in flight and the limit, as error messages show them."""
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
    """The most input tokens that a request can have: no tokenizer makes more than one token per byte."""
    texts = []
    if schema:
        texts.append(json.dumps(schema))
    texts += [tool.model_dump_json() for tool in tools]
    for message in messages:
        texts += [message.content, *(call.model_dump_json() for call in message.tool_calls)]
    total_bytes = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return total_bytes + _TOKENS_AROUND_MESSAGE * len(messages)


def worst_requests(sent: int, room: int) -> list[Usage]:
    """The requests that one call can lead to, with ``sent`` input tokens each and ``room`` for the first reply."""
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
                    # A batch has only the first request. If another one is needed, it gets its own reserve.
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
        """The most dollars and tokens that ``requests`` can cost."""
        tokens = sum(usage.input_tokens + usage.output_tokens for usage in requests)
        return Amount(sum(highest_cost(self._price, usage) or 0.0 for usage in requests), tokens)

    def _paid(self, usage: Usage, calls: Iterable[Call]) -> Amount | None:
        """What was paid, including ``calls``; ``None`` if the server did not count every call."""
        if is_uncounted(usage) or any(is_uncounted(call.usage) for call in calls):
            return None
        if self._budget.limits_dollars and usage.cost is None:
            return None
        return Amount(usage.cost or 0.0, usage.input_tokens + usage.output_tokens)
