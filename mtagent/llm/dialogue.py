"""The calls that one piece of work makes: asking, reading the replies, and keeping account of all of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self, TypeVar

from mtagent.errors import MtagentError, UnreadableReply
from mtagent.prompts import Prompt, Values
from mtagent.protocols import LLM
from mtagent.records import Call, Completion, Message

T = TypeVar("T")
AGAIN = (
    "That reply could not be used: {reason}. Please give the whole reply again, exactly in the form that was asked "
    "for, and nothing else."
)


class Dialogue:
    """Used as a context manager around the work on one segment; an error that leaves it carries its ``calls``."""

    def __init__(self, llm: LLM, segment: str) -> None:
        self._llm, self._segment = llm, segment
        self.calls: list[Call] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):  # a third party's part may raise anything, after calls that were paid for
            setattr(error, "calls", tuple(self.calls))  # noqa: B010 only our own errors declare it

    async def ask(self, prompt: Prompt, values: Values, purpose: str, read: Callable[[str], T]) -> T:
        """Send ``prompt`` and return what ``read`` makes of the reply.

        A reply that ``read`` refuses with :class:`UnreadableReply` is asked for once more, with the reason.
        """
        messages = prompt.render(values)
        completion, call = await self._complete(messages, purpose, prompt)
        try:
            return read(completion.text)
        except UnreadableReply as error:
            self._mark_unreadable(call, error)
            again = AGAIN.format(reason=error)
        messages = (*messages, Message(role="assistant", content=completion.text), Message(role="user", content=again))
        completion, call = await self._complete(messages, purpose, prompt)
        try:
            return read(completion.text)
        except UnreadableReply as error:
            self._mark_unreadable(call, error)
            raise

    def _mark_unreadable(self, call: int, error: UnreadableReply) -> None:
        """Say on record why a reply was of no use; the call cache does not give it out again."""
        self.calls[call] = self.calls[call].model_copy(update={"error": f"{type(error).__name__}: {error}"})

    async def _complete(self, messages: Sequence[Message], purpose: str, prompt: Prompt) -> tuple[Completion, int]:
        """One call, put on record whether it succeeds or not; gives its place in the record."""
        began = time.perf_counter()
        try:
            completion = await self._llm.complete(
                messages, schema=prompt.reply_schema, purpose=purpose, segment=self._segment
            )
        except MtagentError as error:
            failed = Call(purpose=purpose, model=self._llm.model, messages=tuple(messages), error=str(error))
            paid = [call.model_copy(update={"purpose": purpose}) for call in error.calls]
            self.calls += paid or [failed.model_copy(update={"seconds": time.perf_counter() - began})]
            raise
        self.calls.append(
            Call.model_construct(
                purpose=purpose,
                model=completion.model,
                messages=tuple(messages),
                reply=completion.text,
                usage=completion.usage,
                seconds=time.perf_counter() - began,
                error=None,
            )
        )
        return completion, len(self.calls) - 1
