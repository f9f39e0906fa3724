"""The call cache: a request that was answered before is not paid for again."""

from __future__ import annotations

import copy
import time
from asyncio import CancelledError, Future, get_running_loop, shield
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, TypeVar, Unpack

from mtagent.errors import ModelError, MtagentError, StoreError, calls_of
from mtagent.llm.protocol import KeyedLLM, RequestOptions, request_key, sampling_of
from mtagent.llm.reading import says_nothing, whole_characters
from mtagent.records import UNCOUNTED, UNPAID, Call, Completion, Message, Schema, Tool, ToolCall, Usage
from mtagent.store.calls import OUTSIDE
from mtagent.store.store import Store

LARGEST_COUNT = 2**53


class Cached:
    """An LLM that writes each call to the store at once, and answers repeated requests from the store.

    A reply that this segment of this run paid for keeps its usage, once per chain; any other stored reply costs nothing
    now (``Usage(reused=1)``, with what another run paid as ``saved``). Equal requests at the same time are sent once.
    Errors are recorded, but never reused, and neither are empty replies. ``run_id`` may be set later, but before the
    first call; without it, calls belong to no run and no segment.
    """

    def __init__(self, llm: KeyedLLM, store: Store, run_id: int = OUTSIDE) -> None:
        self.model = llm.model
        self.sampling = sampling_of(llm)
        self._llm = llm
        self._store = store
        self.run_id = run_id
        # Key → the future answer: a completion, an error, or None if the request was cancelled.
        self._pending: dict[str, Future[Completion | MtagentError | None]] = {}

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        """Ask for one reply, or recall it. Raises :class:`mtagent.errors.ModelError` and :class:`StoreError`."""
        if self.run_id == OUTSIDE:
            options["segment"] = ""
        key = request_key(self._llm, messages, options)
        while (pending := self._pending.get(key)) is not None:
            answer = await shield(pending)
            if isinstance(answer, Completion):
                return answer.model_copy(
                    update={"usage": Usage(reused=1), "attempts": (), "retries": (), "waited": 0.0, "endpoint": None}
                )
            if answer is not None:
                unpaid = copy.copy(answer)
                unpaid.calls = ()  # only the task that sent the request has paid for it
                raise unpaid
        texts = [message.content for message in messages if message.role != "assistant"]
        while (stored := self._store.calls.recall(self.run_id, options.get("segment", ""), key)) is not None:
            if (options.get("tools") and stored.tool_calls) or not says_nothing(stored.text, texts):
                return stored
            if not self._store.calls.distrust(key, stored.text, "EmptyReply: it says nothing"):
                break

        pending = self._pending[key] = get_running_loop().create_future()
        answer = None
        try:
            answer = await self._ask(key, messages, options)
            return answer
        except MtagentError as error:
            answer = error
            raise
        finally:
            del self._pending[key]
            pending.set_result(answer)

    async def _ask(self, key: str, messages: Sequence[Message], options: RequestOptions) -> Completion:
        """Call the model, and record the reply or the error."""
        began, purpose, segment = time.perf_counter(), options.get("purpose", ""), options.get("segment", "")
        texts = tuple(messages)
        try:
            completion = _storable(await self._llm.complete(messages, **options))
        except ModelError as error:
            seconds = time.perf_counter() - began
            failed = Call(
                purpose=purpose, model=self.model, messages=texts, usage=UNPAID, seconds=seconds, error=str(error)
            )
            for call in error.calls or (failed,):
                self._store.calls.record(self.run_id, segment, purpose, key, _storable(call), None)
            raise
        except CancelledError as error:
            for call in calls_of(error)[:-1]:  # the last one was in flight
                self._store.calls.record(self.run_id, segment, purpose, key, _storable(call), None)
            raise
        for call in completion.attempts:  # recorded, but counted with the reply, so that a resumed run adds up
            free = call.model_copy(update={"usage": UNPAID})
            self._store.calls.record(self.run_id, segment, purpose, key, _storable(free), None)
        call = Call(
            purpose=purpose,
            model=self.model,
            messages=texts,
            reply=completion.text,
            tool_calls=completion.tool_calls,
            usage=completion.usage,
            seconds=time.perf_counter() - began,
            retries=completion.retries,
            waited=completion.waited,
            endpoint=completion.endpoint,
            in_batch=completion.usage.batched > 0,
        )
        try:
            self._store.calls.record(self.run_id, segment, purpose, key, call, completion)
        except StoreError as error:
            error.calls = (call,)
            raise
        return completion


class Redrawn:
    """A model for one of several draws: the cache keeps the replies of different draws apart."""

    def __init__(self, llm: KeyedLLM, draw: str) -> None:
        self._llm, self._draw, self.model = llm, draw, llm.model
        self.sampling = sampling_of(llm)
        for name in ("price", "limiters"):  # set only if the model has them: others check that
            if hasattr(llm, name):
                setattr(self, name, getattr(llm, name))

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        """Ask for one reply."""
        return await self._llm.complete(messages, **options)

    def key(
        self, messages: Sequence[Message], schema: Schema | None, logprobs: bool, tools: Sequence[Tool] = ()
    ) -> str:
        """The request's key, and the draw."""
        more: dict[str, Any] = {"tools": tools} if tools else {}
        return f"{self._llm.key(messages, schema, logprobs, **more)}#{self._draw}"


_counts_of = attrgetter(*(name for name in Usage.model_fields if name not in ("cost", "saved")))
Answer = TypeVar("Answer", Call, Completion)


def _storable(answer: Answer) -> Answer:
    """``answer`` without halves of characters and impossible counts, which cannot be stored."""
    changes: dict[str, Any] = {}
    names = ("reply", "model", "error") if isinstance(answer, Call) else ("text", "model", "finish_reason")
    for name in names:
        value = getattr(answer, name)
        if isinstance(value, str) and whole_characters(value) != value:
            changes[name] = whole_characters(value)
    if answer.tool_calls:
        tool_calls = []
        for call in answer.tool_calls:
            texts = {name: whole_characters(text) for name, text in call.model_dump().items()}
            tool_calls.append(ToolCall(**texts))
        changes["tool_calls"] = tuple(tool_calls)
    counts = _counts_of(answer.usage)
    if min(counts) < 0 or max(counts) >= LARGEST_COUNT:
        changes["usage"] = UNCOUNTED
    return answer.model_copy(update=changes) if changes else answer
