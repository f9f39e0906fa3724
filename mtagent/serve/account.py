"""What a server counts: the account of each request, the metrics, and the budgets of a request, a day and in all."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter as Counts
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from mtagent.config import Config
from mtagent.errors import FATAL, BudgetSpent, ConfigError, ModelError, MtagentError
from mtagent.llm.budget import Amount, Budget, CallKind, PriceOf
from mtagent.llm.events import CallEvent, Event, RetryEvent
from mtagent.llm.protocol import LLM, PricedLLM
from mtagent.records import Usage
from mtagent.serve.access import ANYBODY, ApiKey
from mtagent.serve.state import State, today
from mtagent.text.amounts import dollars
from mtagent.translators.protocol import Markup


@dataclass(frozen=True)
class Limits:
    """The operator's limits for requests."""

    texts: int = 50  # per request
    body: int = 1_000_000  # bytes per request
    text: int = 50_000  # characters per text
    terms: int = 500  # per request
    in_flight: int = 512  # requests at a time
    deadline: float = 10.0  # seconds after which a text is returned as it is
    grace: float = 30.0  # seconds in which requests in flight may finish after a signal to stop
    dollars_per_day: float | None = None  # for models, in UTC; servers with the same state file share it
    dollars_per_request: float | None = None


@dataclass
class RequestAccount:
    """One request, from its first byte to its last: who sent it, what became of its texts, what it cost."""

    number: str = ""
    began: float = field(default_factory=time.monotonic)
    key: ApiKey = ANYBODY
    # The kind of tags in the texts, and the tags whose content isn't translated.
    markup: tuple[Markup, frozenset[str]] | None = None
    characters: int = 0  # of all source texts
    month: str | None = None  # in which they were charged
    segments: int = 0  # of the request; the next five count those with a result
    done: int = 0
    changed: int = 0
    failed: int = 0
    late: int = 0
    paused: int = 0
    missing_terms: int = 0  # terms of glossaries whose translations are missing in the returned texts
    usage: Usage = Usage()
    # Dollars of calls to models: what the finished ones cost, and what is reserved for those in flight.
    spent: float = 0.0
    reserved: float = 0.0
    error: str | None = None  # for the log
    failures: Counts[str] = field(default_factory=Counts)  # for the log: the failed texts by the kind of the error
    texts: list[str] = field(default_factory=list)  # for the log, if the operator logs texts

    @property
    def headers(self) -> dict[str, str]:
        """Headers that count the improved texts, those returned as plain MT by the reason, and missing terms."""
        counts = {"Changed": self.changed, "Failed": self.failed, "Late": self.late, "Paused": self.paused}
        counts["Missing-Terms"] = self.missing_terms
        return {f"X-Mtagent-{name}": str(count) for name, count in counts.items() if count}


_NOISE = 1e-9  # dollars that additions and subtractions may leave over
REQUEST_ACCOUNT: ContextVar[RequestAccount] = ContextVar("account")


@dataclass(frozen=True)
class _ReservedCall(Amount):
    """What is reserved for a call in the budgets of the whole server, a day and a request."""

    account: RequestAccount | None = None
    expected: float = 0.0  # dollars


