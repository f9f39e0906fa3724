"""Rate all translations of one segment: each alone and all at once, or together where the evaluator learns from them.

A text that several systems share is rated once. Whatever fails is the error of that translation alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from mtagent.candidates import Candidates
from mtagent.errors import FATAL, EvaluationError, OffScript
from mtagent.protocols import Evaluator, RatesTogether
from mtagent.records import Call, Rated, Rating, Segment
from mtagent.together import together

NO_TRANSLATION = "there is no translation to rate"


class _Verdict(NamedTuple):
    """What became of one text."""

    rating: Rating | None = None
    error: str | None = None
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0


async def rate_segment(
    candidates: Candidates, evaluator: Evaluator, *, known: Mapping[str, Rated] = {}
) -> tuple[Rated, ...]:
    """One :class:`Rated` per system, in order. Only errors that concern every segment are raised.

    Systems with equal texts share a rating, and the first of them has its calls. ``known`` holds ratings of a former
    try, by system, which are not asked for again. Source and translation without words have neither rating nor error.
    """
    segment = candidates.segment
    texts = _ratable(candidates)
    if isinstance(evaluator, RatesTogether):
        return _shared_out(candidates, dict(zip(texts, await _together(evaluator, segment, texts), strict=True)))
    verdicts = {one.translation: _Verdict(one.rating, None, one.calls, one.seconds) for one in _first(known)}
    left = [text for text in texts if text not in verdicts]
    fresh = await together(*(_alone(evaluator, segment, text) for text in left))
    return _shared_out(candidates, verdicts | dict(zip(left, fresh, strict=True)))


def _ratable(candidates: Candidates) -> list[str]:
    """The different texts, but for those that say nothing where the source says nothing either."""
    texts = [text for text in dict.fromkeys(candidates.translations.values()) if text is not None]
    return texts if candidates.segment.source.strip() else [text for text in texts if text.strip()]


def _first(known: Mapping[str, Rated]) -> list[Rated]:
    """Of each text the rating that was paid for: the first."""
    rated = [one for one in known.values() if one.rating is not None]
    return list({one.translation: one for one in reversed(rated)}.values())


async def _alone(evaluator: Evaluator, segment: Segment, text: str) -> _Verdict:
    began = time.perf_counter()
    try:
        rating = _finite(await evaluator.rate(segment, text))
    except (*FATAL, OffScript):
        raise
    except Exception as error:  # noqa: BLE001 a third party's part may raise anything; it must not stop the others
        return _failed(error, time.perf_counter() - began)
    return _Verdict(rating, None, rating.calls, time.perf_counter() - began)


async def _together(evaluator: RatesTogether, segment: Segment, texts: Sequence[str]) -> list[_Verdict]:
    began = time.perf_counter()
    try:
        found = await evaluator.rate_all(segment, texts) if texts else []
        if len(found) != len(texts):
            raise EvaluationError(f"{evaluator.name} gave {len(found)} ratings for {len(texts)} translations")
    except (*FATAL, OffScript):
        raise
    except Exception as error:  # noqa: BLE001 as above; the calls stand with the first translation, once
        first = _failed(error, time.perf_counter() - began)
        return [first, *[_Verdict(error=first.error)] * (len(texts) - 1)]
    return [_verdict(one) for one in found]


def _verdict(found: Rating | Exception) -> _Verdict:
    if isinstance(found, Exception):
        return _failed(found, 0.0)
    try:
        return _Verdict(_finite(found), None, found.calls, found.seconds)
    except EvaluationError as error:
        return _failed(error, found.seconds)


def _finite(rating: Rating) -> Rating:
    """``rating``, if its score is a number."""
    if isfinite(rating.score):
        return rating
    error = EvaluationError(f"{rating.evaluator} gave the score {rating.score}")
    error.calls = rating.calls
    raise error


def _failed(error: Exception, seconds: float) -> _Verdict:
    if isinstance(error, (*FATAL, OffScript)):  # in a list of results, too, it concerns every segment
        raise error
    calls: tuple[Call, ...] = tuple(getattr(error, "calls", ()))
    return _Verdict(None, f"{type(error).__name__}: {error}", calls, seconds)


def _shared_out(candidates: Candidates, verdicts: Mapping[str, _Verdict]) -> tuple[Rated, ...]:
    """The verdicts system by system."""
    paid: set[str] = set()
    found = []
    for system, text in candidates.translations.items():
        verdict = _Verdict(error=NO_TRANSLATION) if text is None else verdicts.get(text, _Verdict())
        if text in paid:
            verdict = verdict._replace(calls=(), seconds=0.0)
        found.append(Rated(segment=candidates.segment, system=system, translation=text or "", **verdict._asdict()))
        if text is not None:
            paid.add(text)
    return tuple(found)
