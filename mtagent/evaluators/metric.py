"""Metrics that rate single translations: ``cometkiwi``, ``xcomet``, ``qe-e5``."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from mtagent import __version__
from mtagent.errors import FATAL, ConfigError, EvaluationError
from mtagent.formats.annotations import NO_CATEGORY, named_severity
from mtagent.metrics.comet import USUAL, CometModel, Gpus, Prediction, Texts
from mtagent.metrics.qe_e5 import QeE5
from mtagent.records import ErrorSpan, Rating, Segment

Pair = tuple[Segment, str]
RateBatch = Callable[[Sequence[Pair]], Sequence[Rating]]


class InBatches:
    """Rates with ``rate_batch``, which takes pairs of segment and translation and gives a rating for each, in order.

    It runs in a thread, one batch at a time: whatever is asked for meanwhile waits and becomes the next batch, of
    ``most`` pairs at most. A batch that fails is tried again in halves, so that what cannot be rated harms no other;
    errors that concern every segment alike (:data:`mtagent.errors.FATAL`) go to all who asked. No event loop is held:
    an object serves any number of them, one after the other or at once. Nothing waits for the thread when Python ends.
    """

    suggests = False
    calls = (0, 0)

    def __init__(self, name: str, rate_batch: RateBatch, *, signature: str, most: int = 64) -> None:
        if most < 1:
            raise ConfigError(f"{name}: a batch of {most} translations is none: give at least 1")
        self.name, self.signature = name, signature
        self._rate_batch, self._most = rate_batch, most
        self._waiting: deque[tuple[Pair, Future[Rating]]] = deque()
        self._thread: Thread | None = None
        self._lock = Lock()

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate ``translation``, together with others that wait. Raises whatever the function raises for it."""
        rating: Future[Rating] = Future()
        self._waiting.append(((segment, translation), rating))
        # Not at once: all that is asked for in the same turn of the loop belongs into one batch.
        asyncio.get_running_loop().call_soon(self._start)
        return await asyncio.wrap_future(rating)

    def _start(self) -> None:
        """Have a thread rate all that waits. One that is at work does so; after a fork it is not alive any more."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                # A daemon, and no executor: Python would wait for that one's thread, after Ctrl-C for a batch of hours.
                self._thread = Thread(target=self._rate_waiting, name=self.name, daemon=True)
                self._thread.start()

    def _rate_waiting(self) -> None:
        while taken := self._next_batch():
            wanted = [(pair, rating) for pair, rating in taken if rating.set_running_or_notify_cancel()]
            results = self._rated([pair for pair, _ in wanted]) if wanted else []
            for (_, rating), result in zip(wanted, results, strict=True):
                if isinstance(result, BaseException):
                    rating.set_exception(result)
                else:
                    rating.set_result(result)

    def _next_batch(self) -> list[tuple[Pair, Future[Rating]]]:
        """What waits longest; where nothing does, the thread ends, and the next call starts another one."""
        with self._lock:
            taken = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
            if not taken:
                self._thread = None
            return taken

    def _rated(self, pairs: Sequence[Pair]) -> list[Rating | BaseException]:
        try:
            return self._counted(pairs)
        except BaseException as error:  # noqa: BLE001  it belongs to those who wait, not to this thread
            if len(pairs) == 1 or isinstance(error, FATAL) or not isinstance(error, Exception):
                return [error] * len(pairs)
        half = len(pairs) // 2
        return self._rated(pairs[:half]) + self._rated(pairs[half:])

    def _counted(self, pairs: Sequence[Pair]) -> list[Rating | BaseException]:
        try:
            ratings = list(self._rate_batch(pairs))
        except StopIteration as error:  # no future takes it: those who wait would wait for ever
            raise EvaluationError(f"{self.name}: the function that rates stopped with {error!r}") from error
        if len(ratings) != len(pairs):
            raise ConfigError(f"{self.name} gave {len(ratings)} ratings for {len(pairs)} translations")
        return [*ratings]


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

    The options are those of :class:`mtagent.metrics.comet.CometModel`. Raises :class:`ConfigError`.
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
    texts = [Texts(item.source, translation, item.reference if reference else None) for item, translation in pairs]
    known: dict[Texts, Prediction] = {}
    for has_reference in (True, False):
        alike = list(dict.fromkeys(text for text in texts if (text.reference is not None) == has_reference))
        known |= zip(alike, model.predict(alike), strict=True)
    return [known[text] for text in texts]


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


def qe_e5() -> InBatches:
    """Rates with the metric ``qe-e5``, 0 to 1; marks no spans. Raises :class:`mtagent.errors.MissingExtra`."""
    metric = QeE5()
    signature = f"{metric.label}|{metric.signature}"

    def rate_batch(pairs: Sequence[Pair]) -> list[Rating]:
        return [Rating(evaluator=metric.name, score=value, signature=signature) for value in metric.values(pairs)]

    return InBatches(metric.name, rate_batch, signature=signature)
