"""The client for every OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from mtagent.errors import (
    AuthenticationError,
    BadRequest,
    EmptyReply,
    ModelError,
    ModelNotFound,
    NotAnswered,
    RateLimited,
    Refused,
    ServerError,
    ServerPaused,
    Truncated,
)
from mtagent.llm.events import Observer, RetryEvent, WaitEvent, server_of
from mtagent.llm.limits import Clock, Limiter, NoPlaceInTime, Obstacle, PauseTooLong
from mtagent.llm.prices import Price
from mtagent.llm.prices import price as list_price
from mtagent.llm.protocol import Sampling
from mtagent.llm.reply import NO_MODEL, Reply, RequestFailure, is_plausible, read_reply
from mtagent.llm.request import (
    Body,
    LearntParameters,
    estimated_tokens,
    key_of,
    request_body,
    with_cache_control,
    with_more_room,
)
from mtagent.llm.server import ApiKey, CacheControl, Endpoint, client_address
from mtagent.records import UNCOUNTED, UNPAID, Call, Completion, Message, Schema, Tool, Usage

if TYPE_CHECKING:
    from aiohttp import ClientSession

    from mtagent.llm.batch import BatchTransport
    from mtagent.llm.sdk import SDKTransport
    from mtagent.llm.transport import Transport

logger = logging.getLogger(__name__)

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
LONGEST_THROTTLED = 8.0  # the limiter prevents too many requests to a server at its limit
FIRST_CONNECTIONS = 4
SHORTEST_WAIT = 0.01  # seconds; shorter waits for a place aren't counted
MOST_ATTEMPTS, LONGEST_DETOUR = 3, 5.0
"""With other endpoints: attempts at one of them, and the longest pause in seconds that is waited for there."""
NOTICED = 6
"""After this failed attempt of a call, a warning is logged, once in a run."""
PAUSED = RequestFailure(RateLimited, "the server asked for a pause", 429, transient=True)
WAYS_OUT: dict[type[ModelError], str] = {
    AuthenticationError: "check the key in {variable} and its permissions",
    BadRequest: "sending it again cannot help: change the settings or the request",
    RateLimited: "no retry will be let through: check the account's quota",
    EmptyReply: "the reply was empty twice: try another model or other settings",
    Refused: "the model or a content filter refused to answer: try another model for this text",
    Truncated: "the reply was cut off, also with more room: raise max_tokens or send less text",
    ServerError: "asked in several batches: the same command tries it again when the others are done",
}


@dataclass(slots=True)
class CallState:
    """The state of one ``complete``, also at several endpoints: paid usage, failed calls, attempts and deadline."""

    clock: Clock
    deadline: float
    call: Call
    tools: bool
    started: float
    segment: str
    end: float | None = None
    attempts: int = 0
    endpoints: set[str | None] = field(default_factory=set)
    """Those that got an attempt."""
    paid: list[Usage] = field(default_factory=list)
    failed: list[Call] = field(default_factory=list)
    last_failure: RequestFailure | None = None
    retries: list[str] = field(default_factory=list)
    """Why the request was sent again, each time."""
    waited: float = 0.0
    """Seconds without a request in flight."""

    def left(self, begin: bool = True) -> float:
        """Seconds until the deadline, counted from the first attempt or the first pause that the server asks for.

        Waiting for a place before that doesn't count: with ``begin=False`` it has no limit. Waiting for a further
        attempt counts.
        """
        if self.end is None:
            if not begin:
                return inf
            self.end = self.clock.now() + self.deadline
        return self.end - self.clock.now()

    def ended(self, error: str) -> Call:
        """The call as it is if ``error`` ends it now."""
        seconds = self.clock.now() - self.started
        waited = min(self.waited, seconds)  # a wait may have been cut short
        retries = tuple(self.retries)
        return self.call.model_copy(
            update={"seconds": seconds, "error": error, "retries": retries, "waited": round(waited, 4)}
        )

    def cancel(self, error: asyncio.CancelledError) -> None:
        """Give ``error`` the calls that were paid before it, and at last the one that it ends."""
        calls = (*self.failed, self.ended(type(error).__name__))
        setattr(error, "calls", calls)  # noqa: B010 only our own errors declare it

    def is_too_long(self, pause: float | None) -> bool:
        """Whether the server asks for a ``pause`` that no call can wait for.

        Repeated shorter ones may concern this request alone: it fails at its deadline like any other.
        """
        return pause is not None and pause > max(self.left(), self.deadline / 2)


class OpenAIClient:
    """Talks to one model on one OpenAI-compatible server.

    ``base_url`` defaults to ``OPENAI_BASE_URL`` and then to OpenAI; ``azure_endpoint`` and ``api_version`` take its
    place for Azure, where ``model`` is the deployment. The key is read from the environment variable ``api_key_env``
    and is never shown. Requests that may succeed later are repeated until ``deadline`` seconds after
    the first attempt, including all waiting, and each attempt may take ``timeout`` seconds. An address that never
    answered is given up after four attempts. Clients of the same server should share a ``limiter``.

    ``leave_out`` names parameters that the server is known to refuse: ``tools``, ``logprobs`` … The client also learns
    them from refusals; clients of the same model on the same server should share ``learnt``. ``known_as`` replaces the
    address in the keys of stored replies, for a server that has another port every time. ``api_key`` overrides the
    environment's; it may be a function that returns the key that is valid now. ``headers`` are sent in addition to
    mtagent's, and ``http_client`` is your session for requests, which isn't closed.

    ``endpoint`` is a name for this server if others have the same model. Then it is given up earlier: after three
    transient failures or a timeout, or if it asks for more than a short pause.

    ``client``, an ``openai.AsyncOpenAI`` or ``AsyncAzureOpenAI``, sends the requests with its own configuration, and
    isn't closed. With ``instrumented`` they go through ``chat.completions.create``, which tracing packages see.
    ``cache_control`` marks what requests begin with, for models that cache up to a mark only.

    ``price(model, usage, base_url)`` returns dollars or ``None``; the default uses the list prices of public providers.
    ``observer`` receives each retry and each longer wait. ``batch`` makes the transport that puts the requests into
    batches. ``clock`` and ``transport`` are for tests.

    Raises :class:`mtagent.errors.ConfigError` if key or address cannot work.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        azure_endpoint: str | None = None,
        api_version: str | None = None,
        api_key_env: str | None = None,
        sampling: Sampling | None = None,
        deadline: float = 900.0,
        timeout: float = 300.0,
        limiter: Limiter | None = None,
        leave_out: Sequence[str] = (),
        learnt: LearntParameters | None = None,
        known_as: str | None = None,
        price: Price | None = None,
        api_key: ApiKey | None = None,
        headers: Mapping[str, str] | None = None,
        http_client: ClientSession | None = None,
        client: Any = None,
        instrumented: bool = False,
        cache_control: CacheControl | None = None,
        endpoint: str | None = None,
        observer: Observer | None = None,
        clock: Clock | None = None,
        transport: Transport | SDKTransport | BatchTransport | None = None,
        batch: Callable[[Endpoint], BatchTransport] | None = None,
    ) -> None:
        self.model = model
        place = Endpoint(base_url, azure_endpoint, api_version, api_key, api_key_env, headers or {})
        self.base_url = place.address if client is None else client_address(client)
        self.server = server_of(self.base_url)
        self.sampling = sampling or Sampling()
        self.limiter = limiter or Limiter(clock=clock)
        self._known_as = known_as or self.base_url
        self._is_azure = azure_endpoint is not None
        self._has_own_client = client is not None
        self._key_source = "your client" if self._has_own_client else place.key_source
        self._deadline, self._timeout = deadline, timeout
        self._price = price or list_price
        self._clock = clock or Clock()
        self._learnt = learnt or LearntParameters(model, leave_out)
        self._parameters = self.sampling.parameters()
        self._doubted_usage = False
        self._noticed_failures = False
        self._cache_control = cache_control
        self.endpoint = endpoint
        self._has_others = endpoint is not None
        self._in_batches = batch is not None
        self._observer = observer
        if transport is None and batch is not None:
            transport = batch(place)
        elif transport is None:
            transport = self._new_transport(place, client, instrumented, http_client)
        self._transport = transport

    def _new_transport(
        self, endpoint: Endpoint, client: Any, instrumented: bool, session: ClientSession | None
    ) -> Transport | SDKTransport:
        """The SDK's transport for a user's ``client`` or for tracing, else mtagent's own."""
        if client is None and not instrumented:
            from mtagent.llm.transport import Transport  # aiohttp takes a quarter of a second

            return Transport(endpoint, self.model, self._timeout, self._clock, session=session)
        from mtagent.llm.sdk import SDKTransport

        if client is not None:
            return SDKTransport(self._clock, client=client, instrumented=instrumented)
        endpoint.check_key()
        return SDKTransport(self._clock, endpoint=endpoint, instrumented=True)

    def __repr__(self) -> str:
        return f"OpenAIClient({self.model!r}, base_url={self.base_url!r})"

    @property
    def limiters(self) -> tuple[Limiter]:
        """What admits the requests."""
        return (self.limiter,)

    @property
    def was_reached(self) -> bool:
        """Whether a connection to the server has been made."""
        return self._learnt.reached

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parameters that the model has refused and that are no longer sent."""
        return self._learnt.left_out

    def price(self, usage: Usage) -> float | None:
        """US dollars for ``usage``, or ``None`` if the price is unknown."""
        return self._price(self.model, usage, self.base_url)

    def key(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        logprobs: bool = False,
        tools: Sequence[Tool] = (),
    ) -> str:
        """A hash that names this request: model, server, settings, messages and tools."""
        return key_of(request_body(self.model, self._parameters, messages, schema, logprobs, tools), self._known_as)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        logprobs: bool = False,
        tools: Sequence[Tool] = (),
        purpose: str = "",
        segment: str = "",
        call_state: CallState | None = None,
    ) -> Completion:
        """Ask for one reply; see :class:`mtagent.llm.protocol.LLM`.

        ``usage`` is the sum over all ``usage.calls`` replies that the server counted, including a truncated first one.
        An error has in ``calls`` what was paid before it, each attempt separately. ``call_state`` is what happened to
        the request at other endpoints.
        """
        if call_state is None:
            call_state = self.begin(messages, tools=tools, purpose=purpose, segment=segment)
        elif call_state.call.endpoint != self.endpoint:
            call_state.call = call_state.call.model_copy(update={"endpoint": self.endpoint})
            call_state.last_failure = None
        body = request_body(self.model, self._parameters, messages, schema, logprobs, tools)
        try:
            outcome = await self._usable_reply(body, call_state)
        except NotAnswered as unanswered:
            unanswered.calls = tuple(call_state.failed)
            raise
        except asyncio.CancelledError as cancelled:
            call_state.cancel(cancelled)
            raise
        if isinstance(outcome, RequestFailure):
            error = self._error(outcome, call_state)
            if outcome.answered:  # the last failed call is this one
                call_state.call = call_state.failed.pop()
            error.calls = (*call_state.failed, call_state.ended(str(error)))
            raise error
        self._learnt.answered = True
        return Completion(
            text=outcome.text,
            model=outcome.model,
            finish_reason=outcome.finish_reason,
            usage=call_state.paid[0] if len(call_state.paid) == 1 else Usage.total(call_state.paid),
            logprobs=outcome.logprobs,
            tool_calls=outcome.tool_calls,
            attempts=tuple(call_state.failed),
            retries=tuple(call_state.retries),
            waited=round(call_state.waited, 4),
            endpoint=self.endpoint,
        )

    def begin(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), purpose: str = "", segment: str = ""
    ) -> CallState:
        """The state of a call before its first request."""
        # Usage is given, since it would be a deep copy of the default.
        call = Call(
            purpose=purpose,
            model=self.model,
            messages=tuple(messages),
            usage=UNPAID,
            endpoint=self.endpoint,
            in_batch=self._in_batches,
        )
        return CallState(self._clock, self._deadline, call, bool(tools), self._clock.now(), segment)

    async def aclose(self) -> None:
        """Close the connections. A later request opens new ones."""
        await self._transport.aclose()

    async def _usable_reply(self, body: Body, call_state: CallState) -> Reply | RequestFailure:
        """A usable reply. An empty or unreadable reply and a truncated one get a second chance each."""
        chances = {EmptyReply, Truncated}
        while True:
            outcome = await self._send_with_retries(body, call_state)
            usage = UNCOUNTED
            if isinstance(outcome, Reply):
                if outcome.usage is not None:
                    cost = self.price(outcome.usage)
                    if cost is None and outcome.model != self.model:  # an alias, or the name of a deployment
                        cost = self._price(outcome.model, outcome.usage, self.base_url)
                    usage = outcome.usage
                    if cost is not None:
                        usage = usage.model_copy(update={"cost": cost})
                if self._in_batches:
                    usage = usage.model_copy(update={"batched": usage.calls})
                call_state.paid.append(usage)
                if outcome.problem is None:
                    return outcome
                failure = RequestFailure(outcome.problem, outcome.detail, 200, answered=True)
                call = call_state.call.model_copy(update={"reply": outcome.text, "tool_calls": outcome.tool_calls})
            elif outcome.answered:
                call_state.paid.append(usage)
                failure, call = outcome, call_state.call
            else:
                if Truncated not in chances and outcome.kind is BadRequest:  # more room than the model takes
                    return replace(outcome, kind=Truncated)
                return outcome
            error = f"{failure.kind.__name__}: {failure.message or 'no text'}"
            call_state.failed.append(call.model_copy(update={"usage": usage, "error": error}))
            chance = EmptyReply if failure.kind is ServerError else failure.kind
            if chance not in chances:
                return failure
            chances.discard(chance)
            self.note_retry(call_state, failure.cause)
            if failure.kind is Truncated:
                body = with_more_room(body, usage.output_tokens)

    async def _send_with_retries(self, body: Body, call_state: CallState) -> Reply | RequestFailure:
        """A reply, after leaving out refused parameters, and repeating transient failures until the deadline.

        A server without tools may refuse them with a 500, which isn't transient. An address without any connection so
        far is given up early: it is more likely wrong than a server that will be back.
        """
        attempt = 0
        while True:
            sent = self._learnt.adapt(body)
            outcome = await self._ask_once(sent, call_state)
            attempt += 1
            if not isinstance(outcome, RequestFailure):
                return outcome
            if self._learnt.learn(outcome, sent):
                attempt = 0
                self.note_retry(call_state, "refused parameter")
                continue
            nobody_there = outcome.unreachable and not self._learnt.reached and attempt >= FIRST_CONNECTIONS
            if not outcome.transient or nobody_there:
                return outcome
            if self._has_others and (attempt >= MOST_ATTEMPTS or outcome.late or self._is_detour(outcome)):
                return outcome
            # Twice as long each time, with jitter; or as long as the server asks for.
            most = LONGEST_THROTTLED if outcome.status == 429 else LONGEST_WAIT
            longest = min(most, FIRST_WAIT * 2 ** min(attempt - 1, 10))
            seconds = random.uniform(longest / 2, longest)
            if outcome.retry_after is not None:
                seconds = max(outcome.retry_after, min(seconds, 1.0))  # some servers repeatedly ask to wait 0 s
            logger.info("attempt %d failed (%s); next in %.1f s", attempt, outcome, seconds)
            if attempt == NOTICED and not self._noticed_failures:
                self._noticed_failures = True
                words = "%s keeps failing (%s): each call is tried again for up to %.0f s (deadline)"
                logger.warning(words, self.base_url, outcome, self._deadline)
            if seconds > call_state.left():
                return outcome
            self.note_retry(call_state, outcome.cause, seconds)
            with self.limiter.sleepers.one_more():
                await self._clock.sleep(seconds)

    async def _ask_once(self, sent: Body, call_state: CallState) -> Reply | RequestFailure:
        """One request, as soon as the limiter admits it."""
        tokens = estimated_tokens(sent) if self.limiter.estimates_tokens else 0
        outcome: Reply | RequestFailure
        note_wait = partial(self.note_wait, call_state, self.limiter.obstacle, self._clock.now())
        has_place = False
        try:
            async with self.limiter.slot(tokens, partial(self._patience, call_state)) as slot:
                has_place = True
                note_wait()
                seconds = min(self._timeout, max(1.0, call_state.left()))
                call_state.attempts += 1
                call_state.endpoints.add(self.endpoint)
                posted = with_cache_control(sent, self._cache_control) if self._cache_control else sent
                payload = await self._transport.post(posted, seconds, slot.read_limits)
                if isinstance(payload, RequestFailure):
                    outcome = payload
                else:
                    texts = [message["content"] or "" for message in sent["messages"] if message["role"] != "assistant"]
                    outcome = read_reply(payload, self.model, tools=call_state.tools, request=texts)
                    if isinstance(outcome, Reply):
                        outcome = self._without_false_counts(outcome, texts)
                if not isinstance(outcome, RequestFailure) or not (outcome.unreachable or outcome.unsent):
                    self._learnt.reached = True
                if not isinstance(outcome, RequestFailure):
                    usage = outcome.usage
                    slot.succeeded(usage.input_tokens + usage.output_tokens if usage else None)
                elif outcome.transient and (outcome.status == 429 or outcome.retry_after):
                    slot.throttled(outcome.retry_after, everybody=call_state.is_too_long(outcome.retry_after))
            if isinstance(outcome, RequestFailure) and outcome.transient:
                call_state.last_failure = replace(outcome, retry_after=None)
            return outcome
        except PauseTooLong as pause:
            return replace(PAUSED, retry_after=pause.seconds)
        except NoPlaceInTime:  # the failure before the wait explains more than the wait
            return call_state.last_failure or PAUSED
        finally:
            if not has_place:
                note_wait()

    def _patience(self, call_state: CallState, paused: bool) -> float:
        """Seconds that a request may wait for its place, or, if the server is ``paused``, for the end of the pause."""
        left = call_state.left(paused)
        if self._has_others and paused:
            return min(left, LONGEST_DETOUR)
        return left

    def _is_detour(self, failure: RequestFailure) -> bool:
        """Whether the server asks for a pause that is longer than the way to another endpoint."""
        return self._has_others and failure.retry_after is not None and failure.retry_after > LONGEST_DETOUR

    def note_wait(self, call_state: CallState, reason: Obstacle, since: float) -> None:
        """The request has waited until now."""
        waited = self._clock.now() - since
        if waited >= SHORTEST_WAIT:
            call_state.waited += waited
            self._report(WaitEvent, call_state, reason=reason, seconds=round(waited, 4))

    def note_retry(
        self, call_state: CallState, cause: str, seconds: float = 0.0, *, next_endpoint: str | None = None
    ) -> None:
        """The request will be sent again after ``seconds``, maybe to another endpoint."""
        call_state.retries.append(cause)
        call_state.waited += seconds
        fields = {"attempt": call_state.attempts, "wait": round(seconds, 4), "next_endpoint": next_endpoint}
        self._report(RetryEvent, call_state, cause=cause, **fields)

    def _report(self, kind: type[RetryEvent | WaitEvent], call_state: CallState, **fields: Any) -> None:
        if self._observer is not None:
            call = call_state.call
            place: dict[str, Any] = {"model": self.model, "server": self.server, "endpoint": self.endpoint}
            self._observer(kind(segment=call_state.segment, purpose=call.purpose, **place, **fields))

    def _without_false_counts(self, reply: Reply, texts: Sequence[str]) -> Reply:
        """``reply`` without an impossible usage, which counts as not reported. A warning is logged once."""
        usage = reply.usage
        if usage is None or is_plausible(usage, texts, reply.text):
            return reply
        if not self._doubted_usage:
            self._doubted_usage = True
            logger.warning(
                "%s reports %d + %d tokens for a request of %d characters and a reply of %d, which cannot be right: "
                "such calls count as not reported, and their cost is unknown",
                self.base_url,
                usage.input_tokens,
                usage.output_tokens,
                sum(map(len, texts)),
                len(reply.text),
            )
        return reply._replace(usage=None)

    def _error(self, failure: RequestFailure, call_state: CallState) -> ModelError:
        """The error, with model, server, status, the server's message, and the way out."""
        wait, left = failure.retry_after, call_state.left()
        if failure.transient and wait is not None and (call_state.is_too_long(wait) or self._is_detour(failure)):
            words = f"{self.model} at {self.base_url} asks to be left alone for {_until(wait, self._clock.wall())}"
            if call_state.is_too_long(wait):
                words = f"stopped: {words}, and a call may wait {self._deadline:.0f} s (deadline)"
            paused = ServerPaused(words)
            paused.way_on = "the same command after that time continues from there"
            paused.seconds, paused.status, paused.transient = wait, failure.status or None, True
            paused.cause = failure.cause
            return paused
        way_out = self._way_out(failure, left)
        status = failure.status if failure.status not in (0, 200) else None
        words = failure.message
        if status is not None:
            words = f"HTTP {status}: {words}"
        if words:
            words = f": {words}"
        tried = ""
        if len(call_state.endpoints) > 1:
            tried = f" (attempt {call_state.attempts}, at {len(call_state.endpoints)} endpoints)"
        elif call_state.attempts > 1:
            tried = f" (attempt {call_state.attempts})"
        kind = failure.kind
        if kind is ModelNotFound or (kind is BadRequest and failure.status == 404):
            # A model that has answered exists: a gateway that then doesn't find it may find it with the next request.
            kind = BadRequest if self._learnt.answered else ModelNotFound
        error = kind(f"{self.model} at {self.base_url}{words}{tried}; {way_out}")
        error.status = status
        error.transient, error.cause = failure.transient, failure.cause
        return error

    def _way_out(self, failure: RequestFailure, left: float) -> str:
        """What to do about ``failure``. ``left``: seconds until the deadline."""
        wait = failure.retry_after
        if wait is not None and wait > left:
            way_out = (
                f"the server asks to wait {wait:.0f} s, but only {max(left, 0):.0f} s of the deadline are left: allow "
                "more time or come back later"
            )
        elif failure.proxy and not self._learnt.reached:
            way_out = "check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or list the server in NO_PROXY"
        elif failure.unreachable and not self._learnt.reached:
            way_out = "nobody answers there: check the base URL, and whether the server is up"
            if self._has_own_client:
                way_out += ", and the client's proxy"
        elif failure.transient and self._has_others:
            way_out = "see whether the server is up"
        elif failure.transient:
            way_out = (
                f"given up at the deadline of {self._deadline:.0f} s: allow more time, or see whether the server is up"
            )
        elif failure.answered and failure.kind is ServerError:
            way_out = "asked twice: see whether the server works as it should, or try another model"
        elif failure.kind is ModelNotFound or failure.code in NO_MODEL:
            address, mark, query = self.base_url.partition("?")
            models = f"{address}/models{mark}{query} lists what the server has"
            way_out = f"{self.model} may be gone, or not open to this key: name another in model ({models})"
            if self._is_azure:
                way_out = f"check azure_endpoint, and that a deployment has the name {self.model}: model names it"
        elif failure.kind is BadRequest and failure.status == 404 and self._is_azure:
            way_out = "check azure_endpoint, api_version, and the deployment that model names"
        elif failure.kind is BadRequest and failure.status == 404:
            way_out = "check base_url and the model's name"
            if self.base_url.partition("?")[0].endswith("/completions"):
                way_out = "leave /chat/completions out of base_url: it is added to the address"
            elif "/v1" not in self.base_url:
                way_out += "; base_url may lack /v1 at its end"
        elif failure.unsent:
            way_out = "nothing was sent, since there was no key: see why the function for it failed"
        else:
            way_out = WAYS_OUT[failure.kind].format(variable=self._key_source)
        return way_out


def _until(seconds: float, now: float) -> str:
    """A wait in words, with the local time of its end: ``7,200 s (2 hours, until 14:35:10)``. ``now``: since 1970."""
    if seconds > 366 * 86_400:
        return "more than a year"
    end = time.localtime(now + seconds)
    day = "" if end[:3] == time.localtime(now)[:3] else "%Y-%m-%d "
    units = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))
    name, size = next((name, size) for name, size in units if seconds >= 1.5 * size or size == 1)
    rounded = f"{seconds / size:,.0f} {name}, " if size > 1 else ""
    return f"{seconds:,.0f} s ({rounded}until {time.strftime(f'{day}%H:%M:%S', end)})"
