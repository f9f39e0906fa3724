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
        sources, texts = paragraphs.split(segment.source).texts, paragraphs.split(translation).texts
        separators = paragraphs.split(translation).separators
        if len(sources) != len(texts):
            sources, texts, separators = (segment.source,), (translation,), ("", "")
        with Dialogue(self._llm, segment.id) as dialogue:
            reworded = await together(
                *(
                    self._reword(dialogue, segment, around(segment, sources, i), pair, skip_guards)
                    for i, pair in enumerate(zip(sources, texts, strict=True))
                )
            )
        text = paragraphs.join(reworded, separators)
        return Draft(text=paragraphs.like(text, translation) or text, calls=tuple(dialogue.calls))

    async def _reword(
        self,
        dialogue: Dialogue,
        segment: Segment,
        context: str | None,
        pair: tuple[str, str],
        skip_guards: Collection[str],
    ) -> str:
        source, translation = pair
        if is_blank(source) and is_blank(translation):
            return translation
        values = prompts.segment_values(segment, translation=translation)
        values |= {"source": source, "context": context}
        paragraph = segment.model_copy(update={"source": source})
        return await dialogue.ask(
            self._prompt,
            values,
            "proofread",
            lambda reply: read_revision(reply, paragraph, translation, skip=skip_guards),
        )
