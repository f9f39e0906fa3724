"""The evaluators ``cometkiwi`` and ``xcomet``: ratings by COMET models, the latter with error spans; no LLM is asked.

CometKiwi (Rei et al. 2022) sees source and translation alone. XCOMET (Guerreiro et al. 2024) marks spans besides, and
can see the reference. What is asked for at the same time goes to the model as one batch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mtagent import __version__
from mtagent.errors import ConfigError, EvaluationError
from mtagent.evaluators.in_batches import InBatches, Pair
from mtagent.metrics.comet_models import USUAL, CometModel, Gpus, Prediction, Texts
from mtagent.records import ErrorSpan, Rating
from mtagent.span_files.annotation import NO_CATEGORY, named_severity

_DIGITS = 6  # behind them a score depends on what else was in the batch


def cometkiwi(
    *,
    model: str | None = None,
    python: Path | None = None,
    batch_size: int | None = None,
    gpus: Gpus = "0",
    timeout: float | None = None,
) -> InBatches:
    """Rates with a reference-free COMET model: a score, mostly from 0 to 1, without spans.

    The options are those of :class:`mtagent.metrics.comet_models.CometModel`. Raises :class:`ConfigError`.
    """
    loaded = CometModel(model or USUAL["cometkiwi"], python=python, batch_size=batch_size, gpus=gpus, timeout=timeout)
    return _rater("cometkiwi", loaded, reference=False)


def xcomet(
    *,
    model: str | None = None,
    reference: bool = False,
    python: Path | None = None,
    batch_size: int | None = None,
    gpus: Gpus = "0",
    timeout: float | None = None,
) -> InBatches:
    """Rates with an XCOMET model: a score from 0 to 1, and error spans without categories.

    ``reference=True`` shows the model the reference where a segment has one. Raises :class:`ConfigError`.
    """
    loaded = CometModel(model or USUAL["xcomet"], python=python, batch_size=batch_size, gpus=gpus, timeout=timeout)
    return _rater("xcomet", loaded, reference=reference)


def _rater(name: str, model: CometModel, *, reference: bool) -> InBatches:
    def signature() -> str:
        parts = [name, *model.signed(), f"reference:{'yes' if reference else 'no'}", f"version:{__version__}"]
        return "|".join(parts)

    def rate_batch(pairs: Sequence[Pair]) -> list[Rating]:
        began = time.perf_counter()
        if model.references == "needed":
            raise ConfigError(f"{name}: {model.name} compares with references: choose a model that needs none")
        predictions = _predicted(model, pairs, reference=reference)
        blank = Rating(
            evaluator=name, score=0, signature=signature(), seconds=(time.perf_counter() - began) / len(pairs)
        )
        return [_rating(blank, pair, prediction) for pair, prediction in zip(pairs, predictions, strict=True)]

    return InBatches(name, rate_batch, signature=signature())


def _predicted(model: CometModel, pairs: Sequence[Pair], *, reference: bool) -> list[Prediction]:
    """A prediction for each of ``pairs``. Those with and without a reference go apart, as COMET wants them."""
    texts = [Texts(one.source, translation, one.reference if reference else None) for one, translation in pairs]
    known: dict[Texts, Prediction] = {}
    for has_reference in (True, False):
        alike = list(dict.fromkeys(one for one in texts if (one.reference is not None) == has_reference))
        known |= zip(alike, model.predict(alike), strict=True)
    return [known[one] for one in texts]


def _rating(blank: Rating, pair: Pair, prediction: Prediction) -> Rating:
    """``blank`` filled in. Raises :class:`EvaluationError` for a score that is none, and spans outside the text."""
    segment, translation = pair
    if not math.isfinite(prediction.score):
        raise EvaluationError(f"segment {segment.id}: {blank.evaluator} gave the score {prediction.score}")
    where = f"segment {segment.id}: {blank.evaluator}"
    spans = prediction.spans
    errors = None if spans is None else tuple(_error(span, translation, where) for span in spans)
    empty = [error for error in errors or () if not error.text]
    warnings = tuple(f"a {error.severity} error at {error.start} has no characters" for error in empty)
    score = round(prediction.score, _DIGITS)
    return blank.model_copy(update={"score": score, "errors": errors, "warnings": warnings})


def _error(span: dict[str, Any], translation: str, where: str) -> ErrorSpan:
    """A span as XCOMET writes it.

    Its offsets count; its ``text`` is put together from tokens, and has ``<s>`` and ``<unk>`` where the translation has
    not. White space around it is left outside.
    """
    start, end = span["start"], span["end"]
    if not 0 <= start <= end <= len(translation):
        raise EvaluationError(f"{where} marked {start}–{end} in a text of {len(translation)} characters")
    words = translation[start:end]
    start += len(words) - len(words.lstrip()) if words.strip() else 0
    return ErrorSpan(
        text=words.strip() or words,
        category=NO_CATEGORY,
        severity=named_severity(span["severity"], where),
        start=start,
        end=start + len(words.strip() or words),
        explanation=f"confidence {span['confidence']:.2f}",
    )
