"""The client for every OpenAI-compatible server."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import regex
from tenacity import AsyncRetrying, RetryCallState, retry_if_result

from mtagent.errors import (
    AuthenticationError,
    BadRequest,
    EmptyReply,
    ModelError,
    ModelNotFound,
    RateLimited,
    Refused,
    ServerError,
    ServerPaused,
    Truncated,
)
from mtagent.llm.limits import Clock, Limiter, PauseTooLong
from mtagent.llm.prices import Price
from mtagent.llm.prices import price as list_price
from mtagent.llm.reply import NO_MODEL, Failure, Reply, read_reply
from mtagent.llm.request import (
    Body,
    Sampling,
    as_text,
    estimated_tokens,
    key_of,
    request_body,
    uses_tools,
    with_more_room,
)
from mtagent.llm.server import server_address, server_key
from mtagent.records import Call, Completion, Message, Schema, Tool, Usage

logger = logging.getLogger(__name__)

OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
OPTIONAL = (
    *OTHER_NAME,
    "top_p",
    "temperature",
    "seed",
    "top_logprobs",
    "logprobs",
    "response_format",
    "reasoning_effort",
    "parallel_tool_calls",
    "tool_choice",
    "tools",
)  # fmt: skip
WITH_TOOLS = frozenset({"tools", "tool_choice", "parallel_tool_calls"})
LOOSER_FORMAT = {"json_schema": "json_object", "json_object": None}

_MENTION = {name: regex.compile(rf"\b{name}\b") for name in OPTIONAL}
_MENTION["response_format"] = regex.compile(
    r"\bresponse_format\b|json_schema|json_object|structured output|grammar|response mime type|json mode",
    regex.IGNORECASE,
)
_MENTION["tools"] = regex.compile(
    r"\btools?\b|\btool[_ ](?:choice|call|calls|calling|use|result)\b|\bfunction[_ -]call(?:s|ing)?\b", regex.IGNORECASE
)
_UNSUPPORTED = regex.compile(
    r"unsupported|not support|n't support|unrecognized|unknown|unexpected|not allowed|not permitted|not available"
    r"|not enabled|cannot both|only the default|no endpoints found|requires --",
    regex.IGNORECASE,
)
_NO_TOOLS = regex.compile(r"unsupported|(?:not|n't|that) support|requires --", regex.IGNORECASE)
_ALSO_NO_TOOLS = (404, 500, 501)


class LearntParameters:
    """What one model on one server does not take. Safe for concurrent requests: it only ever learns more."""

    def __init__(self, model: str, leave_out: Sequence[str] = ()) -> None:
        self._model = model
        self._renamed: dict[str, str | None] = dict.fromkeys(leave_out)
        self._formats: set[str] = set()

    @property
    def left_out(self) -> tuple[str, ...]:
        """The parameters that the model refused, and kinds of ``response_format``."""
        return (*self._renamed, *sorted(self._formats))

    def adapt(self, body: Body) -> Body:
        """``body`` without what the model refuses; ``body`` itself where there is nothing to change."""
        if not self._renamed and not self._formats:
            return body
        adapted = {self._renamed.get(name, name): value for name, value in body.items()}
        adapted.pop(None, None)
        if "tools" in self._renamed:
            adapted = {name: value for name, value in adapted.items() if name not in WITH_TOOLS}
            adapted["messages"] = as_text(body["messages"]) if uses_tools(body["messages"]) else body["messages"]
        if "response_format" in adapted:
            self._loosen(adapted)
        return {str(name): value for name, value in adapted.items()}

    def learn(self, failure: Failure, sent: Body) -> bool:
        """Learn from a failure; says whether the request, adapted again, is worth sending again."""
        name = refused_parameter(failure, sent)
        if name is None:
            return False
        if name == "response_format":
            self._formats.add(_format_name(str(sent[name].get("type")), "tools" in sent))
        elif name not in self._renamed:
            self._leave_out(name)
        logger.warning("%s: the server refuses %s; mtagent goes on without it", self._model, name)
        return True

    def _leave_out(self, name: str) -> None:
        other = OTHER_NAME.get(name)
        if other is not None and other in self._renamed:
            self._renamed |= {name: None, other: None}
        else:
            self._renamed[name] = other

    def _loosen(self, adapted: dict[str | None, object]) -> None:
        format_ = adapted.pop("response_format")
        kind = str(format_.get("type")) if isinstance(format_, dict) else ""
        tools = "tools" in adapted
        if not self._refuses(kind, tools):
            adapted["response_format"] = format_
        elif (looser := LOOSER_FORMAT.get(kind)) and not self._refuses(looser, tools) and _asks_for_json(adapted):
            adapted["response_format"] = {"type": looser}

    def _refuses(self, kind: str, tools: bool) -> bool:
        return kind in self._formats or _format_name(kind, tools) in self._formats


def _format_name(kind: str, tools: bool) -> str:
    """What is refused: some servers take this kind of ``response_format``, but not together with tools."""
    return f"{kind} with tools" if tools else kind


def _asks_for_json(body: dict[str | None, object]) -> bool:
    """OpenAI takes ``json_object`` only where a message says the word."""
    return "json" in str(body["messages"]).lower()


def refused_parameter(failure: Failure, sent: Body) -> str | None:
    """The optional parameter of ``sent`` that a 400 or 422 names as unsupported, if it does.

    Tools are also refused by other statuses, and where only the messages hold what became of them.
    """
    tools = "tools" in sent or uses_tools(sent["messages"])
    if failure.status not in (400, 422):
        return "tools" if tools and failure.status in _ALSO_NO_TOOLS and _says_no_tools(failure.message) else None
    candidates = [name for name in OPTIONAL if name in sent or (name == "tools" and tools)]
    root = (failure.param or "").split(".")[0].split("[")[0]
    if root == "reasoning_effort" and tools and _MENTION["tools"].search(failure.message):
        root = "tools"  # "Function tools with reasoning_effort are not supported": tools can be said in words
    if root in candidates:
        candidates = [root]
    unsupported = _UNSUPPORTED.search(f"{failure.code} {failure.message}") is not None
    for name in candidates:
        # A schema that the server cannot use is no reason to fail: the reply is read tolerantly anyway.
        if (unsupported or name == "response_format") and (name == root or _MENTION[name].search(failure.message)):
            return name
    return None


def _says_no_tools(message: str) -> bool:
    return _MENTION["tools"].search(message) is not None and _NO_TOOLS.search(message) is not None


FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
LONGEST_THROTTLED = 8.0  # the limiter sees to it that a server at its limit is not asked too often
YEAR = 366 * 86_400
UNITS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))


def last_outcome(state: RetryCallState) -> Reply | Failure:
    """What the last attempt brought."""
    assert state.outcome is not None
    outcome: Reply | Failure = state.outcome.result()
    return outcome


def backoff(state: RetryCallState) -> float:
    """What the server asked for, however long; else twice as long each time, with jitter."""
    failure = last_outcome(state)
    assert isinstance(failure, Failure)
    most = LONGEST_THROTTLED if failure.status == 429 else LONGEST_WAIT
    longest = min(most, FIRST_WAIT * 2.0 ** min(state.attempt_number - 1, 10))
    seconds = random.uniform(longest / 2, longest)
    if failure.retry_after is not None:
        seconds = max(failure.retry_after, min(seconds, 1.0))  # some servers ask to wait 0 s, again and again
    logger.info("attempt %d failed (%s); next in %.1f s", state.attempt_number, failure.message, seconds)
    return seconds


def until(seconds: float, now: float) -> str:
    """A wait in words, with the local time of its end: ``7,200 s (2 hours, until 14:35:10)``. ``now``: since 1970."""
    if seconds > YEAR:
        return "more than a year"
    end = time.localtime(now + seconds)
    day = "" if end[:3] == time.localtime(now)[:3] else "%Y-%m-%d "
    name, size = next((name, size) for name, size in UNITS if seconds >= 1.5 * size or size == 1)
    rounded = f"{seconds / size:,.0f} {name}, " if size > 1 else ""
    return f"{seconds:,.0f} s ({rounded}until {time.strftime(f'{day}%H:%M:%S', end)})"


FIRST_CONNECTIONS = 4


@dataclass(slots=True)
class Exchange:
    """The state of one ``complete``: what was paid and failed, how often it was tried, and until when it may be."""

    deadline: float
    started: float
    call: Call
    tools: bool
    until: float | None = None
    attempts: int = 0
    paid: list[Usage] = field(default_factory=list)
    failed: list[Call] = field(default_factory=list)

    def left(self, now: float) -> float:
        """Seconds until the deadline, which runs from the first attempt or the first pause that the server asks for:
        queueing for a place does not count.
        """
        if self.until is None:
            self.until = now + self.deadline
        return self.until - now

    def too_long(self, pause: float | None, now: float) -> bool:
        """Whether the server asks for a ``pause`` that no call can wait for.

        Shorter ones, again and again, may mean this request alone: it fails at its deadline like any other.
        """
        return pause is not None and pause > max(self.left(now), self.deadline / 2)


class OpenAIClient:
    """Talks to one model on one OpenAI-compatible server.

    ``base_url`` defaults to ``OPENAI_BASE_URL`` and then to OpenAI; the key is read from the environment variable
    ``api_key_env`` and is never shown. What can succeed is tried again until ``deadline`` seconds after the first
    attempt, and each attempt may take ``timeout`` seconds; an address where nobody ever answered is given up after four
    attempts. Clients of the same server should share a ``limiter``. ``leave_out`` names what the server is known not to
    take, of what it may also teach by refusing it: ``tools``, ``logprobs`` … ``known_as`` stands for the address in the
    keys that replies are stored under, for a server that has another port every time.
    ``price(model, usage, base_url)`` gives dollars or ``None``; the default knows the list prices of public providers.
    ``clock`` is for tests.

    Raises :class:`mtagent.errors.ConfigError` where key or address cannot work.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        sampling: Sampling | None = None,
        deadline: float = 600.0,
        timeout: float = 300.0,
        limiter: Limiter | None = None,
        leave_out: Sequence[str] = (),
        known_as: str | None = None,
        price: Price | None = None,
        clock: Clock | None = None,
    ) -> None:
        from mtagent.llm.transport import Transport  # imported here: the openai package takes more than half a second

        self.model = model
        self.base_url = server_address(base_url)
        self.sampling = sampling or Sampling()
        self.limiter = limiter or Limiter(clock=clock)
        self._known_as = known_as or self.base_url
        self._api_key_env = api_key_env
        self._deadline = deadline
        self._timeout = timeout
        self._price = price or list_price
        self._clock = clock or Clock()
        self._learnt = LearntParameters(model, leave_out)
        self._parameters = self.sampling.parameters()
        self._reached = self._answered = False
        self._transport = Transport(self.base_url, server_key(api_key_env, self.base_url), timeout, self._clock)

    def __repr__(self) -> str:
        return f"OpenAIClient({self.model!r}, base_url={self.base_url!r})"

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parameters that the model refused so far and that are no longer sent."""
        return self._learnt.left_out

    def price(self, usage: Usage) -> float | None:
        """US dollars for ``usage``, or ``None`` where the price is not known."""
        return self._price(self.model, usage, self.base_url)

    def key(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        logprobs: bool = False,
        tools: Sequence[Tool] = (),
    ) -> str:
        """A hash that names this request: model, server, settings, messages and tools."""
        return key_of(self._body(messages, schema, logprobs, tools), self._known_as)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        logprobs: bool = False,
        tools: Sequence[Tool] = (),
        purpose: str = "",
        segment: str = "",
    ) -> Completion:
        """Ask for one reply; see :class:`mtagent.llm.protocol.LLM`.

        ``usage`` adds up every reply that the server counted, a first one that was cut off included; ``usage.calls``
        says how many. An error carries in ``calls`` what was paid before it, each attempt by itself.
        """
        call = Call.model_construct(purpose=purpose, model=self.model, messages=tuple(messages))
        exchange = Exchange(self._deadline, self._clock.now(), call, bool(tools))
        outcome = await self._converse(self._body(messages, schema, logprobs, tools), exchange)
        if isinstance(outcome, Failure):
            error = self._error(outcome, exchange)
            last = exchange.failed.pop() if outcome.answered else call
            seconds = self._clock.now() - exchange.started
            error.calls = (*exchange.failed, last.model_copy(update={"error": str(error), "seconds": seconds}))
            raise error
        self._answered = True
        return Completion.model_construct(
            text=outcome.text,
            model=outcome.model,
            finish_reason=outcome.finish_reason,
            usage=exchange.paid[0] if len(exchange.paid) == 1 else Usage.total(exchange.paid),
            logprobs=outcome.logprobs,
            tool_calls=outcome.tool_calls,
            attempts=tuple(exchange.failed),
        )

    async def aclose(self) -> None:
        """Close the connections. A later request opens new ones."""
        await self._transport.aclose()

    def _body(self, messages: Sequence[Message], schema: Schema | None, logprobs: bool, tools: Sequence[Tool]) -> Body:
        return request_body(self.model, self._parameters, messages, schema, logprobs, tools)

    async def _converse(self, body: Body, exchange: Exchange) -> Reply | Failure:
        """A usable reply; one that says nothing or cannot be read and one that was cut off get a second chance each."""
        chances = {EmptyReply, Truncated}
        while True:
            outcome = await self._accepted(body, exchange)
            if isinstance(outcome, Failure) and not outcome.answered:
                was_cut = Truncated not in chances and outcome.kind is BadRequest
                return replace(outcome, kind=Truncated) if was_cut else outcome
            usage = Usage(calls=1, cost=None) if isinstance(outcome, Failure) else self._priced(outcome)
            exchange.paid.append(usage)
            if isinstance(outcome, Failure):
                failure, said = outcome, exchange.call
            elif outcome.problem is None:
                return outcome
            else:
                failure = Failure(outcome.problem, outcome.detail, 200, answered=True)
                said = exchange.call.model_copy(update={"reply": outcome.text, "tool_calls": outcome.tool_calls})
            words = failure.message or "no text"
            exchange.failed.append(
                said.model_copy(update={"usage": usage, "error": f"{failure.kind.__name__}: {words}"})
            )
            chance = EmptyReply if failure.kind is ServerError else failure.kind
            if chance not in chances:
                return failure
            chances.discard(chance)
            if failure.kind is Truncated:
                body = with_more_room(body, usage.output_tokens)

    async def _accepted(self, body: Body, exchange: Exchange) -> Reply | Failure:
        """A reply, after leaving out what the model does not take."""
        while True:
            sent = self._learnt.adapt(body)
            outcome = await self._persistent(sent, exchange)
            if not isinstance(outcome, Failure) or not self._learnt.learn(outcome, sent):
                return outcome

    async def _persistent(self, sent: Body, exchange: Exchange) -> Reply | Failure:
        """A reply, after trying again whatever may pass, until the deadline."""
        retrying = AsyncRetrying(
            retry=retry_if_result(lambda outcome: self._may_pass(outcome, sent)),
            wait=backoff,
            stop=lambda state: state.upcoming_sleep > exchange.left(self._clock.now()) or self._nobody_there(state),
            sleep=self._sleep,
            retry_error_callback=last_outcome,
        )
        return await retrying(self._once, sent, exchange)

    async def _sleep(self, seconds: float) -> None:
        with self.limiter.sleepers.one_more():
            await self._clock.sleep(seconds)

    @staticmethod
    def _may_pass(outcome: Reply | Failure, sent: Body) -> bool:
        """Whether asking again can help. A server that knows no tools may say so with a 500, which will not pass."""
        return isinstance(outcome, Failure) and outcome.transient and refused_parameter(outcome, sent) is None

    def _nobody_there(self, state: RetryCallState) -> bool:
        """Whether no connection was ever made: a wrong address, more likely than a server that will be back."""
        outcome = last_outcome(state)
        unreachable = isinstance(outcome, Failure) and outcome.unreachable
        return unreachable and not self._reached and state.attempt_number >= FIRST_CONNECTIONS

    async def _once(self, sent: Body, exchange: Exchange) -> Reply | Failure:
        """One request, as soon as the limiter admits it."""
        tokens = estimated_tokens(sent) if self.limiter.counts_tokens else 0
        try:
            async with self.limiter.slot(tokens, lambda: exchange.left(self._clock.now())) as slot:
                seconds = min(self._timeout, max(1.0, exchange.left(self._clock.now())))
                exchange.attempts += 1
                payload = await self._transport.post(sent, seconds)
                outcome = payload if isinstance(payload, Failure) else self._read(payload, sent, exchange)
                self._reached = self._reached or not (isinstance(outcome, Failure) and outcome.unreachable)
                if not isinstance(outcome, Failure):
                    slot.succeeded(outcome.usage.input_tokens + outcome.usage.output_tokens if outcome.usage else 0)
                elif outcome.transient and (outcome.status == 429 or outcome.retry_after):
                    too_long = exchange.too_long(outcome.retry_after, self._clock.now())
                    slot.throttled(outcome.retry_after, everybody=too_long)
            return outcome
        except PauseTooLong as pause:
            asked = "the server asked for a pause"
            return Failure(RateLimited, asked, 429, transient=True, retry_after=pause.seconds)

    def _priced(self, reply: Reply) -> Usage:
        if reply.usage is None:
            return Usage(calls=1, cost=None)
        cost = self._price(self.model, reply.usage, self.base_url)
        if cost is None and reply.model != self.model:  # an alias, or the name of a deployment
            cost = self._price(reply.model, reply.usage, self.base_url)
        return reply.usage if cost is None else reply.usage.model_copy(update={"cost": cost})

    def _read(self, payload: object, sent: Body, exchange: Exchange) -> Reply | Failure:
        asked = (message["content"] or "" for message in sent["messages"] if message["role"] != "assistant")
        return read_reply(payload, self.model, tools=exchange.tools, asked=asked)

    def _error(self, failure: Failure, exchange: Exchange) -> ModelError:
        wait = failure.retry_after
        if not (failure.transient and wait is not None and exchange.too_long(wait, self._clock.now())):
            # A model that has answered is there: a gateway that then does not find it may do so with the next request.
            kind = BadRequest if failure.kind is ModelNotFound and self._answered else failure.kind
            return kind(self._explain(failure, exchange))
        error = ServerPaused(
            f"stopped: {self.model} at {self.base_url} asks to be left alone for {until(wait, self._clock.wall())}, "
            f"and a call may wait {exchange.deadline:.0f} s (--deadline). What was finished is stored: the same "
            "command after that time goes on from there"
        )
        error.seconds = wait
        return error

    def _explain(self, failure: Failure, exchange: Exchange) -> str:
        """The message of the error: model, server, status, the server's words, and the way out."""
        status = f"HTTP {failure.status}: " if failure.status not in (0, 200) else ""
        words = f": {status}{failure.message}" if status or failure.message else ""
        tried = f" (attempt {exchange.attempts})" if exchange.attempts > 1 else ""
        way_out = self._way_out(failure, exchange.left(self._clock.now()))
        return f"{self.model} at {self.base_url}{words}{tried}; {way_out}"

    def _way_out(self, failure: Failure, left: float) -> str:
        if failure.retry_after is not None and failure.retry_after > left:
            wait = f"the server asks to wait {failure.retry_after:.0f} s, but only {max(left, 0):.0f} s"
            return f"{wait} of the deadline are left: allow more time or come back later"
        if failure.unreachable and not self._reached:
            return "nobody answers there: check the base URL, and whether the server is up"
        if failure.transient:
            return (
                f"given up at the deadline of {self._deadline:.0f} s: allow more time, or see whether the server is up"
            )
        if failure.answered and failure.kind is ServerError:
            return "asked twice: see whether the server works as it should, or try another model"
        if failure.kind is ModelNotFound or failure.code in NO_MODEL:
            models = f"{self.base_url}/models lists what the server has"
            return f"{self.model} may be gone, or not open to this key: name another with --model NAME ({models})"
        if failure.kind is BadRequest and failure.status == 404:
            return "check the model's name and the base URL"
        return WAYS_OUT[failure.kind].format(variable=self._api_key_env)


WAYS_OUT: dict[type[ModelError], str] = {
    AuthenticationError: "check the key in {variable} and what it may use",
    BadRequest: "sending it again cannot help: change the settings or the request",
    RateLimited: "no retry will be let through: check the account's quota",
    EmptyReply: "the reply was empty twice: try another model or other settings",
    Refused: "the model or a content filter refused to answer: try another model for this text",
    Truncated: "the reply was cut off, also with more room: raise max_tokens or send less text",
}
