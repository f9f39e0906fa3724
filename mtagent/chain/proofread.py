"""The proofread stage by a language model: a rewording of the whole text, paragraph by paragraph where that can be."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import regex

from mtagent.chain.translation import read_revision
from mtagent.config import Strategy
from mtagent.errors import UnreadableReply
from mtagent.evaluators.replies import fields_of
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.gathering import together
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import is_blank, read_json
from mtagent.records import Draft, Segment
from mtagent.text import paragraphs
from mtagent.translators.llm import around


class Proofreader:
    """Multi-agentMT §2.4. Asks for the same text in full, or with the ``strategy`` ``paper`` for "a single sentence".

    A prompt with a ``schema`` asks for JSON with the ``problems`` and then the ``text``, any other for the text alone.
    """

    def __init__(self, llm: LLM, *, strategy: Strategy = "located", prompts_folder: Path | None = None) -> None:
        self._llm = llm
        self._strategy = strategy
        self._prompt = prompts.load("proofread-paper" if strategy == "paper" else "proofread", prompts_folder)

    async def draft(self, segment: Segment, translation: str, *, skip_guards: Collection[str] = ()) -> Draft:
        """A proposed text. One call per paragraph if source and translation have equally many, else one for the text.

        The paper asks once. If the guards of the translate stage (without ``skip_guards``) refuse a reply, the model is
        asked once more, with the reason; then the segment fails.
        """
        sources = paragraphs.split(segment.source).texts
        texts, separators = paragraphs.split(translation)
        if len(sources) != len(texts) or self._strategy == "paper":
            sources, texts, separators = (segment.source,), (translation,), ("", "")

        async def reword(i: int) -> str:
            source, text = sources[i], texts[i]
            if is_blank(source) and is_blank(text):
                return text
            values = prompts.segment_values(segment, translation=text)
            values |= {"source": source, "context": around(segment, sources, i)}
            paragraph = segment.model_copy(update={"source": source})

            def read(reply: str) -> str:
                written = _text_in(reply) if self._prompt.reply_schema else reply
                return read_revision(written, paragraph, text, skip=skip_guards)

            return await dialogue.ask(self._prompt, values, "proofread", read)

        with Dialogue(self._llm, segment.id) as dialogue:
            reworded = await together(*map(reword, range(len(texts))))
        text = paragraphs.join(reworded, separators)
        return Draft(text=paragraphs.like(text, translation) or text, calls=tuple(dialogue.calls))


_FIELD = regex.compile(r"[\"'](?:problems|text)[\"']\s*:")


def _text_in(reply: str) -> str:
    """The ``text`` of a reply in JSON, or the reply of a model that gives the text alone.

    Raises :class:`UnreadableReply` for JSON that cannot be read, such as one that was cut off.
    """
    if not _FIELD.search(reply):
        return reply
    text = fields_of(read_json(reply)).get("text")
    if not isinstance(text, str):
        raise UnreadableReply('the JSON has no "text"')
    return text
