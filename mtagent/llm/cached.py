"""The call cache: a request that was answered before is not paid for again."""

from __future__ import annotations

import copy
import time
from asyncio import Future, get_running_loop, shield
from collections.abc import Sequence
from typing import Any, Protocol, Unpack, runtime_checkable

from mtagent.errors import ModelError, MtagentError, StoreError
from mtagent.llm.plain import whole_characters
from mtagent.llm.request import Form
from mtagent.protocols import LLM, Asked
from mtagent.records import Call, Completion, Message, Schema, Tool, ToolCall, Usage
from mtagent.store import Store


@runtime_checkable
class KeyedLLM(LLM, Protocol):
    """A model that can say what a request is made of."""

    def key(
        self, messages: Sequence[Message], schema: Schema | None, logprobs: bool, tools: Sequence[Tool] = ()
    ) -> str:
        """A hash of everything that would be sent: model, settings and content."""
        ...


class Cached:
    """An LLM whose calls are written to the store at once, and answered from there where they were made before.

    A reply that this segment of this run paid for keeps its usage, once per chain; any other stored reply costs nothing
    now (``Usage(reused=1)``). Equal requests at the same time are sent once. Errors are recorded, never reused.
    ``run_id`` may be set later, but before the first call.
    """

    def __init__(self, llm: KeyedLLM, store: Store, run_id: int = 0) -> None:
        self.model = llm.model
        self.sampling = getattr(llm, "sampling", None)
        self._llm = llm
        self._store = store
        self.run_id = run_id
        # Key → the answer to come: a completion, an error, or None where the asking was given up.
        self._asked: dict[str, Future[Completion | MtagentError | None]] = {}

    async def complete(self, messages: Sequence[Message], **asked: Unpack[Asked]) -> Completion:
        """Ask for one reply, or recall it. Raises :class:`mtagent.errors.ModelError` and :class:`StoreError`."""
        form = Form.of(asked)
        offered: dict[str, Any] = (
            {"tools": form.tools} if form.tools else {}
        )  # a model of a third party need not know of tools
        key = self._llm.key(messages, form.schema, form.logprobs, **offered)
        while (first := self._asked.get(key)) is not None:
            answer = await shield(first)
            if isinstance(answer, Completion):
                return answer.model_copy(update={"usage": Usage(reused=1)})
            if answer is not None:
                raise _without_calls(answer)
        stored = self._store.recall(self.run_id, asked.get("segment", ""), key)
        if stored is not None:
            return stored

        first = self._asked[key] = get_running_loop().create_future()
        answer = None
        try:
            answer = await self._ask(key, messages, asked)
            return answer
        except MtagentError as error:
            answer = error
            raise
        finally:
            del self._asked[key]
            first.set_result(answer)

    async def _ask(self, key: str, messages: Sequence[Message], asked: Asked) -> Completion:
        begun, purpose, segment = time.perf_counter(), asked.get("purpose", ""), asked.get("segment", "")
        unanswered = Call(purpose=purpose, model=self.model, messages=tuple(messages))

        def called(**came: Any) -> Call:
            return unanswered.model_copy(update={"seconds": time.perf_counter() - begun, **came})

        try:
            completion = await self._llm.complete(messages, **asked)
        except ModelError as error:
            for failed in error.calls or (called(error=str(error)),):
                self._store.record_call(self.run_id, segment, purpose, key, failed, None)
            raise
        completion = _whole(completion)
        call = called(reply=completion.text, tool_calls=completion.tool_calls, usage=completion.usage)
        try:
            self._store.record_call(self.run_id, segment, purpose, key, call, completion)
        except StoreError as error:
            error.calls = (call,)
            raise
        return completion


def _whole(completion: Completion) -> Completion:
    """``completion`` without halves of characters, which no store takes."""
    calls = [
        ToolCall(**{k: whole_characters(v) for k, v in call.model_dump().items()}) for call in completion.tool_calls
    ]
    return completion.model_copy(update={"text": whole_characters(completion.text), "tool_calls": tuple(calls)})


def _without_calls(error: MtagentError) -> MtagentError:
    """The same error for someone who waited for another's request, and has not paid for it."""
    unpaid = copy.copy(error)
    unpaid.calls = ()
    return unpaid
