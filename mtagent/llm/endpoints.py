"""One model at several endpoints: servers, or keys for one server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from mtagent.errors import AuthenticationError, ModelError, ModelNotFound, RateLimited, ServerPaused
from mtagent.llm.client import LONGEST_DETOUR, CallState, OpenAIClient
from mtagent.llm.limits import Clock
from mtagent.llm.protocol import RequestOptions
from mtagent.records import Completion, Message, Schema, Tool, Usage

if TYPE_CHECKING:
    from mtagent.llm.limits import Limiter

logger = logging.getLogger(__name__)

FIRST_REST, LONGEST_REST = 1.0, 60.0  # seconds
REFUSED_REST = 300.0  # seconds
# Other endpoints may not have these errors, which concern the key, the account, the address or the model.
ENDPOINT_ERRORS = (AuthenticationError, ModelNotFound, RateLimited)
ENDPOINT_STATUSES = (402, 404)


@dataclass
class _State:
    """The recent successes and failures of an endpoint."""

    client: OpenAIClient
    calls: int = 0  # in flight, including calls that wait before a retry
    failures: int = 0  # since its last success
    rests_until: float = 0.0  # no request is sent before this time
    refuses_until: float = 0.0  # other endpoints are preferred until this time

    def wait(self, now: float) -> float:
        """Seconds until a request may be sent."""
        return max(0.0, self.rests_until - now, self.client.limiter.pause)

    def rank(self, now: float) -> tuple[bool, float, int]:
        """The endpoint with the lowest rank gets the next request."""
        return now < self.refuses_until, self.wait(now), max(self.calls, self.client.limiter.load)

    def fail(self, error: ModelError, now: float, *, is_trial: bool) -> None:
        """Let the endpoint rest. ``is_trial``: the request was the single trial after a rest."""
        if not error.transient:
            self.refuses_until = now + REFUSED_REST
        elif isinstance(error, ServerPaused):
            self.rests_until = max(self.rests_until, now + error.seconds)
        elif is_trial or now >= self.rests_until:
            # Otherwise another request that was in flight at the same time has already failed.
            self.rests_until = now + min(LONGEST_REST, FIRST_REST * 2 ** min(self.failures, 6))
            self.failures += 1

    def succeed(self) -> None:
        """The endpoint has answered."""
        self.failures = 0
        self.rests_until = self.refuses_until = 0.0


class _Failures:
    """The errors of the endpoints that one request was sent to."""

    def __init__(self) -> None:
        self.errors: list[ModelError] = []
        self._unreported: tuple[OpenAIClient, str] | None = None
        """The endpoint that failed last and the cause; ``None`` once the retry was reported."""

    def add(self, error: ModelError, client: OpenAIClient) -> None:
        """Note the error of an endpoint."""
        self.errors.append(error)
        self._unreported = client, error.cause or type(error).__name__

    def retry(self, call_state: CallState, client: OpenAIClient) -> None:
        """Report a retry if the request, which is about to go to ``client``, has failed before."""
        if self._unreported is not None:
            failed, cause = self._unreported
            self._unreported = None
            next_endpoint = client.endpoint if client is not failed else None
            failed.note_retry(call_state, cause, next_endpoint=next_endpoint)

    def error(self, call_state: CallState) -> ModelError:
        """The error to raise when no endpoint is left: preferably a pause, or else another transient error."""
        chosen = self.errors[0]
        for error in self.errors:
            if error.transient and not isinstance(chosen, ServerPaused):
                chosen = error
        call_state.call = call_state.call.model_copy(update={"endpoint": chosen.calls[-1].endpoint})
        chosen.calls = (*call_state.failed, call_state.ended(str(chosen)))
        return chosen


class Endpoints:
    """A model that several ``clients`` reach; each was made with the name of its ``endpoint``.

    A request goes to the endpoint that isn't paused and has the fewest requests in flight. If it fails there in a way
    that another endpoint may not share, it goes to another one, until the deadline, which counts from its first failure
    at an endpoint. An endpoint that fails rests: a second, then longer, and a single request tries it again. If no
    endpoint has ever been reached, requests fail without waiting.

    The first client names the requests, so that a stored reply is found again whichever endpoint gave it. A warning is
    logged for the first error of an endpoint. ``warned`` holds the models and endpoints of these warnings; share it
    between the parts of a run, which may reach the same model with different settings.
    """

    def __init__(
        self,
        clients: Sequence[OpenAIClient],
        *,
        clock: Clock | None = None,
        warned: set[tuple[str, str | None]] | None = None,
    ) -> None:
        first = clients[0]
        self.model, self.sampling, self.server = first.model, first.sampling, first.server
        self.limiters: Sequence[Limiter] = tuple(client.limiter for client in clients)
        self.servers = {str(client.endpoint): client.server for client in clients}
        """Host and port of each endpoint."""
        self._states = [_State(client) for client in clients]
        self._clock = clock or Clock()
        self._warned = set[tuple[str, str | None]]() if warned is None else warned

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
        call_state = self._states[0].client.begin(
            messages,
            tools=options.get("tools", ()),
            purpose=options.get("purpose", ""),
            segment=options.get("segment", ""),
        )
        try:
            return await self._try_all(messages, options, call_state)
        except asyncio.CancelledError as cancelled:
            call_state.cancel(cancelled)
            raise

    async def _try_all(self, messages: Sequence[Message], options: RequestOptions, call_state: CallState) -> Completion:
        """Try one endpoint after the other, until one answers or the deadline passes."""
        candidates = list(self._states)
        failures = _Failures()
        while True:
            now = self._clock.now()
            state = min(candidates, key=lambda candidate: candidate.rank(now))
            wait = state.wait(now)
            if not self._none_was_reached and (wait > LONGEST_DETOUR or state.rests_until > now):
                if wait <= call_state.left():
                    await self._sleep(state, min(wait, LONGEST_DETOUR), call_state)
                    continue
                if failures.errors:
                    raise failures.error(call_state)
            is_trial = state.failures > 0
            if is_trial:
                state.rests_until = now + LONGEST_DETOUR
            state.calls += 1
            try:
                failures.retry(call_state, state.client)
                completion = await state.client.complete(messages, **options, call_state=call_state)
            except ModelError as error:
                if not failures.errors:
                    call_state.end = None  # from now on: the next endpoint gets the full time
                failures.add(error, state.client)
                is_endpoint_error = isinstance(error, ENDPOINT_ERRORS) or error.status in ENDPOINT_STATUSES
                if not error.transient and not is_endpoint_error:
                    raise
                self._warn(error, state.client)
                state.fail(error, self._clock.now(), is_trial=is_trial)
                if not error.transient:
                    candidates.remove(state)
                if not candidates or call_state.left() <= 0 or self._none_was_reached:
                    raise failures.error(call_state) from None
            else:
                state.succeed()
                return completion
            finally:
                state.calls -= 1

    def _warn(self, error: ModelError, client: OpenAIClient) -> None:
        """Log the first error of an endpoint."""
        if (self.model, client.endpoint) not in self._warned:
            self._warned.add((self.model, client.endpoint))
            logger.warning("%s; its requests go to the other endpoints for a while", error)

    @property
    def _none_was_reached(self) -> bool:
        """Whether every endpoint has failed and none was ever reached, so that waiting won't help."""
        return all(state.failures and not state.client.was_reached for state in self._states)

    async def _sleep(self, state: _State, seconds: float, call_state: CallState) -> None:
        began = self._clock.now()
        try:
            with state.client.limiter.sleepers.one_more():
                await self._clock.sleep(seconds)
        finally:
            state.client.note_wait(call_state, "pause", began)
