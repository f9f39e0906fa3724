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

from mtagent.errors import FATAL, ConfigError, EvaluationError
from mtagent.formats.annotations import NO_CATEGORY, named_severity
from mtagent.metrics.comet import USUAL, CometModel, Gpus, Prediction, Texts
from mtagent.metrics.qe_e5 import QeE5
from mtagent.processes import begin_in_children
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.version import __version__

Pair = tuple[Segment, str]
RateBatch = Callable[[Sequence[Pair]], Sequence[Rating]]


class InBatches:
    """Rates with ``rate_batch``, which takes pairs of segment and translation and returns their ratings in order.

    It runs in a thread, one batch at a time. Pairs that arrive meanwhile wait for the next batch, of at most ``most``
    pairs. A batch that fails is tried again in halves, so that a pair that cannot be rated harms no other; errors that
    concern every segment alike (:data:`mtagent.errors.FATAL`) are raised for all pairs. An object serves any number of
    event loops, one after the other or at once. Nothing waits for the thread when Python ends.
    """

    suggests = False
    calls = (0, 0)

    def __init__(self, name: str, rate_batch: RateBatch, *, signature: str, most: int = 64) -> None:
        if most < 1:
            raise ConfigError(f"{name}: batches must hold at least 1 translation, not {most}")
        self.name, self.signature = name, signature
        self._rate_batch, self._most = rate_batch, most
        self.begin_in_child()
        begin_in_children(self)

    def begin_in_child(self) -> None:
        """Have no waiting pairs, at the start and in a forked process."""
        self._waiting: deque[tuple[Pair, Future[Rating]]] = deque()
        self._thread: Thread | None = None
        self._lock = Lock()

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate ``translation``, together with other waiting pairs. Raises whatever the function raises for it."""
        rating: Future[Rating] = Future()
        self._waiting.append(((segment, translation), rating))
        # Not at once: all requests from the same turn of the loop belong in one batch.
        asyncio.get_running_loop().call_soon(self._start)
        return await asyncio.wrap_future(rating)

    def _start(self) -> None:
        """Start the thread that rates waiting pairs, unless it is running."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                # A daemon, not an executor: Python waits for an executor's thread, after Ctrl-C for a batch of hours.
                self._thread = Thread(target=self._rate_waiting, name=self.name, daemon=True)
                self._thread.start()

    def _rate_waiting(self) -> None:
        """Rate batch after batch, in order; the thread ends when no pair waits."""
        while True:
            with self._lock:
                taken = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
                if not taken:
                    self._thread = None  # the next call starts another one
                    return
            not_cancelled = [(pair, rating) for pair, rating in taken if rating.set_running_or_notify_cancel()]
            results = self._rated([pair for pair, _ in not_cancelled]) if not_cancelled else []
            for (_, rating), result in zip(not_cancelled, results, strict=True):
                if isinstance(result, BaseException):
                    rating.set_exception(result)
                else:
                    rating.set_result(result)

    def _rated(self, pairs: Sequence[Pair]) -> list[Rating | BaseException]:
        """A rating of each of ``pairs``, or the error in its place."""
        try:
            ratings = list(self._rate_batch(pairs))
            if len(ratings) != len(pairs):
                raise ConfigError(f"{self.name} gave {len(ratings)} ratings for {len(pairs)} translations")
            return [*ratings]
        except BaseException as error:  # noqa: BLE001  it is raised for the waiting pairs, not in this thread
            if isinstance(error, StopIteration):  # a future refuses it, and its pair would wait forever
                error = EvaluationError(f"{self.name}: the function that rates stopped with {error!r}")
            if len(pairs) == 1 or isinstance(error, FATAL) or not isinstance(error, Exception):
                return [error] * len(pairs)
        half = len(pairs) // 2
        return self._rated(pairs[:half]) + self._rated(pairs[half:])


_DIGITS = 6  # further digits of a score depend on the other pairs in the batch


