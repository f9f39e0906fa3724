"""The translate stage by a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from mtagent.errors import FATAL, EmptyReply, ModelError, UnreadableReply
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.gathering import together
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import is_blank, plain_text
from mtagent.records import Draft, Segment
from mtagent.text import paragraphs, scripts

WhyUnusable = Callable[[Segment, str, bool], str | None]
"""``why(segment, text, again)``: why ``text`` isn't a translation of the segment; ``None`` if it may be one.

``again``: it is the reply to a second request, after which less is accepted as a reason.
"""

WhyIncomplete = Callable[[Segment, str], Sequence[str]]
"""``why(segment, text)``: the parts of the segment that a usable text lost, one item each."""

_REPEATED_WORDS = 12


class LLMTranslator:
    """Translates paragraph by paragraph, so paragraphs can't be merged or left out.

    Its neighbours are the context of a paragraph, unless ``with_neighbours`` is false.
    """

    name = "llm"

    def __init__(self, llm: LLM, *, with_neighbours: bool = True, prompts_folder: Path | None = None) -> None:
        self._llm, self._prompt = llm, prompts.load("translate", prompts_folder)
        self._with_neighbours = with_neighbours

    async def draft(
        self,
        segment: Segment,
        *,
        why_unusable: WhyUnusable = lambda *text: None,
        why_incomplete: WhyIncomplete = lambda *text: (),
    ) -> Draft:
        """One call per paragraph of the source, in parallel; the source's separators are kept exactly.

        A paragraph that is ``why_unusable`` is requested once more, with the reason; if the second is unusable too, the
        segment fails. One that is only ``why_incomplete`` is requested once more as well. The second text is used if it
        lost less than the first; if that request fails, the first text is used, unless the error concerns every
        segment.
        """
        texts, separators = paragraphs.split(segment.source)
        with Dialogue(self._llm, segment.id) as dialogue:
            translated = await together(
                *(self._translate(dialogue, segment, i, texts, why_unusable, why_incomplete) for i in range(len(texts)))
            )
        return Draft(text=paragraphs.join(translated, separators), calls=tuple(dialogue.calls))

    async def _translate(
        self,
        dialogue: Dialogue,
        segment: Segment,
        i: int,
        texts: tuple[str, ...],
        why_unusable: WhyUnusable,
        why_incomplete: WhyIncomplete,
    ) -> str:
        source = texts[i]
        if is_blank(source):
            return source
        values = prompts.segment_values(segment)
        context = segment.context
        if self._with_neighbours:
            context = around(segment, texts, i)
        values |= {"source": source, "context": context or None}
        instructions = self._prompt.render(values)[0].content
        replies = count()
        paragraph = segment.model_copy(update={"source": source})

        def usable(reply: str, *, again: bool) -> str:
            text = _one_paragraph(reply, source)
            reason = why_unusable(paragraph, text, again)
            if reason:
                raise UnreadableReply(f"it is not a translation of the text ({reason})")
            if _repeats(instructions, text) and not _repeats(instructions, source):
                raise UnreadableReply("it repeats the instructions")
            return text

        text, completion = await dialogue.ask_fully(
            self._prompt, values, "translate", lambda reply: usable(reply, again=next(replies) > 0)
        )
        if next(replies) > 1:  # it was requested once more already
            return text
        lost = why_incomplete(paragraph, text)
        if not lost:
            return text
        try:
            second = await dialogue.ask_once_more(
                self._prompt,
                values,
                "translate",
                # As strict as with the first reply: a text with the number but without a tag isn't better.
                lambda reply: usable(reply, again=False),
                reply=completion.text,
                reason=f"it does not hold all of the text ({'; '.join(lost)})",
            )
        except FATAL:
            raise
        except (ModelError, UnreadableReply):  # the first text can be used
            return text
        if len(why_incomplete(paragraph, second)) < len(lost):
            return second
        return text


def _one_paragraph(reply: str, source: str) -> str:
    """The text of a reply. Raises :class:`UnreadableReply` for none, for several paragraphs, and for lines that
    ``source`` does not have.
    """
    try:
        text = plain_text(reply, source)
    except EmptyReply:
        raise UnreadableReply("it holds no text") from None
    if len(paragraphs.split(text).texts) > 1:
        raise UnreadableReply("it has several paragraphs, and the text to translate has one")
    if "\n" not in source and "\n" in text.strip():
        raise UnreadableReply("it has several lines, and the text to translate has one")
    return text


def _repeats(instructions: str, text: str) -> bool:
    """Whether ``text`` contains a run of :data:`_REPEATED_WORDS` words of ``instructions``."""

    def runs(text: str) -> set[object]:
        words = scripts.words(text)
        return {words[at : at + _REPEATED_WORDS] for at in range(len(words) - _REPEATED_WORDS + 1)}

    return not runs(text).isdisjoint(runs(instructions))


def around(segment: Segment, texts: tuple[str, ...], i: int) -> str | None:
    """The segment's own context, and the paragraphs next to paragraph ``i``."""
    neighbours = (segment.context, *texts[max(0, i - 1) : i], *texts[i + 1 : i + 2])
    return "\n\n".join(text for text in neighbours if text) or None