class ServiceBudget(Budget):
    """What the models of a server may spend in all, on a day, and for a request.

    A day and a request never wait for calls in flight, and always have room for a first call. They reserve what the
    known calls cost, and while none is known the input of the call: a limit below the worst case of a call would
    otherwise allow one call at a time.
    """

    def __init__(
        self, config: Config, limits: Limits, state: State, metrics: Metrics, *, keys_have_dollars: bool
    ) -> None:
        super().__init__(config.budget, config.token_budget)
        self._keys_have_dollars = keys_have_dollars
        self._dollars = config.budget
        self._limits = limits
        self._state = state
        self._refusals = metrics.budget_refusals
        self._reserved_today = 0.0
        self._last_refusal = ""  # the day, of a call that the day's budget had no room for

    @property
    def limits_dollars(self) -> bool:
        """Whether any of the budgets, or of the limits of keys, is in dollars, so that all prices must be known."""
        limits = self._limits
        has_own_limit = limits.dollars_per_day is not None or limits.dollars_per_request is not None
        return super().limits_dollars or has_own_limit or self._keys_have_dollars

    def price_of(self, llm: LLM) -> PriceOf:
        """What usage of ``llm`` costs. Raises :class:`ConfigError` if dollars are limited and the price is unknown."""
        try:
            return super().price_of(llm)
        except ConfigError:
            dollars_of = {
                "--budget": self._dollars,
                "--daily-budget": self._limits.dollars_per_day,
                "--request-budget": self._limits.dollars_per_request,
            }
            options = [option for option, limit in dollars_of.items() if limit is not None]
            if not options and not isinstance(llm, PricedLLM):
                return lambda usage: 0.0  # a user's object may know the cost of a call only afterwards
            if self._keys_have_dollars:
                options.append("--keys (a key has a limit in $)")
            raise ConfigError(
                f"{', '.join(options)}: the price of {llm.model} is unknown: add it to a price file (--prices), "
                "or limit the tokens of the whole server instead (--token-budget)"
            ) from None

    @property
    def problems(self) -> list[str]:
        """Which budgets of all requests have refused a call, for `/healthz`."""
        problems = []
        if self.is_spent:
            problems.append("what is left of this server's budget might not suffice for the next call")
        if self._last_refusal == today():
            problems.append("what is left of this day's budget might not suffice for the next call")
        return problems

    async def reserve(self, worst: Amount, hint: str = "", *, kind: CallKind | None = None, sent: int = 0) -> Amount:
        """Reserve for a call in all budgets. Raises :class:`BudgetSpent` if it doesn't fit into one of them."""
        try:
            amount = await super().reserve(worst, hint, kind=kind, sent=sent)
        except BudgetSpent:
            self._refusals.labels("total").inc()
            raise
        account = REQUEST_ACCOUNT.get(None)
        reservation = _ReservedCall(amount.dollars, amount.tokens, account, self._expected_dollars(kind, sent))
        try:
            self._check(reservation)
        except BudgetSpent:
            super().settle(amount, Amount())
            raise
        self._reserved_today += reservation.expected
        if account is not None:
            account.reserved += reservation.expected
        return reservation

    def settle(self, reserved: Amount, paid: Amount, *, is_assumed: bool = False) -> None:
        """Settle a call in all budgets."""
        super().settle(reserved, paid, is_assumed=is_assumed)
        assert isinstance(reserved, _ReservedCall)
        self._reserved_today -= reserved.expected
        self._state.spend_today(paid.dollars)
        if reserved.account is not None:
            reserved.account.reserved -= reserved.expected
            reserved.account.spent += paid.dollars

    def _expected_dollars(self, kind: CallKind | None, sent: int) -> float:
        high = self.costs.high_of_few(kind, sent)
        if high is not None:
            return high.dollars
        if kind is None:
            return 0.0
        return self.dollars_of_input(kind.model, sent)

    def _check(self, call: _ReservedCall) -> None:
        """Raise :class:`BudgetSpent` if ``call`` doesn't fit into the budget of its request or of this day."""
        limit, account = self._limits.dollars_per_request, call.account
        if limit is not None and account is not None:
            self._refuse("request", limit, account.spent, account.reserved, call.expected)
        limit = self._limits.dollars_per_day
        if limit is None:
            return
        try:
            spent = self._state.dollars_today()
        except sqlite3.Error as error:
            raise BudgetSpent(f"the dollars of this day cannot be counted: {error}") from error
        if self._state.problem is not None:
            raise BudgetSpent(f"the dollars of this day cannot be counted: {self._state.problem}")
        self._refuse("day", limit, spent, self._reserved_today, call.expected)

    def _refuse(self, period: str, limit: float, spent: float, reserved: float, expected: float) -> None:
        taken = spent + reserved
        if taken < limit and (taken <= _NOISE or taken + expected <= limit):
            return
        self._refusals.labels(period).inc()
        if period == "day":
            self._last_refusal = today()
        message = f"stopped: {dollars(spent)} of the budget of {dollars(limit)} for this {period} is spent"
        if reserved > _NOISE:
            message += f", {dollars(reserved)} is reserved for calls in flight"
        raise BudgetSpent(f"{message}, and the next call may take {dollars(expected)}")


def error_for_log(error: MtagentError, log_texts: bool) -> str:
    """The kind of ``error``, and its message if that holds no text, or if texts are logged.

    An error of a model or an MT system is shown by its cause. Its message quotes the system, which quotes the text.
    """
    kind = type(error).__name__
    if log_texts:
        return f"{kind}: {error}"
    cause = error.cause or (f"HTTP {error.status}" if error.status else "")
    if cause:
        return f"{kind}: {cause}"
    # The messages of other fatal errors name settings.
    return f"{kind}: {error}" if isinstance(error, FATAL) and not isinstance(error, ModelError) else kind


