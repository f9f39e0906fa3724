"""The calls that one piece of work makes: asking, reading the replies, and keeping account of all of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from mtagent.errors import EmptyReply, MtagentError, UnreadableReply, calls_of
from mtagent.llm.gathering import aside, turn
from mtagent.llm.prompts import Prompt, Talk, Values
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import whole_characters
from mtagent.records import UNPAID, Call, Completion, Message, Schema, Tool

T = TypeVar("T")
AGAIN = (
    "That reply could not be used: {reason}. Please give the whole reply again, exactly in the form that was asked "
    "for, and nothing else."
)
NOTHING = "(no text)"
GIVEN_UP = "stopped in flight; its cost is unknown"


def _with_reason(messages: tuple[Message, ...], reply: str, reason: str) -> tuple[Message, ...]:
    """``messages``, the ``reply`` to them, and the request to give it again."""
    shown = reply if reply.strip() else NOTHING  # some servers refuse an empty turn
    again = AGAIN.format(reason=reason)
    return (*messages, Message(role="assistant", content=shown), Message(role="user", content=again))


class Dialogue:
    """Used as a context manager around the work on one segment; an error that leaves it carries its ``calls``."""

    def __init__(self, llm: LLM, segment: str) -> None:
        self._llm, self._segment = llm, segment
        # An InstructedLLM has it; to check for the whole protocol with each call takes 20 µs.
        self._instructed = getattr(llm, "instructed", None)
        self.calls: list[Call] = []
        self._began = time.perf_counter()
        # id of a completion → its place in ``calls``; holds the completion too, so that its id is not given again
        self._places: dict[int, tuple[int, Completion]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A third party's part may raise anything, and time may run out, after calls that were paid for.
        if isinstance(error, Exception | asyncio.CancelledError):
            setattr(error, "calls", tuple(self.calls))  # noqa: B010 only our own errors declare it

    @property
    def seconds(self) -> float:
        """Seconds since the dialogue began."""
        return time.perf_counter() - self._began

    async def ask(
        self, prompt: Prompt, values: Values, purpose: str, read: Callable[[str], T], *, talk: Talk = ()
    ) -> T:
        """Send ``prompt``, and the ``talk`` that followed on it, and return what ``read`` makes of the reply.

        A reply that ``read`` refuses with :class:`UnreadableReply` or :class:`EmptyReply` is requested once more, with
        the reason. No reply that ``read`` raises anything for is taken from the call cache again.
        """
        value, _ = await self.ask_fully(prompt, values, purpose, read, talk=talk)
        return value

    async def ask_fully(
        self,
        prompt: Prompt,
        values: Values,
        purpose: str,
        read: Callable[[str], T],
        *,
        talk: Talk = (),
        logprobs: bool = False,
    ) -> tuple[T, Completion]:
        """The same, with the completion that was read: its log-probabilities, where the server gives them."""
        messages, schema = prompt.render(values, talk), prompt.reply_schema
        request = None if talk else messages[-1].content
        for last in (False, True):
            completion = await self.send(messages, purpose, schema=schema, logprobs=logprobs)
            try:
                return await self._read(completion, prompt, values, request, read), completion
            except (UnreadableReply, EmptyReply) as error:
                if last:
                    raise
                messages = _with_reason(messages, completion.text, str(error))
        raise AssertionError

    async def ask_once_more(
        self, prompt: Prompt, values: Values, purpose: str, read: Callable[[str], T], *, reply: str, reason: str
    ) -> T:
        """Send ``prompt`` once more after a ``reply`` that can be used, with the ``reason`` to ask for a better one.

        It is one request: a reply that ``read`` refuses is not asked for again. The former ``reply`` stays in the call
        cache.
        """
        messages = prompt.render(values)
        request = messages[-1].content
        completion = await self.send(_with_reason(messages, reply, reason), purpose, schema=prompt.reply_schema)
        return await self._read(completion, prompt, values, request, read)

    async def _read(
        self, completion: Completion, prompt: Prompt, values: Values, request: str | None, read: Callable[[str], T]
    ) -> T:
        """What ``read`` makes of the reply; it is marked where that raises anything."""

        def readable() -> T:
            if prompt.repeated_in(completion.text, values, request):
                raise UnreadableReply("it repeats the instructions of the request instead of following them")
            return read(completion.text)

        # A short reply may be about a large text.
        texts = [value for value in (completion.text, *values.values()) if isinstance(value, str)]
        try:
            return await aside(sum(map(len, texts)), readable)
        except Exception as error:
            self.mark_unreadable(completion, error)
            raise

    async def send(
        self,
        messages: Sequence[Message],
        purpose: str,
        *,
        schema: Schema | None = None,
        logprobs: bool = False,
        tools: Sequence[Tool] = (),
    ) -> Completion:
        """One call with messages of one's own, put on record whether it succeeds or not."""
        began = time.perf_counter()
        if self._instructed is not None:  # the record has what was sent
            messages = self._instructed(messages)
        offered: dict[str, Any] = {"tools": tools} if tools else {}  # a model of a third party need not know of tools
        texts, model = tuple(messages), self._llm.model
        call = Call(purpose=purpose, model=model, messages=texts, usage=UNPAID)  # given: a default is copied deeply

        def ended(**fields: Any) -> Call:
            return call.model_copy(update={"seconds": time.perf_counter() - began, **fields})

        try:
            completion = await self._llm.complete(
                messages, schema=schema, logprobs=logprobs, purpose=purpose, segment=self._segment, **offered
            )
        except asyncio.CancelledError as error:  # the server may have worked and charged for the last request
            for attempt in calls_of(error)[:-1]:
                self.calls.append(attempt.model_copy(update={"purpose": purpose}))
            self.calls.append(ended(error=GIVEN_UP))
            raise
        except MtagentError as error:
            paid = [paid.model_copy(update={"purpose": purpose}) for paid in error.calls]
            self.calls += paid or [ended(error=whole_characters(str(error)))]
            await turn()  # after those who were answered before: it may end the work of all
            raise
        self._places[id(completion)] = (len(self.calls), completion)
        call = ended(
            model=completion.model,
            reply=completion.text,
            tool_calls=completion.tool_calls,
            usage=completion.usage,
            retries=completion.retries,
            waited=completion.waited,
            endpoint=completion.endpoint,
            in_batch=completion.usage.batched > 0,
        )
        self.calls.append(call)
        await turn()
        return completion

    def mark_unreadable(self, completion: Completion, error: Exception) -> None:
        """Record why a reply was useless; the call cache does not return it again."""
        place, _ = self._places[id(completion)]
        reason = whole_characters(f"{type(error).__name__}: {error}")
        self.calls[place] = self.calls[place].model_copy(update={"error": reason})
