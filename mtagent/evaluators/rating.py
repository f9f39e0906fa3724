"""Ask an evaluator for a rating, check what it returns, and have long texts rated paragraph by paragraph."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from math import isfinite
from typing import NamedTuple

from pydantic import ValidationError

from mtagent.errors import EvaluationError
from mtagent.evaluators.protocol import Evaluator, HasWeights, RatesTogether, asks_no_model
from mtagent.llm.gathering import finished
from mtagent.llm.prompts import described
from mtagent.records import Call, ErrorSpan, Rating, Segment
from mtagent.text import mqm, paragraphs, scripts
from mtagent.text.spans import find_spans

GIVES = "`rate` must be `async def` and return a Rating with a finite score"


async def rating_by(
    evaluator: Evaluator, segment: Segment, translation: str, *, with_neighbours: bool = True
) -> Rating:
    """The rating of ``translation`` by ``evaluator``, with a warning about spans that do not occur in it.

    A long text is rated paragraph by paragraph, if the evaluator calls a model and its score is a sum of error weights;
    ``with_neighbours`` shows the model the paragraphs around each. Raises :class:`EvaluationError` for anything that
    isn't a rating with a finite score, and whatever the evaluator raises.
    """
    rating = await rating_as_given(evaluator, segment, translation, with_neighbours=with_neighbours)
    return with_absent_spans_noted(rating, translation)


async def rating_as_given(
    evaluator: Evaluator, segment: Segment, translation: str, *, with_neighbours: bool = True
) -> Rating:
    """The same without the warning."""
    parts = reviewed_paragraphs(evaluator, segment, translation)
    if not parts:
        return await _rating_of_whole(evaluator, segment, translation)
    if not with_neighbours:
        only_context = {"context": segment.context}
        parts = [part._replace(segment=part.segment.model_copy(update=only_context)) for part in parts]
    assert isinstance(evaluator, HasWeights)
    rating = await rated_in_paragraphs(partial(_rating_of_whole, evaluator), parts, translation, evaluator.weights)
    return checked_rating(rating, evaluator)


def reviewed_paragraphs(evaluator: Evaluator, segment: Segment, translation: str) -> list[Paragraph]:
    """The paragraphs that ``evaluator`` rates one by one; none if it rates the text at once."""
    asks_model = hasattr(evaluator, "calls") and not asks_no_model(evaluator)
    if asks_model and getattr(evaluator, "weights", None) is not None:
        return paragraphs_of(segment, translation)
    return []


async def _rating_of_whole(evaluator: Evaluator, segment: Segment, translation: str) -> Rating:
    return checked_rating(await _awaited(evaluator, "rate", segment, translation), evaluator)


async def ratings_by(
    evaluator: RatesTogether, segment: Segment, translations: Sequence[str]
) -> Sequence[Rating | Exception]:
    """The ratings of all ``translations`` by ``evaluator``. Only the number of ratings is checked."""
    ratings = await _awaited(evaluator, "rate_all", segment, translations)
    if not isinstance(ratings, Sequence):
        raise EvaluationError(f"{evaluator.name} gave {_shown(ratings)}: `rate_all` must return a list of ratings")
    if len(ratings) != len(translations):
        raise EvaluationError(f"{evaluator.name} gave {len(ratings)} ratings for {len(translations)} translations")
    return ratings


def checked_rating(rating: object, evaluator: Evaluator) -> Rating:
    """``rating``, if it is one with a finite score. Raises :class:`EvaluationError` with the calls it cost."""
    if not isinstance(rating, Rating):
        raise EvaluationError(f"{evaluator.name} gave {_shown(rating)}: {GIVES}")
    score: object = rating.score  # built without validation, it may be anything
    if isinstance(score, int | float) and isfinite(score):
        return rating
    error = EvaluationError(f"{evaluator.name} gave the score {score!r}: {GIVES}")
    error.calls = rating.calls
    raise error


_MOST_SHOWN = 3  # spans in a warning
_LONGEST_SHOWN = 40  # characters of each


def with_absent_spans_noted(rating: Rating, translation: str) -> Rating:
    """``rating`` with a warning that names marked spans which do not occur in ``translation``. They count nevertheless.

    Words of the source, and words that are missing from the translation, are not checked.
    """
    unplaced = []
    for error in rating.errors or ():
        if error.side == "translation" and error.start is None and error.text:  # a missing mark has no text
            unplaced.append(error)
    if not unplaced:
        return rating
    findings = find_spans(translation, unplaced)
    absent = [error.text for error, finding in zip(unplaced, findings, strict=True) if not finding.places]
    if not absent:
        return rating
    shown = ", ".join(repr(text[:_LONGEST_SHOWN]) for text in absent[:_MOST_SHOWN])
    warning = f"it marks what does not occur in the translation: {shown}"
    if len(absent) > _MOST_SHOWN:
        warning += f" and {len(absent) - _MOST_SHOWN} more"
    return rating.model_copy(update={"warnings": (*rating.warnings, warning)})


async def _awaited(evaluator: Evaluator, method: str, segment: Segment, rated: object) -> object:
    """What ``method`` of ``evaluator`` returns.

    Raises :class:`EvaluationError` for a method that isn't async, and for a record that the evaluator failed to make.
    """
    with_calls: object
    try:
        result = getattr(evaluator, method)(segment, rated)
        if inspect.isawaitable(result):
            return await result
        why = f"gave {_shown(result)} without being awaited: `{method}` is not async"
        with_calls = result
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, (error.title, *first["loc"])))
        why = f"made an impossible record: {where}: {first['msg']} (got {first['input']!r:.80}); {GIVES}"
        with_calls = error
    failure = EvaluationError(f"{evaluator.name} {why}")
    failure.calls = tuple(getattr(with_calls, "calls", ()))
    raise failure


def _shown(result: object) -> str:
    return "nothing" if result is None else f"{type(result).__name__} {result!r:.80}"


# A reviewer of pages overlooks what a reviewer of a paragraph sees: long texts are rated paragraph by paragraph.
LONG = 2000
"""Letters of the source, weighted by script: as many English ones fill a page."""


class Paragraph(NamedTuple):
    """A paragraph as a segment of its own."""

    segment: Segment
    text: str
    """Its translation."""
    source_start: int
    """Where it begins in the whole source."""
    start: int
    """Where its translation begins in the whole translation."""


def paragraphs_of(segment: Segment, translation: str) -> list[Paragraph]:
    """The paragraphs of a long text, each with its neighbours as context; none if the two sides differ in number."""
    if len(segment.source) < LONG / 3 or scripts.letters(segment.source) <= LONG:
        return []
    source = paragraphs.split(segment.source)
    text = paragraphs.split(translation)
    number = len(source.texts)
    if number < 2 or len(text.texts) != number:
        return []
    references = paragraphs.split(segment.reference).texts if segment.reference else ()
    parts = []
    source_start = start = 0
    for i in range(number):
        source_start += len(source.separators[i])
        start += len(text.separators[i])
        changes = {"source": source.texts[i], "context": _context_of(i, segment, source.texts, text.texts)}
        if references:
            is_parallel = len(references) == number
            changes["reference"] = references[i] if is_parallel else segment.reference
        parts.append(Paragraph(segment.model_copy(update=changes), text.texts[i], source_start, start))
        source_start += len(source.texts[i])
        start += len(text.texts[i])
    return parts


def _context_of(i: int, segment: Segment, sources: Sequence[str], texts: Sequence[str]) -> str | None:
    """The context of the whole segment, and the paragraphs before and after paragraph ``i``."""
    before = [(sources[i - 1], texts[i - 1])] if i else []
    following = sources[i + 1] if i + 1 < len(sources) else None
    neighbours = described(before, following, paragraphs=True)
    return "\n".join(context for context in (segment.context, neighbours) if context)


async def rated_in_paragraphs(
    rate: Callable[[Segment, str], Awaitable[Rating]], parts: list[Paragraph], translation: str, weights: mqm.Preset
) -> Rating:
    """One rating of ``translation``, made of the ratings of its paragraphs, which are asked for at the same time.

    If a paragraph fails, :func:`mtagent.llm.gathering.finished` raises its error when all have ended.
    """
    began = time.perf_counter()
    ratings = await finished(*(rate(part.segment, part.text) for part in parts))
    errors: list[ErrorSpan] = []
    corrected_texts: list[str] = []
    explanations: list[str] = []
    confidences: list[float] = []
    calls: list[Call] = []
    gaps: list[str] = []
    warnings: list[str] = []
    for part, rating in zip(parts, ratings, strict=True):
        for error in rating.errors or ():
            shift = part.source_start if error.side == "source" else part.start
            if error.start is not None and error.end is not None:
                error = error.model_copy(update={"start": error.start + shift, "end": error.end + shift})
            errors.append(error)
        corrected_texts.append(part.text if rating.correction is None else rating.correction)
        if rating.explanation:
            explanations.append(rating.explanation)
        if rating.confidence is not None:
            confidences.append(rating.confidence)
        calls += rating.calls
        gaps += rating.gaps
        warnings += rating.warnings
    correction = None
    if any(rating.correction is not None for rating in ratings):
        correction = paragraphs.join(corrected_texts, paragraphs.split(translation).separators)
    signature = ratings[0].signature
    return ratings[0].model_copy(
        update={
            "score": mqm.score(errors, weights),
            "errors": tuple(errors),
            "explanation": "\n".join(explanations) or None,
            "calls": tuple(calls),
            "signature": f"{signature}|paragraphs:{len(parts)}" if signature else "",
            "correction": correction,
            "confidence": min(confidences, default=None),
            "gaps": tuple(gaps),
            "warnings": tuple(warnings),
            "seconds": time.perf_counter() - began,
        }
    )
