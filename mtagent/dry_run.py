"""The requests that a run would begin with, without sending any."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from mtagent import prompts
from mtagent.batch import read_segments
from mtagent.config import Config
from mtagent.files import Files
from mtagent.records import Message, Segment, Stage


class Rendered(NamedTuple):
    """A request as text to read, and about how many input tokens it has."""

    shown: str
    tokens: int


def rendered_requests(config: Config, files: Files) -> Iterator[Rendered]:
    """One request per segment and stage. What a former stage would have written is shown as the text at hand."""
    config = config.effective()
    with files.spooled() as files:
        for segment in read_segments(config, files):
            for stage in config.stages or ():
                prompt = _prompt_name(config, stage, segment)
                if prompt is not None:
                    yield _render(config, segment, stage, prompt)


def _prompt_name(config: Config, stage: Stage, segment: Segment) -> str | None:
    if stage == "translate":
        return "translate" if segment.translation is None and config.translator == "llm" else None
    if stage == "postedit":
        return config.evaluator if config.evaluator in prompts.names() else None
    return "proofread"


def _render(config: Config, segment: Segment, stage: Stage, name: str) -> Rendered:
    placeholder = segment.translation if segment.translation is not None else "(the translation of the stage before)"
    values = prompts.segment_values(segment, translation=placeholder, forced="yes" if config.forced else None)
    messages = prompts.load(name, config.prompts).render(values)
    shown = "\n".join(f"[{message.role}]\n{message.content}" for message in messages)
    return Rendered(f"--- segment {segment.id}, {stage}, prompt {name}\n{shown}\n", estimated_tokens(messages))


def estimated_tokens(messages: tuple[Message, ...]) -> int:
    """About four characters a token, one for wide characters (Chinese, Japanese, Korean); not a tokenizer's count."""
    text = "".join(message.content for message in messages)
    wide = 0 if text.isascii() else sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return wide + (len(text) - wide + 3) // 4
