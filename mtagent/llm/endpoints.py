"""One model at several endpoints: servers, or keys for one server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

from mtagent.errors import AuthenticationError, ModelError, ModelNotFound, RateLimited, ServerPaused
from mtagent.llm.client import LONGEST_DETOUR, OpenAIClient
from mtagent.llm.limits import Clock
from mtagent.llm.protocol import RequestOptions
from mtagent.records import UNPAID, Call, Completion, Message, Schema, Tool, Usage

if TYPE_CHECKING:
    from mtagent.llm.limits import Limiter

logger = logging.getLogger(__name__)

FIRST_REST, LONGEST_REST = 1.0, 60.0
REFUSED_REST = 300.0
OF_ENDPOINT = (AuthenticationError, ModelNotFound, RateLimited)
STATUSES_OF_ENDPOINT = (402, 404)
"""Errors that another endpoint may not share although they aren't transient: key, money, address, model."""


@dataclass
class _State:
    """How an endpoint has answered lately."""

    client: OpenAIClient
    calls: int = 0  # in flight, also those that sleep before another attempt
    failures: int = 0  # since its last success
    rests_until: float = 0.0  # nothing is sent to it before
    refuses_until: float = 0.0  # other endpoints are preferred until then
    warned: bool = False

    def wait(self, now: float) -> float:
        """Seconds until a request may be sent."""
        return max(0.0, self.rests_until - now, self.client.limiter.pause)

    def rank(self, now: float) -> tuple[bool, float, int]:
        """The endpoint with the lowest rank gets the next request."""
        return now < self.refuses_until, self.wait(now), max(self.calls, self.client.limiter.load)

    def fail(self, error: ModelError, now: float, *, is_trial: bool) -> None:
        """Let the endpoint rest. ``is_trial``: the request was the only one after a rest."""
        if not self.warned:
            self.warned = True
            logger.warning("%s; its requests go to the other endpoints for a while", error)
        if not error.transient:
            self.refuses_until = now + REFUSED_REST
        elif isinstance(error, ServerPaused):
            self.rests_until = max(self.rests_until, now + error.seconds)
        else:
            if now < self.rests_until and not is_trial:
                return  # another request that was in flight at the same time has failed before
            self.rests_until = now + min(LONGEST_REST, FIRST_REST * 2 ** min(self.failures, 6))
            self.failures += 1

    def succeed(self) -> None:
        """The endpoint has answered."""
        self.failures = 0
        self.rests_until = self.refuses_until = 0.0


@dataclass
class _Failures:
    """What went wrong with a request at the endpoints that got it."""

    errors: list[ModelError] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    """Calls that were paid for."""
    causes: list[str] = field(default_factory=list)
    waited: float = 0.0

    def add(self, error: ModelError) -> None:
        """Note the error of an endpoint."""
        self.errors.append(error)
        self.calls += [call for call in error.calls if call.usage != UNPAID]
        if error.calls:
            self.causes += error.calls[-1].retries
            self.waited += error.calls[-1].waited
        self.causes.append(error.cause or type(error).__name__)

    def error(self) -> ModelError:
        """The error to raise when no endpoint is left: a pause or another transient one if there was one."""
        chosen = self.errors[0]
        for error in self.errors:
            if error.transient and not isinstance(chosen, ServerPaused):
                chosen = error
        return self.complete(chosen)

    def complete(self, error: ModelError) -> ModelError:
        """``error`` with all calls that were paid for, and its last one."""
        unpaid = [call for call in error.calls[-1:] if call.usage == UNPAID]
        error.calls = (*self.calls, *unpaid)
        return error

    def added_to(self, completion: Completion) -> Completion:
        """``completion`` with what was paid for, repeated and waited before it."""
        if not self.errors:
            return completion
        usages = [*(call.usage for call in self.calls), completion.usage]
        update = {
            "usage": Usage.total(usages),
            "attempts": (*self.calls, *completion.attempts),
            "retries": (*self.causes, *completion.retries),
            "waited": round(self.waited + completion.waited, 4),
        }
        return completion.model_copy(update=update)


class Endpoints:
    """A model that several ``clients`` reach; each was made with ``has_others``.

    A request goes to the endpoint that isn't paused and has the fewest requests in flight. If it fails there in a way
    that another endpoint may not share, it goes to another one, until ``deadline`` seconds after its first failure. An
    endpoint that fails rests: a second, then longer, and a single request tries it again.

    The first client names the requests, so that a stored reply is found again whichever endpoint gave it.
    """

    def __init__(self, clients: Sequence[OpenAIClient], *, deadline: float = 900.0, clock: Clock | None = None) -> None:
        first = clients[0]
        self.model, self.sampling, self.server = first.model, first.sampling, first.server
        self.limiters: Sequence[Limiter] = tuple(client.limiter for client in clients)
        self._states = [_State(client) for client in clients]
        self._deadline = deadline
        self._clock = clock or Clock()

    def price(self, usage: Usage) -> float | None:
        """US dollars for ``usage`` at the most expensive endpoint; ``None`` if the price of one is unknown."""
        prices = [state.client.price(usage) for state in self._states]
        known = [price for price in prices if price is not None]
        return max(known) if len(known) == len(prices) else None

    def key(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        logprobs: bool = False,
        tools: Sequence[Tool] = (),
    ) -> str:
        """The hash that names this request at the first endpoint."""
        return self._states[0].client.key(messages, schema, logprobs, tools)

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        """Ask for one reply; see :class:`mtagent.llm.protocol.LLM`."""
        left = list(self._states)
        failures = _Failures()
        end: float | None = None
        while True:
            now = self._clock.now()
            state = min(left, key=lambda state: state.rank(now))
            wait = state.wait(now)
            if wait > LONGEST_DETOUR or state.rests_until > now:
                end = end or now + self._deadline
                if now + wait <= end:
                    failures.waited += await self._sleep(state, min(wait, LONGEST_DETOUR))
                    continue
                if failures.errors:
                    raise failures.error()
            is_trial = state.failures > 0
            if is_trial:
                state.rests_until = now + LONGEST_DETOUR
            state.calls += 1
            try:
                completion = await state.client.complete(messages, **options)
            except ModelError as error:
                failures.add(error)
                is_of_endpoint = isinstance(error, OF_ENDPOINT) or error.status in STATUSES_OF_ENDPOINT
                if not error.transient and not is_of_endpoint:
                    raise failures.complete(error) from None
                now = self._clock.now()
                end = end or now + self._deadline
                state.fail(error, now, is_trial=is_trial)
                if not error.transient:
                    left.remove(state)
                if not left or now >= end:
                    raise failures.error() from None
            else:
                state.succeed()
                return failures.added_to(completion)
            finally:
                state.calls -= 1

    async def _sleep(self, state: _State, seconds: float) -> float:
        with state.client.limiter.sleepers.one_more():
            await self._clock.sleep(seconds)
        return seconds
