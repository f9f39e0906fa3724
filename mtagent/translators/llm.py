"""The translate stage by a language model."""

from __future__ import annotations

from pathlib import Path

from mtagent import paragraphs, prompts
from mtagent.errors import UnreadableReply
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.plain import is_blank, plain_text
from mtagent.protocols import LLM
from mtagent.records import Draft, Segment
from mtagent.together import together


class LLMTranslator:
    """Translates paragraph by paragraph, so that no paragraph can be merged or left out; the others are its context."""

    name = "llm"

    def __init__(self, llm: LLM, *, prompts_folder: Path | None = None) -> None:
        self._llm, self._prompt = llm, prompts.load("translate", prompts_folder)

    async def draft(self, segment: Segment) -> Draft:
        """One call per paragraph of the source, at once; the source's separators stay exactly."""
        texts, separators = paragraphs.split(segment.source)
        with Dialogue(self._llm, segment.id) as dialogue:
            translated = await together(*(self._translate(dialogue, segment, i, texts) for i in range(len(texts))))
        return Draft(text=paragraphs.join(translated, separators), calls=tuple(dialogue.calls))

    async def _translate(self, dialogue: Dialogue, segment: Segment, i: int, texts: tuple[str, ...]) -> str:
        if is_blank(texts[i]):
            return texts[i]
        values = prompts.segment_values(segment)
        values["source"] = texts[i]
        values["context"] = around(segment, texts, i)
        return await dialogue.ask(self._prompt, values, "translate", lambda reply: _one_paragraph(reply, texts[i]))


def _one_paragraph(reply: str, source: str) -> str:
    text = plain_text(reply, source)
    if len(paragraphs.split(text).texts) > 1:
        raise UnreadableReply("it has several paragraphs, and the text to translate has one")
    if "\n" not in source and "\n" in text.strip():
        raise UnreadableReply("it has several lines, and the text to translate has one")
    return text


def around(segment: Segment, texts: tuple[str, ...], i: int) -> str | None:
    """The segment's own context, and the paragraphs next to paragraph ``i``."""
    neighbours = (segment.context, *texts[max(0, i - 1) : i], *texts[i + 1 : i + 2])
    return "\n\n".join(text for text in neighbours if text) or None