def cometkiwi(
    comet_python: Path | None = None,
    *,
    model: str | None = None,
    python: Path | None = None,
    batch_size: int | None = None,
    gpus: Gpus = "0",
    timeout: float | None = None,
) -> InBatches:
    """Rates with a reference-free COMET model: a score, mostly from 0 to 1, without spans.

    The options are those of :class:`mtagent.metrics.comet.CometModel`; ``comet_python`` is the default of ``python``.
    Raises :class:`ConfigError`.
    """
    python = python or comet_python
    loaded = CometModel(model or USUAL["cometkiwi"], python=python, batch_size=batch_size, gpus=gpus, timeout=timeout)
    return _rater("cometkiwi", loaded, reference=False)


def xcomet(
    comet_python: Path | None = None,
    *,
    model: str | None = None,
    reference: bool = False,
    python: Path | None = None,
    batch_size: int | None = None,
    gpus: Gpus = "0",
    timeout: float | None = None,
) -> InBatches:
    """Rates with an XCOMET model: a score from 0 to 1, and error spans without categories.

    ``reference=True`` shows the model the reference of segments that have one. ``comet_python`` is the default of
    ``python``. Raises :class:`ConfigError`.
    """
    python = python or comet_python
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
        texts = [Texts(item.source, translation, item.reference if reference else None) for item, translation in pairs]
        predictions: dict[Texts, Prediction] = {}
        for has_reference in (True, False):  # COMET takes texts with a reference or without, not both at once
            same_kind = list(dict.fromkeys(text for text in texts if (text.reference is not None) == has_reference))
            predictions |= zip(same_kind, model.predict(same_kind), strict=True)
        seconds = (time.perf_counter() - began) / len(pairs)
        blank = Rating(evaluator=name, score=0, signature=signature(), seconds=seconds)
        ratings = []
        for (segment, translation), text in zip(pairs, texts, strict=True):
            ratings.append(_rating(blank, segment, translation, predictions[text]))
        return ratings

    return InBatches(name, rate_batch, signature=signature())


def _rating(blank: Rating, segment: Segment, translation: str, prediction: Prediction) -> Rating:
    """``blank`` with score and errors. Raises :class:`EvaluationError` for a score that isn't finite, and for spans
    outside the text.

    Only the offsets of XCOMET's spans count: their text is made of tokens such as ``<s>`` and ``<unk>``, which the
    translation does not have. White space around a span is left out.
    """
    where = f"segment {segment.id}: {blank.evaluator}"
    if not math.isfinite(prediction.score):
        raise EvaluationError(f"{where} gave the score {prediction.score}")
    errors: list[ErrorSpan] = []
    for span in prediction.spans or ():
        start, end = span["start"], span["end"]
        if not 0 <= start <= end <= len(translation):
            raise EvaluationError(f"{where} marked {start}–{end} in a text of {len(translation)} characters")
        marked = translation[start:end]
        words = marked.strip() or marked
        start += marked.index(words)
        errors.append(
            ErrorSpan(
                text=words,
                category=NO_CATEGORY,
                severity=named_severity(span["severity"], where),
                start=start,
                end=start + len(words),
                explanation=f"confidence {span['confidence']:.2f}",
            )
        )
    return blank.model_copy(
        update={
            "score": round(prediction.score, _DIGITS),
            "errors": None if prediction.spans is None else tuple(errors),
            "warnings": tuple(f"a {e.severity} error at {e.start} has no characters" for e in errors if not e.text),
        }
    )


def qe_e5() -> InBatches:
    """Rates with the metric ``qe-e5``, 0 to 1; marks no spans. Raises :class:`mtagent.errors.MissingExtra`."""
    metric = QeE5()
    signature = f"{metric.label}|{metric.signature}"

    def rate_batch(pairs: Sequence[Pair]) -> list[Rating]:
        return [Rating(evaluator=metric.name, score=value, signature=signature) for value in metric.values(pairs)]

    return InBatches(metric.name, rate_batch, signature=signature)
