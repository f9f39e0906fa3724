"""Long texts, rated paragraph by paragraph: a reviewer of pages overlooks what a reviewer of a paragraph sees."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from mtagent.errors import FATAL, calls_of
from mtagent.llm.context import described
from mtagent.llm.dialogue import settled
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.text import mqm, paragraphs, scripts

LONG = 2000
"""Letters of the source, weighted by script: as many English ones fill a page."""


class Paragraph(NamedTuple):
    """A paragraph as a segment of its own, its translation, and where both begin in the whole texts."""

    segment: Segment
    text: str
    source_start: int
    start: int


def paragraphs_of(segment: Segment, translation: str) -> list[Paragraph]:
    """The paragraphs of a long text, each with its neighbours as context; none where the sides have not as many."""
    if len(segment.source) < LONG / 3 or scripts.letters(segment.source) <= LONG:
        return []
    source, text = paragraphs.split(segment.source), paragraphs.split(translation)
    number = len(source.texts)
    if number < 2 or len(text.texts) != number:
        return []
    references = paragraphs.split(segment.reference).texts if segment.reference else ()
    cut = []
    source_start = start = 0
    for i in range(number):
        source_start, start = source_start + len(source.separators[i]), start + len(text.separators[i])
        before = [(source.texts[i - 1], text.texts[i - 1])] if i else []
        following = source.texts[i + 1] if i + 1 < number else None
        around = filter(None, (segment.context, described(before, following, paragraphs=True)))
        changes: dict[str, str | None] = {"source": source.texts[i], "context": "\n".join(around)}
        if references:
            changes["reference"] = references[i] if len(references) == number else segment.reference
        cut.append(Paragraph(segment.model_copy(update=changes), text.texts[i], source_start, start))
        source_start, start = source_start + len(source.texts[i]), start + len(text.texts[i])
    return cut


async def rated_in_paragraphs(
    rate: Callable[[Segment, str], Awaitable[Rating]], cut: list[Paragraph], translation: str, weights: mqm.Preset
) -> Rating:
    """One rating of ``translation`` from those of its paragraphs, which are asked for at once.

    Where one of them fails, all have ended before its error is raised, with the calls of all.
    """
    began = time.perf_counter()
    results = await settled(*(rate(part.segment, part.text) for part in cut))
    ratings = [result for result in results if isinstance(result, Rating)]
    if failures := [result for result in results if isinstance(result, BaseException)]:
        failure = next((error for error in failures if isinstance(error, FATAL)), failures[0])
        paid = (result.calls if isinstance(result, Rating) else calls_of(result) for result in results)
        setattr(failure, "calls", tuple(call for calls in paid for call in calls))  # noqa: B010 may be anybody's
        raise failure
    errors = tuple(
        _moved(error, part) for part, rating in zip(cut, ratings, strict=True) for error in rating.errors or ()
    )
    correction = None
    if any(rating.correction is not None for rating in ratings):
        corrected = [
            part.text if rating.correction is None else rating.correction
            for part, rating in zip(cut, ratings, strict=True)
        ]
        correction = paragraphs.join(corrected, paragraphs.split(translation).separators)
    trusts = [rating.confidence for rating in ratings if rating.confidence is not None]
    return ratings[0].model_copy(
        update={
            "score": mqm.score(errors, weights),
            "errors": errors,
            "explanation": "\n".join(rating.explanation for rating in ratings if rating.explanation) or None,
            "calls": tuple(call for rating in ratings for call in rating.calls),
            "signature": f"{ratings[0].signature}|paragraphs:{len(cut)}" if ratings[0].signature else "",
            "correction": correction,
            "confidence": min(trusts, default=None),
            "gaps": tuple(gap for rating in ratings for gap in rating.gaps),
            "warnings": tuple(warning for rating in ratings for warning in rating.warnings),
            "seconds": time.perf_counter() - began,
        }
    )


def _moved(error: ErrorSpan, part: Paragraph) -> ErrorSpan:
    """``error`` with its offsets in the whole text."""
    if error.start is None or error.end is None:
        return error
    shift = part.source_start if error.side == "source" else part.start
    return error.model_copy(update={"start": error.start + shift, "end": error.end + shift})
