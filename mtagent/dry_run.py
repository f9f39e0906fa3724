"""The requests that a run would begin with, without sending any."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Unpack

from mtagent.batch import read_segments
from mtagent.build import named_evaluator
from mtagent.config import DEFAULT_MODEL, Config
from mtagent.errors import ModelError
from mtagent.files import Files
from mtagent.llm.request import Form
from mtagent.proofread import Proofreader
from mtagent.protocols import Asked
from mtagent.records import Completion, Message, Schema, Segment, Stage, Tool
from mtagent.tokens import by_length
from mtagent.translators.llm import LLMTranslator

PLACEHOLDER = "(the translation of the stage before)"


class Rendered(NamedTuple):
    """A request as text to read, and about how many input tokens it has."""

    shown: str
    tokens: int


def rendered_requests(config: Config, files: Files) -> Iterator[Rendered]:
    """The first requests of each segment and stage: those that can be made without a reply.

    What a former stage would have written is shown as the text at hand.
    """
    config = config.effective()
    with files.spooled(config) as (files, config):
        listener = Listener(config)
        for segment in read_segments(config, files):
            for stage in config.stages or ():
                for heard in asyncio.run(_begun(config, segment, stage, listener)):
                    yield rendered(f"segment {segment.id}, {stage}", heard)


class Heard(NamedTuple):
    """A request that was not sent."""

    purpose: str
    messages: tuple[Message, ...]
    schema: Schema | None
    tools: tuple[Tool, ...]


class Listener:
    """Notes what it is asked, and answers nothing."""

    def __init__(self, config: Config) -> None:
        self.model = config.model or DEFAULT_MODEL
        self.heard: list[Heard] = []

    async def complete(self, messages: Sequence[Message], **asked: Unpack[Asked]) -> Completion:
        """Note the request, and fail when all that are made at the same time were noted."""
        schema, _, tools = Form.of(asked)
        self.heard.append(Heard(asked.get("purpose", ""), tuple(messages), schema, tools))
        await asyncio.sleep(0)
        raise ModelError("nothing is sent in a dry run")


async def _begun(config: Config, segment: Segment, stage: Stage, listener: Listener) -> list[Heard]:
    listener.heard.clear()
    text = segment.translation if segment.translation is not None else PLACEHOLDER
    try:
        if stage == "proofread":
            await Proofreader(listener, prompts_folder=config.prompts).draft(segment, text)
        elif stage == "postedit":
            await named_evaluator(config, config.evaluator or "rules", listener).rate(segment, text)
        elif segment.translation is None and config.translator == "llm":
            await LLMTranslator(listener, prompts_folder=config.prompts).draft(segment)
    except ModelError:
        pass
    return listener.heard


def rendered(about: str, heard: Heard) -> Rendered:
    """The request that was ``heard``, headed by what it is ``about`` and its purpose."""
    shown = "\n".join(f"[{message.role}]\n{message.content}" for message in heard.messages)
    return Rendered(f"--- {about}, {heard.purpose}\n{shown}\n", estimated_tokens(heard.messages))


def estimated_tokens(messages: tuple[Message, ...]) -> int:
    """Input tokens by the length of ``messages``."""
    return by_length("".join(message.content for message in messages))
