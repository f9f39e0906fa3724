"""The proofread stage by a language model: a rewording of the whole text, paragraph by paragraph where that can be."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from mtagent.chain.translation import read_revision
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue, together
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import is_blank
from mtagent.records import Draft, Segment
from mtagent.text import paragraphs
from mtagent.translators.llm import around


class Proofreader:
    """Multi-agentMT §2.4, except that it asks for the same text in full and not for "a single sentence only"."""

    def __init__(self, llm: LLM, *, prompts_folder: Path | None = None) -> None:
        self._llm, self._prompt = llm, prompts.load("proofread", prompts_folder)

    async def draft(self, segment: Segment, translation: str, *, skip_guards: Collection[str] = ()) -> Draft:
        """A proposed text. One call per paragraph where source and translation have as many, else one for all.

        What is no translation by the guards of the translate stage, but for those in ``skip_guards``, is asked for once
        more, with the reason, and then fails the segment.
        """
        sources, (texts, separators) = paragraphs.split(segment.source).texts, paragraphs.split(translation)
        if len(sources) != len(texts):
            sources, texts, separators = (segment.source,), (translation,), ("", "")

        async def reword(i: int) -> str:
            source, text = sources[i], texts[i]
            if is_blank(source) and is_blank(text):
                return text
            values = prompts.segment_values(segment, translation=text)
            values |= {"source": source, "context": around(segment, sources, i)}
            paragraph = segment.model_copy(update={"source": source})
            return await dialogue.ask(
                self._prompt, values, "proofread", lambda reply: read_revision(reply, paragraph, text, skip=skip_guards)
            )

        with Dialogue(self._llm, segment.id) as dialogue:
            reworded = await together(*map(reword, range(len(texts))))
        text = paragraphs.join(reworded, separators)
        return Draft(text=paragraphs.like(text, translation) or text, calls=tuple(dialogue.calls))
