"""Real replies, written down once and given again: for the offline demo and for tests."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Unpack

from pydantic import BaseModel, ConfigDict, ValidationError

from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.llm.protocol import LLM, Asked
from mtagent.llm.request import Form, Sampling, request_key
from mtagent.records import Completion, Message, Schema, Tool

CONTEXT = 40


class Recording(BaseModel):
    """One line of a file of recorded replies. ``asked`` is the model that was asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    asked: str
    messages: tuple[Message, ...]
    reply_schema: Schema | None = None
    logprobs: bool = False
    tools: tuple[Tool, ...] = ()
    completion: Completion


def _key(model: str, messages: Sequence[Message], schema: Schema | None, logprobs: bool, tools: Sequence[Tool]) -> str:
    """Names a request whatever server and sampling settings it was made with: those are not known on replay."""
    return request_key(model, None, Sampling(), messages, schema, logprobs, tools)


class Recorder:
    """Asks ``llm`` and appends each reply to the file ``path`` (JSON lines). Failed requests are not recorded."""

    def __init__(self, llm: LLM, path: str | Path) -> None:
        self.model = llm.model
        self._llm = llm
        self._path = Path(path)

    def key(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        logprobs: bool = False,
        tools: Sequence[Tool] = (),
    ) -> str:
        """The name under which the reply is recorded."""
        return _key(self.model, messages, schema, logprobs, tools)

    async def complete(self, messages: Sequence[Message], **asked: Unpack[Asked]) -> Completion:
        """Ask, write down, and return; see :class:`mtagent.llm.protocol.LLM`. Raises :class:`OutputError` too."""
        completion = await self._llm.complete(messages, **asked)
        form = Form.of(asked)
        recording = Recording(
            key=self.key(messages, *form),
            asked=self.model,
            messages=tuple(messages),
            reply_schema=form.schema,
            logprobs=form.logprobs,
            tools=form.tools,
            completion=completion,
        )
        self._write(recording)
        return completion

    def _write(self, recording: Recording) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(recording.model_dump_json() + "\n")
        except OSError as error:
            raise OutputError(f"{self._path}: {error.strerror}") from error


class Replayer:
    """Answers from a file that :class:`Recorder` wrote, for ``model`` or for the only model that the file knows.

    A request that was recorded more than once gets its replies in their order, and then the last one again. An
    unknown request raises :class:`InputError` and shows where the nearest recorded one differs. The usage is that of
    the recording, counted as ``reused`` and free.
    """

    def __init__(self, path: str | Path, *, model: str | None = None) -> None:
        self._path = Path(path)
        recordings = list(_read(self._path))
        self.model = model or self._only_model(recordings)
        self._known = [recording for recording in recordings if recording.asked == self.model]
        self._replies: dict[str, list[Completion]] = defaultdict(list)
        for recording in reversed(self._known):
            self._replies[recording.key].append(recording.completion)

    def key(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        logprobs: bool = False,
        tools: Sequence[Tool] = (),
    ) -> str:
        """The name under which a reply is looked up."""
        return _key(self.model, messages, schema, logprobs, tools)

    async def complete(self, messages: Sequence[Message], **asked: Unpack[Asked]) -> Completion:
        """The recorded reply; see :class:`mtagent.llm.protocol.LLM`."""
        form = Form.of(asked)
        replies = self._replies.get(self.key(messages, *form))
        if replies is None:
            purpose = asked.get("purpose") or "no purpose"
            raise InputError(
                f"{self._path}: no recorded reply to this request ({purpose}); {self._difference(messages, form)}"
            )
        completion = replies.pop() if len(replies) > 1 else replies[0]
        free = completion.usage.model_copy(update={"calls": 0, "reused": 1, "cost": 0.0})
        return completion.model_copy(update={"usage": free})

    def _only_model(self, recordings: list[Recording]) -> str:
        models = sorted({recording.asked for recording in recordings})
        if len(models) != 1:
            raise ConfigError(f"{self._path} holds replies of {', '.join(models) or 'no model'}; say which to replay")
        return models[0]

    def _difference(self, messages: Sequence[Message], form: Form) -> str:
        if not self._known:
            return f"nothing is recorded for {self.model}"
        asked = _flat(messages)
        nearest = max(self._known, key=lambda recording: _likeness(asked, _flat(recording.messages)))
        for number, (old, new) in enumerate(zip(nearest.messages, messages, strict=False), start=1):
            if old.role != new.role:
                return f"the nearest one differs in message {number}: recorded as {old.role}, asked as {new.role}"
            if old.content != new.content:
                change = _first_change(old.content, new.content)
                return f"the nearest one differs in message {number} ({new.role}), {change}"
            if (old.tool_calls, old.tool_call_id) != (new.tool_calls, new.tool_call_id):
                return f"the nearest one differs in the tool calls of message {number} ({new.role})"
        if len(nearest.messages) != len(messages):
            return f"the nearest one has {len(nearest.messages)} messages, this one {len(messages)}"
        if nearest.reply_schema != form.schema:
            return "the nearest one differs in the schema"
        other = "the tools" if nearest.tools != form.tools else f"logprobs={form.logprobs}"
        return f"the nearest one differs in {other}"


def _read(path: Path) -> Iterator[Recording]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _recording(line, f"{path}:{number}")


def _recording(line: str, where: str) -> Recording:
    try:
        return Recording.model_validate(json.loads(line))
    except (ValidationError, json.JSONDecodeError) as error:
        raise InputError(f"{where}: not a recorded reply: {str(error).splitlines()[0]}") from error


def _flat(messages: Sequence[Message]) -> str:
    return "\n".join(f"{message.role}: {message.content}" for message in messages)


def _likeness(one: str, other: str) -> int:
    """Characters that both texts share at the start and at the end: linear, and enough to find the nearest."""
    return _common_start(one, other) + _common_start(one[::-1], other[::-1])


def _common_start(one: str, other: str) -> int:
    """The length of the common start, by bisection over slices: comparing slices is fast, looping is not."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _first_change(old: str, new: str) -> str:
    at = _common_start(old, new)
    return f"character {at}: recorded {old[at : at + CONTEXT]!r}, asked {new[at : at + CONTEXT]!r}"