class Metrics:
    """The metrics that Prometheus reads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("mtagent_requests", "Requests", ["route", "status", "key"], **registry)
        self.seconds = Histogram("mtagent_request_seconds", "Seconds a request took", ["route"], **registry)
        self.in_flight = Gauge("mtagent_requests_under_way", "Requests in flight", **registry)
        self.segments = Counter("mtagent_segments", "Texts by their result", ["state", "key"], **registry)
        self.late = Counter("mtagent_late", "Texts returned before the chain was done", ["key"], **registry)
        self.tokens = Counter("mtagent_tokens", "Tokens of the models", ["direction", "key"], **registry)
        self.dollars = Counter("mtagent_dollars", "Dollars spent on models", ["key"], **registry)
        self.paused = Counter(
            "mtagent_paused", "Texts returned without improvement during a pause", ["key"], **registry
        )
        self.calls = Counter("mtagent_model_calls", "Calls to models that have ended", ["model"], **registry)
        self.errors = Counter("mtagent_model_errors", "Calls without a usable reply", ["model", "error"], **registry)
        self.retries = Counter("mtagent_model_retries", "Requests sent again", ["model", "cause"], **registry)
        self.call_seconds = Histogram(
            "mtagent_model_seconds", "Seconds a call took, retries included", ["model"], **registry
        )
        self.call_tokens = Counter("mtagent_model_tokens", "Tokens by model", ["model", "direction"], **registry)
        self.call_dollars = Counter("mtagent_model_dollars", "Dollars by model", ["model"], **registry)
        self.resting = Gauge(
            "mtagent_model_resting", "1 while a model is not called, because it fails", ["model"], **registry
        )
        self.budget_refusals = Counter(
            "mtagent_budget_refusals", "Calls to models that a budget had no room for", ["budget"], **registry
        )

    def observe(self, event: Event) -> None:
        """Count a call or a retry."""
        if isinstance(event, RetryEvent):
            self.retries.labels(event.model, event.cause).inc()
        if not isinstance(event, CallEvent):
            return
        self.calls.labels(event.model).inc()
        self.call_seconds.labels(event.model).observe(event.seconds)
        if event.error is not None:
            self.errors.labels(event.model, event.error).inc()
        usage = event.usage
        self.call_tokens.labels(event.model, "input").inc(usage.input_tokens)
        self.call_tokens.labels(event.model, "output").inc(usage.output_tokens)
        self.call_dollars.labels(event.model).inc(usage.cost or 0.0)

    def observe_budgets(self, limits: Limits, state: State, budget: Budget | None) -> None:
        """Add the limits in dollars, and what is spent of those for all requests."""
        limit = Gauge("mtagent_budget_dollars", "Limits in dollars", ["budget"], registry=self.registry)
        spent = Gauge("mtagent_budget_spent_dollars", "Spent of these", ["budget"], registry=self.registry)
        if limits.dollars_per_request is not None:
            limit.labels("request").set(limits.dollars_per_request)
        if limits.dollars_per_day is not None:
            limit.labels("day").set(limits.dollars_per_day)
            spent.labels("day").set_function(lambda: _dollars_today(state))
        if budget is not None and budget.limit.dollars < inf:
            limit.labels("total").set(budget.limit.dollars)
            spent.labels("total").set_function(lambda: budget.spent.dollars)

    def observe_state(self, state: State) -> None:
        """Add what is known of the ``state`` file."""
        gauges = {
            "mtagent_state_failed_writes": ("Failed writes to the state file", lambda: state.failed_writes),
            "mtagent_state_failing": ("1 if the last write failed", lambda: state.problem is not None),
            "mtagent_unwritten_characters": ("Counted, but not in the file", lambda: state.unwritten_characters),
            "mtagent_texts_lost": ("Texts that could not be kept", lambda: state.texts_lost),
        }
        for name, (description, value) in gauges.items():
            Gauge(name, description, registry=self.registry).set_function(value)


def _dollars_today(state: State) -> float:
    """The dollars of this day; not a number if the file cannot be read now."""
    try:
        return state.dollars_today()
    except sqlite3.Error:
        return nan
