"""The proofread stage by a language model: a rewording of the whole text, paragraph by paragraph where that can be."""

from __future__ import annotations

from pathlib import Path

from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue, together
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import is_blank, plain_text
from mtagent.records import Draft, Segment
from mtagent.text import paragraphs
from mtagent.translators.llm import around


class Proofreader:
    """Multi-agentMT §2.4, except that it asks for the same text in full and not for "a single sentence only"."""

    def __init__(self, llm: LLM, *, prompts_folder: Path | None = None) -> None:
        self._llm, self._prompt = llm, prompts.load("proofread", prompts_folder)

    async def draft(self, segment: Segment, translation: str) -> Draft:
        """A proposed text. One call per paragraph where source and translation have as many, else one for all."""
        sources, texts = paragraphs.split(segment.source).texts, paragraphs.split(translation).texts
        separators = paragraphs.split(translation).separators
        if len(sources) != len(texts):
            sources, texts, separators = (segment.source,), (translation,), ("", "")
        with Dialogue(self._llm, segment.id) as dialogue:
            reworded = await together(
                *(
                    self._reword(dialogue, segment, around(segment, sources, i), pair)
                    for i, pair in enumerate(zip(sources, texts, strict=True))
                )
            )
        text = paragraphs.join(reworded, separators)
        return Draft(text=paragraphs.like(text, translation) or text, calls=tuple(dialogue.calls))

    async def _reword(self, dialogue: Dialogue, segment: Segment, context: str | None, pair: tuple[str, str]) -> str:
        source, translation = pair
        if is_blank(source) and is_blank(translation):
            return translation
        values = prompts.segment_values(segment, translation=translation)
        values |= {"source": source, "context": context}
        return await dialogue.ask(self._prompt, values, "proofread", lambda reply: plain_text(reply, translation))
