"""Models for tests: no network, no surprise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from mtagent.errors import OffScript
from mtagent.llm.protocol import RequestOptions
from mtagent.llm.request import key_of, request_body
from mtagent.records import Completion, Message, Schema, Tool, Usage

Answer = str | Completion | Exception
Reply = Callable[[Sequence[Message], str], Answer]


@dataclass(frozen=True)
class Request:
    """A request to a fake."""

    messages: tuple[Message, ...]
    schema: Schema | None = None
    logprobs: bool = False
    purpose: str = ""
    segment: str = ""
    tools: tuple[Tool, ...] = ()


class _Keyed:
    """A fake that names its requests."""

    model: str

    def key(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        logprobs: bool = False,
        tools: Sequence[Tool] = (),
    ) -> str:
        """A hash that names this request, like the real client's."""
        return key_of(request_body(self.model, {}, messages, schema, logprobs, tools))


class ScriptedLLM(_Keyed):
    """Gives its scripted replies: one after the other, or the results of a function of messages and purpose.

    An exception among the replies is raised. A request too many raises :class:`OffScript`, which nothing in mtagent
    treats as a failed request; :meth:`finish` raises it for unused replies. ``requests`` lists all requests. A plain
    text counts as one call without tokens, and costs nothing.
    """

    def __init__(self, replies: Iterable[Answer] | Reply, *, model: str = "scripted") -> None:
        self.model = model
        self.requests: list[Request] = []
        self._reply: Reply | None = replies if callable(replies) else None
        self._left: list[Answer] = [] if callable(replies) else list(reversed(list(replies)))

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        """The next reply; see :class:`mtagent.llm.protocol.LLM`."""
        fields: dict[str, Any] = {**options, "tools": tuple(options.get("tools", ()))}
        request = Request(tuple(messages), **fields)
        self.requests.append(request)
        if self._reply is not None:
            answer = self._reply(messages, request.purpose)
        elif self._left:
            answer = self._left.pop()
        else:
            text = messages[-1].content[:200] if messages else ""
            number = len(self.requests)
            raise OffScript(f"no scripted reply left for request {number} (purpose {request.purpose!r}): {text!r}")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        return Completion(text=answer, model=self.model, usage=Usage(calls=1))

    def finish(self) -> None:
        """Assert that every reply was used."""
        if self._left:
            raise OffScript(f"{len(self._left)} scripted replies were not used; next: {self._left[-1]!r}")


class ForbiddenLLM(_Keyed):
    """A model that must not be called: any request raises :class:`OffScript`."""

    model = "forbidden"

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        """Raise."""
        text = messages[-1].content[:200] if messages else ""
        who = f"{options.get('purpose', '')!r} of segment {options.get('segment', '')!r}"
        raise OffScript(f"no request is allowed here, but {who} asks {text!r}")
