"""The requests that a run would begin with, without sending any."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mtagent.batch import read_segments
from mtagent.build import named_evaluator
from mtagent.config import DEFAULT_MODEL, Config
from mtagent.errors import ModelError
from mtagent.files import Files
from mtagent.proofread import Proofreader
from mtagent.records import Completion, Message, Schema, Segment, Stage, Tool
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
    with files.spooled() as files:
        listener = Listener(config)
        for segment in read_segments(config, files):
            for stage in config.stages or ():
                for purpose, messages in asyncio.run(_begun(config, segment, stage, listener)):
                    yield _rendered(segment, stage, purpose, messages)


class Listener:
    """Notes what it is asked, and answers nothing."""

    def __init__(self, config: Config) -> None:
        self.model = config.model or DEFAULT_MODEL
        self.heard: list[tuple[str, tuple[Message, ...]]] = []

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
        """Note the request, and fail when all that are made at the same time were noted."""
        self.heard.append((purpose, tuple(messages)))
        await asyncio.sleep(0)
        raise ModelError("nothing is sent in a dry run")


async def _begun(
    config: Config, segment: Segment, stage: Stage, listener: Listener
) -> list[tuple[str, tuple[Message, ...]]]:
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


def _rendered(segment: Segment, stage: Stage, purpose: str, messages: tuple[Message, ...]) -> Rendered:
    shown = "\n".join(f"[{message.role}]\n{message.content}" for message in messages)
    return Rendered(f"--- segment {segment.id}, {stage}, {purpose}\n{shown}\n", estimated_tokens(messages))


def estimated_tokens(messages: tuple[Message, ...]) -> int:
    """About four characters a token, one for wide characters (Chinese, Japanese, Korean); not a tokenizer's count."""
    text = "".join(message.content for message in messages)
    wide = 0 if text.isascii() else sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return wide + (len(text) - wide + 3) // 4
